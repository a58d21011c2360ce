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
		lost           bool
	}{
		"written before":            {job.Completed, 3, 3, false, false},
		"written before, retrying":  {job.Retrying, 3, 3, false, false},
		"rescued":                   {job.Waiting, 3, 3, true, true},
		"rescued and dead":          {job.Dead, 3, 3, true, true},
		"claimed again":             {job.Running, 4, 3, false, true},
		"claimed again and ended":   {job.Completed, 4, 3, false, true},
		"a job that is nowhere":     {job.None, 0, 3, false, true},
		"a run that never was":      {job.Waiting, 0, 0, false, true},
		"a token of the future":     {job.Waiting, 3, 4, false, true},
		"running under this token?": {job.Running, 3, 3, false, true},
	} {
		err := storekit.Settled(c.state, c.current, c.asked, c.crashed)
		if errors.Is(err, store.ErrLeaseLost) != c.lost {
			t.Errorf("%s: got the error %v, want store.ErrLeaseLost: %v", name, err, c.lost)
		}
	}
}
