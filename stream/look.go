package stream

import (
	"context"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// agesMax bounds the partitions whose oldest record is read.
const agesMax = 16

// look obeys what people have ordered: a pause, or another position of a partition. It reports whether
// reading must begin again at the positions of the store. All that was read is stored. Each
// store.ReportEvery it also reports the partitions of this process.
func (l *loop) look(ctx context.Context) (reopen bool) {
	l.lookedAt = l.Now()
	streams, err := l.client.Streams(ctx)
	for i := range streams {
		if streams[i].Name == l.Name {
			l.paused = streams[i].Mode == store.Paused
		}
	}
	var positions []store.Position
	if err == nil {
		positions, err = l.client.Positions(ctx, l.Name)
	}
	if err != nil { // the store is away, which the next take logs
		return false
	}
	from, stopped := l.reader.Reading()
	for i := range positions {
		p := &positions[i]
		at, mine := from[p.Partition]
		if !mine || p.Place != l.topic.Place(p.Partition) {
			continue
		}
		if s, ok := stopped[p.Partition]; ok {
			reopen = reopen || p.Next != at || s.State == "ahead" && s.Group <= p.Reached
		} else {
			reopen = reopen || p.Next < at
		}
	}
	if !reopen && (len(from) != l.partitions || l.Now().Sub(l.reported) >= store.ReportEvery) {
		l.report(ctx)
	}
	return reopen
}

// report stores what this process knows about its partitions. Errors are not important: the next
// report replaces this one.
func (l *loop) report(ctx context.Context) {
	l.reported = l.Now()
	start, end, err := l.reader.Ends(ctx)
	away := err != nil
	from, stopped := l.reader.Reading()
	l.ages(ctx, from, end)
	l.partitions = len(from)
	r := store.StreamReport{Stream: l.Name, Process: l.process}
	for partition, next := range from {
		p := store.PartitionReport{Place: l.topic.Place(partition), Topic: l.topic.Name, State: "running", Next: next, Start: start[partition], End: end[partition]}
		if oldest, ok := l.oldest[partition]; ok && next <= oldest.Offset && next < p.End {
			p.LagSeconds = max(0, int64(l.Now().Sub(oldest.Time)/time.Second))
		}
		s, isStopped := stopped[partition]
		switch {
		case isStopped:
			p.State, p.Reason, p.Since, p.Group = s.State, s.Reason, job.At(s.Since), s.Group
		case l.paused:
			p.State = "paused"
		case away:
			p.State, p.Reason = "broker-away", err.Error()
		case l.held:
			p.State = "backlogged"
		}
		r.Partitions = append(r.Partitions, p)
	}
	if err := l.client.ReportStream(ctx, r); err != nil {
		l.Log.WarnContext(ctx, "the report about the stream is not stored", "stream", l.Name, "error", err)
	}
}

// ages looks once a minute how old the oldest records are that are not read.
func (l *loop) ages(ctx context.Context, from, end map[int32]int64) {
	if l.Now().Sub(l.aged) < time.Minute {
		return
	}
	unread := map[int32]int64{}
	for partition, next := range from {
		if next < end[partition] && len(unread) < agesMax {
			unread[partition] = next
		}
	}
	if len(unread) == 0 {
		return // the next report looks again
	}
	l.aged, l.oldest = l.Now(), l.reader.Oldest(ctx, unread)
}

// left removes the report of this process.
func (l *loop) left(ctx context.Context) {
	l.log(ctx)
	if err := l.client.ReportStream(ctx, store.StreamReport{Stream: l.Name, Process: l.process, Left: true}); err != nil {
		l.Log.WarnContext(ctx, "the report about the stream is not removed", "stream", l.Name, "error", err)
	}
}
