package words_test

import (
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// The largest number of attempts is never smaller than the number of attempts so far. It
// increases after a failure of another class, if this class has a separate budget.
//
// part of: U1, R4
func TestMaxAttempts(t *testing.T) {
	t.Parallel()
	p := policy.Default() // the default policy allows 3 retries for NetworkTimeout and 5 for RateLimitExceeded
	var failures []job.Failure
	in := policy.Input{How: job.ByError, U: 0.5}
	for i, tt := range []struct {
		class failure.Class
		want  int
	}{
		{failure.NetworkTimeout, 4}, {failure.NetworkTimeout, 4}, {failure.RateLimitExceeded, 8}, {failure.NetworkTimeout, 5},
		{failure.NetworkTimeout, 5}, // the fourth failure of this class makes the job dead
	} {
		in.Class = classify.Classification{Class: tt.class, Rank: classify.RankMark}
		d := p.Decide(&in)
		in.Attempts, in.Memo = in.Attempts+1, d.Memo
		failures = append(failures, job.Failure{Life: 1, Decision: d.Record()})
		j := &job.Job{Life: 1, Counters: job.Counters{Attempts: int32(in.Attempts)}}
		if got := words.MaxAttempts(j, failures, 0); got != tt.want {
			t.Errorf("after failure %d of class %s: the largest number of attempts is %d, want %d", i+1, tt.class, got, tt.want)
		}
	}
	failures = append(failures, job.Failure{Life: 1, How: job.ByCrash}) // a failure by a crash has no stored decision
	if got := words.MaxAttempts(&job.Job{Life: 1}, failures, 0); got != 5 {
		t.Errorf("after a crash: the largest number of attempts is %d, want 5 as before the crash", got)
	}
	for _, scheduled := range []int{0, 3} {
		if got := words.MaxAttempts(&job.Job{Life: 2}, failures, scheduled); got != scheduled {
			t.Errorf("in the next life: the largest number of attempts is %d, want %d as in the schedule", got, scheduled)
		}
	}
	if got := words.MaxAttempts(&job.Job{Life: 2, Counters: job.Counters{Attempts: 7}}, nil, 3); got != 7 {
		t.Errorf("after 7 attempts: the largest number of attempts is %d, want 7", got)
	}
}
