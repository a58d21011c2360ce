package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// For each rule, the explanation has a line that says why the rule decided.
// proves: R9
func TestR9_OneLineSaysWhatWasDecided(t *testing.T) {
	t.Parallel()
	type in = policy.Input
	type ev = failure.Evidence
	s := &policy.Schedule{Waits: seconds(1, 5), PermanentExitCodes: []int{64}}
	one := policy.Settings{MaxRetries: new(1), Backoff: fixed(5)}
	with := func(change func(*policy.Settings)) *policy.Policy {
		x := one
		change(&x)
		return compile(t, policy.Spec{Name: "test", Default: x})
	}
	render := scheduled(t, s)
	tests := []struct {
		p    *policy.Policy
		in   policy.Input
		e    ev
		want string
	}{
		{render, in{}, ev{}, "the handler succeeded"},
		{render, in{How: job.ByError, Attempts: 1}, ev{}, "retry 2 of 2 in 5s"},
		{render, in{How: job.ByError, Attempts: 2}, ev{}, "dead: the retries are used up, 2 of 2"},
		{render, in{How: job.ByError}, ev{RetryAfter: 2 * time.Hour}, "retry 1 of 2 in 2h: the other side asked for this wait"},
		{render, in{How: job.ByError, U: 0.5}, ev{RetryAfter: 2 * time.Minute}, "retry 1 of 2 in 2m6s: the other side asked for 2m"},
		{render, in{How: job.ByError, Attempts: 1}, ev{RetryAfter: time.Second},
			"retry 2 of 2 in 5s: the schedule waits longer than the 1s that the other side asked for"},
		{render, in{How: job.ByError}, ev{RetryAfter: 1000 * time.Hour}, "dead: the other side asked for 1000h, more than the policy waits"},
		{render, in{How: job.ByError}, ev{Permanent: true}, "dead at once: the error is marked as permanent"},
		{render, in{How: job.ByError}, ev{Exit: new(64)}, "dead at once: the exit code is one of the permanent ones"},
		{render, in{How: job.ByError}, ev{Class: failure.NotFound}, "dead at once: NotFound is not retried"},
		{render, in{How: job.ByError}, ev{Snooze: 10 * time.Minute}, "the handler asked to run again in 10m; no attempt burned"},
		{render, in{How: job.ByError}, ev{Cancel: true}, "the handler cancelled the job"},
		{render, in{How: job.ByError, Stop: policy.CancelAsked}, ev{}, "cancelled by a person while it was running"},
		{render, in{How: job.ByError, Stop: policy.Shutdown}, ev{}, "handed back by a stopping worker; no attempt burned"},
		{render, in{How: job.ByError, Age: policy.MaxAgeDefault}, ev{}, "dead: the next attempt would come after the age at which a life ends"},
		{render, in{How: job.ByError, Deadline: 1}, ev{}, "dead: the next attempt would begin after the job's deadline"},
		{scheduled(t, &policy.Schedule{MaxRetries: policy.NoRetry}), in{How: job.ByError}, ev{}, "dead: the kind is not retried"},
		{policy.Default(), in{How: job.ByError, Attempts: 99}, ev{}, "dead: the ceiling on attempts of one life is reached"},
		{with(func(x *policy.Settings) { x.MaxRetries = new(0) }), in{How: job.ByError}, ev{Class: failure.Panic}, "dead: the kind is not retried"},
		{compile(t, policy.Spec{Classes: map[failure.Class]policy.ClassSpec{failure.Panic: {Settings: policy.Settings{MaxRetries: new(0)}}}}),
			in{How: job.ByPanic}, ev{}, "dead: Panic is not retried"},
		{with(func(x *policy.Settings) { x.Retry = new(false); x.MaxRetries = nil }), in{How: job.ByError}, ev{}, "dead at once: retries are switched off"},
		{with(func(x *policy.Settings) { x.MaxTotalRetries = new(1); x.MaxRetries = new(3) }), in{How: job.ByError, Attempts: 1}, ev{},
			"dead: the retries over all classes are used up, 1 of 1"},
		{with(func(x *policy.Settings) { x.MaxCost = new(int64(100_000)) }), in{How: job.ByError, Cost: 1_230_001}, ev{},
			"dead: the job has cost $1.230001, $0.10 is the most"},
		{with(func(x *policy.Settings) { x.Hint = &policy.Hint{Mode: policy.HintOff} }), in{How: job.ByError}, ev{RetryAfter: time.Minute},
			"retry 1 of 1 in 5s: the 1m that the other side asked for are not heeded"},
		{with(func(x *policy.Settings) {
			x.Backoff.Cap = 6 * time.Second
			x.Hint = &policy.Hint{Mode: policy.HintCap}
		}), in{How: job.ByError}, ev{RetryAfter: time.Minute}, "retry 1 of 1 in 6s: the other side asked for 1m, cut to the cap"},
		{compile(t, policy.Spec{Classes: map[failure.Class]policy.ClassSpec{failure.Panic: {Settings: policy.Settings{Escalate: &policy.Escalation{Queue: "high", Priority: 1}}}}}),
			in{How: job.ByPanic, U: 0.5}, ev{}, "retry 1 of 2 in 30s on queue high at priority 1"},
		{compile(t, observing(func(*policy.Rollout) {})), in{How: job.ByError}, ev{Class: failure.ResourceConstraint},
			"retry 1 of 2 in 5s; observed only: the policy would retry in 9s on queue high"},
		{compile(t, observing(func(*policy.Rollout) {})), in{How: job.ByError}, ev{Class: failure.NotFound},
			"retry 1 of 2 in 5s; observed only: the policy would end the job (non_retriable_error)"},
	}
	for _, tt := range tests {
		tt.in.Kind, tt.in.Evidence = "render", &tt.e
		d := tt.p.Decide(&tt.in)
		r, err := policy.ParseRecord(d.Record())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Reason(); got != tt.want {
			t.Errorf("got the reason  %s\nwant the reason %s", got, tt.want)
		}
	}
}

// classified returns an input whose explanation has the largest number of lines.
func classified() *policy.Input {
	in := failed("")
	in.Class = classify.Classification{
		Class: failure.RateLimitExceeded, Verdict: failure.VerdictThrottle, Rank: classify.RankTyped, Rule: "http.429", Saw: "429", Code: "http.429",
		Outranked: [3]classify.Outranked{{Rule: "phrase.quota", Class: failure.QuotaExceeded, Rank: classify.RankPattern, Saw: `"quota" exceeded`}},
	}
	in.U, in.Cost, in.Age, in.Attempts, in.Deadline = 0.31, 13_000, 90*time.Second, 1, 24*time.Hour
	return in
}

// The stored record contains the evidence, the rule, the outranked evidence, the class, the
// formula with the random number, the hint, the counters, the limits and the policy.
// proves: R9
func TestR9_TheLongForm(t *testing.T) {
	t.Parallel()
	s := videos()
	s.Hash = strings.Repeat("0123456789abcdef", 4)
	s.Classes = map[failure.Class]policy.ClassSpec{failure.RateLimitExceeded: {Settings: policy.Settings{MaxCost: new(int64(500_000))}}}
	s.Rules[0].Kinds = nil
	s.Rules[0].MaxTotalRetries = new(3)
	p := compile(t, s)
	in := classified()
	in.Admission = p.Admit(&policy.RuleInput{Kind: "render", Attrs: []byte(`{"duration_seconds": 22000}`)})
	d := p.Decide(in)
	want := `decision  retry 1 of 5 in 55.4s
class     RateLimitExceeded, verdict throttle, by http.429 (typed), which saw "429", code http.429
outranked phrase.quota (pattern) for QuotaExceeded, which saw "\"quota\" exceeded"
formula   60s × 3^(1−1) = 1m, ±20 %, random number 0.31 → 55.4s (set by the built-in default)
counters  failure 2 of this life, 1 of class RateLimitExceeded
limits    5 retries of the class (set by the built-in default), 3 over all classes, attempt 2 of at most 100, age 1m30s of at most 90d, deadline in 24h, cost $0.013 of $0.50
rules     long-video
policy    videos 0123456789ab
`
	want = strings.ReplaceAll(want, "60s", "1m")
	if diff := cmp.Diff(want, d.Explain()); diff != "" {
		t.Errorf("wrong explanation (-want +got):\n%s", diff)
	}
	in.Evidence.RetryAfter = 120 * time.Second
	d = p.Decide(in)
	if want := "hint      the other side asked for 2m: waits 2m3.7s, 3.7s more so that not all come back together\n"; !strings.Contains(d.Explain(), want) {
		t.Errorf("the explanation does not contain %q, want it there:\n%s", want, d.Explain())
	}
	in.Admission = nil
	d = compile(t, observing(func(*policy.Rollout) {})).Decide(in)
	for _, want := range []string{
		"formula   wait 2 of 5s, … = 5s (set by the baseline)\n",
		"limits    2 retries of all classes (set by the baseline), attempt",
		"observed  the policy only observes RateLimitExceeded; it would retry in 2m3.7s, by schedule, retry 1 of 9\n",
	} {
		if !strings.Contains(d.Explain(), want) {
			t.Errorf("the explanation does not contain %q, want it there:\n%s", want, d.Explain())
		}
	}
}

// The format of a stored record must not change, because other programs read it.
func TestRecord_FormatIsStored(t *testing.T) {
	t.Parallel()
	s := observing(func(*policy.Rollout) {})
	s.Hash = "cafe"
	in := classified()
	in.Evidence.RetryAfter = 3 * time.Second
	d := compile(t, s).Decide(in)
	const want = `{"v":2,"action":"retry","rule":"schedule","class":"RateLimitExceeded","verdict":"throttle","n":2,"of":2,"wait_us":5000000,` +
		`"by":"http.429","rank":"typed","saw":"429","code":"http.429",` +
		`"beat":[{"rule":"phrase.quota","class":"QuotaExceeded","rank":"pattern","saw":"\"quota\" exceeded"}],` +
		`"drawn_us":5000000,"nominal_us":5000000,"ceiling_us":5000000,"u":0.31,"growth":"5s, …","backoff_from":"baseline","hint_us":3000000,` +
		`"count":"total","retries_from":"baseline","class_failures":1,"failures":2,"max_attempts":100,"age_us":90000000,` +
		`"max_age_us":7776000000000,"deadline_us":86400000000,"cost":13000,"policy":"test","hash":"cafe",` +
		`"would":{"action":"retry","rule":"schedule","n":1,"of":9,"wait_us":9000000}}`
	if diff := cmp.Diff(want, string(d.Record())); diff != "" {
		t.Errorf("wrong record (-want +got):\n%s", diff)
	}
	r, err := policy.ParseRecord(d.Record())
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var one, two map[string]any
	if err := json.Unmarshal([]byte(want), &one); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &two); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("reading and writing the record again gave a wrong record (-want +got):\n%s", diff)
	}
}

func TestRecord_DamagedOrOfAnotherFormatIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, `{}`, `{"v":1}`, `{"v":3}`, `[]`, `{"v":2`} {
		if _, err := policy.ParseRecord([]byte(bad)); err == nil {
			t.Errorf("ParseRecord(%q) returned no error, want an error", bad)
		}
	}
}

// For any error text, the record is valid JSON with a limited length.
func FuzzRecord_AnyText(f *testing.F) {
	f.Add("plain", "own", "queue")
	f.Add("two\nlines", "a\tb", "\x01")
	f.Add("\x00\x1f\"\\\n\x7f\xff\u2028é", "<script>", strings.Repeat("é", 1000))
	p := policy.Default()
	f.Fuzz(func(t *testing.T, saw, class, name string) {
		in := failed("")
		in.Class = classify.Classification{Class: failure.Class(class), Rule: name, Saw: saw, Code: name, Rank: 1,
			Outranked: [3]classify.Outranked{{Rule: name, Saw: saw}, {Rule: "x", Class: failure.Class(class)}}}
		d := p.Decide(in)
		b := d.Record()
		if !json.Valid(b) {
			t.Fatalf("the record is not valid JSON, want JSON: %q", b)
		}
		r, err := policy.ParseRecord(b)
		if err != nil || len(r.Saw) > 200 || r.Explain() == "" {
			t.Fatalf("reading the record returned the error %v and a text of %d bytes, want no error and at most 200 bytes", err, len(r.Saw))
		}
		if d.Class != "" && len(saw) < 100 && r.Saw != strings.ToValidUTF8(saw, "\ufffd") && strings.ToValidUTF8(saw, "") == saw {
			t.Fatalf("the text %q became %q in the record, want no change", saw, r.Saw)
		}
	})
}

// A long text is cut between two characters, and an ellipsis marks the cut.
func TestRecord_ALongTextIsCut(t *testing.T) {
	t.Parallel()
	in := failed("")
	in.Class = classify.Classification{Class: "Own", Rule: "x", Saw: "x" + strings.Repeat("é", 200)}
	d := policy.Default().Decide(in)
	r, err := policy.ParseRecord(d.Record())
	if want := "x" + strings.Repeat("é", 79) + "…"; err != nil || r.Saw != want {
		t.Errorf("the record contains the text %q, want %q", r.Saw, want)
	}
}

// Every stored text is either refused or read, and a decision that was read can be
// explained.
func FuzzParseRecord(f *testing.F) {
	d := policy.Default().Decide(classified())
	f.Add(d.Record())
	f.Add([]byte(`{"v":2,"rule":"policy.max_total_retries","max_cost":-1,"hash":"é","priority":-9}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if r, err := policy.ParseRecord(b); err == nil {
			_, _ = r.Reason(), r.Explain()
		}
	})
}
