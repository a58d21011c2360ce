package golden_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

var (
	quiet = slog.New(slog.DiscardHandler)
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	errOops   = errors.New("oops")
	errReset  = errors.New("read tcp 10.0.0.2:40000->10.0.0.9:443: read: connection reset by peer")
	permanent = failure.Permanent(errOops)
)

// video is a policy with settings at every level.
const video = `version: 1
name: video
limits: {max_attempts: 20, max_age: 7d, max_wait: 6h}
default:
  max_retries: 3
  backoff: {waits: [1m, 5m, 15m], past: repeat, jitter: 20%}
  count: class
  hint: {mode: floor, jitter: 10%, jitter_min: 1s, max: 4h, beyond: dead}
  max_cost: 0.50
classes:
  RateLimitExceeded:
    max_retries: 5
    backoff: {first: 60s, factor: 3, cap: 2h, floor: 10s, jitter: 20%}
  ResourceConstraint:
    max_attempts: 3
    escalate: {queue: high-memory, priority: 1, after: 1}
  FFmpegError:
    is: TemporaryServiceError
    messages:
      retrying: The video could not be put together. Another attempt is scheduled.
      dead: The video could not be put together.
  BadTimeline: {verdict: permanent}
kinds:
  render:
    max_retries: 4
    max_total_retries: 6
    handovers: 5
    classes:
      NetworkTimeout: {max_retries: 8, backoff: {first: 1s, jitter: {add: 500ms}, cap: 1m}}
  detect: {retry: false}
rules:
  - name: long-video
    kinds: [render]
    when: attrs.duration_seconds >= 6*3600
    max_total_retries: 1
    queue: high-memory
    priority: 3
    overrides: {chunk_strategy: adaptive}
classify:
  builtin: true
  codes:
    - {code: [FFMPEG_ERROR, FFMPEG_CRASH], class: FFmpegError}
  statuses:
    - {status: [409, 5xx], class: TemporaryServiceError, kinds: [render]}
  exit_codes:
    - {exit: [137, SIGKILL], class: ResourceConstraint}
  phrases:
    - {match: moov atom not found, class: BadTimeline}
  patterns:
    - {match: 'clip \d+ is empty', class: BadTimeline}
`

const (
	observing  = video + "rollout: {stage: first, baseline: {retry: false}, stages: {first: {mode: observe, enforce: [NetworkTimeout]}}}\n"
	transcribe = "extends: transcribe\n"
	young      = "name: young\nlimits: {max_age: 10m}\n"
	few        = "name: few\nlimits: {max_attempts: 2}\n"
	capped     = "name: capped\ndefault: {hint: {mode: cap}, backoff: {first: 30s, factor: 2, cap: 5m, jitter: none}}\n"
	deaf       = "name: deaf\ndefault: {hint: {mode: off}}\n"
	total      = "name: total\ndefault: {count: total, max_total_retries: 4}\n"
)

// fails makes a handler that returns the errors one after the other and repeats the last error. A nil
// error is a success.
func fails(errs ...error) func(context.Context, *act) error {
	return func(_ context.Context, a *act) error { return errs[min(a.Run, len(errs))-1] }
}

// panics makes a handler that panics with the value in its first two runs, and then succeeds.
func panics(v any) func(context.Context, *act) error {
	return func(_ context.Context, a *act) error {
		if a.Run < 3 {
			panic(v)
		}
		return nil
	}
}

// ends makes a handler. In its first run, the handler calls the given function, which ends the
// context of the run, and waits until the context has ended. Then it returns err or, if err is nil,
// the error of the context.
func ends(do func(*act), err error) func(context.Context, *act) error {
	return func(ctx context.Context, a *act) error {
		if a.Run > 1 {
			return permanent
		}
		do(a)
		<-ctx.Done()
		if err == nil {
			return ctx.Err()
		}
		return err
	}
}

func limit(a *act)       { a.engine.Advance(10 * time.Minute) }
func stopWorker(a *act)  { a.stop() }
func cancelByAnn(a *act) { _ = a.engine.Cancel(context.Background(), redrive.By{Actor: "ann"}, a.id) }

func retryByAnn(ctx context.Context, a *act) {
	_ = a.engine.Retry(ctx, redrive.By{Actor: "ann", Reason: "mended"}, a.id, nil)
}

// longError is an error whose text is longer with %+v than with %v.
type longError struct{}

func (longError) Error() string { return "broken" }
func (longError) Format(f fmt.State, _ rune) {
	fmt.Fprint(f, "broken")
	if f.Flag('+') {
		fmt.Fprint(f, "\nmain.go:7")
	}
}

// silent is an error with an empty text.
type silent struct{}

func (silent) Error() string { return "" }

// scenes records every way in which a run can end.
func scenes() (all []*scene) {
	add := func(s scene) { all = append(all, &s) }
	of := func(kind string) redrive.Options { return redrive.Options{Correlation: kind} }
	for _, f := range marked() {
		add(scene{name: "mark, " + f.name, run: fails(f.err)})
		add(scene{name: "mark, video, " + f.name, policy: video, job: of("render"), run: fails(f.err)})
		add(scene{name: "panic, " + f.name, run: panics(f.err)})
	}
	add(scene{name: "success", run: func(_ context.Context, a *act) error { a.AddCost(0.25); return a.SetResult([]byte(`{"ok":1}`)) }})
	add(scene{name: "panic with a text", run: panics("no scene")})
	add(scene{name: "panic with a number", run: panics(7)})
	add(scene{name: "panic for ever", run: func(context.Context, *act) error { panic("no scene") }})
	add(scene{name: "goexit", run: func(_ context.Context, a *act) error {
		if a.Run < 2 {
			runtime.Goexit()
		}
		return nil
	}})

	timed := redrive.HandlerOptions{Timeout: 10 * time.Minute}
	for _, p := range []struct{ name, text string }{{"default", ""}, {"transcribe", transcribe}, {"observing", observing}} {
		in := func(name string) string { return name + ", " + p.name }
		add(scene{name: in("time limit"), policy: p.text, kind: timed, run: ends(limit, nil)})
		add(scene{name: in("time limit, own error"), policy: p.text, kind: timed, run: ends(limit, errReset)})
		add(scene{name: in("time limit, permanent"), policy: p.text, kind: timed, run: ends(limit, permanent)})
		add(scene{name: in("time limit, snooze"), policy: p.text, kind: timed, run: ends(limit, failure.Snooze(time.Minute))})
		add(scene{name: in("cancelled"), policy: p.text, run: ends(cancelByAnn, nil)})
		add(scene{name: in("cancelled, own error"), policy: p.text, run: ends(cancelByAnn, errReset)})
		add(scene{name: in("cancelled, permanent"), policy: p.text, run: ends(cancelByAnn, permanent)})
		add(scene{name: in("cancelled, snooze"), policy: p.text, run: ends(cancelByAnn, failure.Snooze(time.Minute))})
		stopped := redrive.Config{Grace: -1}
		add(scene{name: in("worker stops"), policy: p.text, config: stopped, run: ends(stopWorker, nil)})
		add(scene{name: in("worker stops, own error"), policy: p.text, config: stopped, run: ends(stopWorker, errReset)})
		add(scene{name: in("worker stops, permanent"), policy: p.text, config: stopped, run: ends(stopWorker, permanent)})
		add(scene{name: in("worker stops, cancel"), policy: p.text, config: stopped, run: ends(stopWorker, failure.Cancel("not needed"))})
		add(scene{name: in("a class after another"), policy: p.text, run: fails(errReset, errOops, errReset, failure.WithClass("Own", errOops), errReset)})
		add(scene{name: in("next life"), policy: p.text, run: fails(errReset), life: retryByAnn})
		for _, role := range []string{"exit 1", "exit 65", "exit 137", "killed"} {
			for _, kind := range []redrive.HandlerOptions{{}, {Schedule: &policy.Schedule{PermanentExitCodes: []int{65}}}} {
				add(scene{
					name: in(fmt.Sprintf("subprocess, %s, %t", role, kind.Schedule != nil)), policy: p.text, kind: kind,
					run: func(ctx context.Context, a *act) error { return a.command(ctx, role) },
				})
			}
		}
	}

	hold := redrive.Options{Attrs: map[string]any{"duration_seconds": 8 * 3600}}
	long := redrive.Options{Attrs: map[string]any{"duration_seconds": 7 * 3600}}
	add(scene{name: "held", policy: transcribe, job: hold, run: fails(nil)})
	add(scene{name: "held, released", policy: transcribe, job: hold, run: fails(nil), life: retryByAnn})
	add(scene{name: "held, released, fails", policy: transcribe, job: hold, run: fails(errReset), life: retryByAnn})
	add(scene{name: "held, attribute of another type", policy: transcribe, job: redrive.Options{Attrs: map[string]any{"duration_seconds": "8 h"}}, run: fails(nil)})
	add(scene{name: "rule of a long video", policy: transcribe, job: long, run: fails(errReset)})
	long.Correlation = "render"
	add(scene{name: "rule of a long video, video", policy: video, job: long, run: fails(errReset)})

	add(scene{name: "invalid outcome", config: redrive.Config{Logger: slog.New(brokenLog{})},
		job: redrive.Options{Attrs: map[string]any{"n": "two"}}, run: breakDecision})
	add(scene{name: "bad payload", raw: `"seven"`, run: fails(nil)})

	add(scene{name: "expired before its run", job: redrive.Options{RunAt: start.Add(time.Minute), Deadline: start.Add(30 * time.Second)}, run: fails(nil)})
	add(scene{name: "deadline in the past", job: redrive.Options{Deadline: start.Add(-time.Hour)}, run: fails(nil)})
	add(scene{name: "deadline before the retry", job: redrive.Options{Deadline: start.Add(10 * time.Second)}, run: fails(errReset)})
	add(scene{name: "deadline between retries", job: redrive.Options{Deadline: start.Add(2 * time.Minute)}, run: fails(errReset)})
	add(scene{name: "deadline over in the run", job: redrive.Options{Deadline: start.Add(time.Minute)}, run: func(_ context.Context, a *act) error {
		a.engine.Advance(time.Minute)
		return errReset
	}})

	add(scene{name: "cost", policy: video, run: func(_ context.Context, a *act) error {
		a.AddCost(0.2)
		return errOops
	}})
	add(scene{name: "cost, snoozed", policy: video, run: func(_ context.Context, a *act) error {
		a.AddCost(0.2)
		if a.Run%2 == 1 {
			return failure.Snooze(time.Second)
		}
		return errReset
	}})
	yes, none, one, nine, cents := true, 0, 1, 9, int64(10_000)
	for _, o := range []struct {
		name string
		own  policy.Override
	}{
		{"one retry", policy.Override{MaxRetries: &one}},
		{"no retry", policy.Override{MaxRetries: &none}},
		{"nine in all", policy.Override{MaxRetries: &nine, MaxTotalRetries: &nine}},
		{"retry", policy.Override{Retry: &yes}},
		{"waits", policy.Override{MaxRetries: &nine, Waits: policy.Waits{time.Second, time.Hour}}},
		{"cost", policy.Override{MaxCost: &cents}},
	} {
		for _, err := range []error{errReset, failure.WithClass(failure.NotFound, errOops)} {
			add(scene{name: "override, " + o.name + ", " + err.Error(), policy: video, job: redrive.Options{Override: &o.own, Correlation: "detect"}, run: func(_ context.Context, a *act) error {
				a.AddCost(0.02)
				return err
			}})
		}
	}

	for _, p := range []struct{ name, text string }{
		{"young", young}, {"few", few}, {"capped", capped}, {"deaf", deaf}, {"total", total}, {"video", video}, {"observing", observing},
	} {
		add(scene{name: "ceilings, " + p.name, policy: p.text, run: fails(errReset)})
		add(scene{name: "ceilings, unknown, " + p.name, policy: p.text, run: fails(errPlain)})
		add(scene{name: "ceilings, mixed, " + p.name, policy: p.text, run: fails(errReset, errOops)})
		add(scene{name: "hint, " + p.name, policy: p.text, run: fails(failure.RetryAfter(20*time.Minute, errReset))})
		add(scene{name: "hint beyond, " + p.name, policy: p.text, run: fails(failure.RetryAfter(30*time.Hour, errReset))})
		add(scene{name: "resources, " + p.name, policy: p.text, run: fails(failure.WithClass(failure.ResourceConstraint, errOops))})
	}
	add(scene{name: "ceilings of the program", config: redrive.Config{MaxAttempts: 2}, run: fails(errReset)})
	add(scene{name: "age of the program", config: redrive.Config{MaxAge: 2 * time.Minute}, run: fails(errReset)})
	add(scene{name: "schedule of the program", config: redrive.Config{Schedule: &policy.Schedule{Waits: []time.Duration{time.Second, time.Minute}}}, run: fails(errReset)})
	add(scene{name: "schedule of the kind", kind: redrive.HandlerOptions{Schedule: &policy.Schedule{Waits: []time.Duration{time.Minute}, MaxRetries: 5}}, run: fails(errOops)})
	add(scene{name: "schedule without retries", kind: redrive.HandlerOptions{Schedule: &policy.Schedule{MaxRetries: policy.NoRetry}}, run: fails(errOops)})
	add(scene{name: "ceilings in the run", policy: young, run: func(_ context.Context, a *act) error {
		a.engine.Advance(9*time.Minute + 50*time.Second)
		return errReset
	}})

	secret := errors.New("GET https://ann:hunter2@api.example.com/v1?key=sk-abcdef0123456789abcdef0123456789: Bearer eyJhbGciOi.eyJzdWIi.c2ln: ann@example.com: job 1")
	add(scene{name: "secrets", run: fails(failure.Code("FETCH", secret, "token", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "user", "ann@example.com", "n", 3))})
	add(scene{name: "secrets, mails", config: redrive.Config{HideEmails: true}, run: fails(failure.Code("FETCH", secret, "user", "ann@example.com"))})
	add(scene{name: "secrets, raw", config: redrive.Config{KeepRaw: true}, run: fails(failure.Code("FETCH", secret, "user", "ann@example.com"))})
	add(scene{name: "a long text", run: fails(errors.New(strings.Repeat("clip 3 is empty; ", 1000)))})
	add(scene{name: "no UTF-8", run: fails(errors.New("bad \xff\xfe name\x00"))})
	add(scene{name: "no text", run: fails(silent{})})
	add(scene{name: "long form", config: redrive.Config{Development: true}, run: fails(longError{})})
	add(scene{name: "long form, raw", config: redrive.Config{Development: true, KeepRaw: true}, run: fails(longError{})})
	return all
}
