package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestARequestedCancelIsNotForgotten(t *testing.T) {
	t.Parallel()
	ends := map[string]func(b *bench, c job.Claim){
		"rescue": func(b *bench, _ job.Claim) {
			b.pass(lease)
			_, err := b.Rescue(b.ctx, 1)
			b.ok(err)
		},
		"retry": func(b *bench, c job.Claim) { b.ok(b.settle(failed(c, job.Retrying))) },
		"cancel": func(b *bench, c job.Claim) {
			b.ok(b.settle(job.Outcome{ID: 1, Token: 1, Cause: job.Cancel, To: job.Cancelled}))
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.add(1, nil)
			c := b.claim()
			for range 2 {
				errs, err := b.Cancel(b.ctx, me, []job.ID{1, 2})
				b.ok(err)
				if errs[0] != nil || !errors.Is(errs[1], store.ErrNotFound) {
					t.Fatalf("Cancel of a running job and of an unknown job: got errors %v, want nil and ErrNotFound", errs)
				}
			}
			signals, err := b.Signals(b.ctx, "w1")
			b.ok(err)
			equal(t, "signals", signals, store.Signals{Cancel: []store.Run{{ID: 1, Token: 1}}, Queues: []store.Queue{{Name: "q"}}})
			end(b, c)
			if j := b.get(1); j.State != job.Cancelled || j.CancelAt != 0 {
				t.Errorf("job that was cancelled during its run: got state %s and CancelAt %d after the run, want cancelled and 0", j.State, j.CancelAt)
			}
			signals, err = b.Signals(b.ctx, "w1")
			b.ok(err)
			equal(t, "signals after the run", len(signals.Cancel), 0)
			d := b.dump()
			equal(t, "audit", d.Audit, []store.Audit{{Seq: 1, At: c.ClaimedAt, Actor: "ann", Action: "job.cancel",
				Target: "1", Reason: "why not", Before: "running", After: "cancel_requested"}})
			checkDump(t, d)
		})
	}
}

func TestRetryOpensTheNextLife(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, func(_ int, n *job.New) { n.Payload, n.Deadline = []byte("p"), b.at(time.Second) })
	b.ok(b.settle(failed(b.claim(), job.Dead)))
	b.pass(time.Second)
	for i, conflict := range []bool{false, true} {
		did, err := b.Act(b.ctx, me, store.Action{Do: store.ActRetry, IDs: []job.ID{1}})
		b.ok(err)
		if errors.Is(did.Errors[0], store.ErrConflict) != conflict {
			t.Errorf("retry number %d of the same job: got error %v, want none from retry 1 and ErrConflict from retry 2", i+1, did.Errors[0])
		}
	}
	equal(t, "groups", b.dump().Groups[0].Pending, int64(0))
	c := b.claim()
	if c.Life != 2 || c.Token != 2 || c.Deadline != 0 || c.Counters != (job.Counters{}) || string(c.Payload) != "p" {
		t.Errorf("claim after the retry: got %+v, want life 2, run 2, no deadline, all counters 0 and payload p", c)
	}
	b.ok(b.settle(failed(c, job.Dead)))
	equal(t, "group", b.dump().Groups, []store.Group{{Fingerprint: "f|k", Kind: "k", Class: "Bug", Message: "no", Sample: 1, N: 2, Entries: 1, Pending: 1, Retried: 1,
		FirstAt: b.at(-time.Second), LastAt: b.at(0)}})
	_, err := b.Act(b.ctx, me, store.Action{Do: store.ActRetry, IDs: []job.ID{1}})
	b.ok(err)
	b.ok(b.settle(completed(b.claim())))
	letter, err := b.DeadLetter(b.ctx, 1)
	b.ok(err)
	if letter.Status != job.Resolved || !letter.Revived || letter.Life != 2 {
		t.Errorf("dead letter of a retried job that has completed: got %+v, want a revived entry of life 2 with status resolved", letter)
	}
}

func TestSetQueueLeavesATraceOfChanges(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.ok(b.Declare(b.ctx, []string{"q"}))
	paused, tooMany := store.Paused, 10_001
	for range 2 {
		_, err := b.SetQueue(b.ctx, me, store.QueueChange{Name: "q", Mode: &paused})
		b.ok(err)
	}
	if _, err := b.SetQueue(b.ctx, me, store.QueueChange{Name: "q", Workers: &tooMany}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("SetQueue with too many workers: got error %v, want ErrInvalid", err)
	}
	if _, err := b.SetQueue(b.ctx, me, store.QueueChange{Name: "nowhere", Mode: &paused}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SetQueue of an unknown queue: got error %v, want ErrNotFound", err)
	}
	if _, err := b.SetQueue(b.ctx, store.By{}, store.QueueChange{Name: "q"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("SetQueue without an actor: got error %v, want ErrInvalid", err)
	}
	d := b.dump()
	equal(t, "audit", d.Audit, []store.Audit{{Seq: 1, At: b.at(0), Actor: "ann", Action: "queue.set", Target: "q",
		Reason: "why not", Before: `{"name":"q","mode":"open"}`, After: `{"name":"q","mode":"paused"}`}})
	equal(t, "events", d.Events, []event.Event{{Cursor: event.Cursor{Seq: 1, Index: 1}, At: b.at(0),
		Type: event.QueueChanged, Queue: "q", Reason: "paused"}})
}
