package sqlstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selExpiredLeases = ask("selExpiredLeases")
	selExpiredFirst  = ask("selExpiredFirst")
	selExpiredLast   = ask("selExpiredLast")
	selNextLease     = ask("selNextLease")
	setCrashed       = ask("setCrashed")
	selBegun         = ask("selBegun")
)

// rescueFirst ends expired runs. If another transaction has locked dead letters, rescueFirst
// skips the runs that need this lock, so that the other runs do not wait, and the second
// result is true.
func (t *Txn) rescueFirst(limit int) (out store.Rescue, rest bool, err error) {
	found, err := t.expired(selExpiredLeases, limit)
	if err != nil {
		return out, false, err
	}
	if slices.ContainsFunc(found, (*Run).crashTouchesDeadLetters) {
		free, err := t.tryLockDeadLetters()
		if err != nil {
			return out, false, err
		}
		if rest = !free; rest {
			if found, err = t.expired(selExpiredFirst, limit); err != nil {
				return out, false, err
			}
		}
	}
	out, err = t.rescue(found)
	return out, rest, err
}

// crashTouchesDeadLetters reports whether the rescue of the run needs the lock on dead
// letters. There are two such cases. If this is the last allowed crash, the job becomes dead.
// If a redrive released the job and a person has asked it to stop, the rescue changes the
// job's dead letter.
func (r *Run) crashTouchesDeadLetters() bool {
	return r.counters.Crashes+1 >= r.crashMax || r.asked && r.life > 1
}

// expired returns the running runs whose lease has expired.
func (t *Txn) expired(which *Query, limit int) (found []*Run, err error) {
	err = t.rows(which, func(r Row) error { found = append(found, t.scanRun(r)); return nil }, num(t.now), num(limit))
	return found, err
}

// rescue ends the running runs whose lease has expired.
func (t *Txn) rescue(found []*Run) (out store.Rescue, err error) {
	for _, s := range found {
		to, err := t.lose(s)
		if err != nil {
			return store.Rescue{}, err
		}
		crashpoint.Hit(crashpoint.InRescue)
		out.Jobs = append(out.Jobs, store.Rescued{Run: store.Run{ID: s.id, Token: s.token}, Kind: s.lane.kind,
			Queue: s.lane.queue, Holder: s.holder, Crashes: s.counters.Crashes, To: to})
	}
	out.NextExpiry, err = t.nextExpiry()
	return out, err
}

// nextExpiry returns the time until the earliest lease of a running job expires.
func (t *Txn) nextExpiry() (next time.Duration, err error) {
	next = store.Never
	err = t.rows(selNextLease, func(r Row) error {
		next = max(0, job.Micros(r.Int(0)).Sub(t.now))
		return nil
	})
	return next, err
}

// lose ends a run whose lease has expired. If its crash would be the last one of the life, the
// crash counts only when the run has begun.
func (t *Txn) lose(r *Run) (job.State, error) {
	if r.counters.Crashes+1 < r.crashMax {
		return t.crash(r)
	}
	begun := false
	if err := t.rows(selBegun, func(Row) error { begun = true; return nil }, num(r.id)); err != nil {
		return job.None, err
	}
	if begun {
		return t.crash(r)
	}
	t.cancelled = false
	own, ok, err := t.end(r, &job.Outcome{ID: r.id, Token: r.token, Cause: job.Interrupted, To: job.Waiting})
	switch {
	case err != nil:
		return job.None, err
	case own != nil:
		return job.None, own // This cannot happen: the job stays in its lane.
	case !ok:
		return job.None, fmt.Errorf("job %d, run %d: the row was read in this transaction, but the update did not find the row", r.id, r.token) // This cannot happen: the row was read in this transaction.
	}
	if t.cancelled {
		return job.Cancelled, nil
	}
	return job.Waiting, nil
}

func (t *Txn) crash(r *Run) (job.State, error) {
	r.counters.Count(job.Crashed)
	t.of(r.lane).Crashed++
	terms, err := t.termsOf(r)
	if err != nil {
		return job.None, err
	}
	crash := terms.Crash(&job.LostRun{
		ID: r.id, Kind: r.lane.kind, Holder: r.holder, Crashes: r.counters.Crashes, MaxCrashes: r.crashMax,
	})
	f := crash.Failure
	if _, err := t.exec(delProgress, num(r.id)); err != nil {
		return job.None, err
	}
	if crash.To == job.Dead {
		t.wake = true
		answer, err := t.answer(r, false, job.Dead, &f)
		if err != nil {
			return job.None, err
		}
		t.answered(r, answer)
		if _, err = t.makeDead(job.Running, r, job.Crashed, job.Stalled, &f, crash.Notified); err != nil {
			return job.None, err
		}
		return job.Dead, t.insertFailure(r, &f, r.counters.Attempts+1, 0, 0)
	}
	if err := t.insertFailure(r, &f, r.counters.Attempts+1, 0, 0); err != nil {
		return job.None, err
	}
	due := t.now.Add(crash.Delay)
	if _, err := t.exec(setCrashed, num(r.id), num(r.token), num(due)); err != nil {
		return job.None, err
	}
	t.move(r.lane, job.Running, r.lane, job.Waiting)
	e := r.event(job.Running, job.Waiting, job.Crashed)
	e.DueAt, e.Class = due, f.Class
	t.events.Add(e)
	if r.asked {
		t.wake = true
		return job.Cancelled, t.cancelReady(r, job.Waiting)
	}
	t.ready(r.lane, r.priority, due)
	return job.Waiting, nil
}
