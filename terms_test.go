package redrive_test

import (
	"context"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// wantsSeen is a store that records the terms that a client sends.
type wantsSeen struct {
	store.Store

	enqueued []string // the terms of the new jobs
	wanted   map[string]bool
}

func (s *wantsSeen) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	for i := range jobs {
		s.enqueued = append(s.enqueued, jobs[i].Terms)
	}
	return s.Store.Enqueue(ctx, jobs)
}

func (s *wantsSeen) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	for _, w := range x.Want {
		for _, k := range w.Kinds {
			s.wanted[k.Terms] = true
		}
	}
	return s.Store.Exchange(ctx, x)
}

func crashPolicy(t *testing.T, retrying string) *policy.Policy {
	t.Helper()
	p, problems := policy.New(policy.Spec{Name: "crash", Classes: map[failure.Class]policy.ClassSpec{failure.Crash: {Retrying: retrying}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// Each enqueue and each claim stores the terms of the job: what the policy says about crashes.
// So any process can end a crashed run. A new policy is used from the next enqueue or claim on.
//
// part of: F10, Q3
func TestTheTermsOfThePolicyTravelWithTheJob(t *testing.T) {
	t.Parallel()
	s := &wantsSeen{Store: memory.New(memory.Options{}), wanted: map[string]bool{}}
	c, err := redrive.New(s, &redrive.Config{Name: "terms", TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	kind := redrive.Kind[int]("render")
	redrive.Handle(c, kind, func(context.Context, *redrive.Job[int]) error { return nil }, nil)
	enqueue := func() {
		t.Helper()
		if _, err := c.Enqueue(t.Context(), kind.New(1, nil)); err != nil {
			t.Fatal(err)
		}
	}
	enqueue()
	for _, text := range []string{"one moment", "it goes on"} {
		if err := c.SetPolicy(t.Context(), redrive.By{Actor: "ann"}, crashPolicy(t, text)); err != nil {
			t.Fatal(err)
		}
		enqueue()
	}
	if err := c.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, second := job.Terms{Retrying: "one moment"}, job.Terms{Retrying: "it goes on"}
	if got := s.enqueued; len(got) != 3 || got[0] != "" || got[1] != first.Encode() || got[2] != second.Encode() {
		t.Errorf("got the terms %q of the three enqueues; want no terms, then the terms of the first policy, then the terms of the second policy", got)
	}
	if len(s.wanted) != 1 || !s.wanted[second.Encode()] {
		t.Errorf("got the terms %v of the claims, want those of the last policy", s.wanted)
	}
}

// A process crashes, and another process ends its run. That other process has another policy
// and no handler for the kind, so the policy of the crashed process decides.
//
// part of: F10, Q3
func TestACrashIsDecidedByThePolicyOfTheClaim(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := memory.New(memory.Options{Clock: func() time.Time { return now }})
	c, err := redrive.New(s, &redrive.Config{Name: "first", TempDir: t.TempDir(), Policy: crashPolicy(t, "it goes on")})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := c.Enqueue(t.Context(), redrive.Kind[int]("render").New(1, nil))
	if err != nil {
		t.Fatal(err)
	}
	terms := (&job.Terms{Retrying: "it goes on"}).Encode()
	x, err := s.Exchange(t.Context(), store.Exchange{Holder: "first", Lease: time.Second, Want: []store.Want{{
		Queue: redrive.DefaultQueue, Max: 1, Kinds: []store.KindWant{{Kind: "render", Max: 1, MaxCrashes: 3, Terms: terms}},
	}}})
	if err != nil || len(x.Claims) != 1 {
		t.Fatalf("got %d claims, error %v; want 1", len(x.Claims), err)
	}
	now = now.Add(time.Minute)
	second, err := redrive.New(s, &redrive.Config{Name: "second", TempDir: t.TempDir(), Policy: crashPolicy(t, "another text"),
		Lease: 100 * time.Millisecond}) // it looks for expired leases so long after its start
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(second, redrive.Kind[int]("other"), func(context.Context, *redrive.Job[int]) error { return nil }, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- second.Run(ctx) }()
	for e, err := range second.Events(t.Context(), event.Cursor{}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == event.JobCrashed {
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	failures, err := second.Failures(t.Context(), receipt.ID)
	if err != nil || len(failures) != 1 || failures[0].How != job.ByCrash || failures[0].UserMessage != "it goes on" {
		t.Errorf("got the failures %+v, error %v; want one crash with the user message \"it goes on\", which the first policy sets for crashes", failures, err)
	}
}
