package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Figures compares the stored figures of a dump with its events. It counts each event once, in
// the minute and in the hour of its commit. The dump must have all events. The events do not
// show the costs of retries, so these are not compared. Times are compared if the store's clock
// stood still during each transaction: a transaction that waits for a lock may commit at a
// later time than the time at which it counted.
func Figures(d *store.Dump, times bool) error {
	want := make(map[storekit.FigureName]*store.Figures)
	past := make(map[job.ID]*waiting)
	for i := range d.Events {
		e := &d.Events[i]
		if e.Job == 0 || e.Type >= event.QueueChanged {
			continue
		}
		p := past[e.Job]
		if p == nil {
			p = &waiting{created: e.At}
			past[e.Job] = p
		}
		for queue, f := range p.figures(e) {
			for _, u := range storekit.FigureUnits {
				k := storekit.FigureName{Unit: u.Unit, At: storekit.FigureStart(e.At, u.Unit)}
				add(want, k, f)
				k.Queue, k.Kind = queue, e.Kind
				add(want, k, f)
			}
		}
	}
	got := make(map[storekit.FigureName]*store.Figures)
	for i := range d.Figures {
		s := &d.Figures[i]
		got[storekit.FigureName{Unit: s.Unit, At: s.At, Queue: s.Queue, Kind: s.Kind}] = &s.Figures
	}
	for k, f := range want {
		if old(d, k) {
			continue
		}
		if got[k] == nil {
			return fmt.Errorf("no figures are stored for %s, want %+v as in the events", nameOf(k), *f)
		}
		if diff := difference(f, got[k], times); diff != "" {
			return fmt.Errorf("figures of %s: %s", nameOf(k), diff)
		}
	}
	for k, f := range got {
		if want[k] == nil && !old(d, k) && difference(new(store.Figures), f, times) != "" { // the events do not show costs
			return fmt.Errorf("figures of %s: got %+v, want none, because no event happened in this time", nameOf(k), *f)
		}
	}
	return nil
}

// old reports whether sweeps may have removed figures.
func old(d *store.Dump, k storekit.FigureName) bool {
	for _, u := range storekit.FigureUnits {
		if u.Unit == k.Unit {
			return k.At <= storekit.FigureStart(d.Now, u.Unit).Add(-u.Kept)
		}
	}
	return false
}

func add(sums map[storekit.FigureName]*store.Figures, k storekit.FigureName, f *store.Figures) {
	if sums[k] == nil {
		sums[k] = new(store.Figures)
	}
	sums[k].Add(f)
}

func nameOf(k storekit.FigureName) string {
	unit := "minute"
	if k.Unit == time.Hour {
		unit = "hour"
	}
	if k.Queue == "" {
		return fmt.Sprintf("the %s %d", unit, k.At)
	}
	return fmt.Sprintf("the %s %d of queue %q and kind %q", unit, k.At, k.Queue, k.Kind)
}

// difference says how figures differ, or returns "".
func difference(want, got *store.Figures, times bool) string {
	a, b := *want, *got
	if !times {
		a.RunTime, a.WaitTime, b.RunTime, b.WaitTime = 0, 0, 0, 0
	}
	a.RetryCost, b.RetryCost, a.Cost, b.Cost, a.Classes, b.Classes = 0, 0, 0, 0, nil, nil
	if fmt.Sprint(a) != fmt.Sprint(b) {
		return fmt.Sprintf("got %+v, want %+v as in the events", b, a)
	}
	if w, g := failuresOf(want), failuresOf(got); !slices.Equal(w, g) {
		return fmt.Sprintf("got the classes %+v, want %+v as in the events", g, w)
	}
	return ""
}

// failuresOf returns the failures by class. The events do not say which failures were retried, so
// the figures about retries by class are not compared.
func failuresOf(f *store.Figures) (list []store.ClassFigures) {
	for i := range f.Classes {
		if c := &f.Classes[i]; c.Failed > 0 || c.Dead > 0 {
			list = append(list, store.ClassFigures{Class: c.Class, Failed: c.Failed, Dead: c.Dead})
		}
	}
	return list
}

// waiting is what figures must know about the earlier events of a job.
type waiting struct {
	created, due, claimed job.Micros
	queue                 string // the queue of the last run
}

// figures returns what an event adds to the figures of queues.
func (p *waiting) figures(e *event.Event) map[string]*store.Figures {
	f := new(store.Figures)
	queue := e.Queue
	attempt := e.Type == event.JobSucceeded || e.Type == event.JobFailed
	if attempt {
		queue = p.queue // the job may have been moved to another queue since its last run
		f.RunTime = int64(e.At - p.claimed)
		if e.Attempt > 1 || e.Life > 1 {
			f.Retries++
		}
	}
	switch e.Type {
	case event.JobEnqueued:
		f.Enqueued++
	case event.JobClaimed:
		f.Started++
		f.WaitTime = max(0, int64(e.At-max(p.due, p.created)))
		p.claimed, p.queue = e.At, e.Queue
	case event.JobSucceeded:
		f.Completed++
		f.Recovered = f.Retries
	case event.JobFailed:
		f.Failed++
		f.Class(e.Class).Failed++
	case event.JobCrashed:
		f.Crashed++
	case event.JobCancelled:
		f.Cancelled++
	default: // other events change no figure, or only the number of deaths
	}
	if e.Type < event.JobCancelAsked && e.To == job.Dead {
		f.Dead++
		f.Class(e.Class).Dead++
		if e.Type == event.JobFailed {
			f.Exhausted = f.Retries
		}
	}
	if e.DueAt != 0 {
		p.due = e.DueAt
	}
	if f.IsZero() {
		return nil
	}
	return map[string]*store.Figures{queue: f}
}
