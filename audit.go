package redrive

import (
	"context"
	"fmt"
	"iter"
	"slices"
)

// auditPage is how many entries of the audit log are read at once.
const auditPage = 500

// Audit returns the newest entries of the audit log that the filter selects, newest first.
// To get the next older page, set AuditFilter.Before to AuditPage.Next.
func (c *Client) Audit(ctx context.Context, f AuditFilter) (AuditPage, error) {
	page, err := c.store.AuditPage(ctx, f)
	if err != nil {
		return page, fmt.Errorf("read the audit log: %w", err)
	}
	return page, nil
}

// FollowAudit returns the audit entries whose numbers are higher than the given one, in order
// and in batches, and waits for new ones. It ignores AuditFilter.Before and Limit. The loop
// ends when ctx ends. While the store does not answer (ErrUnavailable), FollowAudit tries
// again every Config.Poll. Any other error ends the loop, also the error ErrClosed of a store
// that was closed.
func (c *Client) FollowAudit(ctx context.Context, after int64, f AuditFilter) iter.Seq2[[]AuditEntry, error] {
	return func(yield func([]AuditEntry, error) bool) {
		after := after // each loop over the sequence begins after the number that the caller gave
		err := c.follow(ctx, true, func() (full, more bool, err error) {
			entries, err := c.auditAfter(ctx, after, auditPage)
			if err != nil {
				return false, false, err
			}
			full = len(entries) == auditPage
			if len(entries) > 0 {
				after = entries[len(entries)-1].Seq
			}
			entries = slices.DeleteFunc(entries, func(e AuditEntry) bool { return !f.Matches(&e) })
			return full, len(entries) == 0 || yield(entries, nil), nil
		})
		if err != nil {
			yield(nil, err)
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
