package redrivetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store/sqlite"
)

type upload struct{ File string }

const Upload = redrive.Kind[upload]("upload")

// handleUpload is the handler that the examples test.
func handleUpload(_ context.Context, j *redrive.Job[upload]) error {
	if j.Attempt == 1 {
		return failure.Code("DISK_FULL", errors.New("no space on the server"), "file", j.Args.File)
	}
	return nil
}

func Example() {
	_ = func(t *testing.T) {
		e := redrivetest.New(t, nil)
		redrive.Handle(e.Client, Upload, handleUpload, nil)
		if _, err := e.Enqueue(t.Context(), Upload.New(upload{"a.png"}, nil)); err != nil {
			t.Fatal(err)
		}
		for _, o := range e.Work() {
			fmt.Println(o.State, o.Failure.Code, o.Decision.Reason()) // retrying DISK_FULL retry 1 of 3 in 30s
		}
		e.Advance(30 * time.Second)
		for _, o := range e.Work() {
			fmt.Println(o.State, o.Attempt) // completed 2
		}
	}
}

func ExampleRequireEnqueued() {
	_ = func(t *testing.T, c *redrive.Client) { // c is the client of the code under test, on any store
		if _, err := c.Enqueue(t.Context(), Upload.New(upload{"a.png"}, &redrive.Options{Queue: "images"})); err != nil {
			t.Fatal(err)
		}
		jobs := redrivetest.RequireEnqueued(t, c, Upload, redrivetest.Queue("images"), redrivetest.Count(1))
		if jobs[0].Args.File != "a.png" {
			t.Errorf("got the file %s, want a.png", jobs[0].Args.File)
		}
		redrivetest.RequireNotEnqueued(t, c, Upload, redrivetest.Args(upload{"b.png"}))
	}
}

func ExampleRequireEnqueuedTx() {
	_ = func(t *testing.T, s *sqlite.Store, c *redrive.Client) {
		err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := c.EnqueueTx(ctx, sqlite.Tx(tx), Upload.New(upload{"a.png"}, nil)); err != nil {
				return err
			}
			redrivetest.RequireEnqueuedTx(t, c, sqlite.Tx(tx), Upload, redrivetest.Args(upload{"a.png"}))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func ExampleAttempt() {
	_ = func(t *testing.T) {
		o := redrivetest.Attempt(t, handleUpload, upload{"a.png"})
		if o.Failure == nil || o.Failure.Code != "DISK_FULL" {
			t.Errorf("got outcome %+v, want the code DISK_FULL", o)
		}
		if len(o.TempFiles) > 0 || len(o.Processes) > 0 {
			t.Errorf("the handler left files %v and processes %v, want none", o.TempFiles, o.Processes)
		}
	}
}

func ExampleTwice() {
	_ = func(t *testing.T) {
		var mailbox redrivetest.Effects
		send := func(_ context.Context, j *redrive.Job[upload]) error {
			mailbox.Do("mail to ann", j.StepKey("mail"))
			return nil
		}
		if doubled := redrivetest.Twice(t, send, upload{"a.png"}, &mailbox); len(doubled) > 0 {
			t.Errorf("got these effects in the second run: %v; want none", doubled)
		}
	}
}
