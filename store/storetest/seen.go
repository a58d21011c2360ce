package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func seenPromises() []promise {
	return []promise{
		{"Q9_ActsOnWhatWasSeen", actsOnWhatWasSeen},
		{"Q9_CancelOfAWaitingJobStopsNoRun", cancelOfAWaitingJobStopsNoRun},
		{"Q9_RetryOfASeenLifeHappensOnce", retryOfASeenLifeHappensOnce},
		{"Q9_NoChangeOfAPayloadIsLost", noChangeOfAPayloadIsLost},
		{"Q9_ActsOnTheRedriveThatWasSeen", actsOnTheRedriveThatWasSeen},
		{"Q9_ActsOnTheGroupThatWasSeen", actsOnTheGroupThatWasSeen},
		{"X3_SeenIsForOneJob", seenIsForOneJob},
		{"Q9_ManyJobsAreRetriedInTheLivesThatWereSeen", livesThatWereSeen},
		{"X2_AuditHasTheOwner", auditHasTheOwner},
	}
}

// having returns the person with what the person has seen.
func having(s store.Seen) store.By {
	by := person
	by.Seen = &s
	return by
}

// seen returns all of a job that a person can see.
func (r *rig) seen(id job.ID) store.Seen {
	j := r.get(id)
	s := store.Seen{State: &j.State, Life: &j.Life, Token: &j.Token, Death: new(int64(0)), Payload: j.Payload}
	letter, err := r.DeadLetter(ctx(), id)
	if !errors.Is(err, store.ErrNotFound) {
		r.ok(err)
		s.Death, s.Status = &letter.Death, &letter.Status
	}
	return s
}

// others returns what differs from what was seen, by the name of the field.
func others(s store.Seen) map[string]store.Seen {
	state, dead := job.Completed, job.Resolved
	all := map[string]store.Seen{
		"state": {State: &state}, "life": {Life: new(*s.Life + 1)}, "run": {Token: new(*s.Token + 1)}, "death": {Death: new(*s.Death + 1)},
	}
	if s.Status != nil {
		all["status"] = store.Seen{Status: &dead}
	}
	return all
}

// proves: Q9
func actsOnWhatWasSeen(r *rig) {
	acts := []struct {
		name string
		job  func() job.ID
		act  func(store.By, job.ID) error
	}{
		{"cancel", func() job.ID { return r.add() }, func(by store.By, id job.ID) error { return r.only(r.Cancel(ctx(), by, []job.ID{id})) }},
		{"alter", func() job.ID { return r.add() }, func(by store.By, id job.ID) error {
			return r.only(r.Alter(ctx(), by, []job.ID{id}, store.Change{Priority: 1, Payload: []byte("new")}))
		}},
		{"retry", func() job.ID { return r.dead() }, func(by store.By, id job.ID) error {
			a, err := r.Act(ctx(), by, store.Action{Do: store.ActRetry, IDs: []job.ID{id}})
			return r.only(a.Errors, err)
		}},
		{"resolve", func() job.ID { return r.dead() }, func(by store.By, id job.ID) error {
			a, err := r.Act(ctx(), by, store.Action{Do: store.ActResolve, IDs: []job.ID{id}})
			return r.only(a.Errors, err)
		}},
	}
	for _, a := range acts {
		id := a.job()
		seen := r.seen(id)
		for name, other := range others(seen) {
			r.unchanged(func() {
				if err := a.act(having(other), id); !errors.Is(err, store.ErrMoved) || !errors.Is(err, store.ErrConflict) {
					r.fail("%s, another %s was seen: %v, want an ErrMoved, which is an ErrConflict", a.name, name, err)
				}
			})
		}
		r.is(a.act(having(seen), 1<<40), store.ErrNotFound)
		r.ok(a.act(having(seen), id))
		if a.name == "alter" {
			r.ok(a.act(having(seen), id)) // a repeat after a lost answer
		}
	}
	id := r.add()
	r.unchanged(func() {
		by := having(store.Seen{Payload: []byte("another")})
		r.is(r.only(r.Alter(ctx(), by, []job.ID{id}, store.Change{Payload: []byte("new")})), store.ErrMoved)
	})
}

// A job that a person has seen waiting may begin to run at the same moment. Then the cancel must
// not stop the run.
//
// proves: Q9
func cancelOfAWaitingJobStopsNoRun(r *rig) {
	const jobs = 40
	ids := make([]job.ID, jobs)
	for i := range ids {
		ids[i] = r.add()
	}
	seen := having(store.Seen{State: new(job.Waiting)})
	answers := make([]error, jobs)
	claims := make([][]job.Claim, 4)
	failed := make([]error, jobs+len(claims))
	race(jobs+len(claims), func(i int) {
		if i < jobs {
			var own []error
			own, failed[i] = r.Cancel(ctx(), seen, ids[i:i+1])
			answers[i] = errors.Join(own...)
			return
		}
		var x store.Exchanged
		x, failed[i] = r.Exchange(ctx(), store.Exchange{Holder: holder, Lease: lease, Want: []store.Want{want(jobs / len(claims))}})
		claims[i-jobs] = x.Claims
	})
	r.ok(errors.Join(failed...))
	runs := 0
	for i, err := range answers {
		j := r.get(ids[i])
		switch {
		case err == nil && j.State == job.Cancelled && j.Token == 0:
		case errors.Is(err, store.ErrMoved) && j.State == job.Running && j.CancelAt == 0:
			runs++
		default:
			r.fail("answer %v: the job is %s after %d runs, asked to stop at %d", err, j.State, j.Token, j.CancelAt)
		}
	}
	claimed := 0
	for _, c := range claims {
		claimed += len(c)
	}
	same(r, "jobs that run", runs, claimed)
}

// proves: Q9
func retryOfASeenLifeHappensOnce(r *rig) {
	const callers = 8
	id := r.dead()
	seen := r.seen(id)
	errs := make([]error, callers)
	race(callers, func(i int) {
		// The caller that retries the job lets it die again. The others have not seen the second life.
		acted, err := r.Act(ctx(), having(seen), store.Action{Do: store.ActRetry, IDs: []job.ID{id}})
		if errs[i] = errors.Join(append(acted.Errors, err)...); errs[i] != nil {
			return
		}
		x, err := r.Exchange(ctx(), store.Exchange{Holder: holder, Lease: lease, Want: []store.Want{want(1)}})
		if err == nil && len(x.Claims) == 1 {
			_, err = r.Exchange(ctx(), store.Exchange{Holder: holder, Lease: lease, Settle: []job.Outcome{died(x.Claims[0], "InvalidInput", job.NonRetriable)}})
		}
		errs[i] = err
	})
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else {
			r.is(err, store.ErrConflict)
		}
	}
	j := r.get(id)
	same(r, "retries, life and state", []any{done, j.Life, j.State}, []any{1, int32(2), job.Dead})
}

// Several people read a payload, and each writes what was made from it. No change may be lost.
//
// proves: Q9
func noChangeOfAPayloadIsLost(r *rig) {
	const callers, rounds = 6, 10
	id := r.add(func(n *job.New) { n.Payload, n.RunAt = []byte("0"), r.in(time.Hour) })
	for round := range rounds {
		seen := r.get(id).Payload
		errs := make([]error, callers)
		race(callers, func(i int) {
			next := store.Change{Payload: []byte(strconv.Itoa(1 + round*callers + i))}
			answers, err := r.Alter(ctx(), having(store.Seen{Payload: seen}), []job.ID{id}, next)
			errs[i] = errors.Join(append(answers, err)...)
		})
		changed := 0
		for i, err := range errs {
			if err == nil {
				changed++
				same(r, "payload", string(r.get(id).Payload), strconv.Itoa(1+round*callers+i))
				continue
			}
			r.is(err, store.ErrMoved)
		}
		same(r, "number of callers that changed the payload", changed, 1)
	}
}

// Several people have seen a redrive that runs. One of them pauses it; those who want to cancel the
// running one do nothing after it, and the other way round.
//
// proves: Q9
func actsOnTheRedriveThatWasSeen(r *rig) {
	r.dead()
	for round := range 6 {
		id := r.startRedrive().ID
		seen := having(store.Seen{Redrive: new(r.redrive(id).State)})
		const callers = 6
		errs := make([]error, callers)
		race(callers, func(i int) {
			do := []store.RedriveOp{store.RedrivePause, store.RedriveCancel}[(i+round)%2]
			_, errs[i] = r.ControlRedrive(ctx(), seen, id, do)
		})
		now := r.redrive(id)
		for i, err := range errs {
			want := []store.RedriveState{store.RedrivePaused, store.RedriveCancelled}[(i+round)%2]
			if want == now.State {
				r.ok(err) // it did it, or there was nothing to change any more
				continue
			}
			r.is(err, store.ErrMoved)
		}
		if now.State == store.RedrivePaused {
			r.unchanged(func() {
				_, err := r.ControlRedrive(ctx(), seen, id, store.RedriveCancel)
				r.is(err, store.ErrMoved)
			})
			_, err := r.ControlRedrive(ctx(), having(store.Seen{Redrive: &now.State}), id, store.RedriveCancel)
			r.ok(err)
		}
	}
}

// Several people have seen that nobody works on a cause, and each takes it. One of them gets it.
//
// proves: Q9
func actsOnTheGroupThatWasSeen(r *rig) {
	r.dead()
	const callers = 6
	for round := range 4 {
		g := r.groups(store.GroupFilter{})[0]
		seen := having(store.Seen{Group: new(g.State()), Assignee: &g.Assignee})
		errs := make([]error, callers)
		race(callers, func(i int) {
			_, errs[i] = r.SetGroup(ctx(), seen, store.GroupChange{Group: g.Fingerprint, Assignee: new(fmt.Sprint("person ", i, " of round ", round))})
		})
		took := 0
		for _, err := range errs {
			if err == nil {
				took++
				continue
			}
			r.is(err, store.ErrMoved)
		}
		same(r, "people who took the cause", took, 1)
	}
	g := r.groups(store.GroupFilter{})[0]
	stale := having(store.Seen{Group: new(store.GroupResolved)})
	ignore := store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: g.Fingerprint}, Through: 1 << 40}
	r.unchanged(func() {
		_, err := r.SetGroup(ctx(), stale, store.GroupChange{Group: g.Fingerprint, Resolved: new(true)})
		r.is(err, store.ErrMoved)
		_, err = r.Act(ctx(), stale, ignore)
		r.is(err, store.ErrMoved)
	})
	acted, err := r.Act(ctx(), having(store.Seen{Group: new(g.State())}), ignore)
	r.ok(err)
	same(r, "dead letters that were ignored", acted.Done, int64(1))
}

// proves: X3
func seenIsForOneJob(r *rig) {
	a, b, by := r.add(), r.add(), having(store.Seen{Life: new(int32(1))})
	r.unchanged(func() {
		_, err := r.Cancel(ctx(), by, []job.ID{a, b})
		r.is(err, store.ErrInvalid)
		_, err = r.Alter(ctx(), by, []job.ID{a, b}, store.Change{Priority: 1})
		r.is(err, store.ErrInvalid)
		_, err = r.Act(ctx(), by, store.Action{Do: store.ActResolve, IDs: []job.ID{a, b}})
		r.is(err, store.ErrInvalid)
		_, err = r.Act(ctx(), by, store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{}, Through: 1})
		r.is(err, store.ErrInvalid)
		_, err = r.SetQueue(ctx(), by, store.QueueChange{Name: queue})
		r.is(err, store.ErrInvalid)
	})
}

// Of several dead jobs, one was retried and died again after they were seen. Its new death is not
// retried.
//
// proves: Q9
func livesThatWereSeen(r *rig) {
	a, b := r.dead(), r.dead()
	act := store.Action{Do: store.ActRetry, IDs: []job.ID{a, b}, Lives: []int32{1, 1}}
	r.ok(r.retry(b))
	r.end(died(r.takeID(b), "A", job.NonRetriable))
	preview, err := r.Preview(ctx(), act)
	r.ok(err)
	acted, err := r.Act(ctx(), person, act)
	r.ok(err)
	for _, answer := range []store.Acted{preview, acted} {
		same(r, "retried jobs", answer.Done, int64(1))
		r.ok(answer.Errors[0])
		r.is(answer.Errors[1], store.ErrMoved)
	}
	r.state(a, job.Waiting)
	r.state(b, job.Dead)
	act.Lives = []int32{1}
	_, err = r.Act(ctx(), person, act)
	r.is(err, store.ErrInvalid)
}

// proves: X2
func auditHasTheOwner(r *rig) {
	id, by := r.add(), person
	by.Owner = "alice"
	r.ok(r.only(r.Cancel(ctx(), by, []job.ID{id})))
	rows := r.audit()
	last := rows[len(rows)-1]
	same(r, "action, actor and owner", []string{last.Action, last.Actor, last.Owner}, []string{"job.cancel", person.Actor, "alice"})
	page, err := r.AuditPage(ctx(), store.AuditFilter{Target: id.String(), Actions: []string{"job.cancel"}})
	r.ok(err)
	same(r, "owner on the page", page.Entries[0].Owner, "alice")
}
