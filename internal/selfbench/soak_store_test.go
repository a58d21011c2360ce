package selfbench

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// forgetful is a broken store: it confirms a job without storing it, and stores a job that
// was not enqueued.
type forgetful struct{ store.Store }

// Enqueue implements store.Producer.
func (f forgetful) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	receipts, err := f.Store.Enqueue(ctx, jobs[1:])
	return append([]job.Receipt{{ID: jobs[0].ID}}, receipts...), err
}

// listed is a soakPlace whose store is in memory.
type listed struct {
	soakPlace
	store store.Store
}

func (l listed) examine(ctx context.Context) (map[string]int64, []string, error) {
	d, err := l.store.Dump(ctx)
	if err != nil {
		return nil, nil, err
	}
	jobs := make(map[string]int64)
	for i := range d.Jobs {
		jobs[d.Jobs[i].State.String()]++
	}
	return jobs, nil, nil
}

func TestWatchedStoreReportsLostJobs(t *testing.T) {
	t.Parallel()
	inner := memory.New(memory.Options{})
	defer inner.Close()
	w := newWatched(forgetful{inner}, 100)
	jobs := make([]job.New, 3)
	for i := range jobs {
		jobs[i] = job.New{ID: job.ID(i + 1), Kind: "noop", Queue: "soak-1", Priority: 1}
	}
	if _, err := w.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	x := store.Exchange{Holder: "bench", Lease: time.Minute,
		Want: []store.Want{{Queue: "soak-1", Max: 10, Kinds: []store.KindWant{{Kind: "noop", Max: 10, MaxCrashes: 3}}}}}
	got, err := w.Exchange(t.Context(), x)
	if err != nil || len(got.Claims) != 2 {
		t.Fatalf("got %d claims and the error %v, want 2 claims", len(got.Claims), err)
	}
	done := store.Exchange{Holder: "bench", Lease: time.Minute}
	for _, c := range got.Claims {
		done.Settle = append(done.Settle, job.Outcome{ID: c.ID, Token: c.Token, To: job.Completed, Cause: job.Succeeded})
	}
	for range 2 { // the same outcomes are sent twice
		if _, err := w.Exchange(t.Context(), done); err != nil {
			t.Fatal(err)
		}
	}
	end, err := w.end(t.Context(), listed{store: inner})
	if err != nil {
		t.Fatal(err)
	}
	if end.enqueued != 3 || !slices.Equal(end.unended, []job.ID{1}) || len(end.unknown) > 0 || end.rows != 2 || end.missing() != 1 ||
		len(end.counters) > 0 || end.failures > 0 {
		t.Errorf("got the results %+v of the soak, want 3 enqueued jobs, job 1 without an end, 2 rows, 1 missing job and nothing else", end)
	}
	if n := w.claims.read().n(); n != 1 {
		t.Errorf("the durations of %d exchanges were recorded, want 1: the other exchanges asked for no jobs", n)
	}
	swept, err := w.Sweep(t.Context(), store.Retention{Completed: time.Nanosecond}, 10)
	if err != nil || w.swept != swept.Completed {
		t.Errorf("%d of %d removed jobs were counted (error %v), want all of them", w.swept, swept.Completed, err)
	}
}

func TestWatchedStoreCountsCallsThatFail(t *testing.T) {
	t.Parallel()
	inner := memory.New(memory.Options{})
	w := newWatched(inner, 100)
	if err := inner.Close(); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, ctx := range []context.Context{t.Context(), stopped} { // the second context has ended: its call must not count as failed
		if _, err := w.Sweep(ctx, store.Retention{}, 1); err == nil {
			t.Fatal("Sweep of a closed store returned no error, want an error")
		}
	}
	if w.failures != 1 || w.failed == nil {
		t.Errorf("%d calls were counted as failed, the first with error %v; want 1 call", w.failures, w.failed)
	}
}

func TestCountersThatDisagreeAreReported(t *testing.T) {
	t.Parallel()
	counts := []store.Count{{Queue: "a", State: job.Completed, N: 2}, {Queue: "b", State: job.Completed, N: 3}, {Queue: "a", State: job.Dead, N: 1}}
	if found := disagreeing(counts, map[string]int64{"completed": 5, "dead": 1}); len(found) > 0 {
		t.Errorf("got the report %q about counters that agree with the rows, want no report", found)
	}
	want := []string{"waiting: 0 counted, 1 rows", "dead: 1 counted, 0 rows"}
	if found := disagreeing(counts, map[string]int64{"completed": 5, "waiting": 1}); !slices.Equal(found, want) {
		t.Errorf("got the reports %q, want %q", found, want)
	}
}

func TestSetOfIDs(t *testing.T) {
	t.Parallel()
	var some, others idSet
	for _, id := range []job.ID{1, 63, 64, idPageBits - 1, idPageBits, 5 * idPageBits} {
		if !some.add(id) || some.add(id) {
			t.Errorf("add(%d) must return true for the first call and false for the second", id)
		}
		if id%64 != 0 {
			others.add(id)
		}
	}
	got := some.without(&others)
	slices.Sort(got)
	if want := []job.ID{64, idPageBits, 5 * idPageBits}; !slices.Equal(got, want) || some.n != 6 {
		t.Errorf("got the ids %v as missing in the other set (%d ids in all), want %v", got, some.n, want)
	}
	if got := others.without(&some); len(got) > 0 {
		t.Errorf("the ids %v are reported as missing in the larger set, want none", got)
	}
}

func TestGateKeepsTheBacklogBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(3)
		entered := 0
		for range 5 {
			go func() {
				if g.enter(2) {
					g.mu.Lock()
					defer g.mu.Unlock()
					entered++
				}
			}()
		}
		for i, want := range []int{2, 3, 3, 4} { // the numbers of calls that have returned; the backlog is 4, then 6 − 2 + 2, then 6 − 1, then 6 − 3 + 2
			leaving := []int{0, 2, 1, 2}[i]
			g.leave(leaving)
			synctest.Wait()
			if entered != want {
				t.Fatalf("%d calls of enter have returned after %d jobs left the backlog, want %d calls; the backlog is %d", entered, leaving, want, g.inside)
			}
		}
		g.close()
		synctest.Wait()
		if entered != 4 || g.enter(1) {
			t.Errorf("after the gate was closed, %d calls of enter have returned true, want 4 and no more", entered)
		}
	})
}

// The number of a job alone determines what the job is. Each sort of special job has its share of
// the load.
func TestSoakJobsAreOfAllSorts(t *testing.T) {
	t.Parallel()
	s, now := shortSoak(), time.Unix(1_800_000_000, 0)
	const n = 100_000
	shares := make(map[string]int)
	for i := range int64(n) {
		o := s.job(i, now)
		shares[string(o.ends)]++
		shares[o.options.Queue]++
		shares[o.kind]++
		shares["priority "+string(rune('0'+o.options.Priority))]++
		if !o.options.RunAt.IsZero() {
			shares["later"]++
		}
		if o.options.Key != "" {
			shares["keyed"]++
		}
	}
	for what, want := range map[string]float64{
		"l": .10, "d": .005, "r": .005, "w": .89, "soak-1": .25, "soak-4": .25, "noop": 1. / 3, "preview": 1. / 3, "later": .02, "keyed": .25,
		"priority 1": .25, "priority 4": .25,
	} {
		if got := float64(shares[what]) / n; got < want*.8 || got > want*1.2 {
			t.Errorf("the share of %q is %.4f of all jobs, want %.4f", what, got, want)
		}
	}
	if a, b := s.job(7, now), s.job(7, now); a.kind != b.kind || a.ends != b.ends || a.options.Key != b.options.Key {
		t.Errorf("two calls with the same number return the jobs %+v and %+v, want equal jobs", a, b)
	}
}

func TestSoakAttemptsEndAsTheirPayloadSays(t *testing.T) {
	t.Parallel()
	s := shortSoak()
	for ends, fails := range map[byte][]bool{
		endsWell: {false}, endsLater: {true, false}, endsDead: {true}, endsWorn: {true, true, true, true},
	} {
		j := soakJob{kind: "noop", ends: ends}
		for i, want := range fails {
			run := &redrive.Job[[]byte]{Args: j.payload(s.Payload), Info: redrive.Info{Attempt: i + 1}}
			if err := soakAttempt(t.Context(), run); (err != nil) != want {
				t.Errorf("attempt %d of a job that ends as %c returned the error %v, want an error: %t", i+1, ends, err, want)
			}
		}
	}
}
