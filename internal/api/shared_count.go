package api

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// CountMost is how many rows of a list are counted at most if no counter has their number.
const CountMost = 2_000

// seriesMost is the longest range whose completed jobs are counted by the minute.
const seriesMost = 6 * time.Hour

// Counted is the number of rows that a list selects.
type Counted struct {
	N       int64
	Pending int64 // of dead letters: those that nobody has dealt with
	More    bool  // there are more than N
}

// CountJobs counts the jobs that a filter selects. The second result is false if their number is not known: a count would
// read too many rows, or search texts.
func (a *API) CountJobs(ctx context.Context, f redrive.JobFilter) (n Counted, known bool, err error) {
	f.From, f.Limit = redrive.JobCursor{}, job.PageMax
	narrow := f
	narrow.States, narrow.Kind, narrow.Queue, narrow.Order, narrow.Limit = nil, "", "", redrive.Newest, 0
	if reflect.ValueOf(narrow).IsZero() {
		if len(f.States) == 0 || slices.Contains(f.States, job.Completed) || slices.Contains(f.States, job.Cancelled) {
			return n, false, nil
		}
		counts, err := a.client.Counts(ctx)
		for i := range counts {
			if c := &counts[i]; slices.Contains(f.States, c.State) && (f.Kind == "" || f.Kind == c.Kind) && (f.Queue == "" || f.Queue == c.Queue) {
				n.N += c.N
			}
		}
		return n, true, err
	}
	narrow.Ended = redrive.Span{}
	now := job.At(a.o.Now())
	if reflect.ValueOf(narrow).IsZero() && slices.Equal(f.States, []job.State{job.Completed}) && f.Ended.Since > now.Add(-seriesMost) && f.Ended.Until == 0 {
		points, err := a.client.Series(ctx, redrive.SeriesQuery{Kind: f.Kind, Queue: f.Queue, Since: f.Ended.Since, Until: now, Step: time.Minute})
		for i := range points {
			n.N += points[i].Completed
		}
		return n, true, err
	}
	if f.Text != "" || f.Attr.Name != "" {
		return n, false, nil
	}
	for n.N < CountMost {
		page, err := a.client.List(ctx, f)
		if err != nil {
			return n, false, err
		}
		n.N += int64(len(page.Jobs))
		if f.From = page.Next; f.From.IsZero() {
			return n, true, nil
		}
		if page.Searched != 0 {
			return n, false, nil
		}
	}
	n.More = true
	return n, true, nil
}

// CountDead counts the dead letters that a filter selects. The second result is false if a count would have to search.
func (a *API) CountDead(ctx context.Context, f redrive.DeadFilter) (n Counted, known bool, err error) {
	if f.Counted() {
		now, err := a.Standing(ctx)
		if err != nil {
			return n, false, err
		}
		n.N = *countDead(&now.Dead, &f)
		if len(f.Statuses) == 0 || slices.Contains(f.Statuses, job.Pending) {
			f.Statuses = []job.Status{job.Pending}
			n.Pending = *countDead(&now.Dead, &f)
		}
		return n, true, nil
	}
	p := redrive.DeadPaging{Limit: PageMax}
	for n.N < CountMost {
		page, err := a.client.DeadLetters(ctx, f, p)
		if err != nil {
			return n, false, err
		}
		n.N += int64(len(page.Entries))
		for i := range page.Entries {
			if page.Entries[i].Status == job.Pending {
				n.Pending++
			}
		}
		if p.Before = page.Next; p.Before == 0 {
			return n, true, nil
		}
		if page.Searched != 0 {
			return n, false, nil
		}
	}
	n.More = true
	return n, true, nil
}
