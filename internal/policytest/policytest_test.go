package policytest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/policytest"
	"github.com/redrive/redrive/policy/policyfile"
)

const policyText = `
name: pay
classes:
  SoftDecline: {verdict: retry, max_retries: 2, backoff: {waits: [1h, 2h], jitter: 50%}}
  NoInput: {verdict: permanent}
default: {codes: {missing_input: NO_INPUT, command: FAILED}}
rules:
  - {name: long, when: attrs.seconds >= 60, queue: large}
  - {name: hold, when: attrs.amount > 100, hold: {message: A person decides}}
classify:
  codes: [{code: NO_INPUT, class: NoInput}]
  phrases: [{match: insufficient_funds, class: SoftDecline}]
`

// proves: F9
func TestF9_CasesOfAPolicy(t *testing.T) {
	t.Parallel()
	p, err := policyfile.Parse("p", []byte(policyText))
	if err != nil {
		t.Fatal(err)
	}
	f, err := policytest.Parse("t", []byte(`
policy: p.yaml
cases:
  - {name: right, error: 'insufficient_funds', attempt: 2, expect: {class: SoftDecline, decision: retry, wait: 2h, retries: 2, rule: policy.phrases.0}}
  - {error: insufficient_funds, attempt: 3, expect: {decision: dead, reason: max_retries_exceeded}}
  - {error: '/a/b.mp4: No such file', exit_code: 1, payload: {input: /a/b.mp4}, expect: {code: NO_INPUT, class: NoInput, decision: dead}}
  - {status: 503, attrs: {seconds: 60}, expect: {queue: large, decision: retry}}
  - {status: 503, attrs: {amount: 100.5}, expect: {decision: hold}}
  - {timeout: true, expect: {class: AttemptTimeout}}
  - {signal: SIGKILL, expect: {code: FAILED}}
  - {name: wrong, error: insufficient_funds, expect: {class: PaymentRequired, decision: dead, wait: 3h, retries: 9, queue: q, reason: r, code: c, rule: x}}
  - {status: 503, attrs: {amount: 100.5}, expect: {class: TemporaryServiceError, wait: 1m}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if f.Policy != "p.yaml" || len(f.Cases) != 9 {
		t.Fatalf("got the policy %q and %d cases, want p.yaml and 9", f.Policy, len(f.Cases))
	}
	for i := range f.Cases[:7] {
		if r := f.Cases[i].Run(p.Policy); len(r.Differences) > 0 {
			t.Errorf("%s: got the differences %v, want none", r.Name, r.Differences)
		}
	}
	want := []policytest.Difference{
		{"class", "PaymentRequired", "SoftDecline"}, {"decision", "dead", "retry"}, {"code", "c", "none"}, {"reason", "r", "none"},
		{"rule", "x", "policy.phrases.0"}, {"queue", "q", "default"}, {"retries", "9", "2"}, {"wait", "3h", "30m to 1h30m"},
	}
	if diff := cmp.Diff(want, f.Cases[7].Run(p.Policy).Differences); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	held := f.Cases[8].Run(p.Policy)
	if diff := cmp.Diff([]policytest.Difference{{"class", "TemporaryServiceError", "none"}, {"wait", "1m", "none"}}, held.Differences); diff != "" || held.Name != "line 12" {
		t.Errorf("differences of %s (-want +got):\n%s", held.Name, diff)
	}
}

// proves: F9
func TestF9_MistakesInCases(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cases: []":                     `t:1:1: the file has no cases; write at least one case under cases, such as cases: [{error: connection refused, expect: {class: TemporaryServiceError}}]`,
		"cases: [{error: a}]":           `t:1:9: cases[0] expects nothing; add expect: {class: …, decision: retry}`,
		"cases: [{expect: {class: A}}]": `t:1:9: cases[0] says nothing about an error; add error, status, exit_code, signal, code or timeout`,
		"cases: [{error: a, expect: {decision: retries}}]":    `t:1:39: cases[0].expect.decision must be one of retry, dead, hold, found "retries"`,
		"cases: [{error: a, expect: {klass: A}}]":             `t:1:29: unknown key "klass", did you mean "class"?`,
		"cases: [{status: 99, expect: {class: A}}]":           `t:1:18: cases[0].status must be a whole number from 100 to 599, found 99`,
		"cases: [{error: a, attrs: 5, expect: {class: A}}]":   `t:1:27: cases[0].attrs must be a mapping such as {duration_seconds: 7200}, found 5`,
		"cases: [{error: a, expect: {class: A, wait: soon}}]": `t:1:45: cases[0].expect.wait must be a duration from 0s to 365d, found "soon"; write numbers with the units w, d, h, m, s and ms, such as 90s, 1h30m or 7d`,
	} {
		_, err := policytest.Parse("t", []byte(text))
		if err == nil {
			t.Errorf("%s: got no error, want %s", text, want)
		} else if err.Error() != want {
			t.Errorf("%s: got the error\n%v\nwant\n%s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	p, err := policyfile.Parse("p", []byte(policyText))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("cases: [{error: a, attrs: {a: [1, 0x1, .inf]}, payload: ~, expect: {wait: 1s}}]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := policytest.Parse("t", []byte(text))
		if err != nil {
			return
		}
		for i := range file.Cases {
			file.Cases[i].Run(p.Policy)
		}
	})
}
