package memory

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// laneName identifies a lane by its queue, kind and dependencies.
type laneName struct{ queue, kind, deps string }

// work is a queue and a kind for which a claim asks. Several lanes may have the same queue and
// kind.
type work struct{ queue, kind string }

// lane holds the ready jobs that have the same queue, kind and set of dependencies. It also
// counts all jobs of the lane in every state.
type lane struct {
	laneName
	ready  [job.PriorityMax]heap // the index is the priority minus 1
	counts [job.Cancelled + 1]int64
}

func newLane(name laneName) *lane {
	l := &lane{laneName: name}
	for i := range l.ready {
		l.ready[i].before = dueBefore
	}
	return l
}

// lane returns the lane with the given name. If the lane does not exist, the call makes the
// lane and its queue.
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

// usage holds two values of a queue or of a kind: the number of its running jobs in all processes,
// which its limit bounds, and the state of its rate.
type usage struct {
	running int
	arrival job.Micros // the state of the rate limit; see the comment on rates in package store
}

func usageOf(m map[string]*usage, name string) *usage {
	u := m[name]
	if u == nil {
		u = &usage{}
		m[name] = u
	}
	return u
}

// full reports whether the number of running jobs has reached the limit; 0 means no limit.
func (u *usage) full(limit int) bool { return limit > 0 && u.running >= limit }

// next returns the time at which the rate allows the next start. It is never before the given
// time.
func (u *usage) next(r store.Rate, now job.Micros) job.Micros {
	if r.Unlimited() {
		return now
	}
	return r.Next(u.arrival, now)
}

// start counts a run that starts at the given time, and updates the state of the rate.
func (u *usage) start(r store.Rate, now job.Micros) {
	u.running++
	if !r.Unlimited() {
		u.arrival = r.Take(u.arrival, now, 1)
	}
}
