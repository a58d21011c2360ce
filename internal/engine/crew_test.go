package engine

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redrive/redrive/job"
)

// hands is a crew whose runs a test holds and lets go.
type hands struct {
	t     *testing.T
	crew  *crew
	ended chan struct{}
	next  job.ID

	mu   sync.Mutex
	did  []job.ID
	free map[job.ID]chan func() // what a run does at its end
}

// newHands makes a crew of which so many goroutines wait. It belongs in a bubble.
func newHands(t *testing.T, most int32) *hands {
	h := &hands{t: t, ended: make(chan struct{}), free: make(map[job.ID]chan func())}
	h.crew = newCrew(most, h.ended, func(r *Run) {
		h.mu.Lock()
		h.did = append(h.did, r.Claim.ID)
		free := h.free[r.Claim.ID]
		h.mu.Unlock()
		(<-free)()
	})
	return h
}

// give gives the crew a run, and returns when it is under way.
func (h *hands) give(ctx context.Context) job.ID {
	h.next++
	r := &Run{Claim: job.Claim{ID: h.next}}
	r.ctx.Context = ctx
	h.mu.Lock()
	h.free[h.next] = make(chan func())
	h.mu.Unlock()
	h.crew.give(r)
	synctest.Wait()
	return h.next
}

// end ends runs that are under way in one way, and returns when that is done.
func (h *hands) end(how func(), ids ...job.ID) {
	for _, id := range ids {
		h.free[id] <- how
	}
	synctest.Wait()
}

// wantIdle fails the test unless so many goroutines wait for runs.
func (h *hands) wantIdle(want int32) {
	h.t.Helper()
	if got := h.crew.idle.Load(); got != want {
		h.t.Errorf("%d goroutines wait, want %d", got, want)
	}
}

// wantAll fails the test unless every run that was given was begun, once.
func (h *hands) wantAll() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.did)
	for i, id := range h.did {
		if id != job.ID(i+1) {
			h.t.Fatalf("begun were %v", h.did)
		}
	}
	if len(h.did) != int(h.next) {
		h.t.Errorf("%d of %d runs were begun", len(h.did), h.next)
	}
}

func returns() {}

func TestACrewKeepsAFewGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHands(t, 2)
		var ids []job.ID
		for range 5 {
			ids = append(ids, h.give(t.Context()))
		}
		h.wantIdle(0)
		h.end(returns, ids[:1]...)
		h.wantIdle(1)
		h.end(returns, ids[1:]...)
		h.wantIdle(2)
		ids = []job.ID{h.give(t.Context())}
		h.wantIdle(1)
		ids = append(ids, h.give(t.Context()), h.give(t.Context()))
		h.wantIdle(0)
		h.end(returns, ids[0])
		close(h.ended)
		synctest.Wait()
		h.wantIdle(0)
		h.end(returns, ids[1:]...)
		h.wantIdle(0) // one that was left would be told by the bubble
		h.wantAll()
	})
}

// A handler that ends its goroutine, or never returns, takes nothing with it.
func TestACrewLosesNoRunToGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHands(t, 2)
		stuck := h.give(t.Context())
		for range 5 {
			h.end(runtime.Goexit, h.give(t.Context()))
			h.wantIdle(0)
		}
		a, b := h.give(t.Context()), h.give(t.Context())
		h.end(returns, a)
		h.wantIdle(1)
		h.end(runtime.Goexit, h.give(t.Context()), b)
		h.wantIdle(0)
		h.end(returns, h.give(t.Context()), stuck)
		h.wantIdle(2)
		h.wantAll()
		close(h.ended)
	})
}

// labelled returns the goroutines of this process, with their labels.
func labelled(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		t.Error(err)
	}
	return out.String()
}

// What a handler has set for profiles is not there for the next one. What whoever runs
// the engine has set is.
func TestLabelsOfAHandlerAreItsOwn(t *testing.T) {
	t.Parallel()
	const ofHandler, ofEngine = "a label of a handler", "a label of the engine"
	synctest.Test(t, func(t *testing.T) {
		h := newHands(t, 1)
		defer close(h.ended)
		pprof.Do(t.Context(), pprof.Labels("test", ofEngine), func(ctx context.Context) {
			h.end(func() {
				pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("test", ofHandler)))
				if !strings.Contains(labelled(t), ofHandler) {
					t.Error("labels are not seen")
				}
			}, h.give(ctx))
			h.wantIdle(1)
			if strings.Contains(labelled(t), ofHandler) {
				t.Error("the labels of a handler are those of a goroutine that waits")
			}
			pprof.SetGoroutineLabels(context.Background())
			h.end(func() {
				if got := labelled(t); strings.Contains(got, ofHandler) || !strings.Contains(got, ofEngine) {
					t.Errorf("the goroutines have other labels than %q:\n%s", ofEngine, got)
				}
			}, h.give(ctx))
		})
	})
}
