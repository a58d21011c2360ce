package memory_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestEnqueueIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, func(_ int, n *job.New) { n.Key, n.Digest = "a", []byte("1") })
	before := b.dump()
	_, err := b.Enqueue(b.ctx, []job.New{
		{ID: 10, Kind: "k", Queue: "new", Priority: 1},
		{ID: 11, Kind: "k", Queue: "q", Priority: 1, Key: "a", Digest: []byte("2")},
	})
	var conflict *store.KeyConflict
	if !errors.As(err, &conflict) || conflict.Index != 1 || conflict.ID != 1 || !errors.Is(err, store.ErrConflict) {
		t.Fatalf("enqueue of a second job with the key of job 1: got error %v, want a KeyConflict that names the second job and job 1", err)
	}
	equal(t, "content", b.dump(), before)
}

func TestKeysOfOneCallAndExpiredOnes(t *testing.T) {
	t.Parallel()
	b := open(t)
	with := func(id job.ID) job.New {
		return job.New{ID: id, Kind: "k", Queue: "q", Priority: 1, Key: "a", KeyUntil: b.at(time.Minute)}
	}
	receipts, err := b.Enqueue(b.ctx, []job.New{with(1), with(2)})
	b.ok(err)
	equal(t, "receipts", receipts, []job.Receipt{{ID: 1, State: job.Waiting}, {ID: 1, Existing: true, State: job.Waiting}})
	b.pass(time.Minute)
	receipts, err = b.Enqueue(b.ctx, []job.New{with(3)})
	b.ok(err)
	equal(t, "receipt after the key's end", receipts, []job.Receipt{{ID: 3, State: job.Waiting}})
}

func TestRepeatedEnqueueIsALookUp(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, nil)
	b.ok(b.settle(completed(b.claim())))
	draining := store.Draining
	_, err := b.SetQueue(b.ctx, me, store.QueueChange{Name: "q", Mode: &draining})
	b.ok(err)
	again := job.New{ID: 1, Kind: "k", Queue: "q", Priority: 1, Repeat: true}
	receipts, err := b.Enqueue(b.ctx, []job.New{again})
	b.ok(err)
	equal(t, "receipt", receipts, []job.Receipt{{ID: 1, State: job.Completed}})
	again.ID = 2
	if _, err = b.Enqueue(b.ctx, []job.New{again}); !errors.Is(err, store.ErrDraining) {
		t.Errorf("enqueue into a draining queue: got error %v, want ErrDraining", err)
	}
	again.ID, again.Queue, again.Repeat = 1, "other", false
	if _, err = b.Enqueue(b.ctx, []job.New{again}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("enqueue of a new job with an id that another job has: got error %v, want an IDConflict", err)
	}
}

func TestLanesAreBounded(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(job.LanesMax, func(i int, n *job.New) { n.Deps = strconv.Itoa(i) })
	_, err := b.Enqueue(b.ctx, []job.New{{ID: 5000, Kind: "k", Queue: "q2", Priority: 1}})
	if !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("enqueue that needs one lane too many: got error %v, want ErrTooLarge", err)
	}
	c := b.claim()
	o := job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Snoozed, To: job.Waiting, Queue: "q2"}
	if err := b.settle(o); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("outcome that needs one lane too many: got error %v, want ErrTooLarge", err)
	}
	if got := b.get(c.ID); got.State != job.Running || got.Queue != "q" {
		t.Errorf("after the refused outcome: got a job in state %s in queue %s, want it running in queue q", got.State, got.Queue)
	}
}
