// Package joblink makes links from a job to other programs, such as the store of its logs, from
// templates of the configuration.
package joblink

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
)

// Max is the largest number of templates; TemplateMax is the largest size of one in bytes.
const (
	Max         = 10
	TemplateMax = 1_000
)

// Template is a link under a label, such as Logs.
type Template struct{ Label, URL string }

// names are the values of a job that a template can have in braces.
var names = []string{"id", "kind", "queue", "owner", "correlation", "trace", "from", "to"}

// Link is a link of one job.
type Link struct{ Label, URL string }

// Mistake says what is wrong with a template; "" if nothing is.
func Mistake(template string) string {
	if len(template) > TemplateMax {
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(template), TemplateMax)
	}
	var unknown string
	text := replace(template, func(name string) (string, bool) {
		if !slices.Contains(names, name) && unknown == "" {
			unknown = suggest.Unknown("value", name, names)
		}
		return "x", true
	})
	u, err := url.Parse(text)
	switch {
	case unknown != "":
		return unknown
	case strings.ContainsAny(text, "{}"):
		return "has a brace without its other half; write values as {id}"
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil:
		return "must be a URL that begins with https:// or http://, such as https://logs.example/search?q={id}"
	case !strings.HasPrefix(template, u.Scheme+"://"+u.Host):
		return "must not have a value in the name of the host"
	}
	return ""
}

// replace replaces each value in braces by what the function returns. If the function refuses one,
// the result is "".
func replace(template string, value func(name string) (string, bool)) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			out.WriteString(template)
			return out.String()
		}
		text, ok := value(name)
		if !ok {
			return ""
		}
		out.WriteString(before)
		out.WriteString(text)
		template = after
	}
}

// Of returns the links of a job. A link that needs a value that the job does not have is left out.
// now is the end of the time of a job that has not ended.
func Of(templates []Template, j *job.Job, now job.Micros) (links []Link) {
	to := j.FinishedAt
	if to == 0 {
		to = now
	}
	value := func(name string) (string, bool) {
		var text string
		switch name {
		case "id":
			text = j.ID.String()
		case "kind":
			text = j.Kind
		case "queue":
			text = j.Queue
		case "owner":
			text = j.Owner
		case "correlation":
			text = j.Correlation
		case "trace":
			text = traceOf(j.Correlation)
		case "from":
			text = j.CreatedAt.Time().UTC().Format(time.RFC3339)
		case "to":
			text = to.Time().UTC().Format(time.RFC3339)
		}
		return strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), text != ""
	}
	for _, t := range templates {
		if u := replace(t.URL, value); u != "" {
			links = append(links, Link{t.Label, u})
		}
	}
	return links
}

// traceOf returns the trace id of a correlation id: the id itself if it is one (W3C Trace Context),
// otherwise "".
func traceOf(correlation string) string {
	if len(correlation) == 32 && strings.Trim(correlation, "0123456789abcdef") == "" && strings.Trim(correlation, "0") != "" {
		return correlation
	}
	return ""
}
