package stream

import (
	"context"
	"errors"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/intake"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/wire"
)

// loop does the actions of the core, one at a time.
type loop struct {
	*Config
	client   *redrive.Client
	reader   *kafka.Reader
	core     *intake.Core
	topic    string
	storeID  string           // set for the retry topic: records with it are redrive's own
	skipped  map[string]int64 // records that became no job: own, foreign
	logged   intake.Totals
	loggedAt time.Time
}

func (l *loop) run(ctx context.Context) error {
	action := l.core.Step(l.Now(), intake.Begun{})
	stopping := false
	for {
		if end, ok := action.(intake.End); ok {
			l.report(context.WithoutCancel(ctx))
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
		if ctx.Err() != nil && !stopping {
			stopping = true
			action = l.core.Step(l.Now(), intake.Stop{})
		}
		if l.Now().Sub(l.loggedAt) >= time.Minute {
			l.report(ctx)
		}
	}
}

// do does one action. Writes are finished when the context ends, within a time limit.
func (l *loop) do(ctx context.Context, action intake.Action) (intake.Event, error) {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMax)
	defer cancel()
	switch a := action.(type) {
	case intake.Count:
		n, err := l.waiting(writing)
		return intake.Counted{Waiting: n, Err: err}, nil
	case intake.Poll:
		polling, cancel := context.WithTimeout(ctx, commitPoll)
		defer cancel()
		batch, err := l.reader.Poll(polling, pollMax)
		return l.polled(batch), err
	case intake.Take:
		specs := make([]redrive.Spec, len(a.Items))
		for i := range a.Items {
			specs[i] = l.spec(&a.Items[i], l.reader.TopicID())
		}
		receipts, err := l.client.EnqueueMany(writing, specs)
		if err == nil && l.storeID != "" {
			err = l.revive(writing, receipts)
		}
		if err != nil {
			l.Log.WarnContext(ctx, "records are not stored yet", "stream", l.Name, "topic", l.topic, "records", len(specs), "error", err)
		}
		return intake.Taken{Receipts: receipts, Err: err}, nil
	case intake.Commit:
		err := l.reader.Commit(writing, a.Next)
		if err != nil {
			l.Log.WarnContext(ctx, "offsets are not committed yet", "stream", l.Name, "error", err)
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

func (l *loop) polled(b kafka.Batch) intake.Polled {
	p := intake.Polled{Next: b.Next}
	for i := range b.Records {
		r := &b.Records[i]
		if l.storeID != "" { // headers of redrive have a meaning on the retry topic only
			if w, ok := wire.Written(r); ok {
				if w.Store == l.storeID {
					l.skipped["own"]++
				} else {
					l.skipped["foreign"]++
				}
				continue
			}
		}
		p.Items = append(p.Items, l.read(r))
	}
	return p
}

// revive retries the dead jobs whose tasks somebody has published again on the retry topic.
func (l *loop) revive(ctx context.Context, receipts []job.Receipt) error {
	for _, r := range receipts {
		if !r.Existing || r.State != job.Dead {
			continue
		}
		err := l.client.Retry(ctx, store.Reviver(l.Name), r.ID, nil)
		switch {
		case err == nil:
			l.skipped["revived"]++
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound): // somebody else was faster
			return err
		}
	}
	return nil
}

// report logs what has become of the records since the last time.
func (l *loop) report(ctx context.Context) {
	t := l.core.Totals()
	if t != l.logged {
		l.Log.InfoContext(ctx, "records", "stream", l.Name, "topic", l.topic, "taken", t.Taken-l.logged.Taken, "duplicate", t.Duplicate-l.logged.Duplicate,
			"duplicate_of_dead", t.OfDead-l.logged.OfDead, "dead", t.Dead-l.logged.Dead)
	}
	if len(l.skipped) > 0 {
		l.Log.InfoContext(ctx, "records of the retry topic that became no job", "stream", l.Name, "own", l.skipped["own"], "foreign", l.skipped["foreign"], "revived", l.skipped["revived"])
		clear(l.skipped)
	}
	l.logged, l.loggedAt = t, l.Now()
}
