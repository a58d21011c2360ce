package memory_test

import (
	"errors"
	"testing"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestOutcomesAreFencedAndRepeatable(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, nil)
	first := b.claim()
	b.ok(b.settle(failed(first, job.Retrying)))
	b.ok(b.settle(failed(first, job.Retrying)))
	second := b.claim()
	before := b.dump()
	if err := b.settle(completed(first)); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("outcome of an earlier run of the job: got error %v, want ErrLeaseLost", err)
	}
	bad := completed(second)
	bad.To = job.Retrying
	if err := b.settle(bad); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("outcome that is not valid: got error %v, want ErrInvalid", err)
	}
	if err := b.settle(job.Outcome{ID: 99, Token: 1, Cause: job.Succeeded, To: job.Completed}); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("outcome of a job that does not exist: got error %v, want ErrLeaseLost", err)
	}
	equal(t, "content", b.dump(), before)
	b.ok(b.settle(completed(second)))
	j := b.get(1)
	if j.State != job.Completed || j.Cost != 12 || string(j.Result) != "r" || j.Counters.Attempts != 2 {
		t.Errorf("job after its completion: got %+v, want state completed, cost 12, result r and 2 attempts", j)
	}
	failures, err := b.Failures(b.ctx, 1)
	b.ok(err)
	want := *failed(first, job.Retrying).Failure
	want.Job, want.Token, want.Life, want.Attempt, want.Holder, want.Cost = 1, 1, 1, 1, "w1", 7
	want.StartedAt, want.EndedAt = first.ClaimedAt, b.at(0)
	equal(t, "failures", failures, []job.Failure{want})
}

func TestRescueUntilStalled(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, nil)
	c := b.claim()
	b.pass(lease)
	statuses, err := b.Heartbeat(b.ctx, store.Beat{Lease: lease, Runs: []store.Run{{ID: 1, Token: 1}, {ID: 1, Token: 2}}})
	b.ok(err)
	equal(t, "statuses", statuses, []store.RunStatus{{Held: true}, {}})
	r, err := b.Rescue(b.ctx, 10)
	b.ok(err)
	equal(t, "nothing to rescue", r, store.Rescue{NextExpiry: lease})

	for i, to := range []job.State{job.Waiting, job.Dead} {
		_, err = b.Heartbeat(b.ctx, store.Beat{Lease: lease, Runs: []store.Run{{ID: 1, Token: job.Token(i + 1)}}, Begin: true})
		b.ok(err)
		b.pass(lease)
		r, err = b.Rescue(b.ctx, 10)
		b.ok(err)
		equal(t, "rescue", r, store.Rescue{NextExpiry: store.Never, Jobs: []store.Rescued{{
			Run: store.Run{ID: 1, Token: job.Token(i + 1)}, Kind: "k", Queue: "q", Holder: "w1", Crashes: int32(i + 1), To: to,
		}}})
		if err := b.settle(completed(c)); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("outcome of a rescued run: got error %v, want ErrLeaseLost", err)
		}
		if to == job.Waiting {
			b.claim()
		}
	}
	j := b.get(1)
	if j.Reason != job.Stalled || j.Counters != (job.Counters{Crashes: 2}) || j.LeaseUntil != 0 {
		t.Errorf("job that has reached its crash limit: got %+v, want reason stalled, 2 crashes and no lease", j)
	}
}

func TestProgressBelongsToItsRun(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, nil)
	c := b.claim()
	p := job.Progress{ID: 1, Token: 1, Done: 3, Total: 9, Note: "third"}
	stale := job.Progress{ID: 1, Token: 7, Done: 8}
	_, err := b.Heartbeat(b.ctx, store.Beat{Lease: lease, Runs: []store.Run{{ID: 1, Token: 1}, {ID: 1, Token: 7}},
		Progress: []job.Progress{p, stale}})
	b.ok(err)
	p.At = b.at(0)
	equal(t, "progress", b.get(1).Progress, p)
	b.ok(b.settle(failed(c, job.Retrying)))
	equal(t, "progress after the run", b.get(1).Progress, job.Progress{})
}

func TestAHeartbeatChangesWhoIsRescuedFirst(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(2, nil)
	b.claim()
	b.claim()
	_, err := b.Heartbeat(b.ctx, store.Beat{Lease: 2 * lease, Runs: []store.Run{{ID: 1, Token: 1}}})
	b.ok(err)
	b.pass(3 * lease)
	for _, id := range []job.ID{2, 1} {
		r, err := b.Rescue(b.ctx, 1)
		b.ok(err)
		if len(r.Jobs) != 1 || r.Jobs[0].ID != id {
			t.Errorf("rescue of at most one run: got rescued jobs %+v, want only job %d", r.Jobs, id)
		}
	}
}

func TestTheCostOfARunCountsOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.add(1, nil)
	c := b.claim()
	o := failed(c, job.Cancelled)
	o.Cause = job.Cancel
	b.ok(b.settle(o))
	equal(t, "cost", b.get(c.ID).Cost, int64(7))
}
