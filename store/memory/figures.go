package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// count applies a change to the figures of the current minute and hour, both those of the lane and
// those of all lanes together.
func (t *tx) count(name laneName, change func(*store.Figures)) {
	for _, u := range storekit.FigureUnits {
		k := storekit.FigureName{Unit: u.Unit, At: storekit.FigureStart(t.now, u.Unit)}
		for range 2 {
			f := t.figures[k]
			if f == nil {
				f = new(store.Figures)
				t.figures[k] = f
			}
			change(f)
			k.Queue, k.Kind = name.queue, name.kind
		}
	}
}

// again reports whether the current or last attempt of the job is not the first attempt of its
// first life. Call it after the attempt was counted.
func (r *record) again() bool { return r.Counters.Attempts > 1 || r.Life > 1 }

// started counts a claim.
func (t *tx) started(r *record) {
	waited := max(0, int64(t.now-max(r.RunAt, r.CreatedAt)))
	t.count(r.lane.laneName, func(f *store.Figures) {
		f.Started++
		f.WaitTime += waited
	})
}

// attempted counts an attempt that has ended.
func (t *tx) attempted(r *record, o *job.Outcome) {
	ran := max(0, int64(t.now-r.ClaimedAt))
	t.count(r.lane.laneName, func(f *store.Figures) {
		f.RunTime += ran
		if r.again() {
			f.Retries++
			f.RetryCost += o.Cost
		}
		if o.Cause == job.Failed {
			f.Failed++
			f.Class(o.Failure.Class).Failed++
		}
		f.CountRetries(o)
	})
}

// completed counts a completed job.
func (t *tx) completed(r *record) {
	t.count(r.lane.laneName, func(f *store.Figures) {
		f.Completed++
		if r.again() {
			f.Recovered++
		}
	})
}

// died counts the death of a job whose last failure has the given class.
func (t *tx) died(r *record, cause job.Cause, class string) {
	t.minutes[start(t.now, minute)]++
	t.count(r.lane.laneName, func(f *store.Figures) {
		f.Dead++
		f.Class(class).Dead++
		if cause == job.Failed && r.again() {
			f.Exhausted++
		}
	})
}

// hours returns the hours of DeadStats.
func (t *tx) hours() []store.Hour {
	sums, since := make(map[job.Micros]*store.Figures), t.now.Add(-store.HoursKept)
	for k, f := range t.figures {
		if k.Unit == time.Hour && k.Queue == "" && k.At > since {
			sums[k.At] = f
		}
	}
	return storekit.Hours(sums)
}

// dumpFigures returns copies of all figures in the order of a Dump.
func (t *tx) dumpFigures() []store.StoredFigures {
	all := storekit.SortedFigures(t.figures)
	for i := range all {
		all[i].Classes = slices.Clone(all[i].Classes)
	}
	return all
}

// sweepFigures removes the figures of minutes and hours that are not shown any more.
func (w *sweep) sweepFigures() {
	for _, u := range storekit.FigureUnits {
		until := storekit.FigureStart(w.now, u.Unit).Add(-u.Kept)
		old := make(map[job.Micros]bool)
		for k := range w.figures {
			if k.Unit == u.Unit && k.At <= until {
				old[k.At] = true
			}
		}
		times := slices.Sorted(maps.Keys(old))
		if len(times) > store.SweptFigures {
			times, w.swept.More = times[:store.SweptFigures], true
		}
		if len(times) == 0 {
			continue
		}
		last := times[len(times)-1]
		maps.DeleteFunc(w.figures, func(k storekit.FigureName, _ *store.Figures) bool { return k.Unit == u.Unit && k.At <= last })
	}
}

// Series implements store.Reader.
func (s *Store) Series(ctx context.Context, q store.SeriesQuery) ([]store.Point, error) {
	t, err := s.begin(ctx, "series")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := q.Validate(); err != nil {
		return nil, t.errorf("%w", err)
	}
	sum := storekit.NewSeries(q, t.now)
	lanes := 0
	for name := range t.lanes {
		if sum.Selects(name.queue, name.kind) {
			lanes++
		}
	}
	if !sum.Total {
		if err := sum.Check(lanes); err != nil {
			return nil, t.errorf("%w", err)
		}
	}
	for k, f := range t.figures {
		if k.Unit == sum.Unit && sum.Total == (k.Queue == "") && sum.Selects(k.Queue, k.Kind) {
			sum.Add(k.At, k.Queue, k.Kind, f)
		}
	}
	return sum.Points(), nil
}

// Due implements store.Reader.
func (s *Store) Due(ctx context.Context, minutes int) (store.DueRetries, error) {
	t, err := s.begin(ctx, "due")
	if err != nil {
		return store.DueRetries{}, err
	}
	defer t.end()
	if err := store.ValidMinutes(minutes); err != nil {
		return store.DueRetries{}, t.errorf("%w", err)
	}
	due := store.DueRetries{At: t.now, Minutes: make([]int64, minutes)}
	count := func(n *int64) {
		if *n < store.DueCountMax {
			*n++
		}
		due.Capped = due.Capped || *n == store.DueCountMax
	}
	for _, r := range t.jobs {
		if r.State != job.Retrying {
			continue
		}
		if r.RunAt <= t.now {
			count(&due.Overdue)
		} else if i := int64(r.RunAt-t.now-1) / int64(minute); i < int64(minutes) {
			count(&due.Minutes[i])
		}
	}
	return due, nil
}

// Heads implements store.Reader.
func (s *Store) Heads(ctx context.Context) ([]store.Head, error) {
	t, err := s.begin(ctx, "heads")
	if err != nil {
		return nil, err
	}
	defer t.end()
	heads := make(storekit.Heads)
	for _, r := range t.jobs {
		if r.State.Ready() {
			heads.Add(r.Queue, r.Kind, r.RunAt, t.now)
		}
	}
	arrival := func(m map[string]*usage) func(string) job.Micros {
		return func(name string) job.Micros {
			if u := m[name]; u != nil {
				return u.arrival
			}
			return 0
		}
	}
	return heads.Sorted(arrival(t.byQueue), arrival(t.byKind)), nil
}
