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

// crewRig is a crew whose runs end when the test ends them.
type crewRig struct {
	t     *testing.T
	crew  *crew
	ended chan struct{}
	next  job.ID

	mu   sync.Mutex
	did  []job.ID
	free map[job.ID]chan func() // a channel for each run; at its end, the run receives a function from its channel and calls it
}

// newCrewRig makes a crew that keeps at most the given number of idle goroutines. It must be called
// within synctest.Test.
func newCrewRig(t *testing.T, most int32) *crewRig {
	h := &crewRig{t: t, ended: make(chan struct{}), free: make(map[job.ID]chan func())}
	h.crew = newCrew(most, h.ended, func(r *Run) {
		h.mu.Lock()
		h.did = append(h.did, r.Claim.ID)
		free := h.free[r.Claim.ID]
		h.mu.Unlock()
		(<-free)()
	})
	return h
}

// give starts a run on the crew, and returns when the run has begun.
func (h *crewRig) give(ctx context.Context) job.ID {
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

// end makes each of the given runs call the given function and then end. It returns when all these
// runs have ended.
func (h *crewRig) end(how func(), ids ...job.ID) {
	for _, id := range ids {
		h.free[id] <- how
	}
	synctest.Wait()
}

// wantIdle fails the test unless exactly the given number of goroutines is idle.
func (h *crewRig) wantIdle(want int32) {
	h.t.Helper()
	if got := h.crew.idle.Load(); got != want {
		h.t.Errorf("got %d idle goroutines, want %d", got, want)
	}
}

// wantAll fails the test unless every run has begun exactly once.
func (h *crewRig) wantAll() {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.did)
	for i, id := range h.did {
		if id != job.ID(i+1) {
			h.t.Fatalf("got the begun runs %v, want each run to begin once", h.did)
		}
	}
	if len(h.did) != int(h.next) {
		h.t.Errorf("%d of %d runs have begun, want all", len(h.did), h.next)
	}
}

func returns() {}

func TestACrewKeepsAFewGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newCrewRig(t, 2)
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
		h.wantIdle(0) // If a goroutine is left at the end of the test, synctest fails the test.
		h.wantAll()
	})
}

// A handler that ends its goroutine or never returns does not affect other runs.
func TestACrewLosesNoRunToGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newCrewRig(t, 2)
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

// labelled returns a profile of all goroutines of this process with their labels.
func labelled(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		t.Error(err)
	}
	return out.String()
}

// Profile labels that a handler sets do not apply to the next run. Labels that the caller
// of the engine has set do apply.
func TestLabelsOfAHandlerAreItsOwn(t *testing.T) {
	t.Parallel()
	const ofHandler, ofEngine = "a label of a handler", "a label of the engine"
	synctest.Test(t, func(t *testing.T) {
		h := newCrewRig(t, 1)
		defer close(h.ended)
		pprof.Do(t.Context(), pprof.Labels("test", ofEngine), func(ctx context.Context) {
			h.end(func() {
				pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("test", ofHandler)))
				if !strings.Contains(labelled(t), ofHandler) {
					t.Error("the profile of the goroutines lacks the label that the handler has set, want the label")
				}
			}, h.give(ctx))
			h.wantIdle(1)
			if strings.Contains(labelled(t), ofHandler) {
				t.Error("an idle goroutine still has the profile labels of a handler, want no labels")
			}
			pprof.SetGoroutineLabels(context.Background())
			h.end(func() {
				if got := labelled(t); strings.Contains(got, ofHandler) || !strings.Contains(got, ofEngine) {
					t.Errorf("want only the label %q in the profile of the goroutines:\n%s", ofEngine, got)
				}
			}, h.give(ctx))
		})
	})
}
