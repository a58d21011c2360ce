package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// auditPage is how many entries of the audit log are read at once.
const auditPage = 500

// AuditFilter selects entries of the audit log. Zero fields select everything.
type AuditFilter struct {
	Actor string
	// Actions are the actions to select, such as job.retry. A name that ends with a
	// dot, such as dead_letter., selects all actions that begin with it.
	Actions []string
	Target  string     // a job's id, a queue's name, a redrive's number or a policy's hash
	Since   job.Micros // select only actions at or after this time
	// Limit is how many of the newest entries Audit returns, 1 to job.PageMax; 0 means 50.
	Limit int
	// Pages is the maximum number of pages that Audit searches, from the newest entry
	// backwards. A page has 500 entries. 0 means the whole log.
	Pages int
}

// match reports whether the filter selects the entry.
func (f *AuditFilter) match(e *AuditEntry) bool {
	named := func(action string) bool {
		return action == e.Action || strings.HasSuffix(action, ".") && strings.HasPrefix(e.Action, action)
	}
	return (f.Actor == "" || f.Actor == e.Actor) && (f.Target == "" || f.Target == e.Target) && e.At >= f.Since &&
		(len(f.Actions) == 0 || slices.ContainsFunc(f.Actions, named))
}

// AuditPage holds the newest audit entries that a filter selects.
type AuditPage struct {
	Entries []AuditEntry // the selected entries, oldest first
	Last    int64        // the number of the newest entry in the log; pass it to FollowAudit to continue from there
	// SearchedTo is set when the search ended after AuditFilter.Pages pages. Entries
	// older than this time were not searched.
	SearchedTo job.Micros
}

// Audit returns the newest entries of the audit log that the filter selects.
func (c *Client) Audit(ctx context.Context, f AuditFilter) (AuditPage, error) {
	if f.Limit < 0 || f.Limit > job.PageMax {
		return AuditPage{}, fmt.Errorf("audit: limit %d: must be 1 to %d: %w", f.Limit, job.PageMax, store.ErrInvalid)
	}
	page, err := c.auditBack(ctx, &f, cmp.Or(f.Limit, 50))
	slices.Reverse(page.Entries)
	return page, err
}

// auditBack reads the audit log from its end backwards and returns the selected entries,
// newest first.
func (c *Client) auditBack(ctx context.Context, f *AuditFilter, limit int) (page AuditPage, err error) {
	end, err := c.auditEnd(ctx)
	if err != nil {
		return page, err
	}
	page.Last = end
	for n := 0; n < f.Pages || f.Pages == 0; n++ {
		from := max(0, end-auditPage)
		entries, err := c.auditAfter(ctx, from, auditPage)
		if err != nil {
			return page, err
		}
		for _, e := range slices.Backward(entries) {
			switch {
			case e.Seq > end:
				continue
			case e.At < f.Since || len(page.Entries) == limit:
				page.SearchedTo = 0
				return page, nil
			case f.match(&e):
				page.Entries = append(page.Entries, e)
			}
		}
		if from == 0 {
			page.SearchedTo = 0
			return page, nil
		}
		if len(entries) > 0 {
			page.SearchedTo = entries[0].At
		}
		end = from
	}
	return page, nil
}

// FollowAudit returns the audit entries with numbers above after, in order and in
// batches, and waits for new ones. It ignores AuditFilter.Limit and Pages. The loop
// ends when ctx ends. While the store does not answer (ErrUnavailable), FollowAudit
// tries again every Config.Poll. Any other error ends the loop.
func (c *Client) FollowAudit(ctx context.Context, after int64, f AuditFilter) iter.Seq2[[]AuditEntry, error] {
	return func(yield func([]AuditEntry, error) bool) {
		after := after // each loop over the sequence begins where the caller said
		changed := make(chan struct{}, 1)
		defer c.store.Notify(changed)()
		for {
			entries, err := c.auditAfter(ctx, after, auditPage)
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, store.ErrUnavailable) {
				_ = c.await(ctx, nil) // await returns an error only when ctx has ended
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			full := len(entries) == auditPage
			if len(entries) > 0 {
				after = entries[len(entries)-1].Seq
			}
			entries = slices.DeleteFunc(entries, func(e AuditEntry) bool { return !f.match(&e) })
			if len(entries) > 0 && !yield(entries, nil) {
				return
			}
			if !full && c.await(ctx, changed) != nil {
				return
			}
		}
	}
}

func (c *Client) auditAfter(ctx context.Context, after int64, limit int) ([]AuditEntry, error) {
	entries, err := c.store.Audit(ctx, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return entries, nil
}

// auditEnd returns the number of the newest entry, or 0 for an empty log. The store has
// no call for this number, so auditEnd searches for it: it doubles a number until no
// entry has a greater one, and then bisects.
func (c *Client) auditEnd(ctx context.Context) (int64, error) {
	after := func(n int64) (seq int64, err error) { // after returns the number of the first entry after entry n, or 0 when there is no such entry
		entries, err := c.auditAfter(ctx, n, 1)
		if err != nil || len(entries) == 0 {
			return 0, err
		}
		return entries[0].Seq, nil
	}
	low, high := int64(0), int64(auditPage) // invariant: either an entry has a number above low, or the log is empty
	for {
		n, err := after(high)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		low, high = n, 2*n
	}
	for high-low > auditPage {
		middle := low + (high-low)/2
		n, err := after(middle)
		switch {
		case err != nil:
			return 0, err
		case n == 0:
			high = middle
		default:
			low = n
		}
	}
	entries, err := c.auditAfter(ctx, low, auditPage)
	if err != nil || len(entries) == 0 {
		return low, err
	}
	return entries[len(entries)-1].Seq, nil
}
