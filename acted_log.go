package redrive

import (
	"context"
	"log/slog"

	"github.com/redrive/redrive/job"
)

// The lines about what a program or a person did to single jobs. Their level is that of completions, because
// they can be as frequent.

// logEnqueued logs the jobs of an enqueue. In the caller's own transaction they exist after its commit.
func (c *Client) logEnqueued(ctx context.Context, jobs []job.New, receipts []Receipt) {
	if len(receipts) == 0 || !c.config.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for i, r := range receipts {
		message, j := "job enqueued", &jobs[i]
		if r.Existing {
			message = "job not enqueued: a job with its key exists"
		}
		attrs := []slog.Attr{slog.String("job", r.ID.String()), slog.String("kind", j.Kind), slog.String("queue", j.Queue)}
		if j.Correlation != "" {
			attrs = append(attrs, slog.String("correlation", j.Correlation))
		}
		c.config.Logger.LogAttrs(ctx, slog.LevelDebug, message, attrs...)
	}
}

// logActed logs the jobs that a person has changed. The errors are those of the jobs, or nil.
func (c *Client) logActed(ctx context.Context, message string, by By, ids []JobID, errs []error) {
	if !c.config.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for i, id := range ids {
		if i >= len(errs) || errs[i] == nil {
			c.config.Logger.LogAttrs(ctx, slog.LevelDebug, message, slog.String("job", id.String()), slog.String("by", by.Actor))
		}
	}
}
