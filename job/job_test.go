package job_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
)

// proves: Q9
func TestQ9_TransitionsAreOneMachine(t *testing.T) {
	t.Parallel()
	seen := map[job.Transition]bool{}
	for _, tr := range job.Transitions {
		if seen[tr] {
			t.Errorf("transition %v is listed twice, want it once", tr)
		}
		seen[tr] = true
		if !job.Legal(tr.From, tr.To, tr.Cause) {
			t.Errorf("transition %v is in the table: Legal returned false, want true", tr)
		}
	}
	for _, s := range job.States {
		into := slices.ContainsFunc(job.Transitions[:], func(tr job.Transition) bool { return tr.To == s })
		out := slices.ContainsFunc(job.Transitions[:], func(tr job.Transition) bool { return tr.From == s })
		if !into {
			t.Errorf("no transition leads to state %s, want at least one", s)
		}
		// A dead job can only be retried by a person. Completed and cancelled jobs
		// never change.
		if wantsOut := s != job.Completed && s != job.Cancelled; out != wantsOut {
			t.Errorf("state %s has transitions to other states: %v, want %v", s, out, wantsOut)
		}
	}
	for _, wrong := range []job.Transition{
		{From: job.Completed, To: job.Waiting, Cause: job.Retried},
		{From: job.Waiting, To: job.Completed, Cause: job.Succeeded},
		{From: job.Running, To: job.Retrying, Cause: job.Crashed},
		{From: job.Retrying, To: job.Retrying, Cause: job.Failed},
		{From: job.Cancelled, To: job.Waiting, Cause: job.Retried},
	} {
		if job.Legal(wrong.From, wrong.To, wrong.Cause) {
			t.Errorf("Legal(%v) of a transition that is not in the table: got true, want false", wrong)
		}
	}
}

// Only success and failure use up an attempt.
//
// part of: Q8, R15
// proves: Q3
func TestQ3_CountersAreNeverMixed(t *testing.T) {
	t.Parallel()
	for cause, want := range map[job.Cause]job.Counters{
		job.Succeeded:   {Attempts: 1},
		job.Failed:      {Attempts: 1},
		job.Crashed:     {Crashes: 1},
		job.Deferred:    {Deferrals: 1},
		job.Snoozed:     {Snoozes: 1},
		job.Interrupted: {Interrupts: 1},
		job.Claimed:     {},
		job.Cancel:      {},
		job.Expired:     {},
		job.Retried:     {},
	} {
		var c job.Counters
		c.Count(cause)
		if c != want {
			t.Errorf("counters after a run with the cause %s: got %+v, want %+v", cause, c, want)
		}
		if c.Sum() != want.Sum() || want.Sum() > 1 {
			t.Errorf("sum of the counters after one run with the cause %s: got %d, want 1", cause, c.Sum())
		}
	}
}

func TestStatesReadBack(t *testing.T) {
	t.Parallel()
	for _, s := range job.States {
		got, err := job.ParseState(s.String())
		if err != nil || got != s {
			t.Errorf("ParseState(%q): got %v, error %v; want the same state", s, got, err)
		}
		if s.Ready() == s.Terminal() && s != job.Running {
			t.Errorf("state %s: got Ready %v and Terminal %v, want exactly one of them true", s, s.Ready(), s.Terminal())
		}
	}
	if _, err := job.ParseState("stuck"); err == nil || !strings.Contains(err.Error(), "one of waiting") {
		t.Errorf("ParseState of an unknown state: got error %v, want an error that lists the states", err)
	}
}

func TestIDIsAStringInJSON(t *testing.T) {
	t.Parallel()
	const big = job.ID(1<<53 + 1) // JavaScript would round this number
	b, err := json.Marshal(map[string]job.ID{"id": big})
	if err != nil || string(b) != `{"id":"9007199254740993"}` {
		t.Fatalf("id as JSON: got %s, error %v; want the digits as a string", b, err)
	}
	var back map[string]job.ID
	if err := json.Unmarshal(b, &back); err != nil || back["id"] != big {
		t.Errorf("id read from JSON: got %v, error %v; want the id that was written", back, err)
	}
	for _, bad := range []string{"", "0", "-1", "1.5", "0x10", "9223372036854775808", " 1", "1 "} {
		if _, err := job.ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) returned no error, want an error", bad)
		}
	}
}

// proves: Q2
func TestQ2_MicrosAreOneUnit(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 18, 1, 42, 123456789, time.FixedZone("CET", 3600))
	m := job.At(at)
	if got := m.Time(); !got.Equal(at.Truncate(time.Microsecond)) || got.Location() != time.UTC {
		t.Errorf("%s converted to Micros and back: got %s, want the same time in UTC, truncated to a microsecond", at, got)
	}
	if b, _ := m.MarshalText(); string(b) != "2026-11-20T17:01:42.123456Z" {
		t.Errorf("MarshalText: got %s, want RFC 3339 in UTC with microseconds", b)
	}
	if job.At(time.Time{}) != 0 || !job.Micros(0).Time().IsZero() {
		t.Error("the zero time and Micros 0 are not converted into each other, want Micros 0 for the zero time and the zero time for Micros 0")
	}
}

func TestMicrosSaturate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := job.Micros(rapid.Int64Range(0, math.MaxInt64).Draw(rt, "m"))
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(rt, "d"))
		if sum := m.Add(d); sum < m {
			rt.Fatalf("Add: %d + %s = %d, want a sum that is not below the first number", m, d, sum)
		}
		other := job.Micros(rapid.Int64().Draw(rt, "other"))
		if diff := m.Sub(other); m > other && diff < 0 {
			rt.Fatalf("Sub: %d - %d = %s, want a difference of at least 0", m, other, diff)
		}
	})
}

// proves: X3
// part of: F1
func TestX3_OutcomesAreHeldToTheirLimits(t *testing.T) {
	t.Parallel()
	good := func() job.Outcome {
		return job.Outcome{ID: 1, Token: 1, Cause: job.Failed, To: job.Dead, Reason: job.MaxRetries,
			Failure: &job.Failure{How: job.ByError, Class: "X", Message: strings.Repeat("m", job.MessageMax),
				Stderr: make([]byte, job.EvidenceMax)}}
	}
	sound := good()
	if err := sound.Validate(); err != nil {
		t.Fatalf("Validate of an outcome at its limits: got error %v, want none", err)
	}
	for name, breaks := range map[string]func(*job.Outcome){
		"an illegal transition":       func(o *job.Outcome) { o.To, o.Reason = job.Completed, "" },
		"an outcome with cause crash": func(o *job.Outcome) { o.Cause = job.Crashed },
		"no run":                      func(o *job.Outcome) { o.Token = 0 },
		"no failure record":           func(o *job.Outcome) { o.Failure = nil },
		"no reason":                   func(o *job.Outcome) { o.Reason = "" },
		"a reason to retry":           func(o *job.Outcome) { o.To = job.Retrying },
		"a negative delay":            func(o *job.Outcome) { o.To, o.Reason, o.Delay = job.Retrying, "", -1 },
		"a priority above the last":   func(o *job.Outcome) { o.Priority = job.PriorityMax + 1 },
		"a long queue":                func(o *job.Outcome) { o.Queue = strings.Repeat("q", job.NameMax+1) },
		"a long result":               func(o *job.Outcome) { o.Result = make([]byte, job.ResultMax+1) },
		"a long message":              func(o *job.Outcome) { o.Failure.Message += "m" },
		"long evidence":               func(o *job.Outcome) { o.Failure.Stderr = make([]byte, job.EvidenceMax+1) },
		"a failure by crash":          func(o *job.Outcome) { o.Failure.How = job.ByCrash },
	} {
		o := good()
		breaks(&o)
		if err := o.Validate(); err == nil {
			t.Errorf("Validate of an outcome with %s: got no error, want an error", name)
		}
	}
}
