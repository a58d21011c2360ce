package storetest

import (
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func heartbeatPromises() []promise {
	return []promise{
		{"Q3_HeartbeatExtendsTheLease", heartbeatExtendsTheLease},
		{"Q3_LivingRunIsNeverStalled", livingRunIsNeverStalled},
		{"Q3_LateHeartbeatBeforeTheRescueCounts", lateHeartbeatCounts},
		{"Q11_ProgressBelongsToItsRun", progressBelongsToItsRun},
		{"Q11_ProgressIsAnEvent", progressIsAnEvent},
	}
}

// proves: Q3
func heartbeatExtendsTheLease(r *rig) {
	a, b := r.takeID(r.add()), r.takeID(r.add())
	r.clock.Advance(10 * time.Second)
	status, err := r.Heartbeat(ctx(), store.Beat{Lease: time.Minute, Runs: []store.Run{runOf(a)}})
	r.ok(err)
	same(r, "status", status, []store.RunStatus{{Held: true}})
	same(r, "lease that was extended", r.get(a.ID).LeaseUntil, r.in(time.Minute))
	same(r, "lease that was not", r.get(b.ID).LeaseUntil, r.in(lease-10*time.Second))
}

// proves: Q3
//
// A run is rescued only when its lease has expired, however long the run has lasted.
func livingRunIsNeverStalled(r *rig) {
	id := r.add()
	c := r.take()
	for range 4 * 60 { // send heartbeats for 40 minutes
		r.clock.Advance(10 * time.Second)
		same(r, "status", r.beat(runOf(c)), []store.RunStatus{{Held: true}})
		if stalled := r.rescue(10).Jobs; len(stalled) > 0 {
			r.fail("a run whose worker sends heartbeats was rescued: got %+v, want no rescued runs", stalled)
		}
	}
	r.end(succeeded(c))
	same(r, "crashes", r.get(id).Counters.Crashes, int32(0))
}

// proves: Q3, Q4
//
// A run whose lease has expired may still write until the store has rescued the run.
func lateHeartbeatCounts(r *rig) {
	id := r.add()
	c := r.take()
	r.clock.Advance(10 * lease)
	same(r, "status", r.beat(runOf(c)), []store.RunStatus{{Held: true}})
	same(r, "rescued", r.rescue(10).Jobs, nil)
	r.clock.Advance(10 * lease)
	r.end(succeeded(c))
	r.state(id, job.Completed)
}

func (r *rig) progress(c job.Claim, done, total int64, note string) {
	status, err := r.Heartbeat(ctx(), store.Beat{
		Lease: lease, Runs: []store.Run{runOf(c)},
		Progress: []job.Progress{{ID: c.ID, Token: c.Token, Done: done, Total: total, Note: note}},
	})
	r.ok(err)
	same(r, "status", status, []store.RunStatus{{Held: true}})
}

// proves: Q11
func progressBelongsToItsRun(r *rig) {
	id := r.add()
	c := r.take()
	same(r, "progress at the start", r.get(id).Progress, job.Progress{})
	r.progress(c, 1, 4, "frames")
	r.clock.Advance(time.Second)
	r.progress(c, 3, 4, "")
	got := r.get(id).Progress
	same(r, "progress", []any{got.Done, got.Total, got.Note, got.At}, []any{int64(3), int64(4), "", r.now()})
	r.beat(runOf(c)) // after a heartbeat without progress, the store still has the last progress
	same(r, "progress", r.get(id).Progress.Done, int64(3))

	o := failed(c, "NetworkTimeout", 0)
	o.Progressed = true
	r.end(o)
	same(r, "progress between runs", r.get(id).Progress, job.Progress{})
	c = r.take()
	same(r, "progress of the next run", r.get(id).Progress, job.Progress{})
	r.progress(c, 2, 4, "")
	r.lose(c)
	same(r, "progress after a crash", r.get(id).Progress, job.Progress{})
	r.take()
	same(r, "progress of the run after a crash", r.get(id).Progress, job.Progress{})
}

// proves: Q11
// part of: N1
func progressIsAnEvent(r *rig) {
	r.add(func(n *job.New) { n.Owner, n.Batch = "alice", 7 })
	c := r.take()
	at := r.cursor()
	r.progress(c, 1, 4, "frames")
	events := r.events(at)
	if len(events) != 1 {
		r.fail("got %d events with the progress, want 1", len(events))
	}
	e := events[0]
	same(r, "type and job", []any{e.Type, e.Job}, []any{event.JobProgressed, c.ID})
	same(r, "progress", []any{e.Done, e.Total, e.Note}, []any{int64(1), int64(4), "frames"})
	same(r, "owner and batch", []any{e.Owner, e.Batch}, []any{"alice", int64(7)})
	at = r.cursor()
	r.beat(runOf(c))
	same(r, "events of a heartbeat without progress", r.events(at), nil)
}
