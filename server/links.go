package server

import (
	"fmt"

	"github.com/redrive/redrive/internal/joblink"
)

// Link is the template of a link from the page of a job to another program, such as the store of
// its logs.
type Link struct {
	Label string // such as logs
	// URL begins with https:// or http:// and has values of the job in braces: {id}, {kind},
	// {queue}, {owner}, {correlation}, {trace} (the correlation id, if it is a trace id), {from}
	// and {to} (when the job was enqueued and ended, RFC 3339). A job that lacks a value does not
	// have the link.
	URL string
}

func linksOf(links []Link) ([]joblink.Template, error) {
	if len(links) > joblink.Max {
		return nil, fmt.Errorf("server: %d links; at most %d are allowed", len(links), joblink.Max)
	}
	out := make([]joblink.Template, len(links))
	for i, l := range links {
		mistake := joblink.Mistake(l.URL)
		if l.Label == "" {
			mistake = "has no label"
		}
		if mistake != "" {
			return nil, fmt.Errorf("server: the link %q to %.100q %s", l.Label, l.URL, mistake)
		}
		out[i] = joblink.Template(l)
	}
	return out, nil
}
