package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// openFor is how long the figures of a minute can still change: a store can count an outcome after
// the end of its minute.
const openFor = 10 * time.Minute

// stepsAtOnce bounds the minutes that one query reads.
const stepsAtOnce = 12 * time.Hour

// count are the figures that counters are made of.
type count struct {
	Enqueued, Completed, Cancelled, Failed, Dead, Crashed, Retries int64
}

func (c *count) add(f *redrive.Figures) {
	c.Enqueued += f.Enqueued
	c.Completed += f.Completed
	c.Cancelled += f.Cancelled
	c.Failed += f.Failed
	c.Dead += f.Dead
	c.Crashed += f.Crashed
	c.Retries += f.Retries
}

// sums makes counters, which only grow, of the figures by minute that the store keeps for a time. It
// keeps the sum of the minutes that cannot change any more, and reads the others each time.
type sums struct {
	by  redrive.SeriesBy
	now func() time.Time

	mu     sync.Mutex
	since  job.Micros // the start of the first minute that is not in closed
	closed map[string]count
	names  names
}

// read returns the sums by name.
func (s *sums) read(ctx context.Context, source Source) (map[string]count, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed, s.names.most = make(map[string]count), ClassesMax
		s.since -= s.since % job.Micros(time.Minute.Microseconds())
	}
	for {
		now := job.At(s.now())
		until := min(now.Add(time.Minute), s.since.Add(stepsAtOnce))
		points, err := source.Series(ctx, redrive.SeriesQuery{Since: s.since, Until: until, Step: time.Minute, By: s.by})
		if err != nil {
			return nil, err
		}
		open := make(map[string]count, len(s.closed))
		next := max(s.since, min(until, now.Add(-openFor)))
		next -= next % job.Micros(time.Minute.Microseconds())
		for i := range points {
			name := s.names.of(points[i].Name)
			into := open
			if points[i].At < next {
				into = s.closed
			}
			n := into[name]
			n.add(&points[i].Figures)
			into[name] = n
		}
		s.since = max(s.since, next)
		if until <= now {
			continue // a server that nobody has asked for long
		}
		for name, n := range s.closed {
			n.merge(open[name])
			open[name] = n
		}
		return open, nil
	}
}

func (c *count) merge(o count) {
	c.Enqueued += o.Enqueued
	c.Completed += o.Completed
	c.Cancelled += o.Cancelled
	c.Failed += o.Failed
	c.Dead += o.Dead
	c.Crashed += o.Crashed
	c.Retries += o.Retries
}
