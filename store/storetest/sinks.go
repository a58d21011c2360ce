package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// This file has the promises about what people and processes say about streams, and about sinks.

// part of: S4
func streamIsPaused(r *rig) {
	r.unchanged(func() {
		_, err := r.SetStream(ctx(), operator, store.StreamChange{Name: stream, Mode: store.Paused})
		r.is(err, store.ErrNotFound)
	})
	r.beginStream(0)
	paused := store.Stream{Name: stream, Mode: store.Paused, Reason: operator.Reason, By: operator.Actor, At: r.now()}
	for range 2 { // the second time changes nothing
		got, err := r.SetStream(ctx(), operator, store.StreamChange{Name: stream, Mode: store.Paused})
		r.ok(err)
		same(r, "stream", got, paused)
	}
	all, err := r.Streams(ctx())
	r.ok(err)
	same(r, "streams", all, []store.Stream{paused})
	same(r, "fates while it is paused", r.takeRecords(0, 1, r.record(0, "a")), []string{"taken"}) // a reader had them in hand
	_, err = r.SetStream(ctx(), operator, store.StreamChange{Name: stream})
	r.ok(err)
	var actions []string
	for _, a := range r.audit() {
		actions = append(actions, a.Action+" "+a.Before+" "+a.After)
	}
	same(r, "audit rows", actions, []string{"stream.pause open paused", "stream.resume paused open"})
	_, err = r.SetStream(ctx(), operator, store.StreamChange{Name: stream, Mode: store.Draining})
	r.is(err, store.ErrInvalid)
}

// part of: S4
func reportsAreKept(r *rig) {
	report := store.StreamReport{Stream: stream, Process: "p1", Partitions: []store.PartitionReport{{Place: place, Topic: "tasks", State: "behind", Reason: "why", Since: 5, Next: 7, End: 9, LagSeconds: 3}}}
	r.ok(r.ReportStream(ctx(), report))
	second := report
	second.Process, second.Partitions = "p2", nil
	r.ok(r.ReportStream(ctx(), second))
	report.At, second.At = r.now(), r.now()
	list, err := r.StreamReports(ctx(), stream)
	r.ok(err)
	same(r, "reports", list, []store.StreamReport{report, second})
	r.clock.Advance(store.ReportKept)
	r.ok(r.ReportStream(ctx(), second))
	second.At = r.now()
	list, err = r.StreamReports(ctx(), "")
	r.ok(err)
	same(r, "reports after a day", list, []store.StreamReport{second})
	second.Left = true
	r.ok(r.ReportStream(ctx(), second))
	same(r, "reports after it has left", len(r.dump().Reports), 0)
	report.Partitions[0].State = "fine"
	r.is(r.ReportStream(ctx(), report), store.ErrInvalid)
}

// part of: S4
func sinkHasOneHolder(r *rig) {
	a, err := r.LeaseSink(ctx(), stream, "retry", "p1", time.Minute)
	r.ok(err)
	same(r, "sink", a, store.Sink{Stream: stream, Name: "retry", Holder: "p1", Token: 1, Until: r.in(time.Minute)})
	r.unchanged(func() {
		_, err := r.LeaseSink(ctx(), stream, "retry", "p2", time.Minute)
		held, ok := errors.AsType[*store.SinkHeld](err)
		if !ok || held.Holder != "p1" || held.Until != a.Until {
			r.fail("got error %v, want that p1 holds the sink", err)
		}
	})
	r.clock.Advance(time.Second)
	a, err = r.LeaseSink(ctx(), stream, "retry", "p1", time.Minute)
	r.ok(err)
	same(r, "token and lease of the same holder", []any{a.Token, a.Until}, []any{int64(1), r.in(time.Minute)})
	save := store.SinkSave{Stream: stream, Sink: "retry", Holder: "p1", Token: 1, Cursor: event.Cursor{Seq: 5, Index: 2}}
	r.ok(r.SaveSink(ctx(), save))
	r.clock.Advance(time.Minute)
	b, err := r.LeaseSink(ctx(), stream, "retry", "p2", time.Minute)
	r.ok(err)
	same(r, "the next holder", []any{b.Token, b.Cursor}, []any{int64(2), save.Cursor})
	r.unchanged(func() {
		save.Cursor.Seq = 9
		r.is(r.SaveSink(ctx(), save), store.ErrLeaseLost)
		back := store.SinkSave{Stream: stream, Sink: "retry", Holder: "p2", Token: 2, Cursor: event.Cursor{Seq: 4}}
		r.is(r.SaveSink(ctx(), back), store.ErrInvalid)
		back.Sink = "none"
		r.is(r.SaveSink(ctx(), back), store.ErrNotFound)
	})
}

// part of: S4
func sinkKeepsItsError(r *rig) {
	_, err := r.LeaseSink(ctx(), stream, "dead", "p1", time.Minute)
	r.ok(err)
	save := store.SinkSave{Stream: stream, Sink: "dead", Holder: "p1", Token: 1, Error: "away"}
	r.ok(r.SaveSink(ctx(), save))
	first := r.now()
	r.clock.Advance(time.Second)
	save.Error = "still away"
	r.ok(r.SaveSink(ctx(), save))
	list, err := r.Sinks(ctx(), stream)
	r.ok(err)
	same(r, "error", []any{list[0].Error, list[0].FailedAt}, []any{"still away", first})
	save.Error = ""
	r.ok(r.SaveSink(ctx(), save))
	list, err = r.Sinks(ctx(), "")
	r.ok(err)
	same(r, "error after a write", []any{list[0].Error, list[0].FailedAt}, []any{"", job.Micros(0)})
}

// part of: X3
func streamBounds(r *rig) {
	r.beginStream(0)
	long := strings.Repeat("x", job.TextMax+1)
	r.unchanged(func() {
		_, err := r.BeginPositions(ctx(), "no name", nil)
		r.is(err, store.ErrInvalid)
		_, err = r.BeginPositions(ctx(), stream, []store.Position{{Topic: long}})
		r.is(err, store.ErrTooLarge)
		_, err = r.BeginPositions(ctx(), stream, make([]store.Position, store.PositionsMax+1))
		r.is(err, store.ErrTooLarge)
		_, err = r.Take(ctx(), store.Taking{Stream: stream, Parts: make([]store.TakingPart, store.TakePartsMax+1)})
		r.is(err, store.ErrTooLarge)
		_, err = r.Take(ctx(), taking(0, 20_000, make([]store.Record, job.EnqueueMax+1)...))
		r.is(err, store.ErrTooLarge)
		twice := taking(0, 0)
		twice.Parts = append(twice.Parts, twice.Parts[0])
		_, err = r.Take(ctx(), twice)
		r.is(err, store.ErrInvalid)
		_, err = r.Take(ctx(), taking(0, 1, store.Record{Offset: 1, Fate: store.FateOwn}))
		r.is(err, store.ErrInvalid)
		_, err = r.LeaseSink(ctx(), stream, "s", "p", store.SinkLeaseMax+1)
		r.is(err, store.ErrInvalid)
		r.is(r.SaveSink(ctx(), store.SinkSave{Stream: stream, Sink: "s", Holder: "p", Error: strings.Repeat("x", job.MessageMax+1)}), store.ErrTooLarge)
	})
	for i := range store.SinksMax {
		_, err := r.LeaseSink(ctx(), stream, "s"+job.ID(i).String(), "p", time.Second)
		r.ok(err)
	}
	r.unchanged(func() {
		_, err := r.LeaseSink(ctx(), stream, "one-more", "p", time.Second)
		r.is(err, store.ErrTooLarge)
	})
}
