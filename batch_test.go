package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
)

type copyArgs struct{ N int }

const (
	copyOf  = redrive.Kind[copyArgs]("copy")
	detects = redrive.Kind[copyArgs]("detect")
	told    = redrive.Kind[toldArgs]("told")
)

type toldArgs struct {
	Batch struct {
		State            job.BatchState
		Total, Completed int64
	}
}

// campaign is a batch of n members whose members in the map fail for good while they are in it.
func campaign(t *testing.T, n int, failing map[int]bool) (*redrivetest.Engine, *redrive.BatchHandle, *[]string) {
	t.Helper()
	no := false
	p, problems := policy.New(policy.Spec{Name: "campaign", Kinds: map[string]policy.KindSpec{"detect": {Settings: policy.Settings{Retry: &no}}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e := redrivetest.New(t, &redrive.Config{Policy: p})
	ends := new([]string)
	handle := func(_ context.Context, j *redrive.Job[copyArgs]) error {
		if failing[j.Args.N] {
			return failure.Permanent(errors.New("the file is broken"))
		}
		return nil
	}
	redrive.Handle(e.Client, copyOf, handle, nil)
	redrive.Handle(e.Client, detects, handle, nil)
	redrive.Handle(e.Client, told, func(_ context.Context, j *redrive.Job[toldArgs]) error {
		*ends = append(*ends, fmt.Sprintf("%s %d/%d", j.Args.Batch.State, j.Args.Batch.Completed, j.Args.Batch.Total))
		return nil
	}, nil)
	b, err := e.NewBatch(t.Context(), ops, redrive.BatchSpec{Key: "summer", Callbacks: []redrive.BatchCallback{{On: "end", Kind: "told", Queue: redrive.DefaultQueue}}})
	if err != nil {
		t.Fatal(err)
	}
	addCopies(t, b, n)
	return e, b, ends
}

func addCopies(t *testing.T, b *redrive.BatchHandle, n int) (added int) {
	t.Helper()
	var specs []redrive.Spec
	for i := range n {
		specs = append(specs, copyOf.New(copyArgs{i}, &redrive.Options{Key: fmt.Sprintf("recipient-%d", i)}))
	}
	receipts, err := b.Add(t.Context(), specs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range receipts {
		if !r.Existing {
			added++
		}
	}
	return added
}

// proves: B2, B4
func TestB4_ACampaignEndsInPartAndIsMended(t *testing.T) {
	t.Parallel()
	failing := map[int]bool{3: true, 7: true, 11: true, 13: true}
	e, b, ends := campaign(t, 50, failing)
	again, err := e.NewBatch(t.Context(), ops, redrive.BatchSpec{Key: "summer", Callbacks: []redrive.BatchCallback{{On: "end", Kind: "told", Queue: redrive.DefaultQueue}}})
	if err != nil || again.ID() != b.ID() {
		t.Fatalf("NewBatch with a known key: got %v, error %v; want batch %d", again, err, b.ID())
	}
	if n := addCopies(t, again, 50); n != 0 {
		t.Errorf("the same members were added again: %d are new, want 0", n)
	}
	if _, err := b.Publish(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	e.Work()
	o, err := b.Wait(t.Context(), 0)
	if err != nil || o.State != job.BatchPartial || o.Completed != 46 || o.Dead != 4 {
		t.Fatalf("got outcome %+v, error %v; want PARTIAL with 46 completed and 4 dead members", o, err)
	}
	clear(failing)
	if n, err := b.RetryDead(t.Context(), ops); n != 4 || err != nil {
		t.Errorf("RetryDead: got %d, error %v; want 4", n, err)
	}
	if now, err := b.Get(t.Context()); err != nil || now.State != job.BatchProcessing || now.Waiting() != 4 {
		t.Errorf("after the retry: got %+v, error %v; want PROCESSING with 4 waiting members", now, err)
	}
	e.Work()
	if o, err = b.Wait(t.Context(), 1); err != nil || o.State != job.BatchReady || o.N != 2 || o.Completed != 50 {
		t.Errorf("got outcome %+v, error %v; want the second one, READY with 50", o, err)
	}
	if want := []string{"PARTIAL 46/50", "READY 50/50"}; fmt.Sprint(*ends) != fmt.Sprint(want) {
		t.Errorf("callbacks: got %v, want %v", *ends, want)
	}
}

// proves: R7, B2
func TestR7_KindsWithoutRetryAreAside(t *testing.T) {
	t.Parallel()
	e, b, ends := campaign(t, 2, map[int]bool{9: true})
	if _, err := b.Add(t.Context(), detects.New(copyArgs{9}, &redrive.Options{Key: "detect"})); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	e.Work()
	if now, err := b.Get(t.Context()); err != nil || now.State != job.BatchReady || now.Total != 2 || now.Dead != 0 {
		t.Errorf("got %+v, error %v; want READY of 2 members", now, err)
	}
	if n, err := b.RetryDead(t.Context(), ops); n != 0 || err != nil {
		t.Errorf("RetryDead: got %d, error %v; want 0, because the dead member is aside", n, err)
	}
	if len(*ends) != 1 {
		t.Errorf("callbacks: got %v, want one", *ends)
	}
}

// proves: B1
func TestB1_WaitEndsForAnExpiredBatch(t *testing.T) {
	t.Parallel()
	e, b, _ := campaign(t, 1, map[int]bool{0: true})
	if _, err := b.SetExpiry(t.Context(), ops, e.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	e.Work()
	e.Advance(2 * time.Minute)
	if _, err := b.RetryDead(t.Context(), ops); !errors.Is(err, store.ErrConflict) {
		t.Errorf("RetryDead of an expired batch: got error %v, want a BatchRefused", err)
	}
	e.Work()
	if o, err := b.Wait(t.Context(), 5); err != nil || o.State != job.BatchExpired || o.N != 1 {
		t.Errorf("got %+v, error %v; want EXPIRED after the first outcome", o, err)
	}
}

// proves: B4
func TestB4_CancelAndDiscard(t *testing.T) {
	t.Parallel()
	e, b, _ := campaign(t, 3, nil)
	if err := b.Cancel(t.Context(), ops); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Cancel of a draft: got error %v, want a BatchRefused", err)
	}
	if _, err := b.Publish(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	if err := b.Cancel(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	if now, err := b.Get(t.Context()); err != nil || now.State != job.BatchFailed || now.Cancelled != 3 {
		t.Errorf("got %+v, error %v; want FAILED with 3 cancelled members", now, err)
	}
	other, err := e.NewBatch(t.Context(), redrive.By{}, redrive.BatchSpec{})
	if err != nil {
		t.Fatal(err)
	}
	addCopies(t, other, 2)
	if err := other.Discard(t.Context(), ops); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get(t.Context()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a discarded draft: got error %v, want ErrNotFound", err)
	}
}
