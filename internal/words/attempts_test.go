package words_test

import (
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// The limit beside the number of attempts is never below it, and grows when
// another class has a budget of its own.
// part of: U1, R4
func TestMaxAttempts(t *testing.T) {
	t.Parallel()
	p := policy.Default() // NetworkTimeout 3 retries, RateLimitExceeded 5
	var failures []job.Failure
	in := policy.Input{How: job.ByError, U: 0.5}
	for i, tt := range []struct {
		class failure.Class
		want  int
	}{
		{failure.NetworkTimeout, 4}, {failure.NetworkTimeout, 4}, {failure.RateLimitExceeded, 8}, {failure.NetworkTimeout, 5},
		{failure.NetworkTimeout, 5}, // the fourth of its class: dead
	} {
		in.Class = failure.Classification{Class: tt.class, Rank: failure.RankMark}
		d := p.Decide(&in)
		in.Attempts, in.Memo = in.Attempts+1, d.Memo
		failures = append(failures, job.Failure{Life: 1, Decision: d.Record()})
		j := &job.Job{Life: 1, Counters: job.Counters{Attempts: int32(in.Attempts)}}
		if got := words.MaxAttempts(j, failures, 0); got != tt.want {
			t.Errorf("after failure %d, %s: %d attempts at most, want %d", i+1, tt.class, got, tt.want)
		}
	}
	failures = append(failures, job.Failure{Life: 1, How: job.ByCrash}) // no decision of its own
	if got := words.MaxAttempts(&job.Job{Life: 1}, failures, 0); got != 5 {
		t.Errorf("after a crash %d, want as before", got)
	}
	for _, scheduled := range []int{0, 3} {
		if got := words.MaxAttempts(&job.Job{Life: 2}, failures, scheduled); got != scheduled {
			t.Errorf("in the next life: %d, want the %d of the schedule", got, scheduled)
		}
	}
	if got := words.MaxAttempts(&job.Job{Life: 2, Counters: job.Counters{Attempts: 7}}, nil, 3); got != 7 {
		t.Errorf("seven attempts of %d", got)
	}
}
