package selfbench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	batchCall    = 2_000 // members that are added in a call
	batchReads   = 200   // number of reads of the counts and the members of a large batch
	batchMembers = 500   // members of a page
)

// batchFigures prints what batches cost: on SQLite and, unless the DSN is empty, on PostgreSQL.
func (b *bencher) batchFigures(ctx context.Context, p *printer, dsn string) error {
	for _, on := range stores(dsn) {
		if err := b.batchFiguresOn(ctx, p, on); err != nil {
			return fmt.Errorf("%s: %w", on.name, err)
		}
	}
	return nil
}

func (b *bencher) batchFiguresOn(ctx context.Context, p *printer, on measuredOn) error {
	n := b.load.Jobs
	r, err := b.measure(ctx,
		b.members(on, "jobs in calls of 2,000", enqueueJobs(false), n),
		b.members(on, "jobs with keys", enqueueJobs(true), n),
		b.members(on, "members of a batch", enqueueMembers(false), n),
		b.members(on, "members with keys", enqueueMembers(true), n),
		b.members(on, "publish drafts", publishDrafts(false), n),
		b.members(on, "add and publish", publishDrafts(true), n),
		b.bothMembers(on, "enqueue+process", false),
		b.bothMembers(on, "enqueue+process, members", true),
		b.members(on, "batches of one member", startBatches, min(n, 5_000)))
	if err != nil {
		return err
	}
	floor := 1.0
	if on.dsn != "" {
		floor = 0.4
	}
	err = errors.Join(
		p.ofRate("enqueue of members of one batch on "+on.name, ratio(r[2], r[0]), "jobs of no batch", 0.9),
		p.ofRate("enqueue+process of members of one batch on "+on.name, ratio(r[7], r[6]), "jobs of no batch", 0.9),
		p.ofRate("enqueue of members with keys on "+on.name, ratio(r[3], r[1]), "jobs with keys", 1),
		p.ofRate("publication of drafts on "+on.name, ratio(r[4], r[0]), "enqueues in calls of 2,000", 0.7),
		p.ofRate("adding and publishing drafts on "+on.name, ratio(r[5], r[0]), "enqueues in calls of 2,000", 0.45),
		p.tell("batches of one member on "+on.name, round(r[8].PerSecond), "batches/s"))
	if floor < 1 {
		err = errors.Join(err, p.ofRate("enqueue of members with keys on "+on.name, ratio(r[3], r[2]), "members without keys", floor))
	}
	if err != nil {
		return err
	}
	if err := b.freshBesideFigures(ctx, p, on); err != nil {
		return err
	}
	t, err := b.batchTimes(ctx, on)
	if err != nil {
		return err
	}
	return errors.Join(
		p.below(fmt.Sprintf("counts of a batch of %d members on %s, p99", n, on.name), t.counts.read().at(0.99), 5*time.Millisecond),
		p.below(fmt.Sprintf("a page of %d members on %s, p99", batchMembers, on.name), t.pages.read().at(0.99), 100*time.Millisecond),
		p.below("last end to outcome on "+on.name+", p99", t.ends.read().at(0.99), time.Second))
}

// ofRate prints a ratio of two rates and its target: a minimum.
func (p *printer) ofRate(name string, ratio float64, of string, least float64) error {
	return p.print(Figure{name, fmt.Sprintf(">= %g x %s", least, of), ratio, "x", 0, ratio >= least})
}

// with calls the function with a client on a new database.
func (b *bencher) with(ctx context.Context, on measuredOn, dir string, workers int, do func(context.Context, *bench) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	place := on.place(dir)
	s, err := place.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), place.remove(context.WithoutCancel(ctx))) }()
	c, err := newBench(s, filepath.Join(dir, "work"), workers, succeed)
	if err != nil {
		return err
	}
	return do(ctx, c)
}

// members is a scenario of one goroutine that enqueues jobs or members.
func (b *bencher) members(on measuredOn, name string, do func(context.Context, *bench, int, []byte) (time.Duration, error), n int) scenario {
	return scenario{name, n, func(ctx context.Context, dir string, jobs int) (took time.Duration, err error) {
		err = b.with(ctx, on, dir, 1, func(ctx context.Context, c *bench) error {
			took, err = do(ctx, c, jobs, c.bytes(b.load.Payload))
			return err
		})
		return took, err
	}}
}

// inCalls calls the function with jobs in calls of batchCall.
func inCalls(n int, batch int64, keys bool, body []byte, do func([]redrive.Spec) error) error {
	for at := 0; at < n; {
		specs := make([]redrive.Spec, min(n-at, batchCall))
		for i := range specs {
			o := &redrive.Options{Queue: "bench", Batch: batch}
			if keys {
				o.Key = fmt.Sprintf("order-%016x", uint64(at+i)*0x9E3779B97F4A7C15) // the multiplication spreads the keys over the index like random keys
			}
			specs[i] = redrive.NewRaw("noop", body, o)
		}
		if err := do(specs); err != nil {
			return err
		}
		at += len(specs)
	}
	return nil
}

func (b *bench) enqueueAll(ctx context.Context, specs []redrive.Spec) error {
	_, err := b.client.EnqueueMany(ctx, specs)
	return err
}

func enqueueJobs(keys bool) func(context.Context, *bench, int, []byte) (time.Duration, error) {
	return func(ctx context.Context, b *bench, n int, body []byte) (time.Duration, error) {
		start := time.Now()
		err := inCalls(n, 0, keys, body, func(specs []redrive.Spec) error { return b.enqueueAll(ctx, specs) })
		return time.Since(start), err
	}
}

// published returns a published batch: a job that is due at once, and one for each delay.
func (b *bench) published(ctx context.Context, body []byte, delays ...time.Duration) (*redrive.BatchHandle, error) {
	h, err := b.client.NewBatch(ctx, redrive.By{}, redrive.BatchSpec{})
	if err != nil {
		return nil, err
	}
	specs := []redrive.Spec{redrive.NewRaw("noop", body, &redrive.Options{Queue: "bench"})}
	for _, d := range delays {
		specs = append(specs, redrive.NewRaw("noop", body, &redrive.Options{Queue: "bench", RunAt: time.Now().Add(d)}))
	}
	if _, err := h.Add(ctx, specs...); err != nil {
		return nil, err
	}
	_, err = h.Publish(ctx, redrive.By{Actor: "bench"})
	return h, err
}

func enqueueMembers(keys bool) func(context.Context, *bench, int, []byte) (time.Duration, error) {
	return func(ctx context.Context, b *bench, n int, body []byte) (time.Duration, error) {
		h, err := b.published(ctx, body)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		err = inCalls(n, h.ID(), keys, body, func(specs []redrive.Spec) error { return b.enqueueAll(ctx, specs) })
		return time.Since(start), err
	}
}

// drafts returns a batch of n members that is not published.
func (b *bench) drafts(ctx context.Context, n int, body []byte) (*redrive.BatchHandle, error) {
	h, err := b.client.NewBatch(ctx, redrive.By{}, redrive.BatchSpec{})
	if err != nil {
		return nil, err
	}
	return h, inCalls(n, 0, false, body, func(specs []redrive.Spec) error { _, err := h.Add(ctx, specs...); return err })
}

// publishDrafts adds drafts and publishes them. The time is that of both, or of the publication.
func publishDrafts(both bool) func(context.Context, *bench, int, []byte) (time.Duration, error) {
	return func(ctx context.Context, b *bench, n int, body []byte) (time.Duration, error) {
		start := time.Now()
		h, err := b.drafts(ctx, n, body)
		if err != nil {
			return 0, err
		}
		if !both {
			start = time.Now()
		}
		_, err = h.Publish(ctx, redrive.By{Actor: "bench"})
		return time.Since(start), err
	}
}

// startBatches creates, fills and publishes batches of one member each, with a call for each batch.
func startBatches(ctx context.Context, b *bench, n int, body []byte) (time.Duration, error) {
	start := time.Now()
	first, err := b.store.ReserveIDs(ctx, n)
	if err == nil {
		err = inParallel(10, n, func(i int) error { _, err := b.startBatch(ctx, first+job.ID(i), body); return err })
	}
	return time.Since(start), err
}

func (b *bench) startBatch(ctx context.Context, id job.ID, body []byte) (int64, error) {
	member := job.New{ID: id, Kind: "noop", Queue: "bench", Priority: job.PriorityDefault, Payload: body}
	started, _, err := b.store.StartBatch(ctx, redrive.By{}, redrive.BatchSpec{}, []job.New{member})
	return started.ID, err
}

// bothMembers is the scenario that enqueues jobs of no batch, or members of one, and runs them at the same time.
func (b *bencher) bothMembers(on measuredOn, name string, members bool) scenario {
	return scenario{name, b.load.Jobs, func(ctx context.Context, dir string, jobs int) (took time.Duration, err error) {
		err = b.with(ctx, on, dir, b.load.Workers, func(ctx context.Context, c *bench) error {
			body, o, goal := c.bytes(b.load.Payload), redrive.Options{Queue: "bench"}, jobs
			if members {
				// A second member is due later, so that the batch does not end before the last job has joined.
				h, err := c.published(ctx, body, time.Hour)
				if err != nil {
					return err
				}
				o.Batch, goal = h.ID(), jobs+1
			}
			start := time.Now()
			run := c.work(ctx, goal)
			err := inParallel(b.load.Producers, jobs, func(int) error {
				own := o
				_, err := c.client.Enqueue(ctx, redrive.NewRaw("noop", body, &own))
				return err
			})
			if err == nil {
				err = run()
			}
			took = time.Since(start)
			return err
		})
		return took, err
	}}
}

// batchTimes are the times of reads of a large batch, and from the last end of a small one to its outcome.
type batchTimes struct{ counts, pages, ends histogram }

func (b *bencher) batchTimes(ctx context.Context, on measuredOn) (*batchTimes, error) {
	var t batchTimes
	err := b.with(ctx, on, b.folder(), b.load.Workers, func(ctx context.Context, c *bench) error { return t.read(ctx, c, b.load.Jobs, c.bytes(b.load.Payload)) })
	if err == nil {
		err = b.with(ctx, on, b.folder(), b.load.Workers, func(ctx context.Context, c *bench) error {
			return t.outcomes(ctx, c, min(b.load.Jobs, 3_000), c.bytes(b.load.Payload))
		})
	}
	return &t, err
}

// batchRunning is the number of members that run while a batch is read.
const batchRunning = 5_000

// read reads a batch of n members, of which up to batchRunning run.
func (t *batchTimes) read(ctx context.Context, b *bench, n int, body []byte) error {
	h, err := b.drafts(ctx, n, body)
	if err == nil {
		_, err = h.Publish(ctx, redrive.By{Actor: "bench"})
	}
	for running := 0; err == nil && running < min(batchRunning, n); {
		var out store.Exchanged
		out, err = b.store.Exchange(ctx, store.Exchange{Holder: "bench", Lease: time.Hour,
			Want: []store.Want{{Queue: "bench", Max: 500, Kinds: []store.KindWant{{Kind: "noop", Max: 500, MaxCrashes: 2}}}}})
		running += len(out.Claims)
	}
	if err != nil {
		return err
	}
	after := job.ID(0)
	for range batchReads {
		start := time.Now()
		if _, err := h.Get(ctx); err != nil {
			return err
		}
		t.counts.add(time.Since(start))
		start = time.Now()
		page, err := h.Members(ctx, redrive.MemberFilter{Limit: batchMembers}, after)
		if err != nil {
			return err
		}
		t.pages.add(time.Since(start))
		after = page.Next
	}
	return nil
}

// outcomes runs n batches of one member. At most 1,000 of them are published a second.
func (t *batchTimes) outcomes(ctx context.Context, b *bench, n int, body []byte) error {
	first, err := b.store.ReserveIDs(ctx, n)
	if err != nil {
		return err
	}
	run := b.work(ctx, n)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var all []*redrive.BatchHandle
	for len(all) < n {
		<-tick.C
		for range min(10, n-len(all)) {
			id, err := b.startBatch(ctx, first+job.ID(len(all)), body)
			if err != nil {
				return err
			}
			all = append(all, b.client.BatchHandle(id))
		}
	}
	for _, h := range all {
		o, err := h.Wait(ctx, 0)
		if err != nil {
			return err
		}
		page, err := h.Members(ctx, redrive.MemberFilter{}, 0)
		if err != nil {
			return err
		}
		t.ends.add(max(0, o.At.Sub(page.Members[0].FinishedAt)))
	}
	return run()
}
