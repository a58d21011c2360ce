// Package project writes what happens to the jobs of a stream elsewhere, such as to topics. A sink
// reads the events of the store; the store keeps its cursor, and gives the sink to one process at a
// time. What is written may be written twice, with the same event, and is never missed.
package project

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The times and sizes of a sink.
const (
	Lease      = 10 * time.Second // a process that is silent for this time loses the sink
	extend     = Lease / 3        // time between two extensions of the lease
	batchMax   = 500              // events that are written together
	passedMax  = 10_000           // events of others after which the cursor is stored
	waitMin    = time.Second      // first and longest wait after an error
	waitMax    = time.Minute
	refusedMax = 3 // attempts for one thing that is refused
	writeMax   = time.Minute
)

// Store keeps the cursors of the sinks. It is a part of [store.Streams].
type Store interface {
	LeaseSink(ctx context.Context, stream, sink, holder string, lease time.Duration) (store.Sink, error)
	SaveSink(ctx context.Context, s store.SinkSave) error
}

// Item is an event of a job with what it has to be written from.
type Item struct {
	Event   event.Event
	Job     job.Job
	Failure *job.Failure // the last one; nil without one
}

// Sink writes items. Its methods are called by one goroutine.
type Sink interface {
	// Name is the name of the sink in the store.
	Name() string
	// Wants reports whether an event may have to be written. Its job is read then.
	Wants(e *event.Event) bool
	// Write writes the items in their order. A *Refused is the error of one item. After any
	// other error the write is tried again, without end.
	Write(ctx context.Context, items []Item) error
}

// Refused is the error of a sink that will never take an item, such as one that is too large.
type Refused struct {
	Index int // of the item
	Err   error
}

func (r *Refused) Error() string { return fmt.Sprintf("item %d is refused: %v", r.Index, r.Err) }
func (r *Refused) Unwrap() error { return r.Err }

// Config says what a sink reads.
type Config struct {
	Stream string
	Holder string // the name of this process
	Queue  string // only events of this queue are of interest
	Log    *slog.Logger
	Now    func() time.Time
	// Lost is called for an item that the sink has refused three times; then the sink goes on.
	Lost func(ctx context.Context, sink string, item *Item, err error) error
}

// Run writes what a sink wants until the context ends. While another process has the sink, it waits.
func Run(ctx context.Context, client *redrive.Client, s Store, sink Sink, c *Config) error {
	wait := waitMin
	for ctx.Err() == nil {
		p := &projector{Config: c, client: client, store: s, sink: sink}
		err := p.hold(ctx)
		_, waits := errors.AsType[*store.SinkHeld](err)
		gone, missed := errors.AsType[*redrive.EventsGone](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case waits:
			wait = waitMin
		case missed:
			c.Log.ErrorContext(ctx, "events that the sink has not read were removed; it goes on with the oldest; write documents and marks anew with redrive stream rebuild", "stream", c.Stream, "sink", sink.Name(), "after", gone.After.String())
			if err := s.SaveSink(ctx, p.save(gone.First, "")); err != nil {
				c.Log.WarnContext(ctx, "the cursor of the sink is not stored", "stream", c.Stream, "sink", sink.Name(), "error", err)
			}
		case err != nil:
			c.Log.WarnContext(ctx, "the sink does not write", "stream", c.Stream, "sink", sink.Name(), "error", err, "again", wait)
		}
		if p.wrote {
			wait = waitMin
		}
		if !sleep(ctx, wait) {
			return nil
		}
		if err != nil && !waits {
			wait = min(2*wait, waitMax)
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// projector is one time for which a process has the sink.
type projector struct {
	*Config
	client *redrive.Client
	store  Store
	sink   Sink
	token  int64
	cursor event.Cursor // what is stored
	read   event.Cursor // the last event that was read
	passed int          // events since cursor
	wrote  bool
	wanted []event.Event
}

func (p *projector) save(cursor event.Cursor, failed string) store.SinkSave {
	if len(failed) > job.MessageMax {
		failed = failed[:job.MessageMax]
	}
	return store.SinkSave{Stream: p.Stream, Sink: p.sink.Name(), Holder: p.Holder, Token: p.token, Cursor: cursor, Error: failed}
}

// hold takes the sink and writes until an error.
func (p *projector) hold(ctx context.Context) error {
	leased, err := p.store.LeaseSink(ctx, p.Stream, p.sink.Name(), p.Holder, Lease)
	if err != nil {
		return err
	}
	p.token, p.cursor, p.read = leased.Token, leased.Cursor, leased.Cursor
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, failed := p.follow(ctx)
	due := time.NewTicker(extend)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return p.flush(context.WithoutCancel(ctx))
		case err := <-failed:
			return err
		case <-due.C:
			again, err := p.store.LeaseSink(ctx, p.Stream, p.sink.Name(), p.Holder, Lease)
			if err != nil {
				return err
			}
			if again.Token != p.token {
				return fmt.Errorf("another process has taken over this sink meanwhile: %w", store.ErrLeaseLost)
			}
		case e := <-events:
			p.take(e)
			for drained := false; !drained && len(p.wanted) < batchMax; {
				select {
				case e := <-events:
					p.take(e)
				default:
					drained = true
				}
			}
			if len(p.wanted) > 0 || p.passed >= passedMax {
				if err := p.flush(ctx); err != nil {
					return err
				}
			}
		}
	}
}

// follow reads the events after the cursor.
func (p *projector) follow(ctx context.Context) (events chan event.Event, failed chan error) {
	events, failed = make(chan event.Event, batchMax), make(chan error, 1)
	go func() {
		for e, err := range p.client.Events(ctx, p.cursor, nil) {
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, failed
}

func (p *projector) take(e event.Event) {
	p.read = e.Cursor
	p.passed++
	if e.Queue == p.Queue && p.sink.Wants(&e) {
		p.wanted = append(p.wanted, e)
	}
}

// flush writes what was read, and moves the cursor behind it.
func (p *projector) flush(ctx context.Context) error {
	if p.read == p.cursor {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeMax)
	defer cancel()
	items, err := itemsOf(ctx, p.client, p.wanted)
	if err == nil && len(items) > 0 {
		if err = p.write(ctx, items); err == nil {
			crashpoint.Hit(crashpoint.SinkAfterWrite)
		}
	}
	if err != nil {
		saved := p.store.SaveSink(ctx, p.save(p.cursor, err.Error()))
		return errors.Join(err, saved)
	}
	if err := p.store.SaveSink(ctx, p.save(p.read, "")); err != nil {
		return err
	}
	p.wrote = p.wrote || len(items) > 0
	p.cursor, p.passed, p.wanted = p.read, 0, p.wanted[:0]
	return nil
}

// itemsOf reads the jobs of events. A job that was removed is left out, but for the event that says so.
func itemsOf(ctx context.Context, client *redrive.Client, wanted []event.Event) ([]Item, error) {
	items := make([]Item, 0, len(wanted))
	failures := map[job.ID]*job.Failure{}
	var ids []job.ID
	for i := range wanted {
		e := &wanted[i]
		j, err := client.Get(ctx, e.Job)
		if errors.Is(err, store.ErrNotFound) {
			if e.Type == event.DeadLetterPurged {
				items = append(items, Item{Event: *e, Job: job.Job{ID: e.Job}})
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		items = append(items, Item{Event: *e, Job: j})
		ids = append(ids, j.ID)
	}
	for len(ids) > 0 {
		n := min(len(ids), job.PageMax)
		found, err := client.Latest(ctx, ids[:n])
		if err != nil {
			return nil, err
		}
		for i := range found {
			failures[found[i].Job] = &found[i]
		}
		ids = ids[n:]
	}
	for i := range items {
		items[i].Failure = failures[items[i].Job.ID]
	}
	return items, nil
}

// write writes the items. One that is refused is tried alone; then it is reported and left out.
func (p *projector) write(ctx context.Context, items []Item) error {
	for tries := 1; len(items) > 0; {
		err := p.sink.Write(ctx, items)
		refused, ok := errors.AsType[*Refused](err)
		if !ok {
			return err
		}
		if refused.Index > 0 { // what comes before it is written first
			if err := p.write(ctx, items[:refused.Index]); err != nil {
				return err
			}
			items, tries = items[refused.Index:], 1
			continue
		}
		if tries < refusedMax {
			tries++
			continue
		}
		p.Log.ErrorContext(ctx, "the sink has refused a job", "stream", p.Stream, "sink", p.sink.Name(), "job", items[0].Job.ID.String(), "error", refused.Err)
		if p.Lost != nil {
			if err := p.Lost(ctx, p.sink.Name(), &items[0], refused.Err); err != nil {
				return err
			}
		}
		items, tries = items[1:], 1
	}
	return nil
}
