package storetest

import (
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// stream takes records of two partitions, moves their positions, and holds a sink.
func (d *duel) stream() {
	t, by := d.t, d.by()
	if chance(t, "deaths first", 2) {
		d.claimAll()
		d.endDead()
	}
	first := make([]store.Position, 2)
	for i := range first {
		first[i] = store.Position{Place: store.Place{TopicID: "t", Partition: int32(i)}, Topic: "tasks", Next: int64(pick(t, "first offset", 0, 3))}
	}
	d.each("BeginPositions", func(s store.Store) (any, error) { return s.BeginPositions(ctx(), stream, first) })
	x := store.Taking{Stream: stream}
	for i := range d.last.Positions {
		if p := &d.last.Positions[i]; !chance(t, "not this partition", 3) {
			x.Parts = append(x.Parts, d.part(p))
		}
	}
	a := d.each("Take", func(s store.Store) (any, error) { return s.Take(ctx(), x) })
	if taken, ok := a.Value.([]store.Taken); ok && a.Err == "" {
		for _, one := range taken {
			switch one.Fate {
			case store.FateTaken:
				d.ids = append(d.ids, one.Job)
			case store.FateRevived:
				d.did("record that revives a job", 1)
			case store.FateReplayed:
				d.did("record that is dropped", 1)
			case store.FateExisting, store.FateDead, store.FateOwn, store.FateForeign, store.FateProcessed, store.FateEmpty:
			}
		}
	}
	if len(d.last.Positions) > 0 && chance(t, "move", 4) {
		p := d.last.Positions[0]
		m := store.PositionMove{Stream: stream, Place: p.Place, From: p.Next, To: max(0, p.Next-int64(pick(t, "back", 0, 2, 5))), What: pick(t, "what", "rewind", "accept-gap")}
		d.each("MovePosition", func(s store.Store) (any, error) { return s.MovePosition(ctx(), by, m) })
	}
	c := store.StreamChange{Name: pick(t, "stream", stream, stream, "none"), Mode: pick(t, "mode", store.Open, store.Paused)}
	d.each("SetStream", func(s store.Store) (any, error) { return s.SetStream(ctx(), by, c) })
	d.sink()
	d.markEffect()
	d.ask("Positions", func(s store.Store) (any, error) { return s.Positions(ctx(), stream) })
	d.ask("Streams", func(s store.Store) (any, error) { return s.Streams(ctx()) })
}

// part draws records of a partition: from its position, from below it, or with a gap.
func (d *duel) part(p *store.Position) store.TakingPart {
	t := d.t
	part := store.TakingPart{Place: p.Place, From: max(0, p.Next+int64(pick(t, "from", 0, 0, 0, -2, 1)))}
	part.Next = part.From
	for range rapid.IntRange(0, 3).Draw(t, "number of records") {
		r := store.Record{Offset: part.Next + int64(pick(t, "hole", 0, 0, 2)), Fate: pick(t, "fate", store.FateTaken, store.FateTaken, store.FateDead, store.FateOwn, store.FateForeign, store.FateProcessed, store.FateEmpty)}
		if part.Next = r.Offset + 1; !r.Skips() {
			id := d.reserve(1)
			r.Job = d.newJob(id)
			r.Job.ID, r.Job.Repeat, r.Job.Batch, r.Job.Aside = id, false, 0, false
			r.Revive = chance(t, "revive", 2)
			if r.Fate == store.FateDead && chance(t, "dead at once", 2) {
				r.Job.RunAt = 0
				r.Death = new(died(job.Claim{ID: id, Token: 1}, "InvalidInput", job.NonRetriable))
			}
			if n := d.deadWithKey(); n != nil && chance(t, "key of a dead job", 2) { // a random key is rarely the key of a dead job
				r.Job.Owner, r.Job.Kind, r.Job.Key, r.Job.Digest, r.Job.KeyUntil, r.Job.KeyPeriod = n.Owner, n.Kind, n.Key, n.Digest, 0, 0
				r.Revive = true
			}
		}
		part.Records = append(part.Records, r)
	}
	return part
}

// deadWithKey returns a job that was enqueued with a key and is dead now, or nil.
func (d *duel) deadWithKey() *job.New {
	for i := range d.news {
		n := &d.news[i]
		if n.Key == "" || strings.HasPrefix(n.Key, job.AliveKey) {
			continue
		}
		if slices.ContainsFunc(d.last.Jobs, func(j job.Job) bool { return j.ID == n.ID && j.State == job.Dead }) {
			return n
		}
	}
	return nil
}

// sink leases a sink and moves its cursor, and reports.
func (d *duel) sink() {
	t := d.t
	holder := pick(t, "holder of the sink", "p1", "p2")
	length := pick(t, "lease of the sink", time.Second, time.Minute, -time.Second)
	a := d.each("LeaseSink", func(s store.Store) (any, error) { return s.LeaseSink(ctx(), stream, "retry", holder, length) })
	save := store.SinkSave{Stream: stream, Sink: "retry", Holder: holder, Token: int64(pick(t, "token", 1, 2)), Error: pick(t, "error", "", "", "away")}
	if leased, ok := a.Value.(store.Sink); ok && a.Err == "" {
		save.Token, save.Cursor = leased.Token, event.Cursor{Seq: leased.Cursor.Seq + int64(pick(t, "ahead", 0, 1, -1)), Index: leased.Cursor.Index}
	}
	d.each("SaveSink", func(s store.Store) (any, error) { return nil, s.SaveSink(ctx(), save) })
	d.ask("Sinks", func(s store.Store) (any, error) { return s.Sinks(ctx(), "") })
	report := store.StreamReport{Stream: stream, Process: holder, Left: chance(t, "left", 4),
		Partitions: []store.PartitionReport{{Topic: "tasks", State: pick(t, "state", "running", "behind", "fine")}}}
	d.each("ReportStream", func(s store.Store) (any, error) { return nil, s.ReportStream(ctx(), report) })
	d.ask("StreamReports", func(s store.Store) (any, error) { return s.StreamReports(ctx(), stream) })
}

// markEffect claims a key and ends its mark.
func (d *duel) markEffect() {
	t := d.t
	key, holder := pick(t, "key of the mark", "a", "b", ""), pick(t, "holder of the mark", "p1", "p2")
	c := store.MarkClaim{Key: key, Holder: holder, Lease: pick(t, "lease of the mark", time.Second, time.Minute, 0), Job: job.ID(pick(t, "job of the mark", 0, 3))}
	a := d.each("ClaimMark", func(s store.Store) (any, error) { return s.ClaimMark(ctx(), c) })
	e := store.MarkEnd{Key: key, Holder: holder, Token: int64(pick(t, "token of the mark", 1, 2)), Done: chance(t, "done", 2), Keep: pick(t, "kept", 0, time.Second), Summary: pick(t, "summary", "", "sent")}
	if claimed, ok := a.Value.(store.Mark); ok && a.Err == "" && chance(t, "token of the claim", 2) {
		e.Token = claimed.Token
	}
	d.each("EndMark", func(s store.Store) (any, error) { return nil, s.EndMark(ctx(), e) })
}
