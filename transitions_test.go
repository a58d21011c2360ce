package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// traces says what each transition leaves besides its event: a line of the log, and the action in the
// audit if a person causes the transition. Every line has the job's id.
var traces = map[job.Transition]struct{ line, audit string }{
	{From: job.None, To: job.Waiting, Cause: job.Enqueued}:       {line: `level=DEBUG msg="job enqueued"`},
	{From: job.Waiting, To: job.Running, Cause: job.Claimed}:     {line: `level=DEBUG msg="job started"`},
	{From: job.Retrying, To: job.Running, Cause: job.Claimed}:    {line: `level=DEBUG msg="job started"`},
	{From: job.Running, To: job.Completed, Cause: job.Succeeded}: {line: `level=DEBUG msg="job completed"`},
	{From: job.Running, To: job.Retrying, Cause: job.Failed}:     {line: `level=INFO msg="job failed and will be retried"`},
	{From: job.Running, To: job.Dead, Cause: job.Failed}:         {line: `reason=max_retries_exceeded`},
	{From: job.Running, To: job.Waiting, Cause: job.Snoozed}:     {line: `level=INFO msg="job snoozed"`},
	{From: job.Running, To: job.Waiting, Cause: job.Deferred}:    {line: `level=INFO msg="job deferred"`},
	{From: job.Running, To: job.Waiting, Cause: job.Interrupted}: {line: `level=INFO msg="job interrupted"`},
	{From: job.Running, To: job.Waiting, Cause: job.Crashed}:     {line: `level=WARN msg="job rescued: the lease of its run was over"`},
	{From: job.Running, To: job.Dead, Cause: job.Crashed}:        {line: `level=ERROR msg="job is dead"`},
	{From: job.Running, To: job.Dead, Cause: job.Held}:           {line: `level=WARN msg="job held: a person is to decide"`},
	{From: job.Running, To: job.Cancelled, Cause: job.Cancel}:    {line: `level=INFO msg="job cancelled"`},
	{From: job.Waiting, To: job.Cancelled, Cause: job.Cancel}:    {line: `msg="job cancelled, or asked to stop"`, audit: "job.cancel"},
	{From: job.Retrying, To: job.Cancelled, Cause: job.Cancel}:   {line: `msg="job cancelled, or asked to stop"`, audit: "job.cancel"},
	{From: job.Waiting, To: job.Dead, Cause: job.Expired}:        {line: `level=ERROR msg="job is dead"`},
	{From: job.Retrying, To: job.Dead, Cause: job.Expired}:       {line: `level=ERROR msg="job is dead"`},
	{From: job.Dead, To: job.Waiting, Cause: job.Retried}:        {line: `msg="job retried"`, audit: "job.retry"},
}

// act is the handler of the kind "job": its argument says how its first run ends. Later runs succeed, those of "fails"
// fail.
func act(ctx context.Context, j *redrive.Job[string]) error {
	switch {
	case j.Args == "fails" || j.Args == "fails once" && j.Run == 1:
		return errors.New("status 503")
	case j.Args == "blocks" && j.Run == 1 || j.Args == "crashes" && j.Run <= 2:
		<-ctx.Done()
		return context.Cause(ctx)
	case j.Args == "snoozes" && j.Run == 1:
		return failure.Snooze(time.Second)
	case j.Args == "hands over" && j.Run == 1:
		return failure.HandOver(time.Second, "the calls failed", errors.New("status 503"))
	case j.Args == "cancels itself":
		return failure.Cancel("not needed any more")
	}
	return nil
}

// Each transition of the state machine happens once through the library, and each is an event with the job's id, a
// line of the log with it and, if a person caused it, a row of the audit with actor, time and reason.
//
// proves: Q9
func TestQ9_EachTransitionHasItsEventItsLineAndItsAuditRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		st := memory.New(memory.Options{})
		p, problems := policy.New(policy.Spec{Name: "transitions",
			Default: steady(1), Rules: []policy.RuleSpec{{Name: "too-long", When: longer{From: 8 * 3600}, Hold: &policy.Hold{Message: "Please contact support"}}}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		kind := redrive.Kind[string]("job")
		client := func(s store.Store, kind redrive.Kind[string]) *redrive.Client {
			c, err := redrive.New(s, &redrive.Config{TempDir: t.TempDir(), Policy: p, Grace: -1, RescueInterval: time.Second,
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			if err != nil {
				t.Fatal(err)
			}
			redrive.Handle(c, kind, act, &redrive.HandlerOptions{MaxCrashes: 2})
			return c
		}
		c, ann := client(st, kind), redrive.By{Actor: "ann", Reason: "the night of the outage"}
		enqueue := func(what string, o redrive.Options) redrive.JobID {
			t.Helper()
			r, err := c.Enqueue(t.Context(), kind.New(what, &o))
			if err != nil {
				t.Fatal(err)
			}
			return r.ID
		}
		idle := func() {
			t.Helper()
			if err := c.RunUntilIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		during := func(c *redrive.Client, d time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { _ = c.Run(ctx); close(ended) }()
			time.Sleep(d) //nolint:forbidigo // the time of synctest
			cancel()
			<-ended
		}

		enqueue("succeeds", redrive.Options{})
		enqueue("snoozes", redrive.Options{})
		enqueue("hands over", redrive.Options{})
		enqueue("cancels itself", redrive.Options{})
		enqueue("is held", redrive.Options{Attrs: map[string]any{"seconds": 8 * 3600}})
		dies := enqueue("fails", redrive.Options{})
		enqueue("fails once", redrive.Options{Deadline: time.Now().Add(2 * time.Minute)}) // expires while it waits for its retry
		cancelled := enqueue("fails", redrive.Options{})
		later := enqueue("succeeds", redrive.Options{RunAt: time.Now().Add(time.Hour)})
		idle()
		errs, err := c.CancelAll(t.Context(), ann, []redrive.JobID{cancelled, later})
		if err := errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		enqueue("succeeds", redrive.Options{Deadline: time.Now().Add(time.Minute)}) // expires before it runs
		time.Sleep(3 * time.Minute)                                                 //nolint:forbidigo // the time of synctest
		idle()
		if err := c.Retry(t.Context(), ann, dies, nil); err != nil {
			t.Fatal(err)
		}
		enqueue("blocks", redrive.Options{})
		during(c, time.Second)
		enqueue("crashes", redrive.Options{})
		for range 2 { // a process is killed, and one that runs other kinds finds its job
			var killed atomic.Bool
			time.AfterFunc(time.Second, func() { killed.Store(true) })
			during(client(faultstore.New(st, func(faultstore.Call) faultstore.Fault {
				if killed.Load() {
					return faultstore.Fault{Before: store.ErrUnavailable}
				}
				return faultstore.Fault{}
			}), kind), 2*time.Second)
			during(client(st, "other"), time.Minute)
		}
		checkTraces(t, c, log.String())
	})
}

// checkTraces compares what a client's store and its log say with traces.
func checkTraces(t *testing.T, c *redrive.Client, log string) {
	t.Helper()
	lines := strings.Split(log, "\n")
	seen, state := map[job.Transition]bool{}, map[redrive.JobID]job.State{}
	for e, err := range c.Events(t.Context(), event.Cursor{}, &redrive.EventsOptions{StopAtEnd: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Job == 0 || e.Type > event.JobHeld {
			continue
		}
		tr := job.Transition{From: e.From, To: e.To, Cause: job.Cause(e.Type)}
		want, ok := traces[tr]
		if !ok || e.From != state[e.Job] {
			t.Errorf("event %v of job %d: want a transition of the state machine from %v", e, e.Job, state[e.Job])
		}
		seen[tr], state[e.Job] = true, e.To
		about := fmt.Sprintf(" job=%d ", e.Job)
		if !anyLine(lines, want.line, about) {
			t.Errorf("%v of job %d: the log has no line with %s and %s", tr, e.Job, want.line, about)
		}
		page, err := c.Audit(t.Context(), redrive.AuditFilter{Target: e.Job.String()})
		if err != nil {
			t.Fatal(err)
		}
		found := want.audit == ""
		for _, a := range page.Entries {
			found = found || a.Action == want.audit && a.Actor == "ann" && a.Reason == "the night of the outage" && a.At == e.At
		}
		if !found {
			t.Errorf("%v of job %d: got the audit %+v, want a row %s with actor, time and reason", tr, e.Job, page.Entries, want.audit)
		}
	}
	for _, tr := range job.Transitions {
		if !seen[tr] {
			t.Errorf("%v: the test has not driven this transition", tr)
		}
	}
	for id, want := range state {
		if j, err := c.Get(t.Context(), id); err != nil || j.State != want {
			t.Errorf("job %d: got state %v, error %v; want %v as its last event says", id, j.State, err, want)
		}
	}
}

func anyLine(lines []string, parts ...string) bool {
	for _, line := range lines {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line+" ", part)
		}
		if all {
			return true
		}
	}
	return false
}
