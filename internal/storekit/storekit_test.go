package storekit_test

import (
	"errors"
	"testing"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// part of: Q4
func TestQ4_SettledKnowsARepeatFromALostLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state          job.State
		current, asked job.Token
		crashed        bool
		to             job.State
		lost           bool
	}{
		"written before":            {job.Completed, 3, 3, false, job.Completed, false},
		"written before, retrying":  {job.Retrying, 3, 3, false, job.Retrying, false},
		"cancelled by the request":  {job.Cancelled, 3, 3, false, job.Retrying, false},
		"completed, then failed":    {job.Completed, 3, 3, false, job.Retrying, true},
		"rescued":                   {job.Waiting, 3, 3, true, job.Completed, true},
		"rescued and dead":          {job.Dead, 3, 3, true, job.Completed, true},
		"claimed again":             {job.Running, 4, 3, false, job.Completed, true},
		"claimed again and ended":   {job.Completed, 4, 3, false, job.Completed, true},
		"a job that is nowhere":     {job.None, 0, 3, false, job.Completed, true},
		"a run that never was":      {job.Waiting, 0, 0, false, job.Completed, true},
		"a token of the future":     {job.Waiting, 3, 4, false, job.Completed, true},
		"running under this token?": {job.Running, 3, 3, false, job.Completed, true},
	} {
		err := storekit.Settled(c.state, c.current, &job.Outcome{Token: c.asked, To: c.to}, c.crashed)
		if errors.Is(err, store.ErrLeaseLost) != c.lost {
			t.Errorf("%s: got the error %v, want an error that is store.ErrLeaseLost: %t", name, err, c.lost)
		}
	}
}
