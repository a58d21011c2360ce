package retry

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/redrive/redrive/failure"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Retrying    EventKind = iota + 1 // another attempt follows after the wait Delay
	Recovered                        // a call succeeded after a retry
	GaveUp                           // the call has used up its retries
	FailedFast                       // the failure cannot be repaired by waiting
	Rescheduled                      // the job is due again after the wait Delay
	Ended                            // the caller's context has ended
	Succeeded                        // a call succeeded at the first attempt; only hooks get this event
)

var kinds = [...]struct {
	message string
	level   slog.Level
}{
	Retrying: {"call failed, retrying", slog.LevelWarn}, Recovered: {"call recovered", slog.LevelInfo},
	GaveUp: {"call retries exhausted", slog.LevelError}, FailedFast: {"call failed, not retried", slog.LevelError},
	Rescheduled: {"call handed its job over", slog.LevelWarn}, Ended: {"call ended by its caller", slog.LevelInfo},
	Succeeded: {"call succeeded", slog.LevelDebug},
}

// String returns the message of the log line.
func (k EventKind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].message
	}
	return ""
}

// Event describes an event of a call, for hooks and for the log.
type Event struct {
	Kind       EventKind
	Operation  string
	Retry      int // for Retrying, the number of the next retry, from 1; for other events, the number of retries so far
	MaxRetries int
	Delay      time.Duration // the wait before the retry or before the job's next run; only for Retrying and Rescheduled
	Err        error         // error of the last attempt; nil for Succeeded
	Class      failure.Class
	Status     int  // HTTP status; 0 means unknown
	Retriable  bool // whether waiting may repair the failure
	Sends      int
}

// emit logs an event of the call and calls a hook with it. If there is neither a logger nor
// a hook, emit does nothing.
func (r *run) emit(ctx context.Context, k EventKind, delay time.Duration, hook func(context.Context, *Event)) {
	l := r.logger()
	logged := !r.reported && k != Ended && l.Enabled(ctx, kinds[k].level)
	if !logged && hook == nil {
		return
	}
	e := &Event{Kind: k, Operation: r.p.o.Operation, Retry: max(r.n-1, 0), MaxRetries: r.p.retries, Delay: delay, Err: r.err.Last,
		Class: r.err.Class.Class, Status: r.status, Retriable: k != FailedFast && k != Ended && (r.err.Reason != Suppressed || r.retry), Sends: r.sends}
	if k == Retrying {
		e.Retry = r.n
	}
	if logged {
		r.log(ctx, l, e)
	}
	if hook != nil {
		hook(ctx, e)
	}
}

func (r *run) logger() *slog.Logger {
	switch {
	case r.p.o.Logger != nil:
		return r.p.o.Logger
	case r.ledger != nil && r.ledger.job.Logger != nil:
		return r.ledger.job.Logger
	}
	return slog.Default()
}

// log writes the line of an event.
func (r *run) log(ctx context.Context, l *slog.Logger, e *Event) {
	correlation, id := attrIDs(ctx)
	if r.ledger != nil {
		correlation, id = r.ledger.job.Correlation, r.ledger.job.ID
	}
	all := []slog.Attr{
		slog.Int("retry_attempt", e.Retry), slog.Int("max_retries", e.MaxRetries), slog.String("operation", e.Operation),
		slog.Int64("delay_ms", e.Delay.Milliseconds()), slog.String("error_type", string(e.Class)), slog.Int("error_status", e.Status),
		slog.String("error_message", failure.Sanitize(failure.Text(e.Err), nil)), slog.Bool("is_retryable", e.Retriable),
		slog.String("correlation_id", correlation), slog.String("job_id", id),
	}
	if a, ok := ctx.Value(attrsKey{}).(*attrs); ok {
		all = append(all, a.own...)
	}
	l.LogAttrs(ctx, kinds[e.Kind].level, e.Kind.String(), all...)
}

type attrsKey struct{}

// attrs are the attributes of WithAttrs in a context; they are never changed.
type attrs struct {
	own             []slog.Attr
	correlation, id string
}

// WithAttrs adds attributes to the log lines of all calls under ctx, as keys and values
// in the form of log/slog: "shell_file_id", id. Outside a job, the keys
// "correlation_id" and "job_id" set the job's ids.
func WithAttrs(ctx context.Context, args ...any) context.Context {
	a := &attrs{}
	if outer, ok := ctx.Value(attrsKey{}).(*attrs); ok {
		a.correlation, a.id = outer.correlation, outer.id
		a.own = append(a.own, outer.own...)
	}
	var rec slog.Record
	rec.Add(args...)
	rec.Attrs(func(attr slog.Attr) bool {
		switch attr.Key {
		case "correlation_id":
			a.correlation = attr.Value.String()
		case "job_id":
			a.id = attr.Value.String()
		default:
			a.own = append(a.own, attr)
		}
		return true
	})
	return context.WithValue(ctx, attrsKey{}, a)
}

// attrIDs returns the correlation id and the job id that WithAttrs has set.
func attrIDs(ctx context.Context) (correlation, id string) {
	if a, ok := ctx.Value(attrsKey{}).(*attrs); ok {
		return a.correlation, a.id
	}
	return "", ""
}

// LogHandler returns a handler that writes the log lines of calls as JSON with
// exactly these keys: level, timestamp, retry_attempt, max_retries, operation,
// delay_ms, error_type, error_status, error_message, is_retryable, correlation_id,
// job_id, and what WithAttrs adds.
func LogHandler(w io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: ReplaceAttr})
}

// ReplaceAttr is slog.HandlerOptions.ReplaceAttr for a program's own handler. It renames
// the time to timestamp and leaves out the message, because the other keys say the same.
func ReplaceAttr(groups []string, a slog.Attr) slog.Attr {
	switch {
	case len(groups) > 0:
	case a.Key == slog.TimeKey:
		a.Key = "timestamp"
	case a.Key == slog.MessageKey:
		return slog.Attr{}
	}
	return a
}
