package config

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/joblink"
	"github.com/redrive/redrive/internal/yamlfile"
)

// environmentMax is the largest number of characters of the name of an environment.
const environmentMax = 24

// environment reads the word about the installation that each page shows.
func (r *reader) environment(into *string) func(value) {
	return func(v value) {
		switch {
		case !r.Is(v, yamlfile.Text, "a word such as production"):
		case v.Text == "" || utf8.RuneCountInString(v.Text) > environmentMax || strings.ContainsFunc(v.Text, func(c rune) bool { return !unicode.IsGraphic(c) }):
			r.Addf(v.Pos, "%s must have 1 to %d visible characters, such as production", v.Path, environmentMax)
		default:
			*into = v.Text
		}
	}
}

// links reads the templates of links from the page of a job to other programs.
func (r *reader) links(into *[]joblink.Template) func(value) {
	return func(v value) {
		if len(v.Entries) > joblink.Max {
			r.Addf(v.Pos, "%s has %d entries; at most %d are allowed", v.Path, len(v.Entries), joblink.Max)
			return
		}
		r.Named(v, `a mapping such as {logs: "https://logs.example/search?q={id}"}`, "link", func(name string, _ position, v value) {
			t := joblink.Template{Label: name}
			r.NonEmpty(&t.URL)(v)
			if t.URL == "" {
				return
			}
			if mistake := joblink.Mistake(t.URL); mistake != "" {
				r.Addf(v.Pos, "%s %s", v.Path, mistake)
				return
			}
			*into = append(*into, t)
		})
	}
}
