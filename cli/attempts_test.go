package cli

import (
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// The limit beside the number of attempts is never below it, and grows when
// another class has a budget of its own.
// part of: U1, R4
func TestAttemptsMax(t *testing.T) {
	t.Parallel()
	p := policy.Default() // NetworkTimeout 3 retries, RateLimitExceeded 5
	var failures []job.Failure
	in := policy.Input{How: policy.ByError, U: 0.5}
	for i, tt := range []struct {
		class failure.Class
		want  int
	}{
		{failure.NetworkTimeout, 4}, {failure.NetworkTimeout, 4}, {failure.RateLimitExceeded, 8}, {failure.NetworkTimeout, 5},
		{failure.NetworkTimeout, 5}, // the fourth of its class: dead
	} {
		in.Class = policy.Classification{Class: tt.class, Rank: policy.RankMark}
		d := p.Decide(&in)
		in.Attempts, in.Memo = in.Attempts+1, d.Memo
		failures = append(failures, job.Failure{Life: 1, Decision: d.Record()})
		j := &job.Job{Life: 1, Counters: job.Counters{Attempts: int32(in.Attempts)}}
		if got := attemptsMax(j, failures, &config.Config{}); got != tt.want {
			t.Errorf("after failure %d, %s: %d attempts at most, want %d", i+1, tt.class, got, tt.want)
		}
	}
	failures = append(failures, job.Failure{Life: 1, How: job.ByCrash}) // no decision of its own
	if got := attemptsMax(&job.Job{Life: 1}, failures, &config.Config{}); got != 5 {
		t.Errorf("after a crash %d, want as before", got)
	}
	c := &config.Config{Kinds: map[string]config.Kind{"own": {Retry: &config.Retry{MaxRetries: 2, Waits: []time.Duration{0}}}, "free": {}}}
	for kind, want := range map[string]int{"own": 3, "free": 0, "unknown": 0} {
		if got := attemptsMax(&job.Job{Kind: kind, Life: 2}, failures, c); got != want {
			t.Errorf("kind %s in the next life: %d, want %d", kind, got, want)
		}
	}
	if got := attemptsMax(&job.Job{Kind: "own", Life: 2, Counters: job.Counters{Attempts: 7}}, nil, c); got != 7 {
		t.Errorf("seven attempts of %d", got)
	}
}
