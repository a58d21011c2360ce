package check

import (
	"maps"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// index has the history grouped by job.
type index struct {
	*History
	jobs   []*past // the jobs of the history, sorted by id
	byID   map[job.ID]*past
	byName map[string]*submission
}

// past holds everything that is known about one job. Events and failures are in stored order.
type past struct {
	id       job.ID
	rows     []*job.Job
	events   []*event.Event
	failures []*job.Failure
	letters  []*job.DeadLetter
	runs     []*Run
	writes   []*Write
	enqueues []*Enqueue
}

// submission is one enqueue and the jobs that have its correlation id.
type submission struct {
	*Enqueue
	jobs []*past
}

func newIndex(h *History) *index {
	x := &index{History: h, byID: make(map[job.ID]*past), byName: make(map[string]*submission)}
	for i := range h.Enqueues {
		e := &h.Enqueues[i]
		x.byName[e.Name] = &submission{Enqueue: e}
		if e.ID != 0 {
			x.past(e.ID).enqueues = append(x.past(e.ID).enqueues, e)
		}
	}
	for i := range h.Runs {
		p := x.past(h.Runs[i].Job)
		p.runs = append(p.runs, &h.Runs[i])
	}
	for i := range h.Writes {
		p := x.past(h.Writes[i].ID)
		p.writes = append(p.writes, &h.Writes[i])
	}
	x.addDump()
	x.jobs = slices.SortedFunc(maps.Values(x.byID), func(a, b *past) int { return int(a.id - b.id) })
	for _, p := range x.jobs {
		x.link(p)
	}
	return x
}

func (x *index) addDump() {
	d := x.Dump
	for i := range d.Jobs {
		p := x.past(d.Jobs[i].ID)
		p.rows = append(p.rows, &d.Jobs[i])
	}
	for i := range d.Events {
		if d.Events[i].Job != 0 {
			p := x.past(d.Events[i].Job)
			p.events = append(p.events, &d.Events[i])
		}
	}
	for i := range d.Failures {
		p := x.past(d.Failures[i].Job)
		p.failures = append(p.failures, &d.Failures[i])
	}
	for i := range d.Dead {
		p := x.past(d.Dead[i].Job)
		p.letters = append(p.letters, &d.Dead[i])
	}
}

func (x *index) past(id job.ID) *past {
	p := x.byID[id]
	if p == nil {
		p = &past{id: id}
		x.byID[id] = p
	}
	return p
}

// link connects a job with the submission whose correlation id it has.
func (x *index) link(p *past) {
	for _, name := range x.names(p) {
		s := x.byName[name]
		if s == nil || slices.Contains(s.jobs, p) {
			continue
		}
		s.jobs = append(s.jobs, p)
		if !slices.Contains(p.enqueues, s.Enqueue) {
			p.enqueues = append(p.enqueues, s.Enqueue)
		}
	}
}

// names returns the correlation ids that a job has, or had before it was removed. A notice has that of
// the job that it is about.
func (x *index) names(p *past) (names []string) {
	if p.sends() {
		return nil
	}
	for _, row := range p.rows {
		names = append(names, row.Correlation)
	}
	if name, ok := x.Purged[p.id]; ok && len(p.rows) == 0 {
		names = append(names, name)
	}
	for _, e := range p.events {
		if x.Retention && e.Type == event.JobEnqueued {
			names = append(names, e.Correlation) // retention may have removed the job
		}
	}
	return names
}

// origin returns the submission that made the job: it has the correlation id of the job, or it
// reserved the id of the job. Without such a submission, origin returns nil.
func (x *index) origin(p *past) *Enqueue {
	for _, name := range x.names(p) {
		if s := x.byName[name]; s != nil {
			return s.Enqueue
		}
	}
	for _, e := range p.enqueues {
		if !e.Existing {
			return e
		}
	}
	return nil
}

// isTransition reports whether an event changes the state of a job.
func isTransition(e *event.Event) bool { return e.Type < event.JobCancelAsked }

// endsRun reports whether an event ends a run.
func endsRun(e *event.Event) bool { return isTransition(e) && e.From == job.Running }

// ends returns the events that ended a run. In a sound history there is at most one.
func (p *past) ends(token job.Token) (ends []*event.Event) {
	for _, e := range p.events {
		if endsRun(e) && e.Token == token {
			ends = append(ends, e)
		}
	}
	return ends
}

// row returns the stored job, or nil.
func (x *index) row(id job.ID) *job.Job {
	if p := x.byID[id]; p != nil {
		return p.row()
	}
	return nil
}

func (p *past) row() *job.Job {
	if len(p.rows) == 0 {
		return nil
	}
	return p.rows[0]
}
