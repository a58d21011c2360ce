package api

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
)

// KindNames returns the kinds that the caller may submit: those of the configuration, or if every
// name is accepted, those of the stored jobs.
func (a *API) KindNames(c *Call) ([]string, error) {
	names := a.kindNames()
	if a.o.Kinds == nil {
		counts, err := a.counts.get(a.o.Now(), func() ([]redrive.JobCount, error) { return a.client.Counts(c.Context()) })
		if err != nil {
			return nil, err
		}
		known := make(map[string]bool)
		for _, n := range counts {
			known[n.Kind] = true
		}
		names = slices.Sorted(maps.Keys(known))
	}
	if c.Caller.Kinds != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(c.Caller.Kinds, name) })
	}
	return names, nil
}

// TakesText reports whether the payloads of a kind are texts, not JSON.
func (a *API) TakesText(kind string) bool { return a.o.Kinds[kind].Text }

// Enqueue adds a job that a form describes. A form that is sent twice with the same nonce adds one job.
// The error is a *Problem with all mistakes of the form.
func (a *API) Enqueue(c *Call, in *JobIn, nonce string) (redrive.Receipt, error) {
	r := &specReader{api: a, call: c, now: a.o.Now()}
	if in.Key == "" {
		r.header = nonce
	}
	spec := r.build(in, "", 0)
	if err := r.problem(); err != nil {
		return redrive.Receipt{}, err
	}
	receipt, err := a.client.Enqueue(c.Context(), spec)
	if err != nil {
		return receipt, enqueueProblem(err, false)
	}
	return receipt, nil
}

// Happened is a part of the log of events, the newest first.
type Happened struct {
	Events []event.Event
	// Before is the cursor from which an older part goes on; nil if the log has no older event.
	Before *event.Cursor
	// Scanned is how many events were looked at, and Back the time of the oldest of them.
	Scanned int
	Back    time.Time
}

// scanTime is how long a look into the log may take, scanMax how many events it looks at.
const (
	scanTime = 250 * time.Millisecond
	scanMax  = 20_000
)

// Latest returns the newest events before a cursor that are wanted, at most the given number. It goes
// back through the log in steps, for a limited time, and not past the time since; the zero time is no bound.
func (a *API) Latest(ctx context.Context, before *event.Cursor, since time.Time, wants func(*event.Event) bool, limit int) (h Happened, err error) {
	first, last, err := a.client.EventSpan(ctx)
	if err != nil {
		return h, err
	}
	until := event.Cursor{Seq: last.Seq + 1}
	if before != nil {
		until = *before
	}
	began, step := a.o.Now(), int64(1)
	for len(h.Events) < limit && first.Before(until) {
		if !since.IsZero() && h.Scanned > 0 && h.Back.Before(since) {
			return h, nil
		}
		if h.Scanned >= scanMax || h.Scanned > 0 && a.o.Now().Sub(began) > scanTime {
			break
		}
		// Events of the commits from from on, up to until.
		from := event.Cursor{Seq: until.Seq - step, Index: 0}
		if from.Before(first) {
			from = first
		}
		var found []event.Event
		n := 0
		for e, err := range a.client.Events(ctx, from, &redrive.EventsOptions{StopAtEnd: true}) {
			if err != nil {
				return h, err
			}
			if !e.Cursor.Before(until) {
				break
			}
			if n == 0 {
				h.Back = e.At.Time()
			}
			if n++; wants(&e) && !e.At.Time().Before(since) {
				found = append(found, e)
			}
		}
		h.Scanned += n
		slices.Reverse(found)
		h.Events = append(h.Events, found...)
		until = from
		// A commit may have a thousand events, so the first step is one commit. The steps grow while
		// they find few events, and faster when they find none: most numbers may be missing.
		switch {
		case n == 0:
			step *= 16
		case n < scanMax/8:
			step *= 2
		}
	}
	switch {
	case len(h.Events) > limit:
		h.Events = h.Events[:limit]
		until = h.Events[limit-1].Cursor
		h.Before = &until
	case first.Before(until):
		h.Before = &until
	}
	return h, nil
}
