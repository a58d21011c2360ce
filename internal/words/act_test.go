package words_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

func TestCounted_InWords(t *testing.T) {
	t.Parallel()
	byFilter := words.Counted{Action: store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{Class: "X"}}, N: 1234}
	byID := words.Counted{Action: store.Action{Do: store.ActResolve}, N: 1}
	nothing := words.Counted{Action: store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}}}
	ignored := words.Counted{Action: store.Action{Do: store.ActIgnore}, Groups: []store.Group{{Fingerprint: "1:a5b5d385aa"}}}
	reopened := words.Counted{Action: store.Action{Do: store.ActReopen}, Groups: ignored.Groups}
	set := words.Counted{Action: store.Action{Do: store.ActIgnore}, Groups: []store.Group{{Fingerprint: "1:a5b5d385aa"}, {Fingerprint: "1:b5b5d385aa"}}}
	reopenedSet := words.Counted{Action: store.Action{Do: store.ActReopen}, Groups: set.Groups}
	for _, tt := range []struct{ got, want string }{
		{byFilter.Question(), "retry 1,234 dead letters (status pending, class X)"},
		{byFilter.Plan(), "1,234 dead letters would be retried"},
		{byFilter.Progress(50), "50 of 1,234 dead letters were retried, the rest is unchanged"},
		{byFilter.Result(1234), "1,234 dead letters retried"},
		{byID.Question(), "resolve 1 dead letter"},
		{byID.Result(1), "1 dead letter resolved"},
		{nothing.Result(0), "nothing to retry: no dead letter fits"},
		{ignored.Question(), "group a5b5d385 has no pending dead letters; ignore what dies in it from now on"},
		{ignored.Result(0), "group a5b5d385 is ignored, and so are the jobs that die in it from now on"},
		{reopened.Question(), "group a5b5d385 has no ignored dead letters; stop ignoring what dies in it"},
		{reopened.Result(0), "group a5b5d385 is no longer ignored"},
		{set.Question(), "groups a5b5d385, b5b5d385 have no pending dead letters; ignore what dies in them from now on"},
		{reopenedSet.Result(0), "groups a5b5d385, b5b5d385 are no longer ignored"},
	} {
		if tt.got != tt.want {
			t.Errorf("the text about the action is %q, want %q", tt.got, tt.want)
		}
	}
}

func TestQueueSettings_InWords(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]store.Queue{
		"open": {},
		"paused, 1 worker in each process, at most 7 running over all processes, at most 100/m started": {
			Mode: store.Paused, Workers: 1, Limit: 7, Rate: store.Rate{N: 100, Per: time.Minute},
		},
	} {
		if got := words.QueueSettings(q); got != want {
			t.Errorf("the text about the queue is %q, want %q", got, want)
		}
	}
	for want, r := range map[string]store.Rate{
		"": {}, "10/s": {N: 10, Per: time.Second}, "1/h": {N: 1, Per: time.Hour}, "5 per 2m": {N: 5, Per: 2 * time.Minute},
	} {
		if got := words.Rate(r); got != want {
			t.Errorf("rate %+v: got the text %q, want %q", r, got, want)
		}
	}
}

func TestStopped_InWords(t *testing.T) {
	t.Parallel()
	const handed, unsaved = "2 jobs were handed back, which used up no attempt",
		"3 jobs have ended and their outcomes could not be stored: they run again when their leases are over"
	for _, tt := range []struct {
		jobs, unsaved int
		want          string
	}{
		{2, 0, "stopped; " + handed},
		{0, 3, "stopped; " + unsaved},
		{1, 0, "stopped; 1 job was handed back, which used up no attempt"},
		{0, 1, "stopped; 1 job has ended and its outcome could not be stored: it runs again when its lease is over"},
		{2, 3, "stopped; " + handed + "; " + unsaved},
	} {
		if got := words.Stopped(tt.jobs, tt.unsaved); got != tt.want {
			t.Errorf("the text about the stopped worker is %q, want %q", got, tt.want)
		}
	}
}
