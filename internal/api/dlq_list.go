package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

const (
	// deadPage is the number of dead letters on a page if the request does not name one.
	deadPage = 20
	// deadPagesMax is the number of dead letters that pages by number reach.
	deadPagesMax = 10_000
	// deadReadsMax is the largest number of reads that one request makes to reach a page by number.
	deadReadsMax = 40
)

// The orders of the cursors of lists that are not lists of jobs. A cursor has its order in it, so
// that a cursor of another list is refused.
const (
	deadOrder redrive.JobOrder = 16 + iota
	groupOrder
	batchOrder
	memberOrder
)

// DeadList is a page of dead letters, the newest death first.
type DeadList struct {
	Entries []wire.DeadEntry `json:"entries"`
	// Page is the number of the page, from 1; it is left out in a list by cursor.
	Page  int `json:"page,omitempty"`
	Limit int `json:"limit"`
	// Total is the number of dead letters that the filter selects. It is left out if the filter has
	// fields for which there are no counters: all but status, task_type, class, queue and reason.
	Total *int64 `json:"total,omitempty"`
	// Next is the cursor of the next page; it is left out on the last page.
	Next string `json:"next,omitempty"`
	// SearchedUntil is the time up to which the list has searched, if the page is not full although a next page follows.
	SearchedUntil job.Micros `json:"searched_until,omitempty"`
}

// listDead answers with a page of dead letters.
func (a *API) listDead(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := q.deadFilter(c)
	page, limit := q.number("page", 1, 1<<31, 1), int(q.number("limit", 1, PageMax, deadPage))
	text := q.text("cursor")
	if text != "" && q.values.Get("page") != "" {
		q.add("cursor", "contradicts page: give one of them", nil)
	}
	if err := q.problem(); err != nil {
		return err
	}
	hash := a.queryHash(c)
	at, err := parseCursor(text, deadOrder, hash)
	if err != nil {
		return err
	}
	out := DeadList{Entries: []wire.DeadEntry{}, Page: int(page), Limit: limit}
	p := redrive.DeadPaging{Before: int64(at.ID), Limit: limit, Jobs: true}
	if text != "" {
		out.Page = 0
	}
	found := redrive.DeadPage{Next: p.Before}
	skip, far := (page-1)*int64(limit), page*int64(limit) > deadPagesMax
	if far {
		skip = int64(deadPagesMax / limit * limit)
	}
	left := skip
	if skip > 0 {
		if found, left, err = a.skipDead(c.Context(), f, skip); err != nil {
			return err
		}
		p.Before = found.Next
	}
	cursor := func(next int64) string { return cursorOf(redrive.JobCursor{ID: job.ID(next)}, deadOrder, hash) }
	switch {
	case far:
		problem := TooFar.Mistaken(Mistake{Parameter: "page", Bound: deadPagesMax / limit,
			Detail: fmt.Sprintf("page %d of %d entries begins after the first %d entries; next is the cursor of the farthest page", page, limit, deadPagesMax)})
		problem.Next = cursor(found.Next)
		return problem
	case left == 0 && (skip == 0 || found.Next != 0): // otherwise the list is over, or the search for the page has ended early
		if found, err = a.client.DeadLetters(c.Context(), f, p); err != nil {
			return err
		}
		if out.Entries, err = a.deadEntries(c, found.Entries); err != nil {
			return err
		}
	}
	out.Next = cursor(found.Next)
	if len(out.Entries) < limit {
		out.SearchedUntil = found.Searched
	}
	if f.Counted() {
		if out.Total, err = a.deadTotal(c.Context(), &f); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, out)
}

// queryHash returns a hash of the query without the place in the list, and of the owner.
func (a *API) queryHash(c *Call) [8]byte {
	values := c.R.URL.Query()
	for _, name := range [...]string{"cursor", "page", "limit"} {
		values.Del(name)
	}
	return filterHash([]any{c.Route.Name, c.Caller.Owner, values})
}

// skipDead goes past the first n dead letters of a list. It returns the last page that it has read,
// and how many of the n it has not reached: the list has no more, or it has searched enough.
func (a *API) skipDead(ctx context.Context, f redrive.DeadFilter, n int64) (page redrive.DeadPage, left int64, err error) {
	for range deadReadsMax {
		page, err = a.client.DeadLetters(ctx, f, redrive.DeadPaging{Before: page.Next, Limit: int(min(n, PageMax))})
		if err != nil {
			return page, n, err
		}
		if n -= int64(len(page.Entries)); n <= 0 || page.Next == 0 {
			break
		}
	}
	return page, n, nil
}

// deadTotal counts the dead letters of a filter for which there are counters.
func (a *API) deadTotal(ctx context.Context, f *redrive.DeadFilter) (*int64, error) {
	stats, err := a.client.DeadStats(ctx)
	if err != nil {
		return nil, fmt.Errorf("count the dead letters: %w", err)
	}
	return countDead(&stats, f), nil
}

// countDead counts the dead letters of a filter from the counters.
func countDead(stats *redrive.DeadStats, f *redrive.DeadFilter) *int64 {
	total := int64(0)
	for i := range stats.Counts {
		n := &stats.Counts[i]
		if f.Match(&job.DeadLetter{Status: n.Status, Reason: n.Reason, Class: n.Class, Kind: n.Kind, Queue: n.Queue}, nil) {
			total += n.N
		}
	}
	return &total
}

// deadEntries returns dead letters in the form of the API, as the caller may see them.
func (a *API) deadEntries(c *Call, list []redrive.DeadEntry) ([]wire.DeadEntry, error) {
	out := make([]wire.DeadEntry, 0, len(list))
	if len(list) == 0 {
		return out, nil
	}
	ids := make([]job.ID, len(list))
	for i := range list {
		ids[i] = list[i].DeadLetter.Job
	}
	failures, err := a.client.Latest(c.Context(), ids)
	if err != nil {
		return nil, fmt.Errorf("read the last failures of the dead letters: %w", err)
	}
	last := make(map[job.ID]*job.Failure, len(failures))
	for i := range failures {
		last[failures[i].Job] = &failures[i]
	}
	for i := range list {
		if list[i].Job == nil { // the job was retried: it is not in the list of dead jobs
			j, err := a.client.Get(c.Context(), ids[i])
			if err == nil {
				list[i].Job = &j
			} else if !errors.Is(err, redrive.ErrNotFound) {
				return nil, fmt.Errorf("read job %d: %w", ids[i], err)
			}
		}
		out = append(out, a.deadEntry(c, &list[i], last[ids[i]]))
	}
	return out, nil
}

// deadEntry returns a dead letter in the form of the API, as the caller may see it.
func (a *API) deadEntry(c *Call, d *redrive.DeadEntry, last *job.Failure) wire.DeadEntry {
	e := wire.DeadEntryOf(d, last, a.o.Kinds[d.Kind].Attempts, a.cleaning())
	if c.Outside() {
		fromOutside(e, d, last)
	} else if !a.seesPayloads(c) {
		e.Payload = nil
	}
	return *e
}

// fromOutside removes what an owner must not see: internal facts about the failure, the people who
// acted, and their notes.
func fromOutside(e *wire.DeadEntry, d *redrive.DeadEntry, last *job.Failure) {
	m := e.Metadata
	e.Payload = nil
	e.Metadata = wire.DeadMetadata{
		CreatedAt: m.CreatedAt, RetryCount: m.RetryCount, MaxRetry: m.MaxRetry, LastError: m.LastError, LastRetryAt: m.LastRetryAt,
		IdempotencyKey: m.IdempotencyKey, Owner: m.Owner, Correlation: m.Correlation, Life: m.Life, State: m.State, Death: m.Death,
	}
	if m.LastError != nil {
		m.LastError.Message, m.LastError.Context = "", wire.DeadErrorContext{}
		if last != nil && last.Life == m.Life {
			m.LastError.Message, m.LastError.Context.Attempt = words.UserText(last, d.Reason, d.DiedAt), last.Attempt
		}
	}
	if e.Resolution != nil {
		e.Resolution.Notes, e.ActedBy = "", nil
	}
}
