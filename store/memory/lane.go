package memory

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// laneName identifies a lane by its queue, kind and dependencies.
type laneName struct{ queue, kind, deps string }

// work is the queue and kind for which a claim asks. Several lanes may have them.
type work struct{ queue, kind string }

// lane holds the ready jobs with one queue, kind and set of dependencies. It counts all jobs
// with them, in every state.
type lane struct {
	laneName
	ready  [job.PriorityMax]heap // the index is the priority of the jobs minus 1
	counts [job.Cancelled + 1]int64
}

func newLane(name laneName) *lane {
	l := &lane{laneName: name}
	for i := range l.ready {
		l.ready[i].before = dueBefore
	}
	return l
}

// lane returns the lane with the name. If the lane does not exist, it creates the lane and
// registers the queue.
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

// usage is how far the limits and rates over all processes are used up, for a queue or
// a kind.
type usage struct {
	running int
	arrival job.Micros // arrival time of the rate; see store.Rate
}

func usageOf(m map[string]*usage, name string) *usage {
	u := m[name]
	if u == nil {
		u = &usage{}
		m[name] = u
	}
	return u
}

// full reports whether the limit is reached; 0 means no limit.
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
