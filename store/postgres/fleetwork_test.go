package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// produce enqueues jobs, some under keys that others use, too, and asks again
// sometimes.
func (c *fleet) produce(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	n := 1 + r.IntN(6)
	first, err := s.ReserveIDs(ctx, n)
	if !c.must("reserve", err) {
		return
	}
	jobs := make([]job.New, n)
	notes := make([]check.Enqueue, n)
	for k := range jobs {
		j := &jobs[k]
		*j = job.New{ID: first + job.ID(k), Kind: pickOne(r, "a", "b"), Queue: pickOne(r, "open", "open", "other", "limited", "rated"),
			Priority: int8(1 + r.IntN(4)), Batch: int64(r.IntN(5)), Owner: pickOne(r, "", "al"), Payload: []byte("p"),
			Correlation: fmt.Sprintf("%d", first+job.ID(k))}
		j.Aside = j.Batch != 0 // the batches of this test are never published
		if r.IntN(3) == 0 {
			j.Key, j.Digest = fmt.Sprintf("k%d", r.IntN(fleetKeys)), []byte("d")
		}
		if r.IntN(12) == 0 {
			j.Payload = make([]byte, 2_000)
		}
		if r.IntN(20) == 0 {
			j.Deadline = job.At(c.clock()).Add(time.Duration(r.IntN(2_000)) * time.Millisecond)
		}
		notes[k] = check.Enqueue{Name: j.Correlation, ID: j.ID, Kind: j.Kind, Owner: j.Owner, Key: j.Key, Digest: check.Digest(j.Payload)}
		if j.Key != "" { // one key, one payload
			j.Payload = []byte("p")
			notes[k].Digest = check.Digest(j.Payload)
		}
	}
	receipts, err := s.Enqueue(ctx, jobs)
	if c.must("enqueue", err) {
		for k, receipt := range receipts {
			notes[k].Answer, notes[k].ID, notes[k].Existing = check.Written, receipt.ID, receipt.Existing
		}
	}
	if r.IntN(4) == 0 {
		for k := range jobs {
			jobs[k].Repeat = true
		}
		again, err := c.stores[r.IntN(len(c.stores))].Enqueue(ctx, jobs)
		if c.must("enqueue again", err) {
			for k := range again {
				if again[k].ID != receipts[k].ID {
					c.must("enqueue again", fmt.Errorf("job %d, and %d before", again[k].ID, receipts[k].ID))
				}
			}
		}
	}
	c.note(func(h *check.History) {
		h.Enqueues = append(h.Enqueues, notes...)
		for k := range receipts {
			if !receipts[k].Existing {
				c.ids = append(c.ids, receipts[k].ID)
			}
		}
	})
}

func pickOne[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// fleetWorker is one worker of a store.
type fleetWorker struct {
	c    *fleet
	s    *Store
	r    *rand.Rand
	name string
	held []job.Claim
	late []job.Claim // forgotten, and settled all the same, later
}

// step settles some of what is held, wants more, and extends the rest.
func (w *fleetWorker) step(ctx context.Context) {
	ending := w.held[:0:0]
	var rest []job.Claim
	for _, claim := range w.held {
		switch w.r.IntN(12) {
		case 0, 1, 2: // goes on
			rest = append(rest, claim)
		case 3: // forgotten, as by a process that is killed
			if claim.Counters.Crashes < 2 {
				w.late = append(w.late, claim)
				continue
			}
			ending = append(ending, claim)
		default:
			ending = append(ending, claim)
		}
	}
	w.held = rest
	if n := len(w.late); n > 0 && w.r.IntN(8) == 0 {
		ending, w.late = append(ending, w.late[0]), w.late[1:]
	}
	x := store.Exchange{Holder: w.name, Lease: fleetLease}
	for i := range ending {
		x.Settle = append(x.Settle, w.outcome(&ending[i]))
	}
	kinds := []store.KindWant{{Kind: "a", Max: 9, MaxCrashes: 4}, {Kind: "b", Max: 9, MaxCrashes: 4}}
	for _, q := range []store.Want{{Queue: "open", Max: 8}, {Queue: "other", Max: 4}, {Queue: "limited", Max: 2, Limit: fleetLimit},
		{Queue: "rated", Max: 4, Rate: fleetRate}} {
		if w.r.IntN(2) == 0 && len(w.held) < 20 {
			q.Kinds = kinds
			x.Want = append(x.Want, q)
		}
	}
	w.exchange(ctx, x)
	if len(w.held) > 0 && w.r.IntN(3) == 0 {
		w.beat(ctx)
	}
}

func (w *fleetWorker) exchange(ctx context.Context, x store.Exchange) {
	answer, err := w.s.Exchange(ctx, x)
	if !w.c.must("exchange", err) {
		return
	}
	w.held = append(w.held, answer.Claims...)
	w.c.note(func(h *check.History) {
		for i, err := range answer.Settled {
			o := &x.Settle[i]
			note := check.Write{Run: store.Run{ID: o.ID, Token: o.Token}, Cause: o.Cause, To: o.To, Answer: check.Written}
			if err != nil {
				note.Answer = check.Refused
			}
			h.Writes = append(h.Writes, note)
			if o.Failure == nil {
				continue
			}
			for k := len(h.Runs) - 1; k >= 0; k-- {
				if r := &h.Runs[k]; r.Job == o.ID && r.Token == o.Token {
					r.Error = o.Failure.Message
					break
				}
			}
		}
		for i := range answer.Claims {
			a := &answer.Claims[i]
			h.Runs = append(h.Runs, check.Run{Job: a.ID, Life: a.Life, Token: a.Token, Holder: w.name, Start: a.ClaimedAt,
				Digest: check.Digest(a.Payload)})
		}
	})
	for i, err := range answer.Settled {
		if w.c.must("settle", err, store.ErrLeaseLost) && x.Settle[i].To == job.Dead {
			w.c.died()
		}
	}
}

// outcome ends a run: no job fails for ever.
func (w *fleetWorker) outcome(c *job.Claim) job.Outcome {
	o := job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Succeeded, To: job.Completed, Cost: 1}
	class := fmt.Sprintf("C%d", w.r.IntN(3))
	failure := &job.Failure{How: "error", Class: class, Message: class, Fingerprint: class + "|" + c.Kind}
	roll := w.r.IntN(20)
	if c.Life > 3 || c.Counters.Sum() > 5 {
		roll = 0
	}
	switch roll {
	case 10, 11, 12:
		o.Cause, o.To, o.Failure, o.Delay = job.Failed, job.Retrying, failure, time.Duration(w.r.IntN(50))*time.Millisecond
	case 13:
		o.Cause, o.To, o.Delay = job.Snoozed, job.Waiting, time.Duration(w.r.IntN(50))*time.Millisecond
	case 14:
		o.Cause, o.To, o.Queue = job.Interrupted, job.Waiting, pickOne(w.r, "", "open", "other", "fresh"+c.Kind)
	case 15, 16, 17:
		o.Cause, o.To, o.Failure, o.Reason = job.Failed, job.Dead, failure, job.NonRetriable
	case 18:
		o.Cause, o.To = job.Cancel, job.Cancelled
	}
	return o
}

func (w *fleetWorker) beat(ctx context.Context) {
	b := store.Beat{Lease: fleetLease}
	for _, claim := range w.held {
		run := store.Run{ID: claim.ID, Token: claim.Token}
		b.Runs = append(b.Runs, run)
		if w.r.IntN(3) == 0 {
			b.Progress = append(b.Progress, job.Progress{ID: run.ID, Token: run.Token, Done: 1, Total: 2})
		}
	}
	status, err := w.s.Heartbeat(ctx, b)
	if !w.c.must("heartbeat", err) {
		return
	}
	held := w.held
	w.held = nil
	for i := range status {
		if status[i].Held {
			w.held = append(w.held, held[i])
		}
	}
}

func (c *fleet) rescue(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	_, err := s.Rescue(ctx, 1+r.IntN(20))
	c.must("rescue", err)
	_, err = s.Signals(ctx, "w0.0")
	c.must("signals", err)
}

var fleetPerson = store.By{Actor: "ann", Reason: "fleet"}

func (c *fleet) cancel(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	ids := c.someIDs(r, 1+r.IntN(4))
	answers, err := s.Cancel(ctx, fleetPerson, ids)
	if c.must("cancel", err, fleetBusy) {
		for _, err := range answers {
			c.must("cancel", err, fleetBusy, store.ErrConflict, store.ErrNotFound) // removed, perhaps
		}
	}
}

func (c *fleet) act(ctx context.Context, s *Store, r *rand.Rand, i int) {
	if i%3 == 0 {
		ids := c.someIDs(r, 3)
		if len(ids) == 0 { // no enqueue has returned yet
			return
		}
		did, err := s.Act(ctx, fleetPerson, store.Action{Do: store.ActRetry, IDs: ids})
		if c.must("retry", err, fleetBusy) {
			for _, err := range did.Errors {
				c.must("retry", err, fleetBusy, store.ErrConflict, store.ErrNotFound)
			}
		}
		return
	}
	f := store.DeadFilter{Group: fmt.Sprintf("C%d|%s", r.IntN(3), pickOne(r, "a", "b"))}
	a := store.Action{Do: pickOne(r, store.ActRetry, store.ActResolve, store.ActIgnore, store.ActReopen), Filter: &f, Limit: 1 + r.IntN(10)}
	if a.Do == store.ActIgnore && r.IntN(2) == 0 {
		a.Count = 2
	}
	before, err := s.Preview(ctx, a)
	if !c.must("preview", err) || before.Through == 0 {
		return
	}
	a.Through = before.Through
	_, err = s.Act(ctx, fleetPerson, a)
	c.must("act", err, fleetBusy)
}

func (c *fleet) redrive(ctx context.Context, s *Store, r *rand.Rand, i int) {
	if i%20 == 5 {
		f := store.DeadFilter{Class: fmt.Sprintf("C%d", r.IntN(3))}
		all, err := s.Preview(ctx, store.Action{Do: store.ActRetry, Filter: &f})
		if c.must("preview", err) && all.Done > 0 {
			_, err = s.StartRedrive(ctx, fleetPerson, store.RedriveSpec{Filter: f, Through: all.Through, Total: all.Done, Canary: 2}.WithoutStop())
			c.must("start redrive", err, fleetBusy, store.ErrTooLarge)
		}
	}
	_, err := s.StepRedrives(ctx, 1+r.IntN(10))
	c.must("step", err)
}

func (c *fleet) keep(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	swept, err := s.Sweep(ctx, fleetKept, 1+r.IntN(50))
	if c.must("sweep", err) {
		c.note(func(*check.History) {
			c.swept.Completed += swept.Completed
			c.swept.Failures += swept.Failures
			c.swept.Dead += swept.Dead
		})
	}
	c.must("fold", s.foldAll(ctx))
	_, err = s.DeadStats(ctx)
	c.must("stats", err)
}

// fire fires slots that all the others fire, too.
func (c *fleet) fire(ctx context.Context, s *Store, _ *rand.Rand, i int) {
	slot := job.At(fleetStart).Add(time.Duration(i-fleetSteps-10) * time.Minute)
	id, err := s.ReserveIDs(ctx, 1)
	if !c.must("reserve", err) {
		return
	}
	n := job.New{ID: id, Kind: "a", Queue: "open", Priority: 2, Correlation: fmt.Sprintf("%d", id), Payload: []byte("p")}
	fired, err := s.Fire(ctx, fleetSchedule, "* * * * * UTC", slot, []job.New{n})
	if c.must("fire", err) && fired.Fired {
		c.note(func(h *check.History) {
			c.slots[slot]++
			h.Enqueues = append(h.Enqueues, check.Enqueue{Name: n.Correlation, ID: id, Kind: n.Kind, Digest: check.Digest(n.Payload), Answer: check.Written})
		})
	}
}

func (c *fleet) queues(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	change := store.QueueChange{Name: "other", Mode: new(pickOne(r, store.Open, store.Open, store.Paused))}
	if r.IntN(3) == 0 {
		change.Workers = new(r.IntN(4))
	}
	_, err := s.SetQueue(ctx, fleetPerson, change)
	c.must("set queue", err, store.ErrNotFound)
	c.must("declare", s.Declare(ctx, []string{"open", "other", pickOne(r, "x", "y", "z")}))
}
