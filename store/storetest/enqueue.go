package storetest

import (
	"bytes"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func enqueuePromises() []promise {
	return []promise{
		{"Q1_ReservedIDsNeverOverlap", reservedIDsNeverOverlap},
		{"Q1_KeepsEveryField", keepsEveryField},
		{"Q1_PayloadComesBackAsGiven", payloadComesBackAsGiven},
		{"Q1_BulkAnswersInOrder", bulkAnswersInOrder},
		{"Q1_DueTimes", dueTimes},
		{"Q1_AllOrNothing", allOrNothing},
		{"Q1_AnIDIsUsedOnce", anIDIsUsedOnce},
		{"Q1_MakesItsQueueKnown", makesItsQueueKnown},
		{"Q1_ClosedStoreIsUnavailable", closedStoreIsUnavailable},
	}
}

// proves: Q1
func reservedIDsNeverOverlap(r *rig) {
	next := job.ID(1)
	for _, n := range []int{1, 3, 1 << 20, 1} {
		first, err := r.ReserveIDs(ctx(), n)
		r.ok(err)
		if first < next {
			r.fail("%d reserved ids begin with id %d, want at least id %d", n, first, next)
		}
		next = first + job.ID(n)
	}
}

func everyField(n *job.New) {
	n.Kind, n.Queue, n.Priority = "render:4k", "gpu/high-memory", job.PriorityMin
	n.Owner, n.Correlation, n.Key, n.Batch = "alice", "req-7", "order-12", 4
	n.Digest, n.Deps = []byte{1, 2, 3}, "s3,openai"
	n.Attrs, n.Override, n.Payload = []byte(`{"minutes":361}`), []byte(`{"max_retries":1}`), []byte("do it")
}

// proves: Q1
func keepsEveryField(r *rig) {
	n := r.newJob(everyField, func(n *job.New) { n.RunAt, n.Deadline = r.in(time.Minute), r.in(time.Hour) })
	receipt := r.enqueue(n)[0]
	same(r, "receipt", receipt, job.Receipt{ID: n.ID, State: job.Waiting})
	same(r, "job", r.get(n.ID), job.Job{
		ID: n.ID, Kind: n.Kind, Queue: n.Queue, State: job.Waiting, Priority: n.Priority, Life: 1,
		CreatedAt: r.now(), LifeAt: n.RunAt, RunAt: n.RunAt, Deadline: n.Deadline,
		Owner: n.Owner, Correlation: n.Correlation, Key: n.Key, Batch: n.Batch, Aside: n.Aside, Attrs: n.Attrs, Override: n.Override, Payload: n.Payload,
	})
}

// proves: Q1
func payloadComesBackAsGiven(r *rig) {
	payloads := [][]byte{nil, {}, {0}, []byte("\xff\xfe'\"\x00\r\n"), []byte("käse 🧀")}
	// Use sizes near 1 KiB and above, because stores may keep large payloads in a separate table.
	for _, size := range []int{1023, 1024, 1025, 256 << 10} {
		payloads = append(payloads, bytes.Repeat([]byte{0, 1, 254, 255}, size/4+1)[:size])
	}
	for _, p := range payloads {
		id := r.add(func(n *job.New) { n.Payload = p })
		if got := r.get(id).Payload; !bytes.Equal(got, p) {
			r.fail("payload that Get returned: %d bytes were enqueued, got %d other bytes; want the same bytes", len(p), len(got))
		}
		c := r.take()
		if !bytes.Equal(c.Payload, p) {
			r.fail("payload of the claim: %d bytes were enqueued, got %d other bytes; want the same bytes", len(p), len(c.Payload))
		}
		r.end(died(c, "InvalidInput", job.NonRetriable))
		if got := r.get(id).Payload; !bytes.Equal(got, p) {
			r.fail("payload of the dead job: %d bytes were enqueued, got %d other bytes; want the same bytes", len(p), len(got))
		}
	}
}

// proves: Q1
func bulkAnswersInOrder(r *rig) {
	var jobs []job.New
	for i := range 7 {
		jobs = append(jobs, r.newJob(func(n *job.New) { n.Queue = []string{"a", "b"}[i%2] }))
	}
	jobs[0], jobs[6] = jobs[6], jobs[0] // the ids of the new jobs need not be in ascending order
	receipts := r.enqueue(jobs...)
	for i, n := range jobs {
		same(r, "receipt", receipts[i], job.Receipt{ID: n.ID, State: job.Waiting})
		same(r, "queue", r.get(n.ID).Queue, n.Queue)
	}
}

// proves: Q1
func dueTimes(r *rig) {
	at := func(t job.Micros) job.Micros { return r.get(r.add(func(n *job.New) { n.RunAt = t })).RunAt }
	same(r, "due time of 0", at(0), r.now())
	same(r, "due time in the past", at(r.now()-1), r.now()-1)
	same(r, "due time in the future", at(r.now()+1), r.now()+1)
	far := store.UntilMax
	same(r, "due time far away", at(far), far)
}

// proves: Q1
// part of: X1
func allOrNothing(r *rig) {
	taken := r.add()
	for _, bad := range []struct {
		change func(*job.New)
		err    error
	}{
		{func(n *job.New) { n.Kind = "" }, store.ErrInvalid},
		{func(n *job.New) { n.Priority = 0 }, store.ErrInvalid},
		{func(n *job.New) { n.ID = taken }, store.ErrConflict},
		{func(n *job.New) { n.Payload = make([]byte, job.PayloadMax+1) }, store.ErrTooLarge},
	} {
		r.refuse(bad.err, r.newJob(), r.newJob(bad.change), r.newJob(func(n *job.New) { n.Queue = "unheard" }))
	}
}

// proves: Q1
func anIDIsUsedOnce(r *rig) {
	again := func(id job.ID) job.New { return r.newJob(func(n *job.New) { n.ID = id }) }

	id := r.add()
	r.refuse(store.ErrConflict, again(id)) // the job with the same id is waiting
	c := r.take()
	r.refuse(store.ErrConflict, again(id)) // the job with the same id is running
	r.end(succeeded(c))
	r.refuse(store.ErrConflict, again(id)) // the job with the same id has completed
	r.refuse(store.ErrConflict, again(r.dead()))

	twice := r.newJob()
	r.refuse(store.ErrConflict, twice, twice)
}

// proves: Q1
func makesItsQueueKnown(r *rig) {
	r.add(func(n *job.New) { n.Queue = "zebra" })
	r.add(func(n *job.New) { n.Queue = "ant" })
	queues, err := r.Queues(ctx())
	r.ok(err)
	same(r, "queues", queues, []store.Queue{{Name: "ant"}, {Name: "zebra"}})
}

// proves: Q10
func closedStoreIsUnavailable(r *rig) {
	n := r.newJob()
	r.ok(r.Close())
	_, err := r.Enqueue(ctx(), []job.New{n})
	r.is(err, store.ErrUnavailable)
	_, err = r.ReserveIDs(ctx(), 1)
	r.is(err, store.ErrUnavailable)
	_, err = r.Exchange(ctx(), store.Exchange{Holder: holder, Lease: lease, Want: []store.Want{want(1)}})
	r.is(err, store.ErrUnavailable)
	_, err = r.Heartbeat(ctx(), store.Beat{Lease: lease, Runs: []store.Run{{ID: n.ID, Token: 1}}})
	r.is(err, store.ErrUnavailable)
	_, err = r.Rescue(ctx(), 1)
	r.is(err, store.ErrUnavailable)
	_, err = r.Get(ctx(), n.ID)
	r.is(err, store.ErrUnavailable)
	_, err = r.Dump(ctx())
	r.is(err, store.ErrUnavailable)
	_, err = r.Cancel(ctx(), person, []job.ID{n.ID})
	r.is(err, store.ErrUnavailable)
}
