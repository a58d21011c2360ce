package storekit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Series computes the points of a series from stored figures.
type Series struct {
	Unit         time.Duration // the unit of the stored figures: a minute or an hour
	Since, Until job.Micros    // the figures lie from Since to Until; there are no figures if Since is not before Until
	// Total is true if only the figures of all queues and kinds together are needed.
	Total bool

	q      store.SeriesQuery
	step   job.Micros
	points map[pointKey]*store.Figures
}

type pointKey struct {
	at   job.Micros
	name string
}

// FigureUnits contains the time units of stored figures. Kept is how long the figures of a unit
// are kept.
var FigureUnits = [...]struct{ Unit, Kept time.Duration }{
	{time.Minute, store.MinutesKept}, {time.Hour, store.HourRowsKept},
}

// FigureStart returns the start of the minute or hour that contains a time.
func FigureStart(at job.Micros, unit time.Duration) job.Micros { return at - at%micros(unit) }

func micros(d time.Duration) job.Micros { return job.Micros(d / time.Microsecond) }

// NewSeries returns the series of a valid query at the given time. The series does not include
// figures that sweeps may have removed.
func NewSeries(q store.SeriesQuery, now job.Micros) *Series {
	s := &Series{Unit: time.Minute, q: q, Total: q.Queue == "" && q.Kind == "" && q.By != store.ByQueue && q.By != store.ByKind,
		step: micros(cmp.Or(q.Step, time.Minute)), points: make(map[pointKey]*store.Figures)}
	kept := FigureUnits[0].Kept
	if s.step%micros(time.Hour) == 0 {
		s.Unit, kept = time.Hour, FigureUnits[1].Kept
	}
	until := now + 1
	if q.Until != 0 {
		until = min(until, q.Until)
	}
	since := q.Since
	if since == 0 {
		since = until - 60*s.step
	}
	s.Since = max(since-since%s.step, FigureStart(now, s.Unit)-micros(kept)+micros(s.Unit))
	s.Until = (until + s.step - 1) / s.step * s.step
	return s
}

// Check returns an error that wraps store.ErrTooLarge if the series would have to read too many
// stored figures. The argument is the number of lanes whose figures the series reads.
func (s *Series) Check(lanes int) error {
	if s.Since >= s.Until {
		return nil
	}
	units := int64((s.Until - s.Since) / micros(s.Unit))
	if units*int64(lanes) <= store.SeriesRowsMax {
		return nil
	}
	name, advice := "hours", "ask for a shorter time"
	if s.Unit == time.Minute {
		name, advice = "minutes", "ask for a shorter time, or for steps of whole hours"
	}
	return fmt.Errorf("series: %d %s of %d combinations of queue, kind and dependencies: at most %d stored figures are read; %s: %w",
		units, name, lanes, store.SeriesRowsMax, advice, store.ErrTooLarge)
}

// Selects reports whether the series has the figures of a queue and kind.
func (s *Series) Selects(queue, kind string) bool {
	return (s.q.Queue == "" || s.q.Queue == queue) && (s.q.Kind == "" || s.q.Kind == kind)
}

// ByClass reports whether the series needs the figures of classes.
func (s *Series) ByClass() bool { return s.q.By == store.ByClass }

// Add adds stored figures that begin at the given time. The queue and the kind are not used if
// Total is set.
func (s *Series) Add(at job.Micros, queue, kind string, f *store.Figures) {
	if at < s.Since || at >= s.Until {
		return
	}
	at -= at % s.step
	switch s.q.By {
	case store.ByClass:
		for _, c := range f.Classes {
			p := s.point(at, c.Class)
			p.Add(&store.Figures{Failed: c.Failed, Dead: c.Dead, Recovered: c.Recovered, Exhausted: c.Exhausted, Retries: c.Retries, RetryCost: c.RetryCost})
		}
		return
	case store.ByQueue:
		s.point(at, queue).Add(f)
	case store.ByKind:
		s.point(at, kind).Add(f)
	default:
		s.point(at, "").Add(f)
	}
}

func (s *Series) point(at job.Micros, name string) *store.Figures {
	k := pointKey{at, name}
	p := s.points[k]
	if p == nil {
		p = new(store.Figures)
		s.points[k] = p
	}
	return p
}

// Points returns the points, sorted by time and name.
func (s *Series) Points() []store.Point {
	keys := slices.SortedFunc(maps.Keys(s.points), func(a, b pointKey) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.name, b.name)) })
	points := make([]store.Point, len(keys))
	for i, k := range keys {
		points[i] = store.Point{At: k.at, Name: k.name, Figures: *s.points[k]}
		points[i].Classes = nil
	}
	return points
}

// FigureName identifies stored figures in a Dump.
type FigureName struct {
	Unit        time.Duration
	At          job.Micros
	Queue, Kind string // empty: all queues and kinds together
}

// SortedFigures returns figures in the order of a Dump.
func SortedFigures(sums map[FigureName]*store.Figures) []store.StoredFigures {
	list := make([]store.StoredFigures, 0, len(sums))
	for k, f := range sums {
		list = append(list, store.StoredFigures{Unit: k.Unit, At: k.At, Queue: k.Queue, Kind: k.Kind, Figures: *f})
	}
	slices.SortFunc(list, func(a, b store.StoredFigures) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.At, b.At), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// Hours returns the hours of DeadStats in which something happened to a job that ended, sorted
// by time. The map contains the figures of all queues and kinds together, by the start of the
// hour.
func Hours(sums map[job.Micros]*store.Figures) []store.Hour {
	var hours []store.Hour
	for at, f := range sums {
		if h := f.Hour(at); h != (store.Hour{At: at}) {
			hours = append(hours, h)
		}
	}
	slices.SortFunc(hours, func(a, b store.Hour) int { return cmp.Compare(a.At, b.At) })
	return hours
}

// Heads collects the due times of ready jobs, by queue and kind.
type Heads map[headName]*store.Head

type headName struct{ queue, kind string }

// Add adds the due time of a job.
func (h Heads) Add(queue, kind string, at, now job.Micros) {
	k := headName{queue, kind}
	head := h[k]
	if head == nil {
		head = &store.Head{Queue: queue, Kind: kind}
		h[k] = head
	}
	of := &head.Due
	if at > now {
		of = &head.Later
	}
	if *of == 0 || at < *of {
		*of = at
	}
}

// Sorted returns the heads, sorted by queue and kind. The functions return the states of the rates of
// a queue and of a kind.
func (h Heads) Sorted(ofQueue, ofKind func(name string) job.Micros) []store.Head {
	list := make([]store.Head, 0, len(h))
	for _, head := range h {
		head.QueueArrival, head.KindArrival = ofQueue(head.Queue), ofKind(head.Kind)
		list = append(list, *head)
	}
	slices.SortFunc(list, func(a, b store.Head) int { return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind)) })
	return list
}
