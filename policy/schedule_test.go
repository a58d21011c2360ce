package policy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

// part of: R1
func TestR1_AScheduleOfAFormula(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schedule policy.Schedule
		u        float64
		want     []time.Duration
	}{
		"the factor is 2, the retries are 3": {policy.Schedule{First: time.Second}, 0.5, seconds(1, 2, 4)},
		"a factor and a cap":                 {policy.Schedule{First: time.Second, Factor: 3, Cap: 5 * time.Second, MaxRetries: 4}, 0.5, seconds(1, 3, 5, 5)},
		"the shortest waits":                 {policy.Schedule{First: 10 * time.Second, Jitter: 0.2}, 0, seconds(8, 16, 32)},
		"the jitter of a list":               {policy.Schedule{Waits: seconds(10, 20), Jitter: 0.5}, 0, seconds(5, 10)},
		"the default wait with jitter":       {policy.Schedule{Jitter: 0.5, MaxRetries: 1}, 0, seconds(15)},
		"the longest wait of the policy":     {policy.Schedule{First: 20 * time.Hour, MaxRetries: 2}, 0.5, []time.Duration{20 * time.Hour, 24 * time.Hour}},
	} {
		in := *failed(failure.NetworkTimeout)
		in.U = tt.u
		if err := tt.schedule.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := waits(life(scheduled(t, &tt.schedule), in, repeat(failure.NetworkTimeout, len(tt.want)+1)...))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: wrong waits (-want +got):\n%s", name, diff)
		}
	}
}

func TestSchedule_MistakesOfAFormula(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*policy.Schedule{
		"a list of waits or a formula, not both": {Waits: seconds(1), First: time.Second},
		"no First: set the wait":                 {Factor: 2},
		"has Factor or Cap but no First":         {Cap: time.Hour},
		"first: -1s: must not be negative":       {First: -time.Second},
		"factor: 0.5: must be 1 to 1000":         {First: time.Second, Factor: 0.5},
		"factor: NaN: must be 1 to 1000":         {First: time.Second, Factor: math.NaN()},
		"first: 2m is above the cap 1m":          {First: 2 * time.Minute, Cap: time.Minute},
		"jitter 20 of the schedule":              {First: time.Second, Jitter: 20},
		"jitter NaN of the schedule":             {Jitter: math.NaN()},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schedule %+v: got the error %v, want one that says %q", s, err, want)
		}
	}
	for want, s := range map[string]*policy.Schedule{
		"First of the schedule is 30h": {First: 30 * time.Hour},
		"Cap of the schedule is 2d":    {First: time.Hour, Cap: 48 * time.Hour},
	} {
		if _, err := policy.Default().WithSchedule("render", s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schedule %+v: got the error %v, want one that says %q", s, err, want)
		}
	}
}

// With RetryUnmarked, a failure ends a job at once only if the handler, the policy or an exit code
// says so.
func TestSchedule_RetryUnmarked(t *testing.T) {
	t.Parallel()
	s := &policy.Schedule{First: time.Second, MaxRetries: 24, RetryUnmarked: true, PermanentExitCodes: []int{65}}
	p := scheduled(t, s)
	words := func(class failure.Class) *policy.Input {
		in := failed("")
		in.Class = classify.Classification{Class: class, Rule: "words", Rank: classify.RankPattern}
		return in
	}
	for _, info := range failure.Classes() {
		if info.Class == failure.Cancelled {
			continue
		}
		in := words(info.Class)
		if d := p.Decide(in); d.Action != policy.Retry || d.Wait != time.Second || d.Of != 24 {
			t.Errorf("%s by words: got %s by %s after %s of %d retries, want a retry after 1s of 24", info.Class, d.Action, d.Rule, d.Wait, d.Of)
		}
		strict := scheduled(t, &policy.Schedule{First: time.Second, MaxRetries: 24})
		if d := strict.Decide(in); (d.Action == policy.Die) != !info.Verdict.Retriable() {
			t.Errorf("%s by words, without RetryUnmarked: got %s, want the verdict of the class", info.Class, d.Action)
		}
	}
	marked := failed(failure.NotFound)
	marked.Class = classify.Classification{Class: failure.NotFound, Rule: "mark.class", Rank: classify.RankMark}
	permanent := words(failure.NetworkTimeout)
	permanent.Evidence.Permanent = true
	code := words(failure.NotFound)
	code.Class.Rule, code.Evidence.Code = "policy.codes.GONE", "GONE"
	exit := words(failure.NetworkTimeout)
	exit.Evidence.Exit = new(65)
	for name, in := range map[string]*policy.Input{
		"a class that the handler names": marked, "a permanent error": permanent, "a code of the policy": code, "an exit code": exit,
	} {
		if d := p.Decide(in); d.Action != policy.Die {
			t.Errorf("%s: got %s by %s, want the job dead", name, d.Action, d.Rule)
		}
	}
	own := compile(t, policy.Spec{Name: "own", Classes: map[failure.Class]policy.ClassSpec{
		failure.NotFound: {Settings: policy.Settings{Verdict: failure.VerdictPermanent}},
	}})
	own, err := own.WithSchedule("", s)
	if err != nil {
		t.Fatal(err)
	}
	if d := own.Decide(words(failure.NotFound)); d.Action != policy.Die {
		t.Errorf("a verdict of the policy: got %s by %s, want the job dead", d.Action, d.Rule)
	}
	if d := own.Decide(words(failure.InvalidInput)); d.Action != policy.Retry {
		t.Errorf("the schedule of all kinds: got %s by %s, want a retry", d.Action, d.Rule)
	}
}

// A schedule that only sets RetryUnmarked leaves retries and waits to the policy.
func TestSchedule_RetryUnmarkedAloneLeavesTheWaits(t *testing.T) {
	t.Parallel()
	in := failed("")
	in.Class = classify.Classification{Class: failure.NotFound, Rule: "words", Rank: classify.RankPattern}
	d := scheduled(t, &policy.Schedule{RetryUnmarked: true}).Decide(in)
	if d.Action != policy.Retry || d.Wait != time.Minute || d.Of != 3 {
		t.Errorf("got %s after %s of %d retries, want the first wait of the default policy, 1m of 3", d.Action, d.Wait, d.Of)
	}
}
