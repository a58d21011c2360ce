package check_test

import (
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The functions below find and change parts of a history.

func find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	panic("the sound history lacks the part that a mutant changes")
}

func drop[T any](all *[]T, is func(T) bool) { *all = slices.DeleteFunc(*all, is) }

func row(h *check.History, id job.ID) *job.Job {
	return find(h.Dump.Jobs, func(j *job.Job) bool { return j.ID == id })
}

func enqueue(h *check.History, name string) *check.Enqueue {
	return find(h.Enqueues, func(e *check.Enqueue) bool { return e.Name == name })
}

func run(h *check.History, id job.ID, token job.Token) *check.Run {
	return find(h.Runs, func(r *check.Run) bool { return r.Job == id && r.Token == token })
}

func write(h *check.History, id job.ID, cause job.Cause) *check.Write {
	return find(h.Writes, func(w *check.Write) bool { return w.ID == id && w.Cause == cause })
}

func failure(h *check.History, id job.ID) *job.Failure {
	return find(h.Dump.Failures, func(f *job.Failure) bool { return f.Job == id })
}

func letter(h *check.History, id job.ID) *job.DeadLetter {
	return find(h.Dump.Dead, func(l *job.DeadLetter) bool { return l.Job == id })
}

func lastEvent(h *check.History, id job.ID) *event.Event {
	var last *event.Event
	for i := range h.Dump.Events {
		if e := &h.Dump.Events[i]; e.Job == id {
			last = e
		}
	}
	return last
}

// forget removes the answer from a job's submission, as if its client had been killed.
func forget(h *check.History, id job.ID) {
	e := find(h.Enqueues, func(e *check.Enqueue) bool { return e.ID == id })
	e.ID, e.Answer = 0, check.Unknown
}

func dropRow(h *check.History, id job.ID) {
	count(h, row(h, id).State, -1)
	drop(&h.Dump.Jobs, func(j job.Job) bool { return j.ID == id })
}

func dropEvents(h *check.History, id job.ID) {
	drop(&h.Dump.Events, func(e event.Event) bool { return e.Job == id })
}

// dropEvent removes the job's last event of the type.
func dropEvent(h *check.History, id job.ID, typ event.Type) {
	for i, e := range slices.Backward(h.Dump.Events) {
		if e.Job == id && e.Type == typ {
			h.Dump.Events = slices.Delete(h.Dump.Events, i, i+1)
			return
		}
	}
}

func dropFailure(h *check.History, id job.ID) {
	drop(&h.Dump.Failures, func(f job.Failure) bool { return f.Job == id })
}

func dropAudit(h *check.History, action string) {
	drop(&h.Dump.Audit, func(a store.Audit) bool { return a.Action == action })
}

// count changes the counter of a state.
func count(h *check.History, state job.State, by int64) {
	for i := range h.Dump.Counts {
		if c := &h.Dump.Counts[i]; c.State == state {
			c.N += by
			return
		}
	}
	h.Dump.Counts = append(h.Dump.Counts, store.Count{Queue: queue, Kind: kind, State: state, N: by})
}

// crash turns an event that ends a run into a crash.
func crash(h *check.History, e *event.Event) {
	e.Type, e.Class = event.JobCrashed, job.ClassCrash
	h.Dump.Failures = append(h.Dump.Failures, job.Failure{Job: e.Job, Token: e.Token, Life: e.Life, Attempt: e.Attempt + 1,
		How: job.ByCrash, Class: job.ClassCrash, Message: "gone", Holder: "w"})
}
