package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

type (
	positionName struct {
		stream string
		store.Place
	}
	sinkName   struct{ stream, sink string }
	reportName struct{ stream, process string }
)

// streams are the streams of a store.
type streams struct {
	streams   map[string]*store.Stream
	positions map[positionName]*store.Position
	sinks     map[sinkName]*store.Sink
	reports   map[reportName]store.StreamReport
}

func newStreams() streams {
	return streams{make(map[string]*store.Stream), make(map[positionName]*store.Position), make(map[sinkName]*store.Sink), make(map[reportName]store.StreamReport)}
}

// BeginPositions implements store.Streams.
func (s *Store) BeginPositions(ctx context.Context, stream string, first []store.Position) ([]store.Position, error) {
	t, err := s.begin(ctx, "begin positions")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := store.ValidPositions(stream, first); err != nil {
		return nil, t.errorf("%w", err)
	}
	if t.logs.streams[stream] == nil && len(t.logs.streams) >= store.StreamsMax {
		return nil, t.errorf("%w", store.TooManyStreams(stream))
	}
	n := len(t.positionsOf(stream))
	fresh := make(map[positionName]*store.Position)
	for i := range first {
		name := positionName{stream, first[i].Place}
		if t.logs.positions[name] == nil && fresh[name] == nil {
			fresh[name] = &store.Position{Stream: stream, Place: first[i].Place, Topic: first[i].Topic, Next: first[i].Next, First: first[i].Next, Reached: first[i].Next, MovedAt: t.now}
		}
	}
	if n += len(fresh); n > store.PositionsMax {
		return nil, t.errorf("%w", store.TooManyPositions(stream, n))
	}
	if t.logs.streams[stream] == nil {
		t.logs.streams[stream] = &store.Stream{Name: stream}
	}
	maps.Copy(t.logs.positions, fresh)
	return t.positionsOf(stream), nil
}

// positionsOf returns the positions of a stream, or of all streams, in order.
func (t *tx) positionsOf(stream string) []store.Position {
	list := make([]store.Position, 0, len(t.logs.positions))
	for name, p := range t.logs.positions {
		if stream == "" || name.stream == stream {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b store.Position) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Topic, b.Topic), a.Compare(b.Place))
	})
	return list
}

// Positions implements store.Streams.
func (s *Store) Positions(ctx context.Context, stream string) ([]store.Position, error) {
	t, err := s.begin(ctx, "positions")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.positionsOf(stream), nil
}

// Take implements store.Streams.
func (s *Store) Take(ctx context.Context, x store.Taking) ([]store.Taken, error) {
	t, err := s.begin(ctx, "take")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := x.Validate(); err != nil {
		return nil, t.errorf("%w", err)
	}
	answer, err := t.take(&x)
	if err != nil {
		return nil, t.errorf("%w", err)
	}
	return answer, nil
}

func (t *tx) take(x *store.Taking) ([]store.Taken, error) {
	for _, part := range x.InOrder() {
		p := t.logs.positions[positionName{x.Stream, part.Place}]
		if p == nil {
			return nil, store.NoPosition(x.Stream, part.Place)
		}
		if part.From > p.Next {
			return nil, &store.Gap{Stream: x.Stream, Place: part.Place, Position: p.Next, From: part.From}
		}
	}
	c := newIntake(t)
	answer, err := c.lookRecords(x)
	if err != nil {
		return nil, err
	}
	for _, n := range c.fresh {
		t.insert(n)
	}
	t.endDead(x, answer)
	i := 0
	for k := range x.Parts {
		part := &x.Parts[k]
		p := t.logs.positions[positionName{x.Stream, part.Place}]
		for m := range part.Records {
			if a := &answer[i]; part.Records[m].Revive && a.Fate == store.FateExisting && a.State == job.Dead && t.reviveFor(x.Stream, a.Job) {
				a.Fate = store.FateRevived
			}
			p.Counts.Count(answer[i].Fate)
			i++
		}
		if part.Next > p.Next {
			p.Next, p.Reached, p.MovedAt = part.Next, max(p.Reached, part.Next), t.now
		}
	}
	return answer, nil
}

// endDead ends the jobs of records that cannot be tasks. It comes before the retries of dead jobs, also in the events.
func (t *tx) endDead(x *store.Taking, answer []store.Taken) {
	i := -1
	for k := range x.Parts {
		for m := range x.Parts[k].Records {
			i++
			if o := x.Parts[k].Records[m].Death; o != nil && answer[i].Fate == store.FateDead {
				t.endTaken(o, store.TakenBy(x.Stream))
			}
		}
	}
}

// endTaken ends the job of a record that cannot be a task, as if a worker had claimed it and ended its run.
func (t *tx) endTaken(o *job.Outcome, holder string) {
	r := t.jobs[o.ID]
	from := r.State
	t.detach(r)
	r.State, r.Token, r.ClaimedAt, r.Holder = job.Running, o.Token, t.now, holder
	usageOf(t.byQueue, r.Queue).running++
	usageOf(t.byKind, r.Kind).running++
	t.attach(r)
	t.started(r)
	t.transition(r, from, job.Claimed, "")
	t.endRun(r, o, r.lane.laneName)
}

// lookRecords looks at all records before any of them is written.
func (c *intake) lookRecords(x *store.Taking) (answer []store.Taken, err error) {
	var conflicts []store.KeyConflict
	i := -1
	for k := range x.Parts {
		next := c.logs.positions[positionName{x.Stream, x.Parts[k].Place}].Next
		for m := range x.Parts[k].Records {
			r := &x.Parts[k].Records[m]
			i++
			switch {
			case r.Offset < next:
				answer = append(answer, store.Taken{Fate: store.FateReplayed})
				continue
			case r.Skips():
				answer = append(answer, store.Taken{Fate: r.Fate})
				continue
			}
			receipt, err := c.look(i, &r.Job, r.Revive)
			if conflict, ok := errors.AsType[*store.KeyConflict](err); ok {
				conflicts = append(conflicts, *conflict)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("record %d: %w", i+1, err)
			}
			answer = append(answer, store.TakenOf(r, &receipt))
		}
	}
	if len(conflicts) > 0 {
		return nil, &store.TakeConflict{Conflicts: conflicts}
	}
	return answer, nil
}

// reviveFor retries a dead job because its record was published again. It reports whether it did.
func (t *tx) reviveFor(stream string, id job.ID) bool {
	a := store.Action{Do: store.ActRetry, IDs: []job.ID{id}}
	return t.actIDs(store.Reviver(stream), &a).Done == 1
}

// MovePosition implements store.Streams.
func (s *Store) MovePosition(ctx context.Context, by store.By, m store.PositionMove) (store.Position, error) {
	t, err := s.begin(ctx, "move position")
	if err != nil {
		return store.Position{}, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), m.Validate()); err != nil {
		return store.Position{}, t.errorf("%w", err)
	}
	p := t.logs.positions[positionName{m.Stream, m.Place}]
	switch {
	case p == nil:
		return store.Position{}, t.errorf("%w", store.NoPosition(m.Stream, m.Place))
	case p.Next != m.From:
		return store.Position{}, t.errorf("%w", m.ErrNotAt(p.Next))
	}
	m.Apply(p, t.now)
	e, action, target, before, after := m.Moved(p)
	t.emit(e)
	t.note(by, action, target, before, after)
	return *p, nil
}

// Streams implements store.Streams.
func (s *Store) Streams(ctx context.Context) ([]store.Stream, error) {
	t, err := s.begin(ctx, "streams")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.sortedStreams(), nil
}

func (t *tx) sortedStreams() []store.Stream {
	list := make([]store.Stream, 0, len(t.logs.streams))
	for _, s := range t.logs.streams {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b store.Stream) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// SetStream implements store.Streams.
func (s *Store) SetStream(ctx context.Context, by store.By, c store.StreamChange) (store.Stream, error) {
	t, err := s.begin(ctx, "set stream")
	if err != nil {
		return store.Stream{}, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), c.Validate()); err != nil {
		return store.Stream{}, t.errorf("%w", err)
	}
	stream := t.logs.streams[c.Name]
	if stream == nil {
		return store.Stream{}, t.errorf("%w", store.NoStream(c.Name))
	}
	if stream.Mode == c.Mode {
		return *stream, nil
	}
	e, action := c.Changed()
	t.emit(e)
	t.note(by, action, c.Name, stream.Mode.String(), c.Mode.String())
	*stream = store.Stream{Name: c.Name, Mode: c.Mode, Reason: by.Reason, By: by.Actor, At: t.now}
	return *stream, nil
}

// ReportStream implements store.Streams.
func (s *Store) ReportStream(ctx context.Context, r store.StreamReport) error {
	t, err := s.begin(ctx, "report stream")
	if err != nil {
		return err
	}
	defer t.end()
	if _, err := r.Encode(); err != nil {
		return t.errorf("%w", err)
	}
	for name, old := range t.logs.reports {
		if t.now.Sub(old.At) >= store.ReportKept {
			delete(t.logs.reports, name)
		}
	}
	name := reportName{r.Stream, r.Process}
	if r.Left {
		delete(t.logs.reports, name)
		return nil
	}
	r.At, r.Partitions = t.now, slices.Clone(r.Partitions)
	t.logs.reports[name] = r
	return nil
}

// StreamReports implements store.Streams.
func (s *Store) StreamReports(ctx context.Context, stream string) ([]store.StreamReport, error) {
	t, err := s.begin(ctx, "stream reports")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.reportsOf(stream), nil
}

func (t *tx) reportsOf(stream string) []store.StreamReport {
	list := make([]store.StreamReport, 0, len(t.logs.reports))
	for name, r := range t.logs.reports {
		if stream == "" || name.stream == stream {
			r.Partitions = slices.Clone(r.Partitions)
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b store.StreamReport) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Process, b.Process))
	})
	return list
}

// LeaseSink implements store.Streams.
func (s *Store) LeaseSink(ctx context.Context, stream, sink, holder string, lease time.Duration) (store.Sink, error) {
	t, err := s.begin(ctx, "lease sink")
	if err != nil {
		return store.Sink{}, err
	}
	defer t.end()
	if err := store.ValidLease(stream, sink, holder, lease); err != nil {
		return store.Sink{}, t.errorf("%w", err)
	}
	name := sinkName{stream, sink}
	known := t.logs.sinks[name]
	if known == nil {
		if len(t.sinksOf(stream)) >= store.SinksMax {
			return store.Sink{}, t.errorf("%w", store.TooManySinks(stream, sink))
		}
		known = &store.Sink{Stream: stream, Name: sink}
	}
	leased, err := known.Lease(holder, lease, t.now)
	if err != nil {
		return store.Sink{}, t.errorf("%w", err)
	}
	t.logs.sinks[name] = &leased
	return leased, nil
}

// SaveSink implements store.Streams.
func (s *Store) SaveSink(ctx context.Context, c store.SinkSave) error {
	t, err := s.begin(ctx, "save sink")
	if err != nil {
		return err
	}
	defer t.end()
	if err := c.Validate(); err != nil {
		return t.errorf("%w", err)
	}
	known := t.logs.sinks[sinkName{c.Stream, c.Sink}]
	if known == nil {
		return t.errorf("sink %q of the stream %q: %w", c.Sink, c.Stream, store.ErrNotFound)
	}
	saved, err := known.Save(&c, t.now)
	if err != nil {
		return t.errorf("%w", err)
	}
	*known = saved
	return nil
}

// Sinks implements store.Streams.
func (s *Store) Sinks(ctx context.Context, stream string) ([]store.Sink, error) {
	t, err := s.begin(ctx, "sinks")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.sinksOf(stream), nil
}

func (t *tx) sinksOf(stream string) []store.Sink {
	list := make([]store.Sink, 0, len(t.logs.sinks))
	for name, s := range t.logs.sinks {
		if stream == "" || name.stream == stream {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b store.Sink) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Name, b.Name))
	})
	return list
}
