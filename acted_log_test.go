package redrive_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/store/memory"
)

// What a program or a person did to a job is logged at the level of completions.
//
// proves: Q9
func TestQ9_EnqueuesCancelsAndRetriesAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	kind := redrive.Kind[int]("fragile")
	redrive.Handle(c, kind, func(context.Context, *redrive.Job[int]) error { return failure.Permanent(errors.New("broken")) }, nil)
	first, err1 := c.Enqueue(t.Context(), kind.New(1, &redrive.Options{Key: "k", Correlation: "req-7"}))
	_, err2 := c.Enqueue(t.Context(), kind.New(1, &redrive.Options{Key: "k"}))
	err3 := c.RunUntilIdle(t.Context())
	err4 := c.Retry(t.Context(), redrive.By{Actor: "ann"}, first.ID, nil)
	err5 := c.Cancel(t.Context(), redrive.By{Actor: "ann"}, first.ID)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`level=DEBUG msg="job enqueued" job=1 kind=fragile queue=default correlation=req-7`,
		`level=DEBUG msg="job not enqueued: a job with its key exists" job=1`,
		`level=DEBUG msg="job retried" job=1 by=ann`,
		`level=DEBUG msg="job cancelled, or asked to stop" job=1 by=ann`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no line with %s:\n%s", want, out.String())
		}
	}
}
