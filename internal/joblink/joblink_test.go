package joblink_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/joblink"
	"github.com/redrive/redrive/job"
)

// part of: U4
//
// Each value is escaped, and a link whose value the job lacks is left out.
func TestOf_ValuesAreEscaped(t *testing.T) {
	t.Parallel()
	templates := []joblink.Template{
		{Label: "Logs", URL: "https://logs.example/search?q={id}+{correlation}&from={from}&to={to}"},
		{Label: "Traces", URL: "https://traces.example/t/{trace}"},
		{Label: "Owner", URL: "https://people.example/{owner}"},
	}
	j := job.Job{ID: 7, Correlation: `a&b=<c> d/é`, CreatedAt: 1_700_000_000_000_000}
	want := []joblink.Link{{Label: "Logs", URL: "https://logs.example/search?q=7+a%26b%3D%3Cc%3E%20d%2F%C3%A9&from=2023-11-14T22%3A13%3A20Z&to=2023-11-14T22%3A15%3A00Z"}}
	if diff := cmp.Diff(want, joblink.Of(templates, &j, 1_700_000_100_000_000)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	j.Correlation = "4bf92f3577b34da6a3ce929d0e0e4736"
	if got := joblink.Of(templates[1:2], &j, 0); len(got) != 1 || got[0].URL != "https://traces.example/t/"+j.Correlation {
		t.Errorf("with a trace id: got %v", got)
	}
}

func TestMistake_NamesTheCure(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"https://logs.example/?q={id}":                                  "",
		"http://logs.example:3000/{trace}":                              "",
		"https://logs.example/?q={ip}":                                  "did you mean",
		"https://logs.example/?q={id":                                   "brace",
		"javascript:alert({id})":                                        "must be a URL",
		"//logs.example/{id}":                                           "must be a URL",
		"https://{owner}.example/":                                      "name of the host",
		"https://ann:secret@logs.example/":                              "must be a URL",
		"https://l.example/" + strings.Repeat("x", joblink.TemplateMax): "at most 1000",
	} {
		if got := joblink.Mistake(template); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%.40s: got %q, want %q", template, got, want)
		}
	}
}
