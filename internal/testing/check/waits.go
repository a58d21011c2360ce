package check

import (
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// waitKept compares the waits with the policy, by the times of the events. All times of a
// transaction follow from one reading of the store's clock, so no tolerance is necessary.
func waitKept(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		due := job.Micros(0)
		for _, e := range p.events {
			switch {
			case e.Type == event.JobClaimed && e.At < due:
				broken(p.id, "run %d was claimed %s before the job was due", e.Token, due.Sub(e.At))
			case isTransition(e) && e.To.Ready() || e.Type == event.JobAltered:
				due = e.DueAt
			}
			if e.Type == event.JobFailed && e.To == job.Retrying {
				l := x.Limits[e.Kind]
				if wait := e.DueAt.Sub(e.At); l.WaitMax > 0 && (wait < l.WaitMin || wait > l.WaitMax) {
					broken(p.id, "after run %d the job waits %s; the policy says %s to %s", e.Token, wait, l.WaitMin, l.WaitMax)
				}
			}
		}
	}
}

// promptStart checks how long jobs were ready while a slot was free.
func promptStart(x *index, broken func(job.ID, string, ...any)) {
	if x.WaitMax == 0 {
		return
	}
	x.waits(func(p *past, wait time.Duration) {
		if wait > x.WaitMax {
			broken(p.id, "was ready for %s while a slot was free, after the faults had stopped; at most %s are allowed", wait, x.WaitMax)
		}
	})
}

// step is a change of the number of free slots.
type step struct {
	at   job.Micros
	free int           // the number of free slots from this time on
	sum  time.Duration // how long a slot was free from Healed until this time
}

// waits calls the given function for every time in which a job was ready, since Healed, with how
// long a slot was free in it.
func (x *index) waits(each func(p *past, wait time.Duration)) {
	if x.Healed == 0 || x.Slots == 0 {
		return
	}
	steps := x.steps()
	freeUntil := func(at job.Micros) time.Duration {
		i, found := slices.BinarySearchFunc(steps, at, func(s step, at job.Micros) int { return int(s.at - at) })
		if !found {
			i--
		}
		if i < 0 {
			return 0
		}
		if steps[i].free <= 0 {
			return steps[i].sum
		}
		return steps[i].sum + at.Sub(steps[i].at)
	}
	for _, p := range x.jobs {
		if p.sends() {
			continue
		}
		ready := job.Micros(0) // since when the job is ready; 0 if it is not waiting for a run
		for _, e := range p.events {
			switch {
			case isTransition(e) && e.To.Ready() || e.Type == event.JobAltered && ready != 0:
				ready = max(e.At, e.DueAt, x.Healed)
			case isTransition(e) && ready != 0:
				if e.At > ready {
					each(p, freeUntil(e.At)-freeUntil(ready))
				}
				ready = 0
			}
		}
	}
}

// steps returns the changes of the number of free slots since Healed, in the order of their times.
func (x *index) steps() []step {
	type change struct {
		at job.Micros
		by int
	}
	var changes []change
	for _, p := range x.jobs {
		if p.sends() { // notices have slots of their own
			continue
		}
		running := false
		for _, e := range p.events {
			switch {
			case e.Type == event.JobClaimed && !running:
				running = true
				changes = append(changes, change{max(e.At, x.Healed), -1})
			case endsRun(e) && running:
				running = false
				changes = append(changes, change{max(e.At, x.Healed), 1})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return int(a.at - b.at) })
	steps := []step{{at: x.Healed, free: x.Slots}}
	for _, c := range changes {
		last := steps[len(steps)-1]
		next := step{at: c.at, free: last.free + c.by, sum: last.sum}
		if last.free > 0 {
			next.sum += c.at.Sub(last.at)
		}
		if last.at == c.at {
			steps = steps[:len(steps)-1]
		}
		steps = append(steps, next)
	}
	return steps
}
