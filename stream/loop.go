package stream

import (
	"context"
	"math"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/own"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/intake"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/wire"
)

// lookEvery is the time between two looks at what people have ordered.
const lookEvery = time.Second

// loop does the actions of the core, one at a time.
type loop struct {
	*Config
	client  *redrive.Client
	reader  *kafka.Reader
	core    *intake.Core
	topic   kafka.Topic
	process string // the name under which this process reports
	storeID string // set for the retry topic: records with it are redrive's own

	paused   bool // a person has paused the stream
	held     bool // too many jobs wait
	lookedAt time.Time
	logged   store.FateCounts
	loggedAt time.Time
	reported time.Time

	partitions int // that were reported
	aged       time.Time
	oldest     map[int32]wire.Record // by partition: the oldest record that was not read then
	warned     time.Time             // when a failed count was logged
}

func (l *loop) run(ctx context.Context) error {
	l.look(ctx) // a stream that is paused takes nothing, also at its start
	action := l.core.Step(l.Now(), intake.Begun{})
	stopping := false
	for {
		if end, ok := action.(intake.End); ok {
			l.left(context.WithoutCancel(ctx))
			return end.Err
		}
		event, err := l.do(ctx, action)
		if err != nil {
			return err
		}
		if lost := l.reader.Lost(); len(lost) > 0 {
			l.core.Step(l.Now(), intake.Lost{Partitions: lost})
		}
		action = l.core.Step(l.Now(), event)
		switch {
		case ctx.Err() != nil && !stopping:
			stopping = true
			action = l.core.Step(l.Now(), intake.Stop{})
		case !stopping && l.core.Idle() && l.Now().Sub(l.lookedAt) >= lookEvery:
			if l.look(ctx) {
				action = intake.Reopen{}
			}
		}
		if l.Now().Sub(l.loggedAt) >= time.Minute {
			l.log(ctx)
		}
	}
}

// do does one action. Writes are finished when the context ends, within a time limit.
func (l *loop) do(ctx context.Context, action intake.Action) (intake.Event, error) {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMax)
	defer cancel()
	switch a := action.(type) {
	case intake.Count:
		if l.paused {
			return intake.Counted{Waiting: math.MaxInt64}, nil
		}
		n, err := l.waiting(writing)
		if err != nil && l.Now().Sub(l.warned) >= time.Minute {
			l.warned = l.Now()
			l.Log.WarnContext(ctx, "no records are read: it is not known how many jobs wait", "stream", l.Name, "topic", l.topic.Name, "error", err)
		}
		l.held = n >= int64(l.Backlog)
		return intake.Counted{Waiting: n, Err: err}, nil
	case intake.Poll:
		polling, cancel := context.WithTimeout(ctx, commitPoll)
		defer cancel()
		parts, err := l.reader.Poll(polling, pollMax)
		if len(parts) > 0 {
			crashpoint.Hit(crashpoint.StreamAfterPoll)
		}
		return l.polled(parts), err
	case intake.Take:
		if err := l.skip(writing, a.Parts); err != nil {
			l.Log.WarnContext(ctx, "records wait: it is not known which tasks others have processed", "stream", l.Name, "topic", l.topic.Name, "error", err)
			return intake.Taken{Err: err}, nil
		}
		taken, err := l.client.Take(own.Kinds(writing), l.Name, l.parts(a.Parts))
		if err != nil {
			l.Log.WarnContext(ctx, "records are not stored yet", "stream", l.Name, "topic", l.topic.Name, "error", err)
		} else {
			crashpoint.Hit(crashpoint.StreamAfterTake)
		}
		return intake.Taken{Records: taken, Err: err}, nil
	case intake.Reopen:
		l.Log.InfoContext(ctx, "reading begins again at the positions of the store", "stream", l.Name, "topic", l.topic.Name)
		return intake.Reopened{}, l.reader.Reopen()
	case intake.Commit:
		err := l.reader.Commit(writing, a.Next)
		if err != nil {
			l.Log.WarnContext(ctx, "offsets are not reported yet", "stream", l.Name, "error", err)
		} else {
			crashpoint.Hit(crashpoint.StreamAfterCommit)
		}
		return intake.Committed{Err: err}, nil
	case intake.Sleep:
		timer := time.NewTimer(a.For)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return intake.Begun{}, nil
}

// waiting returns how many jobs of the queue wait for their first run.
func (l *loop) waiting(ctx context.Context) (n int64, err error) {
	counts, err := l.client.Counts(ctx)
	for _, c := range counts {
		if c.Queue == l.Queue && c.State == job.Waiting {
			n += c.N
		}
	}
	return n, err
}

func (l *loop) polled(parts []kafka.Part) (p intake.Polled) {
	for i := range parts {
		read := &parts[i]
		part := intake.Part{Partition: read.Partition, From: read.From, Next: read.Next, Items: make([]intake.Item, len(read.Records))}
		for k := range read.Records {
			part.Items[k] = l.item(&read.Records[k])
		}
		p.Parts = append(p.Parts, part)
	}
	return p
}

// item reads a record. Headers of redrive have a meaning on the retry topic only, and only there a
// record asks for the next life of a dead job.
func (l *loop) item(r *wire.Record) intake.Item {
	if l.storeID == "" {
		return l.read(r)
	}
	if w, ok := wire.Written(r); ok {
		if w.Store == l.storeID {
			return intake.Item{Record: r, Fate: store.FateOwn}
		}
		return intake.Item{Record: r, Fate: store.FateForeign}
	}
	item := l.read(r)
	item.Revive = true
	return item
}

// parts returns what the store takes.
func (l *loop) parts(read []intake.Part) []redrive.RecordPart {
	parts := make([]redrive.RecordPart, len(read))
	for i := range read {
		p := &read[i]
		parts[i] = redrive.RecordPart{Place: l.topic.Place(p.Partition), From: p.From, Next: p.Next, Records: make([]redrive.Record, len(p.Items))}
		for k := range p.Items {
			item, r := &p.Items[k], &parts[i].Records[k]
			r.Offset, r.Fate, r.Revive = item.Record.Offset, item.Fate, item.Revive
			if item.Fate != store.FateReplayed { // it becomes no job
				continue
			}
			r.Fate = store.FateTaken
			if item.Dead != nil {
				r.Fate, r.Revive, r.Err = store.FateDead, false, refusal(item.Record, item.Dead)
			}
			r.Spec = l.spec(item, l.topic.ID)
		}
	}
	return parts
}

// log logs what has become of the records since the last time.
func (l *loop) log(ctx context.Context) {
	if t, _ := l.core.Totals(); t != l.logged {
		_, ofDead := l.core.Totals()
		l.Log.InfoContext(ctx, "records", "stream", l.Name, "topic", l.topic.Name, "taken", t.Taken-l.logged.Taken, "duplicate", t.Existing-l.logged.Existing,
			"duplicate_of_dead", ofDead, "dead", t.Dead-l.logged.Dead, "revived", t.Revived-l.logged.Revived, "own", t.Own-l.logged.Own,
			"foreign", t.Foreign-l.logged.Foreign)
		l.logged = t
	}
	l.loggedAt = l.Now()
}
