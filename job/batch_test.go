package job_test

import (
	"slices"
	"testing"

	"github.com/redrive/redrive/job"
)

// proves: B1
func TestB1_TheTableOfTransitionsIsSound(t *testing.T) {
	seen := map[[2]uint8]bool{}
	for _, tr := range job.BatchTransitions {
		key := [2]uint8{uint8(tr.From), uint8(tr.Event)}
		if seen[key] {
			t.Errorf("%s by %s is listed twice, want once", tr.From, tr.Event)
		}
		seen[key] = true
		for _, to := range tr.To {
			moves := to != tr.From
			if moves && to == job.BatchExpired && (!tr.From.Ended() || tr.Event != job.BatchPasses) {
				t.Errorf("%s becomes EXPIRED by %s, want only READY, PARTIAL and FAILED at expires_at", tr.From, tr.Event)
			}
			if moves && tr.From == job.BatchExpired {
				t.Errorf("EXPIRED becomes %s by %s, want no way out of it", to, tr.Event)
			}
			if moves && to.Ended() && (tr.From != job.BatchProcessing || tr.Event != job.BatchEnd) {
				t.Errorf("%s becomes %s by %s, want ends of PROCESSING only", tr.From, to, tr.Event)
			}
		}
	}
	for _, s := range []job.BatchState{job.BatchPartial, job.BatchFailed} {
		if !slices.Equal(s.After(job.BatchRetry), []job.BatchState{job.BatchProcessing}) {
			t.Errorf("%s becomes %v by a retry, want PROCESSING", s, s.After(job.BatchRetry))
		}
	}
	for _, s := range job.BatchStates {
		if back, err := job.ParseBatchState(s.String()); back != s || err != nil {
			t.Errorf("ParseBatchState(%q) = %v, %v, want the state itself", s, back, err)
		}
	}
}

// proves: B1
func TestB1_OutcomeOfCounts(t *testing.T) {
	for _, c := range []struct {
		completed, dead, cancelled int64
		want                       job.BatchState
	}{
		{50, 0, 0, job.BatchReady}, {46, 4, 0, job.BatchPartial}, {49, 0, 1, job.BatchPartial},
		{0, 50, 0, job.BatchFailed}, {0, 0, 50, job.BatchFailed}, {0, 1, 1, job.BatchFailed},
	} {
		if got := job.BatchOutcomeOf(c.completed, c.dead, c.cancelled); got != c.want {
			t.Errorf("outcome of %d completed, %d dead and %d cancelled members is %s, want %s", c.completed, c.dead, c.cancelled, got, c.want)
		}
	}
}
