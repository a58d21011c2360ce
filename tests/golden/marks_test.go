package golden_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

type markedError struct {
	name string
	err  error
}

// marked returns errors with each mark of package failure, and with several marks.
func marked() []markedError {
	const hour = time.Hour
	all := []markedError{
		{"plain", errOops},
		{"reset", errReset},
		{"permanent", permanent},
		{"permanent reset", failure.Permanent(errReset)},
		{"retry after 5s", failure.RetryAfter(5*time.Second, errOops)},
		{"retry after 10m", failure.RetryAfter(10*time.Minute, errOops)},
		{"retry after 5h", failure.RetryAfter(5*hour, errOops)},
		{"retry after 23h", failure.RetryAfter(23*hour, errOops)},
		{"retry after 25h", failure.RetryAfter(25*hour, errOops)},
		{"retry after a negative time", failure.RetryAfter(-hour, errOops)},
		{"code", failure.Code("E1", errOops, "clip", 3)},
		{"code of the policy", failure.Code("FFMPEG_ERROR", errOops)},
		{"codes", failure.Code("OUTER", failure.Code("INNER", errOops, "b", 2), "a", 1)},
		{"code over a text", failure.Code("E1", errReset)},
		{"own class", failure.WithClass("Own", errOops)},
		{"class of the policy", failure.WithClass("BadTimeline", errOops)},
		{"class over a text", failure.WithClass(failure.NotFound, errReset)},
		{"class with a secret", failure.WithClass("token=ghp_0123456789abcdefghijABCDEFGHIJ012345", errOops)},
		{"snooze", failure.Snooze(time.Minute)},
		{"snooze 0", failure.Snooze(0)},
		{"snooze 40 days", failure.Snooze(40 * 24 * hour)},
		{"cancel", failure.Cancel("not needed")},
		{"cancel without a reason", failure.Cancel("")},
		{"hand-over", failure.HandOver(time.Minute, "circuit open", errReset)},
		{"hand-over for 25h", failure.HandOver(25*hour, "circuit open", errReset)},
		{"hand-over of a permanent one", failure.HandOver(time.Minute, "gave up", permanent)},
		{"dependency", failure.DependencyDown("mailer", errOops)},
		{"dependency and hint", failure.DependencyDown("mailer", failure.RetryAfter(10*time.Minute, errOops))},
		{"permanent and hint", failure.RetryAfter(time.Minute, permanent)},
		{"permanent and snooze", errors.Join(permanent, failure.Snooze(time.Minute))},
		{"permanent and cancel", errors.Join(permanent, failure.Cancel("not needed"))},
		{"cancel and snooze", errors.Join(failure.Cancel("not needed"), failure.Snooze(time.Minute))},
		{"cancel and class", failure.WithClass("Own", failure.Cancel("not needed"))},
		{"cancelled context", fmt.Errorf("render: %w", context.Canceled)},
		{"deadline of a context", fmt.Errorf("render: %w", context.DeadlineExceeded)},
		{"wrapped permanent", fmt.Errorf("render: %w", permanent)},
		{"status 429 with a hint", failure.RetryAfter(2*time.Minute, statusError(429))},
		{"clip", errors.New("clip 12 is empty")},
	}
	for _, class := range policy.Default().Classes() {
		all = append(all, markedError{"class " + string(class), failure.WithClass(class, errOops)})
	}
	return all
}

// brokenLog is a log handler that panics when a rule cannot be evaluated. If the policy was
// replaced during the run, the panic happens while the decision is made.
type brokenLog struct{ slog.Handler }

func (brokenLog) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (brokenLog) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "a rule of the policy could not be evaluated") {
		panic("the error cannot be looked into")
	}
	return nil
}

// breakDecision installs a policy whose rule cannot be evaluated for the job of the run.
func breakDecision(ctx context.Context, a *act) error {
	f, err := policyfile.Parse("broken.yaml", []byte("version: 1\nrules: [{name: broken, when: attrs.n > 1, priority: 1}]\n"))
	if err == nil {
		err = a.engine.SetPolicy(ctx, redrive.By{Actor: "golden"}, f.Policy)
	}
	return cmp.Or(err, errOops)
}
