//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/place"
)

// operate does the actions of people during a cycle: it retries dead jobs and cancels a few others,
// each time with a new connection. Refusals and errors of the store are allowed here: the events
// must agree with the audit, whatever the answer was.
func (r *round) operate(c int, over <-chan struct{}) {
	random := r.random(r.n, c, 4)
	for {
		timer := time.NewTimer(time.Duration(200+random.IntN(400)) * time.Millisecond)
		select {
		case <-over:
			timer.Stop()
			return
		case <-timer.C:
		}
		r.withStore(func(ctx context.Context, s *place.Place) {
			dead, live := r.some(ctx, s, 3, job.Dead), r.some(ctx, s, 2, job.Waiting, job.Running)
			by := r.operator()
			answer, err := s.Act(ctx, by, store.Action{Do: store.ActRetry, IDs: dead})
			r.acted(by, "job.retry", dead, answer.Errors, err)
			if err == nil {
				r.faulted("manual retry")
			}
			by = r.operator()
			refusals, err := s.Cancel(ctx, by, live)
			r.acted(by, "job.cancel", live, refusals, err)
			if err == nil {
				r.faulted("cancellation")
			}
			r.triage(ctx, s, random.IntN(triages))
			r.operateBatch(ctx, s, random.IntN(batchActions))
			r.writeLate(ctx, s)
			r.sweep(ctx, s)
		})
	}
}

// operator returns the person who does the actions, with a reason that no other call has.
func (r *round) operator() store.By {
	return store.By{Actor: "operator", Reason: fmt.Sprintf("torture %d", r.reasons.Add(1))}
}

// acted records the answer to an action on some jobs.
func (r *round) acted(by store.By, action string, ids []job.ID, refusals []error, err error) {
	for i, id := range ids {
		own := err
		if err == nil {
			own = refusals[i]
		}
		r.record(check.Act{Reason: by.Reason, Action: action, Target: id.String(), Answer: answerOf(own)})
	}
}

func (r *round) record(a check.Act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, a)
}

// answerOf returns what the caller knows after a call with this error.
func answerOf(err error) check.Answer {
	switch {
	case err == nil:
		return check.Written
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrFull),
		errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown):
		return check.Refused
	}
	return check.Unknown
}

// sweep removes what is older than the retention, in rounds that have one.
func (r *round) sweep(ctx context.Context, s *place.Place) {
	if !r.retains() {
		return
	}
	if swept, err := s.Sweep(ctx, retention, store.SweepMax); err == nil && swept.Completed+swept.Dead > 0 {
		r.faulted("sweep after 3 s")
	}
}

// triages is the number of different actions of triage.
const triages = 7

// triage does one of the actions on dead letters.
func (r *round) triage(ctx context.Context, s *place.Place, which int) {
	by := r.operator()
	switch which {
	case 0:
		r.act(ctx, s, by, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}, Limit: 5})
	case 1:
		r.act(ctx, s, by, store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{}, Limit: 2})
	case 2:
		r.act(ctx, s, by, store.Action{Do: store.ActReopen, Filter: &store.DeadFilter{}, Limit: 1})
	case 3:
		r.act(ctx, s, by, store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{}, Limit: 1})
	case 4:
		r.purge(ctx, s, by)
	case 5:
		r.redrive(ctx, s, by)
	case 6:
		r.steer(ctx, s, by)
	}
}

// act does one step of an action on the oldest dead letters that it applies to.
func (r *round) act(ctx context.Context, s *place.Place, by store.By, a store.Action) {
	frozen, err := s.Preview(ctx, store.Action{Do: a.Do, Filter: a.Filter})
	if err != nil || frozen.Done == 0 {
		return
	}
	a.Through = frozen.Through
	answer, err := s.Act(ctx, by, a)
	r.record(check.Act{Reason: by.Reason, Action: "dead_letter." + a.Do.String(), Done: answer.Done, Answer: answerOf(err)})
	if err == nil && answer.Done > 0 {
		r.faulted("bulk " + a.Do.String())
	}
}

// purge removes one job whose dead letter is closed, and records its correlation id.
func (r *round) purge(ctx context.Context, s *place.Place, by store.By) {
	page, err := s.DeadLetters(ctx, store.DeadFilter{Statuses: store.ActPurge.Statuses()}, store.DeadPaging{Limit: 1, Jobs: true})
	if err != nil || len(page.Entries) == 0 {
		return
	}
	id := page.Entries[0].DeadLetter.Job
	j, err := s.Get(ctx, id)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.purged[id] = j.Correlation
	r.mu.Unlock()
	answer, err := s.Act(ctx, by, store.Action{Do: store.ActPurge, IDs: []job.ID{id}})
	r.acted(by, "dead_letter.purge", []job.ID{id}, answer.Errors, err)
	if err == nil && answer.Errors[0] == nil {
		r.faulted("purge")
	}
}

// redrive starts a redrive of all pending dead letters; the workers continue it.
func (r *round) redrive(ctx context.Context, s *place.Place, by store.By) {
	filter := store.DeadFilter{Statuses: store.ActRetry.Statuses()}
	frozen, err := s.Preview(ctx, store.Action{Do: store.ActRetry, Filter: &filter})
	if err != nil || frozen.Done == 0 {
		return
	}
	started, err := s.StartRedrive(ctx, by, store.RedriveSpec{Filter: filter, Through: frozen.Through, Total: frozen.Done, Canary: 2}.WithoutStop())
	if err == nil {
		r.record(check.Act{Reason: by.Reason, Action: "redrive.start", Target: fmt.Sprint(started.ID), Answer: check.Written})
		r.faulted("redrive")
	}
}

// steer pauses an active redrive and resumes it.
func (r *round) steer(ctx context.Context, s *place.Place, by store.By) {
	list, err := s.RedriveList(ctx)
	if err != nil {
		return
	}
	for i := range list {
		if list[i].State.Active() {
			if _, err := s.ControlRedrive(ctx, by, list[i].ID, store.RedrivePause); err == nil {
				r.faulted("pause of a redrive")
			}
			_, _ = s.ControlRedrive(ctx, by, list[i].ID, store.RedriveResume) // so that the redrive does not stay paused
			return
		}
	}
}

// writeLate reports success for the second last run of live jobs. The store must refuse the report,
// because the lease of that run has ended.
func (r *round) writeLate(ctx context.Context, s *place.Place) {
	page, err := s.List(ctx, store.Filter{States: []job.State{job.Waiting, job.Retrying, job.Running}, Limit: 100})
	if err != nil {
		return
	}
	var late []job.Outcome
	for i := range page.Jobs {
		if j := &page.Jobs[i]; j.Token >= 2 {
			late = append(late, job.Outcome{ID: j.ID, Token: j.Token - 1, Cause: job.Succeeded, To: job.Completed})
		}
	}
	out, err := s.Exchange(ctx, store.Exchange{Holder: "ghost", Lease: r.program.lease(), Settle: late})
	if err != nil {
		return
	}
	for i, o := range late {
		switch err := out.Settled[i]; {
		case errors.Is(err, store.ErrUnavailable): // another client has locked the job
		case !errors.Is(err, store.ErrLeaseLost):
			r.Errorf("round %d: job %d: the late outcome of run %d got the error %v, want ErrLeaseLost", r.n, o.ID, o.Token, err)
		default:
			r.faulted("late write")
		}
	}
}

// some returns the newest jobs that are in one of the given states and were never retried by a
// person. Live members of batches are left out: a member that was cancelled would come back as another job
// when the next client adds it again.
func (r *round) some(ctx context.Context, s *place.Place, n int, states ...job.State) (ids []job.ID) {
	page, err := s.List(ctx, store.Filter{States: states, Limit: 50})
	if err != nil {
		return nil
	}
	for i := range page.Jobs {
		if j := &page.Jobs[i]; j.Life == 1 && len(ids) < n && (j.Batch == 0 || j.State == job.Dead) {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// withStore opens the database, calls the function with it, and closes the database. If it cannot
// open the database, it does nothing.
func (r *round) withStore(do func(ctx context.Context, s *place.Place)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := place.Open(ctx, r.database)
	if err != nil {
		return
	}
	do(ctx, s)
	_ = s.Close() // no error check: the store may return errors during the faults
}
