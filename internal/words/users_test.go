package words_test

import (
	"testing"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// A job whose deadline passes between two attempts does not tell its user that it goes on.
//
// part of: F10
func TestUserText(t *testing.T) {
	t.Parallel()
	last := &job.Failure{UserMessage: "Another attempt is scheduled.", EndedAt: 5}
	for _, c := range []struct {
		name string
		j    job.Job
		last *job.Failure
		want string
	}{
		{"retrying", job.Job{State: job.Retrying}, last, last.UserMessage},
		{"dead of the failure", job.Job{State: job.Dead, Reason: job.MaxRetries, FinishedAt: 5}, last, last.UserMessage},
		{"the failure found the deadline over", job.Job{State: job.Dead, Reason: job.DeadlineOver, FinishedAt: 5}, last, last.UserMessage},
		{"expired between two attempts", job.Job{State: job.Dead, Reason: job.DeadlineOver, FinishedAt: 9}, last, words.ExpiredText},
		{"expired without an attempt", job.Job{State: job.Dead, Reason: job.DeadlineOver, FinishedAt: 9}, nil, words.ExpiredText},
		{"never failed", job.Job{State: job.Waiting}, nil, ""},
	} {
		if got := words.JobUserText(&c.j, c.last); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
