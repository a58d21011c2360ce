package docs_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store/memory"
)

// This file has the code of library.md about retries and keys.

func handlePatiently(client *redrive.Client, send func(context.Context, *redrive.Job[Invoice]) error) {
	redrive.Handle(client, SendInvoice, send, &redrive.HandlerOptions{
		Schedule: &policy.Schedule{
			First: time.Second, Cap: time.Hour, Jitter: 0.2, // 1 s, 2 s, 4 s, … 1 h, each ±20 %
			MaxRetries:    24,
			RetryUnmarked: true, // retry everything that the handler does not mark
		},
	})
}

// runs returns in how many runs a job ends whose handler always fails with an error, and the state in which it ends.
func runs(t *testing.T, c *redrive.Config, o *redrive.Options, handle func(*redrive.Client, func(context.Context, *redrive.Job[Invoice]) error), err error) (int, job.State) {
	t.Helper()
	e := redrivetest.New(t, c)
	handle(e.Client, func(context.Context, *redrive.Job[Invoice]) error { return err })
	if _, err := e.Enqueue(t.Context(), SendInvoice.New(Invoice{}, o)); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		ended := e.Work()
		if len(ended) != 1 {
			t.Fatalf("run %d: %d runs ended, want 1", n, len(ended))
		}
		if s := ended[0].State; s != job.Retrying {
			return n, s
		}
		e.Advance(ended[0].Wait)
	}
}

func handlePlainly(client *redrive.Client, send func(context.Context, *redrive.Job[Invoice]) error) {
	redrive.Handle(client, SendInvoice, send, nil)
}

// What library.md says about errors that end a job at once holds, with the built-in policy, with RetryUnmarked in Go
// and with the line of policy.md that does the same.
func TestLibrary_RetryWhatIsNotMarked(t *testing.T) {
	t.Parallel()
	var text string
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "policy.md"), -1) {
		if strings.Contains(block[1], "name: unmarked") {
			text = block[1]
		}
	}
	line, err := policyfile.Parse("unmarked.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("boom")
	for name, tt := range map[string]struct {
		err                     error
		builtin, schedule, file int
	}{
		"words of a final class": {errors.New("open /srv/invoices: permission denied"), 1, 25, 25},
		"an error of a library":  {fmt.Errorf("load invoice: %w", sql.ErrNoRows), 1, 25, 25},
		"the name of a type":     {notFoundError{}, 1, 25, 25},
		"a status":               {&apiError{status: 404}, 1, 25, 25},
		"nothing known":          {broken, 3, 25, 25},
		"Permanent":              {failure.Permanent(broken), 1, 1, 1},
		"a final class, marked":  {failure.WithClass(failure.ValidationError, broken), 1, 1, 25},
	} {
		builtin, _ := runs(t, nil, nil, handlePlainly, tt.err)
		schedule, _ := runs(t, nil, nil, handlePatiently, tt.err)
		file, _ := runs(t, &redrive.Config{Policy: line.Policy}, nil, handlePlainly, tt.err)
		if got, want := [...]int{builtin, schedule, file}, [...]int{tt.builtin, tt.schedule, tt.file}; got != want {
			t.Errorf("%s: dead after %d runs with the built-in policy, the schedule and the line of a file; want %d", name, got, want)
		}
	}
}

type notFoundError struct{}

func (notFoundError) Error() string { return "oops" }

// MaxAttempts only lowers the attempts; the job's own number of retries is in Override.
func TestLibrary_MaxAttemptsIsAnUpperBound(t *testing.T) {
	t.Parallel()
	broken := errors.New("boom")
	for _, tt := range []struct {
		options redrive.Options
		want    int
	}{
		{redrive.Options{MaxAttempts: 10}, 3},
		{redrive.Options{MaxAttempts: 2}, 2},
		{redrive.Options{Override: &policy.Override{MaxRetries: new(9)}}, 10},
	} {
		if got, state := runs(t, nil, &tt.options, handlePlainly, broken); got != tt.want || state != job.Dead {
			t.Errorf("options %+v: %s after %d attempts, want dead after %d", tt.options, state, got, tt.want)
		}
	}
}

func enqueueOnce(ctx context.Context, client *redrive.Client, number int) (redrive.Receipt, error) {
	options := &redrive.Options{Key: fmt.Sprintf("invoice-%d", number)}
	receipt, err := client.Enqueue(ctx, SendInvoice.New(Invoice{Number: number, To: "ann"}, options))
	if conflict, ok := errors.AsType[*redrive.KeyConflict](err); ok {
		return redrive.Receipt{}, fmt.Errorf("job %d has this key and other arguments: %w", conflict.ID, err)
	}
	return receipt, err // receipt.Existing: a job with this key exists, and nothing was enqueued
}

func TestLibrary_Keys(t *testing.T) {
	t.Parallel()
	client, err := redrive.New(memory.New(memory.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var existing []bool
	for range 2 {
		r, err := enqueueOnce(t.Context(), client, 7)
		if err != nil {
			t.Fatal(err)
		}
		existing = append(existing, r.Existing)
	}
	if diff := cmp.Diff([]bool{false, true}, existing); diff != "" {
		t.Errorf("Receipt.Existing of two enqueues with one key (-want +got):\n%s", diff)
	}
	_, err = client.Enqueue(t.Context(), SendInvoice.New(Invoice{Number: 8}, &redrive.Options{Key: "invoice-7"}))
	if conflict, ok := errors.AsType[*redrive.KeyConflict](err); !ok || conflict.ID != 1 {
		t.Errorf("an enqueue of a key with other arguments: got error %v, want a KeyConflict that names job 1", err)
	}
}

// A progress belongs to one run: it is gone while the job waits for a retry, and after the job has completed.
func TestLibrary_ProgressBelongsToTheRun(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, nil)
	redrive.Handle(e.Client, SendInvoice, func(_ context.Context, j *redrive.Job[Invoice]) error {
		j.Progress(1, 2, "pages")
		if j.Attempt == 1 {
			return &apiError{status: 503}
		}
		return nil
	}, nil)
	r, err := e.Enqueue(t.Context(), SendInvoice.New(Invoice{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []job.State{job.Retrying, job.Completed} {
		wait := e.Work()[0].Wait
		if j, err := e.Get(t.Context(), r.ID); err != nil || j.State != want || j.Progress != (job.Progress{}) {
			t.Errorf("got the state %s with the progress %+v, error %v; want %s without progress", j.State, j.Progress, err, want)
		}
		e.Advance(wait)
	}
}
