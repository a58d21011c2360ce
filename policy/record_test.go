package policy_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

func TestRecord_ADecisionExplainsItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in     policy.Input
		reason string
	}{
		{policy.Input{}, "the handler succeeded"},
		{policy.Input{How: policy.ByError, Attempts: 1}, "retry 2 of 2 in 5s"},
		{policy.Input{How: policy.ByError, Attempts: 2}, "dead: the retries are used up, 2 of 2"},
		{policy.Input{How: policy.ByError, Evidence: failure.Evidence{RetryAfter: 2 * time.Hour}},
			"retry 1 of 2 in 2h: the other side asked for this wait"},
		{policy.Input{How: policy.ByError, Evidence: failure.Evidence{RetryAfter: time.Second}, Attempts: 1},
			"retry 2 of 2 in 5s: the schedule waits longer than the 1s that the other side asked for"},
		{policy.Input{How: policy.ByError, Evidence: failure.Evidence{Permanent: true}},
			"dead at once: the error is marked as permanent"},
		{policy.Input{How: policy.ByError, Evidence: failure.Evidence{Exit: new(64)}},
			"dead at once: the exit code is one of the permanent ones"},
		{policy.Input{How: policy.ByError, Evidence: failure.Evidence{Snooze: 10 * time.Minute}},
			"the handler asked to run again in 10m; no attempt burned"},
		{policy.Input{How: policy.ByError, Evidence: failure.Evidence{Cancel: true}}, "the handler cancelled the job"},
		{policy.Input{How: policy.ByError, Stop: policy.CancelAsked}, "cancelled by a person while it was running"},
		{policy.Input{How: policy.ByError, Stop: policy.Shutdown}, "handed back by a stopping worker; no attempt burned"},
		{policy.Input{How: policy.ByError, Ceiling: 1}, "dead: the ceiling on attempts of one life is reached"},
		{policy.Input{How: policy.ByError, Age: time.Hour, AgeMax: time.Hour},
			"dead: the next attempt would come after the age at which a life ends"},
	}
	s := &policy.Schedule{Waits: []time.Duration{time.Second, 5 * time.Second}, PermanentExitCodes: []int{64}}
	for _, tt := range tests {
		d := s.Decide(&tt.in)
		r, err := policy.ParseRecord(d.Record())
		if err != nil {
			t.Fatal(err)
		}
		want := policy.Record{
			V: 1, Action: d.Action.String(), Rule: d.Rule, Class: d.Class, Verdict: d.Verdict,
			N: d.N, Of: d.Of, Wait: d.Wait.Microseconds(), Hint: d.Hint.Microseconds(), Reason: tt.reason,
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestRecord_FormatIsStored(t *testing.T) {
	t.Parallel()
	d := policy.Decision{Action: policy.Retry, Rule: policy.RuleSchedule, Class: failure.UnknownError,
		Verdict: policy.Throttled, N: 2, Of: 3, Wait: 30 * time.Second, Hint: time.Second}
	const want = `{"v":1,"action":"retry","rule":"schedule","class":"UnknownError","verdict":"throttle",` +
		`"n":2,"of":3,"wait_us":30000000,"hint_us":1000000,` +
		`"reason":"retry 2 of 3 in 30s: the schedule waits longer than the 1s that the other side asked for"}`
	if got := string(d.Record()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, bad := range []string{``, `{}`, `{"v":2}`, `[]`, `{"v":1`} {
		if _, err := policy.ParseRecord([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestMemo_CountsFailuresByClass(t *testing.T) {
	t.Parallel()
	s := &policy.Schedule{MaxRetries: 90, Waits: []time.Duration{time.Second, time.Minute}}
	in := policy.Input{How: policy.ByError}
	for range 40 {
		in.Evidence.Class = failure.Class(fmt.Sprintf("Class%d", in.Attempts))
		if in.Attempts%2 == 0 {
			in.Evidence.Class = "Even"
		}
		in.Memo = s.Decide(&in).Memo
		in.Attempts++
	}
	m := policy.ParseMemo(in.Memo)
	if m.Failures["Even"] != 20 || m.Wait != time.Minute {
		t.Errorf("got %d failures of one class and the wait %v, want 20 and 1m", m.Failures["Even"], m.Wait)
	}
	if len(m.Failures) > 17 || m.Failures[""] != 5 {
		t.Errorf("%d classes are kept, %d failures are counted together, want 17 at most and 5", len(m.Failures), m.Failures[""])
	}
}

func FuzzParseMemo(f *testing.F) {
	f.Add([]byte(`{"v":1,"failures":{"UnknownError":2},"wait_us":30000000}`))
	f.Add([]byte(`{"v":1,"failures":null}`))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		once := policy.ParseMemo(b).Encode()
		if twice := policy.ParseMemo(once).Encode(); !bytes.Equal(once, twice) {
			t.Errorf("%s is read back as %s", once, twice)
		}
		d := (*policy.Schedule)(nil).Decide(&policy.Input{How: policy.ByError, Memo: b})
		if d.Action != policy.Retry {
			t.Errorf("a memo of %q decided %v", b, d.Action)
		}
	})
}
