package memory_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

const lease = 30 * time.Second

// bench is a store for tests. The test sets the time of its clock.
type bench struct {
	*memory.Store
	t interface {
		Helper()
		Fatalf(string, ...any)
	}
	ctx context.Context
	mu  sync.Mutex
	now time.Time
}

func open(t *testing.T) *bench {
	b := &bench{t: t, ctx: t.Context(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	b.Store = memory.New(memory.Options{Clock: b.clock})
	return b
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) at(d time.Duration) job.Micros { return job.At(b.clock().Add(d)) }

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("a call of the store returned error %v, want none", err)
	}
}

// add enqueues n jobs of kind k in queue q. The given function may change each job before it
// is enqueued.
func (b *bench) add(n int, change func(i int, n *job.New)) job.ID {
	b.t.Helper()
	first, err := b.ReserveIDs(b.ctx, n)
	b.ok(err)
	jobs := make([]job.New, n)
	for i := range jobs {
		jobs[i] = job.New{ID: first + job.ID(i), Kind: "k", Queue: "q", Priority: job.PriorityDefault}
		if change != nil {
			change(i, &jobs[i])
		}
	}
	_, err = b.Enqueue(b.ctx, jobs)
	b.ok(err)
	return first
}

func want(maximum int, kinds ...store.KindWant) store.Want {
	if kinds == nil {
		kinds = []store.KindWant{{Kind: "k", Max: 100, MaxCrashes: 2}}
	}
	return store.Want{Queue: "q", Max: maximum, Kinds: kinds}
}

func (b *bench) exchange(settle []job.Outcome, wants ...store.Want) store.Exchanged {
	b.t.Helper()
	x, err := b.Exchange(b.ctx, store.Exchange{Holder: "w1", Lease: lease, Settle: settle, Want: wants})
	b.ok(err)
	return x
}

// claim claims one job and fails the test when there is no job to claim.
func (b *bench) claim() job.Claim {
	b.t.Helper()
	x := b.exchange(nil, want(1))
	if len(x.Claims) != 1 {
		b.t.Fatalf("claim of one job: got %d claimed jobs, want 1", len(x.Claims))
	}
	return x.Claims[0]
}

func (b *bench) settle(o job.Outcome) error {
	b.t.Helper()
	return b.exchange([]job.Outcome{o}).Settled[0]
}

func (b *bench) get(id job.ID) job.Job {
	b.t.Helper()
	j, err := b.Get(b.ctx, id)
	b.ok(err)
	return j
}

func (b *bench) dump() *store.Dump {
	b.t.Helper()
	d, err := b.Dump(b.ctx)
	b.ok(err)
	return d
}

func failed(c job.Claim, to job.State) job.Outcome {
	o := job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Failed, To: to, Cost: 7, Failure: &job.Failure{
		How: job.ByError, Class: "Bug", Fingerprint: "f|k", Message: "no", Stderr: []byte("tail"),
	}}
	if to == job.Dead {
		o.Reason = job.NonRetriable
	}
	return o
}

func completed(c job.Claim) job.Outcome {
	return job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Succeeded, To: job.Completed, Result: []byte("r"), Cost: 5}
}

func ids(x store.Exchanged) (list []int64) {
	for _, c := range x.Claims {
		list = append(list, int64(c.ID))
	}
	return list
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got another value than wanted (-want +got):\n%s", what, diff)
	}
}

var me = store.By{Actor: "ann", Reason: "why not"}
