package storetest

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// This file has broken stores for the tests. Each of them is a correct store with one changed
// method.

// exchanges makes a broken store that changes the arguments of each exchange before it carries
// the exchange out.
func exchanges(bend func(store.Store, *store.Exchange)) func(store.Store, *Clock) store.Store {
	return func(s store.Store, _ *Clock) store.Store { return &exchanging{s, bend} }
}

type exchanging struct {
	store.Store
	bend func(store.Store, *store.Exchange)
}

func (s *exchanging) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	x.Settle, x.Want = slices.Clone(x.Settle), slices.Clone(x.Want)
	s.bend(s.Store, &x)
	return s.Store.Exchange(ctx, x)
}

// enqueues makes a broken store that changes each new job before it stores the job.
func enqueues(bend func(*job.New)) func(store.Store, *Clock) store.Store {
	return func(s store.Store, _ *Clock) store.Store { return &enqueuing{s, bend} }
}

type enqueuing struct {
	store.Store
	bend func(*job.New)
}

func (s *enqueuing) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		s.bend(&jobs[i])
	}
	return s.Store.Enqueue(ctx, jobs)
}

// holding is a broken store: its claims never say that a person has released the job after a rule
// had held it.
type holding struct{ store.Store }

func (s *holding) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	answer, err := s.Store.Exchange(ctx, x)
	for i := range answer.Claims {
		answer.Claims[i].Released = false
	}
	return answer, err
}

type forgetful struct{ store.Store }

func (s *forgetful) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	var again []int
	for i, o := range x.Settle {
		if j, err := s.Get(ctx, o.ID); err == nil && j.State != job.Running {
			again = append(again, i)
		}
	}
	answer, err := s.Store.Exchange(ctx, x)
	for _, i := range again {
		if err == nil {
			answer.Settled[i] = store.ErrLeaseLost
		}
	}
	return answer, err
}

type early struct {
	store.Store
	clock *Clock
}

func (s *early) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	s.clock.Advance(time.Second)
	defer s.clock.Advance(-time.Second)
	return s.Store.Exchange(ctx, x)
}

type hasty struct {
	store.Store
	clock *Clock
}

func (s *hasty) Rescue(ctx context.Context, limit int) (store.Rescue, error) {
	s.clock.Advance(time.Second)
	defer s.clock.Advance(-time.Second)
	return s.Store.Rescue(ctx, limit)
}

type reviving struct{ store.Store }

func (s *reviving) Heartbeat(ctx context.Context, b store.Beat) ([]store.RunStatus, error) {
	status, err := s.Store.Heartbeat(ctx, b)
	for i := range status {
		if j, err := s.Get(ctx, b.Runs[i].ID); err == nil && !j.State.Terminal() {
			status[i].Held = true
		}
	}
	return status, err
}

// beginless is a broken store: it does not record that a run has begun.
type beginless struct{ store.Store }

func (s *beginless) Heartbeat(ctx context.Context, b store.Beat) ([]store.RunStatus, error) {
	b.Begin = false
	return s.Store.Heartbeat(ctx, b)
}

// begunAlways is a broken store: it records each run as begun as soon as the run is claimed.
type begunAlways struct{ store.Store }

func (s *begunAlways) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	answer, err := s.Store.Exchange(ctx, x)
	if err != nil || len(answer.Claims) == 0 {
		return answer, err
	}
	b := store.Beat{Lease: x.Lease, Begin: true}
	for i := range answer.Claims {
		b.Runs = append(b.Runs, runOf(answer.Claims[i]))
	}
	_, err = s.Heartbeat(ctx, b)
	return answer, err
}

type partial struct{ store.Store }

func (s *partial) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	var receipts []job.Receipt
	for i := range jobs {
		one, err := s.Store.Enqueue(ctx, jobs[i:i+1])
		if err != nil {
			return nil, err
		}
		receipts = append(receipts, one...)
	}
	return receipts, nil
}

// endingKeys is a broken store that removes an idempotency key together with the job that
// holds it.
type endingKeys struct{ store.Store }

func (s *endingKeys) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	d, err := s.Dump(ctx)
	if err != nil {
		return nil, err
	}
	jobs = slices.Clone(jobs)
	for i := range jobs {
		n := &jobs[i]
		k := slices.IndexFunc(d.Keys, func(k store.Key) bool { return k.Owner == n.Owner && k.Kind == n.Kind && k.Key == n.Key })
		if k < 0 {
			continue
		}
		if j, err := s.Get(ctx, d.Keys[k].Job); err == nil && j.State.Terminal() {
			n.Key = ""
		}
	}
	return s.Store.Enqueue(ctx, jobs)
}

// racing is a broken store that does not find an idempotency key while another call is in
// progress.
type racing struct {
	store.Store
	calls atomic.Int32 // number of calls that are in progress
}

func (s *racing) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	defer s.calls.Add(-1)
	if s.calls.Add(1) > 1 {
		jobs = slices.Clone(jobs)
		for i := range jobs {
			jobs[i].Key = ""
		}
	}
	for range 100 {
		runtime.Gosched() // let other goroutines run, so that concurrent calls overlap
	}
	return s.Store.Enqueue(ctx, jobs)
}

type restless struct{ store.Store }

func (s *restless) SetQueue(ctx context.Context, by store.By, c store.QueueChange) (store.Queue, error) {
	if c.Mode != nil && *c.Mode == store.Paused {
		c.Mode = new(store.Open)
	}
	return s.Store.SetQueue(ctx, by, c)
}

type deaf struct{ store.Store }

func (s *deaf) Cancel(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	errs := make([]error, len(ids))
	for i, id := range ids {
		if j, err := s.Get(ctx, id); err == nil && j.State == job.Running {
			continue
		}
		one, err := s.Store.Cancel(ctx, by, []job.ID{id})
		if err != nil {
			return nil, err
		}
		errs[i] = one[0]
	}
	return errs, nil
}

// answers makes a broken store that changes its answer to each exchange.
func answers(bend func(*store.Exchanged)) func(store.Store, *Clock) store.Store {
	return func(s store.Store, _ *Clock) store.Store { return &answering{s, bend} }
}

type answering struct {
	store.Store
	bend func(*store.Exchanged)
}

func (s *answering) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	answer, err := s.Store.Exchange(ctx, x)
	s.bend(&answer)
	return answer, err
}

// dumps makes a broken store that changes everything that callers read from it: dumps, lists
// and single jobs.
func dumps(bend func(*store.Dump)) func(store.Store, *Clock) store.Store {
	return func(s store.Store, _ *Clock) store.Store { return &dumping{s, bend} }
}

type dumping struct {
	store.Store
	bend func(*store.Dump)
}

func (s *dumping) Dump(ctx context.Context) (*store.Dump, error) {
	d, err := s.Store.Dump(ctx)
	if err == nil {
		s.bend(d)
	}
	return d, err
}

func (s *dumping) Get(ctx context.Context, id job.ID) (job.Job, error) {
	j, err := s.Store.Get(ctx, id)
	d := store.Dump{Jobs: []job.Job{j}}
	s.bend(&d)
	return d.Jobs[0], err
}

func (s *dumping) Failures(ctx context.Context, id job.ID) ([]job.Failure, error) {
	failures, err := s.Store.Failures(ctx, id)
	d := store.Dump{Failures: failures}
	s.bend(&d)
	return d.Failures, err
}

func (s *dumping) DeadLetter(ctx context.Context, id job.ID) (job.DeadLetter, error) {
	l, err := s.Store.DeadLetter(ctx, id)
	d := store.Dump{Dead: []job.DeadLetter{l}}
	s.bend(&d)
	return d.Dead[0], err
}

func (s *dumping) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	events, err := s.Store.Events(ctx, after, limit)
	d := store.Dump{Events: events}
	s.bend(&d)
	return d.Events, err
}

func (s *dumping) Counts(ctx context.Context) ([]store.Count, error) {
	counts, err := s.Store.Counts(ctx)
	d := store.Dump{Counts: counts}
	s.bend(&d)
	return d.Counts, err
}

func (s *dumping) Audit(ctx context.Context, after int64, limit int) ([]store.Audit, error) {
	rows, err := s.Store.Audit(ctx, after, limit)
	d := store.Dump{Audit: rows}
	s.bend(&d)
	return d.Audit, err
}

// sortingIDs is a broken store: when it reads many jobs, it returns them in the order of their
// ids and not in the order of the call.
type sortingIDs struct{ store.Store }

func (s *sortingIDs) GetAll(ctx context.Context, ids []job.ID) ([]job.Job, error) {
	return s.Store.GetAll(ctx, slices.Sorted(slices.Values(ids)))
}

// firstFailures is a broken store that returns the first failure of each job instead of the
// last failure.
type firstFailures struct{ store.Store }

func (s *firstFailures) Latest(ctx context.Context, ids []job.ID) ([]job.Failure, error) {
	latest, err := s.Store.Latest(ctx, ids)
	for i := range latest {
		all, err := s.Failures(ctx, latest[i].Job)
		if err != nil {
			return nil, err
		}
		latest[i] = all[0]
	}
	return latest, err
}

// longKeys is a broken store: it finds the job of an idempotency key even when the key's time is
// over.
type longKeys struct{ store.Store }

func (s *longKeys) Lookup(ctx context.Context, owner, kind, key string) (job.ID, error) {
	id, err := s.Store.Lookup(ctx, owner, kind, key)
	d, dumpErr := s.Dump(ctx)
	if dumpErr != nil {
		return id, err
	}
	for _, k := range d.Keys {
		if k.Owner == owner && k.Kind == kind && k.Key == key {
			return k.Job, nil
		}
	}
	return id, err
}

// oldAudit is a broken store that returns each page of the audit log with the oldest row
// first.
type oldAudit struct{ store.Store }

func (s *oldAudit) AuditPage(ctx context.Context, f store.AuditFilter) (store.AuditPage, error) {
	page, err := s.Store.AuditPage(ctx, f)
	slices.Reverse(page.Entries)
	return page, err
}

// keepsAll is a broken store: its EventSpan always says that no events were removed.
type keepsAll struct{ store.Store }

func (s *keepsAll) EventSpan(ctx context.Context) (first, last event.Cursor, err error) {
	_, last, err = s.Store.EventSpan(ctx)
	return event.Cursor{}, last, err
}
