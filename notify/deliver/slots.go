package deliver

import (
	"context"
	"sync"
	"time"
)

// slots limit how many notices are under way to each target at a time, so that a target that hangs
// does not hold up the others. A notice without a slot is to come back later; the times are spread
// so that the notices for one target come back one by one, as its slots get free.
type slots struct {
	max     int // of a target
	now     func() time.Time
	mu      sync.Mutex
	targets map[string]*target
}

type target struct {
	busy    int
	typical time.Duration // how long an attempt takes
	entered time.Time     // when the last attempt began
	left    time.Time     // when the last attempt ended
	next    time.Time     // when the last notice without a slot is to come back
	freed   chan struct{} // closed when an attempt ends, if a notice waits for it
}

const (
	quick    = 50 * time.Millisecond // a target whose attempts take less is worth a short wait
	patience = 100 * time.Millisecond
	slow     = 2 * time.Second // a target whose attempts take longer gets one slot
	assumed  = 20 * time.Millisecond
	backMax  = 5 * time.Minute // the longest time after which a notice comes back
)

// enter takes a slot of a target. The caller calls leave when the attempt has ended. If leave is nil,
// there was no slot, and the notice is to come back after the given time.
func (s *slots) enter(ctx context.Context, name string) (leave func(), back time.Duration) {
	until := s.now().Add(patience)
	for {
		leave, back, freed := s.try(name)
		rest := until.Sub(s.now())
		if leave != nil || freed == nil || rest <= 0 {
			return leave, back
		}
		timer := time.NewTimer(rest)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil, back
		}
	}
}

// try takes a slot if one is free. If the last result is not nil, it is worth to wait for it to close.
func (s *slots) try(name string) (leave func(), back time.Duration, freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.targets[name]
	if t == nil {
		t = &target{}
		s.targets[name] = t
	}
	now, limit := s.now(), s.max
	if t.typical > slow {
		limit = 1
	}
	if t.busy < limit {
		t.busy++
		t.entered = now
		return func() { s.leave(name, t, s.now().Sub(now)) }, 0, nil
	}
	step := max(t.typical, assumed, now.Sub(t.entered)) / time.Duration(limit) // the last ones take at least as long as they have by now
	if t.next.Before(now) {
		t.next = now
	}
	if quickly := t.typical < quick && now.Sub(t.left) < patience; quickly {
		if t.freed == nil {
			t.freed = make(chan struct{})
		}
		return nil, patience, t.freed
	}
	if at := t.next.Add(step); at.Sub(now) <= backMax {
		t.next = at
	}
	return nil, t.next.Sub(now), nil
}

func (s *slots) leave(name string, t *target, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.typical == 0 {
		t.typical = took
	}
	t.typical, t.left = (3*t.typical+took)/4, s.now()
	t.busy--
	if t.freed != nil {
		close(t.freed)
		t.freed = nil
	}
}
