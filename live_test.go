package redrive_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/memory"
)

// proves: Q9
func TestQ9_LiveJobsAreChangedByTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, changeLive)
}

func changeLive(t *testing.T) {
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{PayloadMax: 10, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, ann := t.Context(), redrive.By{Actor: "ann"}
	specs := make([]redrive.Spec, 100)
	for i := range specs {
		specs[i] = redrive.NewRaw("mail", []byte(`1`), nil)
	}
	receipts, err := c.EnqueueMany(ctx, specs)
	if err != nil {
		t.Fatal(err)
	}
	first := receipts[0].ID
	if err := c.Alter(ctx, ann, first, redrive.Change{Queue: "night", Delay: new(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if j, err := c.Get(ctx, first); err != nil || j.Queue != "night" {
		t.Errorf("after Alter: got queue %q, error %v; want queue night", j.Queue, err)
	}
	if err := c.Alter(ctx, ann, first, redrive.Change{Payload: make([]byte, 11)}); !errors.Is(err, redrive.ErrTooLarge) {
		t.Errorf("Alter with a payload of 11 bytes and a limit of 10: got error %v, want ErrTooLarge", err)
	}

	move := redrive.LiveAction{Do: redrive.LiveAlter, Filter: redrive.JobFilter{Queue: redrive.DefaultQueue}, Change: redrive.EncodedChange{Queue: "night"}}
	last := int64(0)
	did, err := c.ActLive(ctx, ann, move, func(done int64) { last = done })
	if err != nil || did.Done != 99 || last != 99 {
		t.Errorf("ActLive: got %d changed jobs, a last progress of %d, error %v; want 99 for both", did.Done, last, err)
	}
	if _, err := c.StartLive(ctx, ann, move, redrive.LiveActed{}, 0); !errors.Is(err, redrive.ErrNotFound) {
		t.Errorf("StartLive with a filter that selects nothing: got error %v, want ErrNotFound", err)
	}

	// A bulk action is stopped half way and continued.
	cancel := redrive.LiveAction{Do: redrive.LiveCancel, Filter: redrive.JobFilter{Kind: "mail"}}
	r, err := c.StartLive(ctx, ann, cancel, redrive.LiveActed{}, 50)
	if err != nil || r.Total != 100 {
		t.Fatalf("StartLive: got a total of %d, error %v; want 100 jobs", r.Total, err)
	}
	ended, stop := context.WithCancel(ctx)
	_, err = c.AdvanceRedrive(ended, r.ID, func(r redrive.Redrive) {
		if r.Released > 0 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("AdvanceRedrive whose context has ended: got error %v, want context.Canceled", err)
	}
	if r, err = c.ControlRedrive(ctx, ann, r.ID, redrive.RedrivePause); err != nil || r.Released == 0 || r.Released == 100 {
		t.Fatalf("pause: got %d changed jobs, error %v; want some, but not all", r.Released, err)
	}
	if r, err = c.AdvanceRedrive(ctx, r.ID, nil); err != nil || r.State != redrive.RedrivePaused {
		t.Fatalf("AdvanceRedrive of a paused redrive: got state %s, error %v; want it paused", r.State, err)
	}
	if _, err = c.ControlRedrive(ctx, ann, r.ID, redrive.RedriveResume); err != nil {
		t.Fatal(err)
	}
	if r, err = c.AdvanceRedrive(ctx, r.ID, nil); err != nil || r.State != redrive.RedriveCompleted || r.Released != 100 {
		t.Fatalf("AdvanceRedrive after the resumption: got state %s, %d jobs, error %v; want it completed with 100 jobs", r.State, r.Released, err)
	}
	if j, err := c.Get(ctx, first); err != nil || j.State != job.Cancelled {
		t.Errorf("job after LiveCancel: got state %s, error %v; want state cancelled", j.State, err)
	}
}
