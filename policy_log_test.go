package redrive_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
)

// A rule that cannot be evaluated fails for every job. Each error of each rule is logged once, and
// then once a minute with the number of suppressed lines.
func TestARuleThatFailsDoesNotFloodTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	rules := policy.Spec{Name: "lenient", Rules: []policy.RuleSpec{{Name: "long", When: longer{From: 1}, Queue: "high-memory"}}}
	e := redrivetest.New(t, &redrive.Config{Policy: policyOf(t, rules), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	redrive.Handle(e.Client, render, func(context.Context, *redrive.Job[renderArgs]) error { return nil }, nil)
	warnings := func(jobs int, want ...string) {
		t.Helper()
		log.Reset()
		for range jobs {
			enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"seconds": "long"}}))
		}
		var got []string
		for line := range strings.Lines(log.String()) {
			if _, count, ok := strings.Cut(line, "not a number\" suppressed="); ok && strings.Contains(line, "level=WARN") {
				got = append(got, strings.TrimSpace(count))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("wrong numbers of suppressed lines in the logged warnings (-want +got):\n%s%s", diff, &log)
		}
	}
	warnings(50, "0")
	e.Advance(20 * time.Second) // the engine's clock also advances while the engine works
	warnings(50)
	e.Advance(time.Minute)
	warnings(50, "99")
	e.Advance(time.Hour)
	warnings(1, "49")
	rules.Rules = append(rules.Rules, policy.RuleSpec{Name: "longer", When: longer{From: 2}, Queue: "high-memory"})
	if err := e.SetPolicy(t.Context(), redrive.By{Actor: "test"}, policyOf(t, rules)); err != nil {
		t.Fatal(err)
	}
	warnings(3, "0", "0")
}

// The number of warnings is limited even if they all have different texts, so the memory for
// the texts is limited, too.
func TestARuleThatFailsInManyWaysDoesNotFloodTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := policyOf(t, policy.Spec{Name: "odd", Rules: []policy.RuleSpec{{Name: "odd", When: odd{}, Queue: "q"}}})
	e := redrivetest.New(t, &redrive.Config{Policy: p, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	redrive.Handle(e.Client, render, func(context.Context, *redrive.Job[renderArgs]) error { return nil }, nil)
	for n := range 1000 {
		enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"n": n}}))
	}
	if got := strings.Count(log.String(), "level=WARN"); got != 201 {
		t.Errorf("rule that fails with many different errors: got %d warnings, want 201", got)
	}
}

// A class that the policy does not know is often a misspelled name: the log says so, once a minute.
func TestAMisspelledClassIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	own := policy.Spec{Name: "own", Classes: map[failure.Class]policy.ClassSpec{"CardDeclined": {}}}
	e := redrivetest.New(t, &redrive.Config{Policy: policyOf(t, own), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	class := failure.Class("RateLimitExeeded")
	redrive.Handle(e.Client, render, func(context.Context, *redrive.Job[renderArgs]) error {
		return failure.WithClass(class, errors.New("slow down"))
	}, nil)
	for range 2 {
		enqueue(t, e, render.New(renderArgs{}, nil))
		e.Work()
	}
	if n := strings.Count(log.String(), `did you mean \"RateLimitExceeded\"?`); n != 1 || !strings.Contains(log.String(), "class=RateLimitExeeded kind=") {
		t.Errorf("two failures of a misspelled class: got %d warnings with the right name, want 1:\n%s", n, &log)
	}
	log.Reset()
	for _, class = range []failure.Class{failure.RateLimitExceeded, "CardDeclined"} {
		enqueue(t, e, render.New(renderArgs{}, nil))
		e.Work()
	}
	if strings.Contains(log.String(), "does not know") {
		t.Errorf("failures of known classes: got a warning, want none:\n%s", &log)
	}
}
