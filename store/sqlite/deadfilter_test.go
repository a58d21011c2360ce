package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// dieAs adds n jobs and makes them dead. For each job, it calls the given function with the
// number of the job; the function may change the new job, and returns the failure.
func (s *seeder) dieAs(n int, as func(i int, n *job.New) job.Failure) {
	s.t.Helper()
	failures := make(map[job.ID]job.Failure)
	s.add(n, func(i int, n *job.New) { failures[n.ID] = as(i, n) })
	for claims := s.poll(n).Claims; len(claims) > 0; claims = s.poll(n).Claims {
		x := store.Exchange{Holder: seedHolder, Lease: time.Minute}
		for _, c := range claims {
			f := failures[c.ID]
			x.Settle = append(x.Settle, job.Outcome{ID: c.ID, Token: c.Token, To: job.Dead, Cause: job.Failed, Reason: job.MaxRetries,
				Failure: &f})
		}
		s.exchange(&x)
	}
}

// spreadDead makes n dead letters. They differ in every field by which a filter can select.
func (s *seeder) spreadDead(n int) {
	s.dieAs(n, func(i int, n *job.New) job.Failure {
		n.Kind, n.Owner = seedKind(i%5), fmt.Sprintf("tenant-%d", i%7)
		class := fmt.Sprintf("Class%d", i%3)
		return job.Failure{How: job.ByError, Class: class, Fingerprint: fmt.Sprintf("%s %d", class, i%6),
			Message: fmt.Sprintf("Refused %d times", i%4)}
	})
}

// A retry that writes whole ranges of dead letters has the same result as single retries of the
// same jobs.
// part of: D7
func TestD7_RangesBringBackAsOne(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 4, store.StepMax} {
		s := openSeeded(t)
		s.spreadDead(60)
		by := store.By{Actor: "ann"}
		_, err := s.s.Act(t.Context(), by, store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Owner: "tenant-2"}, Through: 60})
		s.must(err)
		a := store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}, Through: 50, Limit: limit, Change: store.Change{Delay: new(time.Minute)}}
		done := int64(0)
		for {
			step, err := s.s.Act(t.Context(), by, a)
			s.must(err)
			done += step.Done
			if a.After = step.Next; a.After == 0 {
				break
			}
		}
		d, err := s.s.Dump(t.Context())
		s.must(err)
		live := int64(0)
		for _, j := range d.Jobs {
			if j.State != job.Waiting || j.Kind == "member" { // the member that keeps the batch of the seeder alive
				continue
			}
			live++
			if j.Life != 2 || j.RunAt != d.Now.Add(time.Minute) || j.LifeAt != d.Now || j.Payload == nil || j.Token != 1 || j.Counters.Attempts != 0 {
				t.Errorf("limit %d: got the retried job %+v, want a job in its second life with a payload and no attempts that is due in a minute", limit, j)
			}
		}
		taken := int64(0)
		for _, l := range d.Dead {
			revived := l.Owner != "tenant-2" && l.Death <= 50
			if revived {
				taken++
			}
			if l.Revived != revived || revived != (l.Status == job.Redriven) || revived && l.ActedBy != "ann" {
				t.Errorf("limit %d: got dead letter %+v, want status retried if and only if its job is live again", limit, l)
			}
		}
		if live != done || taken != done {
			t.Errorf("limit %d: the actions changed %d entries, and %d jobs are live; want %d changed entries and as many live jobs", limit, done, live, taken)
		}
		report, err := Diagnose(t.Context(), s.s.Path(), func() time.Time { return seedNow })
		s.must(err)
		if len(report.Problems) > 0 {
			t.Errorf("limit %d: redrive doctor found the problems %q, want none", limit, report.Problems)
		}
	}
}
