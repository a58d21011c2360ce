package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selPosition    = ask("selPosition")
	selPositions   = ask("selPositions")
	insPosition    = ask("insPosition")
	setPosition    = ask("setPosition")
	countPositions = ask("countPositions")
	selStream      = ask("selStream")
	allStreams     = ask("allStreams")
	countStreams   = ask("countStreams")
	insStream      = ask("insStream")
	setStream      = ask("setStream")
	putReport      = ask("putReport")
	delReport      = ask("delReport")
	delReports     = ask("delReports")
	selReports     = ask("selReports")
	selSink        = ask("selSink")
	selSinks       = ask("selSinks")
	countSinks     = ask("countSinks")
	insSink        = ask("insSink")
	setSink        = ask("setSink")

	// RecountPositions finds positions whose counts do not agree.
	RecountPositions = ask("recountPositions")
)

// lockedStreams is the name of the lock for making streams, positions and sinks.
const lockedStreams = "streams"

// BeginPositions implements store.Streams.
func (s *Core) BeginPositions(ctx context.Context, stream string, first []store.Position) (list []store.Position, err error) {
	if err := store.ValidPositions(stream, first); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		if err := t.beginPositions(stream, first); err != nil {
			return err
		}
		list, err = readPositions(t.s, stream)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (t *Txn) beginPositions(stream string, first []store.Position) error {
	if err := t.lockName(lockedStreams); err != nil {
		return err
	}
	made, err := t.exec(insStream, text(stream))
	if err != nil {
		return err
	}
	if made > 0 {
		n, err := ReadInt(t.s, countStreams)
		if err == nil && n > store.StreamsMax {
			err = store.TooManyStreams(stream)
		}
		if err != nil {
			return err
		}
	}
	began := 0
	for i := range first {
		p := &first[i]
		n, err := t.exec(insPosition, text(stream), text(p.Cluster), text(p.TopicID), num(p.Partition), text(p.Topic), num(p.Next), num(t.now))
		if err != nil {
			return err
		}
		began += n
	}
	if began == 0 {
		t.reliesOnEarlier = made == 0
		return nil
	}
	n, err := ReadInt(t.s, countPositions, text(stream))
	if err == nil && n > store.PositionsMax {
		err = store.TooManyPositions(stream, int(n))
	}
	return err
}

// Positions implements store.Streams.
func (s *Core) Positions(ctx context.Context, stream string) (list []store.Position, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readPositions(c, stream)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func readPositions(c Session, stream string) (list []store.Position, err error) {
	list = []store.Position{}
	err = c.Rows(selPositions, func(r Row) error { list = append(list, scanPosition(r)); return nil }, text(stream))
	return list, err
}

// MovePosition implements store.Streams.
func (s *Core) MovePosition(ctx context.Context, by store.By, m store.PositionMove) (moved store.Position, err error) {
	if err := errors.Join(by.Validate(), m.Validate()); err != nil {
		return store.Position{}, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		p, err := t.position(m.Stream, m.Place)
		if err == nil && p.Next != m.From {
			err = m.ErrNotAt(p.Next)
		}
		if err != nil {
			return err
		}
		m.Apply(p, t.now)
		if err := t.putPosition(p); err != nil {
			return err
		}
		moved = *p
		e, action, target, before, after := m.Moved(p)
		t.events.Add(&e)
		return t.audit(by, action, target, before, after)
	})
	if err != nil {
		return store.Position{}, err
	}
	return moved, nil
}

// Streams implements store.Streams.
func (s *Core) Streams(ctx context.Context) (list []store.Stream, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readStreams(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func readStreams(c Session) (list []store.Stream, err error) {
	list = []store.Stream{}
	err = c.Rows(allStreams, func(r Row) error { list = append(list, scanStream(r)); return nil })
	return list, err
}

func scanStream(r Row) store.Stream {
	return store.Stream{Name: r.Text(0), Mode: store.Mode(r.Int(1)), Reason: r.Text(2), By: r.Text(3), At: job.Micros(r.Int(4))}
}

// SetStream implements store.Streams.
func (s *Core) SetStream(ctx context.Context, by store.By, c store.StreamChange) (after store.Stream, err error) {
	if err := errors.Join(by.Validate(), c.Validate()); err != nil {
		return store.Stream{}, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		after, err = t.setStream(by, &c)
		return err
	})
	if err != nil {
		return store.Stream{}, err
	}
	return after, nil
}

func (t *Txn) setStream(by store.By, c *store.StreamChange) (store.Stream, error) {
	if err := t.lockName(lockedStreams); err != nil {
		return store.Stream{}, err
	}
	var before *store.Stream
	err := t.rows(selStream, func(r Row) error { found := scanStream(r); before = &found; return nil }, text(c.Name))
	switch {
	case err != nil:
		return store.Stream{}, err
	case before == nil:
		return store.Stream{}, store.NoStream(c.Name)
	case before.Mode == c.Mode:
		t.reliesOnEarlier = true
		return *before, nil
	}
	after := store.Stream{Name: c.Name, Mode: c.Mode, Reason: by.Reason, By: by.Actor, At: t.now}
	if err := t.one(setStream, text(c.Name), num(c.Mode), setText(by.Reason), text(by.Actor), num(t.now)); err != nil {
		return store.Stream{}, err
	}
	e, action := c.Changed()
	t.events.Add(&e)
	return after, t.audit(by, action, c.Name, before.Mode.String(), c.Mode.String())
}

// ReportStream implements store.Streams.
func (s *Core) ReportStream(ctx context.Context, r store.StreamReport) error {
	body, err := r.Encode()
	if err != nil {
		return err
	}
	return s.db.SignWrite(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		if _, err := t.exec(delReports, num(t.now.Add(-store.ReportKept))); err != nil {
			return err
		}
		if r.Left {
			_, err := t.exec(delReport, text(r.Stream), text(r.Process))
			return err
		}
		_, err := t.exec(putReport, text(r.Stream), text(r.Process), num(t.now), blob(body))
		return err
	})
}

// StreamReports implements store.Streams.
func (s *Core) StreamReports(ctx context.Context, stream string) (list []store.StreamReport, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readReports(c, stream)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func readReports(c Session, stream string) (list []store.StreamReport, err error) {
	list = []store.StreamReport{}
	err = c.Rows(selReports, func(r Row) error {
		report := store.StreamReport{Stream: r.Text(0), Process: r.Text(1), At: job.Micros(r.Int(2))}
		err := report.Decode(r.Blob(3))
		list = append(list, report)
		return err
	}, text(stream))
	return list, err
}

// LeaseSink implements store.Streams.
func (s *Core) LeaseSink(ctx context.Context, stream, sink, holder string, lease time.Duration) (leased store.Sink, err error) {
	if err := store.ValidLease(stream, sink, holder, lease); err != nil {
		return store.Sink{}, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		leased, err = t.leaseSink(stream, sink, holder, lease)
		return err
	})
	if err != nil {
		return store.Sink{}, err
	}
	return leased, nil
}

func (t *Txn) leaseSink(stream, sink, holder string, lease time.Duration) (leased store.Sink, err error) {
	t.noDeadLetters = true
	known, err := t.sink(stream, sink)
	if err != nil {
		return leased, err
	}
	if known == nil {
		if err := t.makeSink(stream, sink); err != nil {
			return leased, err
		}
		if known, err = t.sink(stream, sink); err != nil {
			return leased, err
		}
	}
	if leased, err = known.Lease(holder, lease, t.now); err != nil {
		return leased, err
	}
	return leased, t.putSink(&leased)
}

// makeSink writes the row of a sink, unless another transaction has done so meanwhile.
func (t *Txn) makeSink(stream, sink string) error {
	if err := t.lockName(lockedStreams); err != nil {
		return err
	}
	if _, err := t.exec(insSink, text(stream), text(sink)); err != nil {
		return err
	}
	n, err := ReadInt(t.s, countSinks, text(stream))
	if err == nil && n > store.SinksMax {
		err = store.TooManySinks(stream, sink)
	}
	return err
}

// sink reads a sink, and locks it. It is nil if the sink does not exist.
func (t *Txn) sink(stream, sink string) (found *store.Sink, err error) {
	err = t.rows(selSink, func(r Row) error { s := scanSink(r); found = &s; return nil }, text(stream), text(sink))
	return found, err
}

func (t *Txn) putSink(s *store.Sink) error {
	return t.one(setSink, text(s.Stream), text(s.Name), num(s.Cursor.Seq), num(s.Cursor.Index), text(s.Holder), num(s.Token), num(s.Until),
		setNum(s.FailedAt), setText(s.Error))
}

func scanSink(r Row) store.Sink {
	return store.Sink{Stream: r.Text(0), Name: r.Text(1), Cursor: event.Cursor{Seq: r.Int(2), Index: int(r.Int(3))}, Holder: r.Text(4), Token: r.Int(5),
		Until: job.Micros(r.Int(6)), FailedAt: job.Micros(r.Int(7)), Error: r.Text(8)}
}

// SaveSink implements store.Streams.
func (s *Core) SaveSink(ctx context.Context, c store.SinkSave) error {
	if err := c.Validate(); err != nil {
		return err
	}
	return s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		known, err := t.sink(c.Stream, c.Sink)
		if err == nil && known == nil {
			err = fmt.Errorf("sink %q of the stream %q: %w", c.Sink, c.Stream, store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		saved, err := known.Save(&c, t.now)
		if err != nil {
			return err
		}
		if saved == *known {
			t.reliesOnEarlier = true
			return nil
		}
		return t.putSink(&saved)
	})
}

// Sinks implements store.Streams.
func (s *Core) Sinks(ctx context.Context, stream string) (list []store.Sink, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readSinks(c, stream)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func readSinks(c Session, stream string) (list []store.Sink, err error) {
	list = []store.Sink{}
	err = c.Rows(selSinks, func(r Row) error { list = append(list, scanSink(r)); return nil }, text(stream))
	return list, err
}

func dumpStreams(c Session, d *store.Dump) (err error) {
	if d.Streams, err = readStreams(c); err != nil {
		return err
	}
	if d.Positions, err = readPositions(c, ""); err != nil {
		return err
	}
	if d.Sinks, err = readSinks(c, ""); err != nil {
		return err
	}
	if d.Reports, err = readReports(c, ""); err != nil {
		return err
	}
	d.Marks, err = readMarks(c)
	return err
}
