package memory

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// laneName is what all jobs of a lane have in common.
type laneName struct{ queue, kind, deps string }

// work is what a claim asks for: the lanes of a queue and kind with any dependencies.
type work struct{ queue, kind string }

// lane holds the ready jobs of one (queue, kind, dependencies) and counts all.
type lane struct {
	laneName
	ready  [job.PriorityMax]heap // by priority-1
	counts [job.Cancelled + 1]int64
}

func newLane(name laneName) *lane {
	l := &lane{laneName: name}
	for i := range l.ready {
		l.ready[i].before = dueBefore
	}
	return l
}

// lane returns the lane of that name and makes it and its queue known.
func (s *Store) lane(name laneName) *lane {
	l := s.lanes[name]
	if l == nil {
		l = newLane(name)
		s.lanes[name] = l
		w := work{name.queue, name.kind}
		s.works[w] = append(s.works[w], l)
		s.declare(name.queue)
	}
	return l
}

func (s *Store) declare(queue string) {
	if s.queues[queue] == nil {
		s.queues[queue] = &store.Queue{Name: queue}
	}
}

// usage is what limits and rates over all processes depend on, per queue and per kind.
type usage struct {
	running int
	arrival job.Micros // see store.Rate
}

func usageOf(m map[string]*usage, name string) *usage {
	u := m[name]
	if u == nil {
		u = &usage{}
		m[name] = u
	}
	return u
}

// full reports whether the limit allows no further run; 0 means no limit.
func (u *usage) full(limit int) bool { return limit > 0 && u.running >= limit }

// next returns when the rate allows the next start: now or later.
func (u *usage) next(r store.Rate, now job.Micros) job.Micros {
	if r.Unlimited() {
		return now
	}
	return r.Next(u.arrival, now)
}

// start counts a run that starts now.
func (u *usage) start(r store.Rate, now job.Micros) {
	u.running++
	if !r.Unlimited() {
		u.arrival = r.Take(u.arrival, now, 1)
	}
}
