package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// rig is a core without goroutines, a clock or a store. The test makes each step.
type rig struct {
	t    *testing.T
	core *Core
	now  time.Duration
	act  *Actions
	next job.ID
}

// newCore makes a core that has declared its queues, read its signals and made its first rescue.
// Its first exchange is under way. The core has one queue "q" with two workers and one kind "k",
// unless the given function sets others.
func newCore(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := youngCore(t, change)
	r.core.calmAt = 0 // TestQ3_ANewWorkerGivesOthersTimeAfterAnOutage tests the wait at the start
	r.step()
	if r.act.Exchange == nil || !r.act.Signals || !r.act.Declare || r.act.Rescue != rescueLimit {
		t.Fatalf("got the actions %+v of the first step, want an exchange, a read of the signals, a declaration and a rescue", r.act)
	}
	r.step(Declared{}, SignalsRead{}, Rescued{Next: store.Never})
	r.act.Exchange = &r.core.request // The exchange is still under way.
	return r
}

// youngCore makes a core that has made no step.
func youngCore(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	cfg := Config{
		Store: noStore{}, Holder: "me", Decide: func(*job.Claim, *job.Ending) job.Outcome { return job.Outcome{} },
		Queues: []Queue{{Name: "q", Workers: 2}},
		Kinds:  []Kind{{Name: "k", Handler: func(context.Context, *Run) error { return nil }}},
		Rand:   func() float64 { return 0 },
	}
	if change != nil {
		change(&cfg)
	}
	core, err := NewCore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, core: core}
}

// noStore is a store whose methods must not be called. The configuration of a core needs a
// store, but a core calls no store.
type noStore struct{ store.Worker }

// step makes one step of the core at the present time.
func (r *rig) step(events ...Event) {
	r.act = r.core.Step(r.now, events...)
	if r.act.Wake <= r.now {
		r.t.Fatalf("at %s: the core asks for its next step at %s, want a later time", r.now, r.act.Wake)
	}
}

// pass advances the time by d and makes one step.
func (r *rig) pass(d time.Duration, events ...Event) {
	r.now += d
	r.step(events...)
}

// claims makes n claims of jobs of kind k in queue q.
func (r *rig) claims(n int) []job.Claim { return r.claimsOf("q", "k", n) }

func (r *rig) claimsOf(queue, kind string, n int) []job.Claim {
	var claims []job.Claim
	for range n {
		r.next++
		claims = append(claims, job.Claim{ID: r.next, Token: 1, Queue: queue, Kind: kind, ClaimedAt: job.Micros(1e15)})
	}
	return claims
}

// brings answers the exchange that is under way: all outcomes are written, and the answer contains
// the given claims.
func (r *rig) brings(claims ...job.Claim) { r.step(r.answer(claims...)) }

// empty answers exchanges without claims until no exchange is under way.
func (r *rig) empty() {
	for r.core.exchange.busy {
		r.brings()
	}
}

func (r *rig) answer(claims ...job.Claim) Exchanged {
	return Exchanged{Answer: store.Exchanged{
		Settled: make([]error, len(r.core.flying)), Claims: claims, NextDue: store.Never,
	}}
}

// withRuns makes a core with n running tasks, and returns it with the tasks.
func withRuns(t *testing.T, n int, change func(*Config)) (*rig, []*Task) {
	t.Helper()
	r := newCore(t, change)
	r.brings(r.claims(n)...)
	if len(r.act.Start) != n {
		t.Fatalf("got %d started runs after %d claims, want a run for each claim", len(r.act.Start), n)
	}
	return r, slices.Clone(r.act.Start)
}

// succeed returns the event that tasks have ended with success, each after the given duration.
func succeed(took time.Duration, tasks ...*Task) Finished {
	for _, t := range tasks {
		t.settle(job.Succeeded, job.Completed)
		t.Elapsed = took
	}
	return Finished{slices.Clone(tasks)} // Clone the slice, because it may be part of the last step's actions, whose memory the next step reuses.
}

// wantWake fails the test unless the core asks for its next step after d.
func (r *rig) wantWake(d time.Duration) {
	r.t.Helper()
	if got := r.act.Wake - r.now; got != d {
		r.t.Errorf("at %s: the core asks for its next step after %s, want %s", r.now, got, d)
	}
}

// wantExchange fails the test unless this step sends an exchange that settles the given jobs and
// requests at most the given numbers of jobs of the queues.
func (r *rig) wantExchange(settle []job.ID, max ...int) {
	r.t.Helper()
	if r.act.Exchange == nil {
		r.t.Fatalf("at %s: got no exchange, want an exchange", r.now)
	}
	var ids []job.ID
	for _, o := range r.act.Exchange.Settle {
		ids = append(ids, o.ID)
	}
	var wants []int
	for _, w := range r.act.Exchange.Want {
		wants = append(wants, w.Max)
	}
	if !slices.Equal(ids, settle) || !slices.Equal(wants, max) {
		r.t.Errorf("at %s: the exchange settles the jobs %v and requests %v jobs of each queue, want it to settle the jobs %v and to request %v", r.now, ids, wants, settle, max)
	}
}

func (r *rig) wantQuiet() {
	r.t.Helper()
	if r.act.Exchange != nil {
		r.t.Errorf("at %s: got the exchange %+v, want none", r.now, r.act.Exchange)
	}
}

// wantNotes fails the test unless the step made notes of exactly these kinds.
func (r *rig) wantNotes(kinds ...NoteKind) {
	r.t.Helper()
	var got []NoteKind
	for _, n := range r.act.Notes {
		got = append(got, n.Kind)
	}
	if !slices.Equal(got, kinds) {
		r.t.Errorf("at %s: got the notes %v, want %v", r.now, got, kinds)
	}
}

func ids(tasks []*Task) (out []job.ID) {
	for _, t := range tasks {
		out = append(out, t.Claim.ID)
	}
	return out
}
