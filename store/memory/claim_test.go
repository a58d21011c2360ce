package memory_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestClaimsGoByPriorityThenTimeThenID(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(6, func(i int, n *job.New) {
		n.Priority = []int8{3, 1, 2, 2, 2, 1}[i]
		n.RunAt = []job.Micros{5, b.at(time.Second), 9, 8, 8, 7}[i]
		n.Deps = []string{"", "", "", "x", "", "y"}[i]
	})
	x := b.exchange(nil, want(4))
	equal(t, "claims", ids(x), []int64{6, 4, 5, 3})
	if !x.Full || x.NextDue != store.Never {
		t.Errorf("exchange with more due jobs than it wants: got Full %v and NextDue %v, want true and Never", x.Full, x.NextDue)
	}
	x = b.exchange(nil, want(4))
	equal(t, "the rest", ids(x), []int64{1})
	if x.Full || x.NextDue != time.Second {
		t.Errorf("exchange that took all due jobs: got Full %v and NextDue %v, want false and 1s", x.Full, x.NextDue)
	}
}

func TestLimitsAndRatesHoldBack(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(5, nil)
	limited := want(5, store.KindWant{Kind: "k", Max: 5, Limit: 2})
	x := b.exchange(nil, limited)
	if len(x.Claims) != 2 || x.NextDue != store.Never || x.Full {
		t.Fatalf("claim with a limit of 2 running jobs: got %d claims and NextDue %v, want 2 claims and Never", len(x.Claims), x.NextDue)
	}
	if x = b.exchange(nil, limited); len(x.Claims) != 0 {
		t.Fatalf("claim when the limit of running jobs is reached: got %d claims, want 0", len(x.Claims))
	}
	limited.Rate = store.Rate{N: 1, Per: 10 * time.Second}
	limited.Kinds[0].Limit = 0
	x = b.exchange(nil, limited)
	if len(x.Claims) != 1 || x.NextDue != 10*time.Second {
		t.Fatalf("claim with a rate of one start per 10 s: got %d claims and NextDue %v, want 1 claim and 10s", len(x.Claims), x.NextDue)
	}
	perSecond := store.Rate{N: 1, Per: time.Second}
	_, err := b.SetQueue(b.ctx, me, store.QueueChange{Name: "q", Rate: &perSecond})
	b.ok(err)
	b.pass(4 * time.Second)
	if x = b.exchange(nil, limited); x.NextDue != time.Second {
		t.Fatalf("exchange after a person has set a faster rate: got NextDue %v, want 1s", x.NextDue)
	}
	b.pass(6 * time.Second)
	x = b.exchange(nil, limited)
	if len(x.Claims) != 1 || x.NextDue != 950*time.Millisecond { // a start may be 50 ms early
		t.Fatalf("claim with a rate that a person has set: got %d claims and NextDue %v, want 1 claim and 950ms", len(x.Claims), x.NextDue)
	}
}

func TestAPausedQueueGivesNothingAndADrainingOneDoes(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, nil)
	paused, draining := store.Paused, store.Draining
	_, err := b.SetQueue(b.ctx, me, store.QueueChange{Name: "q", Mode: &paused})
	b.ok(err)
	if x := b.exchange(nil, want(5)); len(x.Claims) != 0 || x.NextDue != store.Never {
		t.Errorf("exchange on a paused queue: got %d claims and NextDue %v, want no claim and Never", len(x.Claims), x.NextDue)
	}
	_, err = b.SetQueue(b.ctx, me, store.QueueChange{Name: "q", Mode: &draining})
	b.ok(err)
	b.claim()
}

func TestADeadlineEndsAJobAtTheClaim(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(2, func(i int, n *job.New) { n.Deadline = b.at(time.Duration(i+1) * time.Second) })
	b.pass(time.Second)
	x := b.exchange(nil, want(1))
	equal(t, "expired", x.Expired, []job.ID{1})
	equal(t, "claims", ids(x), []int64{2})
	letter, err := b.DeadLetter(b.ctx, 1)
	b.ok(err)
	equal(t, "dead letter", letter, job.DeadLetter{Death: 1, Job: 1, Life: 1, Reason: job.DeadlineOver,
		Fingerprint: job.Fingerprint("k", "", job.CodeExpired), Kind: "k", Queue: "q", DiedAt: b.at(0)})
}

func TestManyWorkersAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	const n = 400
	b.add(n, nil)
	var mu sync.Mutex
	var seen []int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				x, err := b.Exchange(b.ctx, store.Exchange{Holder: "w", Lease: lease, Want: []store.Want{want(7)}})
				if err != nil || len(x.Claims) == 0 {
					return
				}
				mu.Lock()
				seen = append(seen, ids(x)...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(seen)
	if len(slices.Compact(seen)) != n {
		t.Errorf("all workers together: got %d different claimed jobs, want %d", len(slices.Compact(seen)), n)
	}
}

func TestALimitOfAKindCountsItsRunsOnly(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(3, nil)
	limited := want(5, store.KindWant{Kind: "k", Max: 5, Limit: 1})
	for i := range 3 {
		x := b.exchange(nil, limited)
		equal(t, "claims", ids(x), []int64{int64(i + 1)})
		b.ok(b.settle(completed(x.Claims[0])))
	}
}

func TestWhatIsLeftOfALaneCountsByItsFirstJob(t *testing.T) {
	t.Parallel()
	b := open(t)
	limited := want(5, store.KindWant{Kind: "k", Max: 5, Limit: 1})
	b.add(3, func(i int, n *job.New) { n.RunAt = b.at(time.Duration(max(0, i-1)) * time.Minute) })
	if x := b.exchange(nil, limited); len(x.Claims) != 1 || x.NextDue != store.Never {
		t.Errorf("lane whose kind has a limit of 1 running job: got %d claims and NextDue %v, want 1 claim and Never", len(x.Claims), x.NextDue)
	}
	b.add(1, func(_ int, n *job.New) { n.RunAt, n.Priority = b.at(time.Hour), 4 })
	if x := b.exchange(nil, limited); x.NextDue != time.Hour {
		t.Errorf("exchange after a later job with another priority was added: got NextDue %v, want 1h", x.NextDue)
	}
}

func TestAnExchangeFindsABoundedNumberExpired(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(store.ExpiredMax+1, func(_ int, n *job.New) { n.Deadline = b.at(-time.Second) })
	x := b.exchange(nil, want(5), want(5))
	if len(x.Expired) != store.ExpiredMax || !x.Full || x.NextDue != store.Never {
		t.Errorf("first exchange: got %d expired jobs, Full %v, NextDue %v; want %d expired jobs, Full true and Never",
			len(x.Expired), x.Full, x.NextDue, store.ExpiredMax)
	}
	if x = b.exchange(nil, want(5), want(5)); len(x.Expired) != 1 || x.Full {
		t.Errorf("second exchange: got %d expired jobs and Full %v, want the 1 remaining expired job and Full false", len(x.Expired), x.Full)
	}
}

func TestAKindGivesItsMaxAndIsThenLeftOut(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(4, func(i int, n *job.New) { n.Kind = []string{"a", "a", "b", "a"}[i] })
	x := b.exchange(nil, want(5, store.KindWant{Kind: "a", Max: 1}, store.KindWant{Kind: "b", Max: 5}))
	equal(t, "claims", ids(x), []int64{1, 3})
	if x.Full || x.NextDue != store.Never {
		t.Errorf("exchange that claimed all due jobs within the Max of each kind: got Full %v and NextDue %v, want false and Never", x.Full, x.NextDue)
	}
}
