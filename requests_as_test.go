package redrive_test

import (
	"errors"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/memory"
)

// part of: I1
//
// An enqueue with reserved ids is repeated in another client, after some of its jobs have changed:
// no job is added twice.
func TestI1_EnqueueAsIsRepeatable(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Options{})
	newClient := func() *redrive.Client {
		c, err := redrive.New(st, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := newClient()
	specs := []redrive.Spec{redrive.NewRaw("a", []byte("1"), nil), redrive.NewRaw("b", []byte("2"), &redrive.Options{Key: "k"})}
	id, err := first.ReserveIDs(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := first.EnqueueAs(t.Context(), id, specs)
	if err != nil || len(got) != 2 || got[0].ID != id || got[1].ID != id+1 {
		t.Fatalf("got the receipts %+v and error %v, want jobs %d and %d", got, err, id, id+1)
	}
	if err := first.Cancel(t.Context(), redrive.By{Actor: "a"}, id); err != nil {
		t.Fatal(err)
	}
	got, err = newClient().EnqueueAs(t.Context(), id, specs)
	if err != nil || len(got) != 2 || got[0].State != job.Cancelled || got[1].ID != id+1 {
		t.Errorf("again: got the receipts %+v and error %v, want the same jobs", got, err)
	}
	if _, err := newClient().EnqueueAs(t.Context(), id, specs[1:]); !errors.Is(err, redrive.ErrConflict) {
		t.Errorf("another job with the id: got error %v, want an ErrConflict", err)
	}
	if _, err := first.ReserveIDs(t.Context(), job.EnqueueMax+1); !errors.Is(err, redrive.ErrInvalid) {
		t.Errorf("too many ids: got error %v, want an ErrInvalid", err)
	}
	page, err := first.List(t.Context(), redrive.JobFilter{})
	if err != nil || len(page.Jobs) != 2 {
		t.Errorf("got %d jobs and error %v, want 2", len(page.Jobs), err)
	}
}
