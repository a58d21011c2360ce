package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Heartbeat implements store.Worker.
func (s *Store) Heartbeat(ctx context.Context, b store.Beat) ([]store.RunStatus, error) {
	t, err := s.begin(ctx, "heartbeat")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if b.Lease <= 0 {
		return nil, t.errorf("lease %s: must be above zero: %w", b.Lease, store.ErrInvalid)
	}
	statuses := make([]store.RunStatus, len(b.Runs))
	held := make(map[store.Run]*record, len(b.Runs))
	for i, run := range b.Runs {
		r := t.running(run)
		if r == nil {
			continue
		}
		r.LeaseUntil = t.now.Add(b.Lease)
		r.moved()
		if b.Begin {
			r.begun = r.Token
		}
		held[run] = r
		statuses[i] = store.RunStatus{Held: true, Cancel: r.CancelAt != 0}
	}
	for _, p := range b.Progress {
		if r := held[store.Run{ID: p.ID, Token: p.Token}]; r != nil {
			t.progress(r, p)
		}
	}
	return statuses, nil
}

func (t *tx) progress(r *record, p job.Progress) {
	p.At = t.now
	r.Progress = p
	e := about(r)
	e.Type, e.Done, e.Total, e.Note = event.JobProgressed, p.Done, p.Total, p.Note
	t.emit(e)
}

// Rescue implements store.Worker.
func (s *Store) Rescue(ctx context.Context, limit int) (store.Rescue, error) {
	t, err := s.begin(ctx, "rescue")
	if err != nil {
		return store.Rescue{}, err
	}
	defer t.end()
	var answer store.Rescue
	for len(answer.Jobs) < limit {
		r := t.leases.first()
		if r == nil || r.LeaseUntil > t.now {
			break
		}
		t.wake = true
		answer.Jobs = append(answer.Jobs, t.rescue(r))
	}
	answer.NextExpiry = t.nextExpiry()
	return answer, nil
}

// nextExpiry returns the time until the earliest lease expires.
func (t *tx) nextExpiry() time.Duration {
	if r := t.leases.first(); r != nil {
		return max(0, r.LeaseUntil.Sub(t.now))
	}
	return store.Never
}

// rescue ends one run as crashed. Usually the job then waits for its next run. If a person has
// asked the job to stop, rescue cancels the job. If one more crash would reach the crash limit but
// the run has not begun, rescue hands the job back instead.
func (t *tx) rescue(r *record) store.Rescued {
	if r.Counters.Crashes+1 >= r.crashMax && r.begun != r.Token {
		t.endRun(r, &job.Outcome{ID: r.ID, Token: r.Token, Cause: job.Interrupted, To: job.Waiting}, r.lane.laneName)
		return lost(r)
	}
	attempts, cancel := r.Counters.Attempts, r.CancelAt != 0
	r.Counters.Count(job.Crashed)
	t.count(r.lane.laneName, func(f *store.Figures) { f.Crashed++ })
	terms := r.decided()
	crash := terms.Crash(&job.LostRun{
		ID: r.ID, Kind: r.Kind, Holder: r.Holder, Crashes: r.Counters.Crashes, MaxCrashes: r.crashMax,
	})
	f := crash.Failure
	t.fail(r, f, attempts, new(job.Outcome))
	t.detach(r)
	if crash.To == job.Dead {
		t.answered(r, false, job.Dead, &f)
		t.makeDead(r, job.Crashed, job.Stalled, f.Class, f.Fingerprint, crash.Notified)
	} else {
		t.wait(r, crash.To, t.now.Add(crash.Delay))
	}
	t.transition(r, job.Running, job.Crashed, f.Class)
	if cancel && r.State.Ready() {
		t.cancel(r)
	}
	return lost(r)
}

// lost returns the answer of Rescue about one run, after the run was ended.
func lost(r *record) store.Rescued {
	return store.Rescued{
		Run: store.Run{ID: r.ID, Token: r.Token}, Kind: r.Kind, Queue: r.Queue, Holder: r.Holder,
		Crashes: r.Counters.Crashes, To: r.State,
	}
}

// Signals implements store.Worker.
func (s *Store) Signals(ctx context.Context, holder string) (store.Signals, error) {
	t, err := s.begin(ctx, "signals")
	if err != nil {
		return store.Signals{}, err
	}
	defer t.end()
	answer := store.Signals{Queues: t.sortedQueues()}
	for _, r := range t.asked {
		if r.Holder == holder {
			answer.Cancel = append(answer.Cancel, store.Run{ID: r.ID, Token: r.Token})
		}
	}
	slices.SortFunc(answer.Cancel, func(a, b store.Run) int { return cmp.Compare(a.ID, b.ID) })
	return answer, nil
}

// Declare implements store.Worker.
func (s *Store) Declare(ctx context.Context, queues []string) error {
	t, err := s.begin(ctx, "declare")
	if err != nil {
		return err
	}
	defer t.end()
	for _, q := range queues {
		if err := store.ValidName("queue", q); err != nil {
			return t.errorf("%w", err)
		}
	}
	for _, q := range queues {
		t.declare(q)
	}
	return nil
}
