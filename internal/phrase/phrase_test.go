package phrase

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/scan"
)

// Each part of the language: what a phrase finds, and what it does not find.
func TestLanguage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		phrase      string
		finds, nots []string
	}{
		{"rate limit exceeded", []string{"Rate limits exceeded", "RateLimitExceeded", "rate_limit_exceeded"}, []string{"the rate is limited", "exceeded rate limit"}},
		{"(daily|monthly) quota", []string{"Monthly quota", "the daily quotas"}, []string{"yearly quota", "daily"}},
		{"service (temporarily)? unavailable", []string{"service unavailable", "Service Temporarily Unavailable"}, []string{"service quite unavailable"}},
		{"lost ... connection", []string{"lost connection", "lost: connection", "lost a b c d connection"}, []string{"lost a b c d e connection", "lost. connection", "connection lost"}},
		{"lost ...2 connection", []string{"lost a b connection"}, []string{"lost a b c connection"}},
		{"error <number>", []string{"error 7", "error: 12"}, []string{"error seven", "error 1f2e3d4c5b6a"}},
		{"gateway <status>", []string{"gateway 503"}, []string{"gateway 200", "gateway 600"}},
		{"job <id>", []string{"job 1f2e3d4c5b6a", "job 7"}, []string{"job lost"}},
		{"open <path>", []string{"open /srv/a.txt", "open clip.mp4"}, []string{"open window"}},
		{"get <url>", []string{"get https://example.com/a"}, []string{"get a"}},
		{"dial <host>", []string{"dial db.example.com", "dial 10.0.0.7"}, []string{"dial up"}},
		{"wait <duration>", []string{"wait 30 seconds", "wait 5m"}, []string{"wait 30", "wait long"}},
		{"file of <size>", []string{"file of 20 MB"}, []string{"file of 20 seconds"}},
		{"code <value>", []string{"code 7", "code odd", "code 1f2e3d4c5b6a"}, []string{"code"}},
		{"state <any>", []string{"state 7", "state /srv/a.txt"}, []string{"state"}},
		{"=cannot open", []string{"cannot open"}, []string{"could not open", "unable to open"}},
		{"cannot open", []string{"cannot open", "could not open", "unable to open", "failed to open"}, []string{"can open"}},
		{"not found", []string{"not found", "notfound", "cannot locate", "could not find"}, []string{"found"}},
		{"!(in|of) memory", []string{"out with memory", "memory"}, []string{"in memory", "of memory"}},
		{"error !budget", []string{"error in a frame", "error"}, []string{"error budget"}},
		{"page !<number>", []string{"page is gone"}, []string{"page 7 is gone"}},
	} {
		m := machineOf(t, tt.phrase)
		found := func(text string) bool {
			var r Matcher
			r.Run(m, text, scan.Tokens(nil, text))
			return len(r.Found) > 0
		}
		for _, text := range tt.finds {
			if !found(text) {
				t.Errorf("%q does not find %q", tt.phrase, text)
			}
		}
		for _, text := range tt.nots {
			if found(text) {
				t.Errorf("%q finds %q", tt.phrase, text)
			}
		}
	}
}

// A mistake in a phrase is named.
func TestParse_Mistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"lost (link":      "a parenthesis is not closed",
		"(a|)":            "an alternative is empty",
		"(a)?":            "every word may be missing",
		"... lost":        `"..." must stand between words`,
		"lost ...":        `"..." must stand between words`,
		"lost ...17 link": "a gap of 17 words: 1 to 16 are allowed",
		"error <nmber>":   "unknown placeholder <nmber>",
		"!<host> lost":    "after ! only words and <number> can stand",
		"lost)":           `")" is not expected there`,
		"lost $5":         `"$5" is not a word`,
		strings.Repeat("(", 9) + "a" + strings.Repeat(")", 9): "more than 8 parentheses within each other",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v, want one with %q", text, err, want)
		}
	}
}

// What the machine skips changes its speed alone: with all bits set, as if each word might lead to each other one, it finds the same.
func TestRun_BitsOnlySkipWork(t *testing.T) {
	t.Parallel()
	phrases := []string{
		"rate limit exceeded", "(daily|monthly) quota !limit", "lost ...3 connection !of", "error <number>", "<status> gateway", "waited <duration>",
		"!(in|of) memory", "cannot open", "not found", "service (temporarily)? unavailable", "(a|b c)? d ... e",
	}
	m, open := machineOf(t, phrases...), machineOf(t, phrases...)
	const all = ^uint64(0)
	for i := range open.states {
		open.states[i].next, open.states[i].wide = all, all
	}
	for i := range open.steps {
		open.steps[i].bits, open.steps[i].last = all, all
	}
	for i := range open.starts {
		open.starts[i].bits, open.starts[i].seconds = all, all
		for k := range open.starts[i].entries {
			open.starts[i].entries[k].next, open.starts[i].entries[k].wide = all, all
		}
	}
	for i := range open.holds {
		for k := range open.holds[i] {
			open.holds[i][k].next, open.holds[i][k].wide = all, all
		}
	}
	for _, text := range []string{
		"RateLimitExceeded", "the monthly quota", "monthly quota limit", "lost the only connection", "lost connection of", "error 7", "502 gateway: waited 7 s",
		"in memory; out of memory. memory", "could not open it, and nothing was found", "service temporarily unavailable", "b c d x y e", "d e", "nothing",
	} {
		var got, want Matcher
		got.Run(open, text, scan.Tokens(nil, text))
		want.Run(m, text, scan.Tokens(nil, text))
		if len(got.Found) != len(want.Found) {
			t.Errorf("%q: %d matches with all bits set, want %d", text, len(got.Found), len(want.Found))
			continue
		}
		for i := range want.Found {
			if g, w := got.Found[i], want.Found[i]; g.Rule != w.Rule || g.Start != w.Start || g.End != w.End {
				t.Errorf("%q: match %d is %+v with all bits set, want %+v", text, i, g, w)
			}
		}
	}
}
