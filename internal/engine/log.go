package engine

import (
	"context"
	"log/slog"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Every log line about a job has its id, and its correlation id if it has one.

func (e *Engine) log(level slog.Level, message string, c *job.Claim, attrs ...slog.Attr) {
	ctx := context.Background()
	if !e.cfg.Logger.Enabled(ctx, level) {
		return
	}
	about := []slog.Attr{
		slog.String("job", c.ID.String()), slog.Int64("run", int64(c.Token)),
		slog.String("kind", c.Kind), slog.String("queue", c.Queue),
	}
	if c.Correlation != "" {
		about = append(about, slog.String("correlation", c.Correlation))
	}
	e.cfg.Logger.LogAttrs(ctx, level, message, append(about, attrs...)...)
}

// claim returns the claim of a task, even if the task is stuck and was released.
func (t *Task) claim() *job.Claim {
	if t.run != nil {
		return &t.run.Claim
	}
	return t.Claim
}

// logTransition logs the outcome of a run after it was written. If the log level is
// disabled, this costs almost nothing.
func (e *Engine) logTransition(t *Task) {
	o, c := &t.Outcome, t.Claim
	level := slog.LevelInfo
	switch {
	case o.Cause == job.Succeeded || t.inTx:
		level = slog.LevelDebug
	case o.Cause == job.Held:
		level = slog.LevelWarn
	case o.To == job.Dead:
		level = slog.LevelError
	}
	if !e.cfg.Logger.Enabled(context.Background(), level) {
		return
	}
	took := slog.Duration("took", t.Elapsed)
	if t.inTx {
		e.log(level, "run ended; its handler's transaction decides", c, took)
		return
	}
	switch o.Cause {
	case job.Succeeded:
		e.log(level, "job completed", c, took)
	case job.Failed:
		message := "job failed and will be retried"
		attrs := []slog.Attr{took, slog.Int("attempt", int(c.Attempt()))}
		switch o.To {
		case job.Dead:
			message = "job is dead"
			attrs = append(attrs, slog.String("reason", string(o.Reason)))
		case job.Cancelled:
			message = "job failed, and is cancelled because a person has asked for it"
		case job.None, job.Waiting, job.Retrying, job.Running, job.Completed:
			attrs = append(attrs, due(o)...)
		}
		if f := o.Failure; f != nil {
			attrs = append(attrs, slog.String("how", string(f.How)), slog.String("class", f.Class), slog.String("error", e.outside(f.Message)))
		}
		e.log(level, message, c, attrs...)
	case job.Held:
		var attrs []slog.Attr
		if notify := job.HoldNotify(o.Failure); notify != "" {
			attrs = append(attrs, slog.String("notify", notify))
		}
		e.log(level, "job held: a person is to decide", c, attrs...)
	case job.Snoozed, job.Deferred, job.Interrupted:
		if o.To == job.Cancelled { // a person has cancelled the job
			e.log(level, "job cancelled", c, took)
			return
		}
		e.log(level, "job "+o.Cause.String(), c, append(due(o), took)...)
	case job.Cancel:
		e.log(level, "job cancelled", c, took)
	case job.Enqueued, job.Claimed, job.Crashed, job.Expired, job.Retried: // these causes do not come from the outcome of a run
	}
}

// outside returns a text of a handler without the parts that only operators may see.
func (e *Engine) outside(text string) string {
	if e.cfg.Outside == nil {
		return text
	}
	return e.cfg.Outside(text)
}

func due(o *job.Outcome) []slog.Attr {
	attrs := []slog.Attr{slog.Duration("due_in", o.Delay)}
	if o.NotBefore > 0 {
		attrs = append(attrs, slog.Time("not_before", o.NotBefore.Time()))
	}
	return attrs
}

// logNote logs a note of the core.
func (e *Engine) logNote(n Note) {
	ctx := context.Background()
	failure := slog.Any("error", n.Err)
	switch n.Kind {
	case TroubleBegan:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the store fails; what has finished is kept and written later", failure)
	case TroubleEnded:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "the store works again",
			slog.Duration("after", n.Elapsed), slog.Int("outcomes_waiting", n.N))
	case OutcomesLate:
		e.log(slog.LevelWarn, "outcome cannot be written yet: it is tried again, and other jobs are not delayed", n.Task.claim(), failure)
	case LateWritten:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "no outcome waits to be written any more", slog.Duration("after", n.Elapsed))
	case LeaseExpiring:
		e.log(slog.LevelWarn, "job stopped: its lease could not be extended in time", n.Task.claim())
	case LeaseTaken:
		e.log(slog.LevelWarn, "job stopped: its lease is lost", n.Task.claim())
	case OutcomeRefused:
		e.log(slog.LevelWarn, "outcome dropped", n.Task.claim(), slog.String("outcome", n.Task.Outcome.To.String()), failure)
	case OutcomeInvalid:
		e.logInvalid(n.Task, n.Err)
	case HandlerStuck:
		e.log(slog.LevelError, "handler does not return: the run ends without it, and its slot stays occupied",
			n.Task.claim(), slog.Any("stopped", n.Task.Cause))
	case HandlerReturned:
		e.log(slog.LevelWarn, "handler returned after its run had ended; its slot is free again", n.Task.claim())
	case ClaimUnknown:
		e.log(slog.LevelError, "the store returned a job that was not requested; it is handed back", n.Task.claim())
	case SignFailed:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelWarn,
			"cannot report to the store that this process is alive; its jobs are not affected, and it tries again", failure)
	case QuietBegan:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "a person ordered this process to be quiet: it claims no jobs and finishes those that run")
	case QuietEnded:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "the order to be quiet was taken back: this process claims jobs again")
	case SickBegan:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelError, "this worker cannot start programs: it hands the jobs back without an attempt, "+
			"and claims none until a check or a single job shows that it can", kindAttr(n.Of), failure)
	case SickEnded:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "this worker can start programs again", kindAttr(n.Of), slog.Duration("after", n.Elapsed))
	case OutcomesGivenUp:
		e.cfg.Logger.LogAttrs(ctx, slog.LevelError,
			"stopping without having written all outcomes; the jobs run again when their leases are over", slog.Int("jobs", n.N))
	}
}

// kindAttr names a kind; "" means all kinds.
func kindAttr(kind string) slog.Attr {
	if kind == "" {
		return slog.String("kinds", "all")
	}
	return slog.String("kind", kind)
}

func (e *Engine) logInvalid(t *Task, err error) {
	e.log(slog.LevelError, "the outcome of a run cannot be written; the job fails instead", t.claim(), slog.Any("error", err))
}

func (e *Engine) logProcesses(r *Run, err error) {
	e.log(slog.LevelError, "processes of a run still exist after its end", &r.Claim, slog.Any("error", err))
}

func (e *Engine) logLeftover(r *Run, err error) {
	e.log(slog.LevelWarn, "the temp directory of a run cannot be removed; a later sweep tries again", &r.Claim, slog.Any("error", err))
}

func (e *Engine) logExpired(ids []job.ID) {
	for _, id := range ids {
		e.cfg.Logger.Error("job is dead", "job", id.String(), "reason", string(job.DeadlineOver))
	}
}

func (e *Engine) logRescued(jobs []store.Rescued) {
	for _, r := range jobs {
		c := job.Claim{ID: r.ID, Token: r.Token, Kind: r.Kind, Queue: r.Queue}
		attrs := []slog.Attr{slog.Int("crashes", int(r.Crashes)), slog.String("worker", r.Holder), slog.String("state", r.To.String())}
		e.log(slog.LevelWarn, "job rescued: the lease of its run was over", &c, attrs...)
		if r.To == job.Dead {
			e.log(slog.LevelError, "job is dead", &c, append(attrs, slog.String("reason", string(job.Stalled)))...)
		}
	}
}
