package redrive_test

import (
	"context"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A waiting reader of events gets the event of the end of another process's run without
// waiting for the next poll.
//
// part of: N6
func TestN6_AReaderIsWokenByOtherProcesses(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		c, err := redrive.New(d.open(), &redrive.Config{Logger: quiet, Poll: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		other := d.open()
		producer, err := redrive.New(other, &redrive.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		read := make(chan event.Event)
		go func() {
			defer close(read)
			for e, err := range c.Events(ctx, event.Cursor{}, nil) {
				if err != nil {
					t.Errorf("Events: got error %v, want none", err)
					return
				}
				read <- e
			}
		}()
		wantEvent := func(of event.Type) {
			t.Helper()
			if e := <-read; e.Type != of {
				t.Fatalf("the reader got the event %s, want %s", e.Type, of)
			}
		}
		mustEnqueue(t, producer)
		wantEvent(event.JobEnqueued)
		x, err := other.Exchange(ctx, store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{
			{Queue: "mail", Max: 1, Kinds: []store.KindWant{{Kind: "render", Max: 1, MaxCrashes: 1}}},
		}})
		if err != nil || len(x.Claims) != 1 {
			t.Fatalf("claim: got %d jobs and error %v, want 1 job", len(x.Claims), err)
		}
		wantEvent(event.JobClaimed)
		claim := &x.Claims[0]
		if _, err := other.Exchange(ctx, store.Exchange{Holder: "w", Lease: time.Minute, Settle: []job.Outcome{
			{ID: claim.ID, Token: claim.Token, Cause: job.Succeeded, To: job.Completed},
		}}); err != nil {
			t.Fatal(err)
		}
		wantEvent(event.JobSucceeded)
	})
}
