package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// newTaker returns a taker that reads the given number of lines. Its store fails as the plan
// says.
func newTaker(t *testing.T, lines int, plan faultstore.Plan) *taker {
	t.Helper()
	client, err := redrive.New(faultstore.New(memory.New(memory.Options{}), plan), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{
		out: bufio.NewWriter(&bytes.Buffer{}), stderr: &bytes.Buffer{},
		getenv: func(string) string { return "" }, now: time.Now,
	}
	r := &rules{settings: settings{Config: config.Default()}}
	text := strings.Repeat(`{"kind":"k","payload":1}`+"\n", lines)
	return &taker{app: a, client: client, source: r.source("jobs.jsonl", strings.NewReader(text)), bar: newBar(a, 0)}
}

// proves: Q1
func TestQ1_ALostAnswerIsReportedAsUnknown(t *testing.T) {
	t.Parallel()
	lost := faultstore.Fault{After: fmt.Errorf("power cut: %w", redrive.ErrUnknown)}
	for _, tt := range []struct {
		name  string
		plan  faultstore.Plan
		taken string
		lost  string
	}{
		{"the second batch", faultstore.From("Enqueue", 2, lost),
			"\njobs.jsonl: the jobs up to line 1000 were enqueued (1,000 jobs)\n",
			"\njobs.jsonl: lines 1001 to 2000, as jobs 1001 to 2000, may or may not have been enqueued"},
		{"the first batch", faultstore.From("Enqueue", 1, lost),
			"\njobs.jsonl: no job was enqueued\n",
			"\njobs.jsonl: lines 1 to 1000, as jobs 1 to 1000, may or may not have been enqueued"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newTaker(t, 2500, tt.plan)
				err := k.stopped(k.all(t.Context()))
				if !errors.Is(err, redrive.ErrUnknown) {
					t.Fatalf("got error %v, want redrive.ErrUnknown", err)
				}
				for _, want := range []string{tt.taken, tt.lost, "`redrive jobs show "} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the error does not contain the text %q, want it there:\n%v", want, err)
					}
				}
				if strings.Contains(err.Error(), "no job after it") {
					t.Errorf("the error says that no job was enqueued after the last confirmed batch, but the answer to the next batch was lost, so this is not known; want an error without this text:\n%v", err)
				}
			})
		})
	}
}

func TestTaker_ARefusedBatchIsNotTakenIn(t *testing.T) {
	t.Parallel()
	k := newTaker(t, 2500, faultstore.Nth("Enqueue", 2, faultstore.Fault{Before: redrive.ErrFull}))
	err := k.stopped(k.all(t.Context()))
	const want = "the jobs up to line 1000 were enqueued (1,000 jobs), no job after it"
	if !errors.Is(err, redrive.ErrFull) || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want redrive.ErrFull with the text %q", err, want)
	}
}

// fullDevice is a writer that returns an error for every write.
type fullDevice struct{}

var errDevice = errors.New("no space left on device")

func (fullDevice) Write([]byte) (int, error) { return 0, errDevice }

// If the receipts of jobs cannot be printed, the jobs are stored nevertheless, and the error says
// how many jobs are stored.
//
// part of: Q1
func TestQ1_ReceiptsThatCannotBePrintedAreTakenInAllTheSame(t *testing.T) {
	t.Parallel()
	for _, lines := range []int{1, 1500} { // the output is buffered: one receipt fails when the buffer is flushed, 1500 receipts fail before
		k := newTaker(t, lines, nil)
		k.json, k.out = true, bufio.NewWriter(fullDevice{})
		err := k.stopped(k.all(t.Context()))
		want := fmt.Sprintf("the jobs up to line %d were enqueued (%s), no job after it",
			min(lines, enqueueBatch), words.Count(int64(min(lines, enqueueBatch)), "job"))
		if !errors.Is(err, errDevice) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want the device error with the text %q", err, want)
		}
	}
}
