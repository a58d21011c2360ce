package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// keyName is the full name of an idempotency key: the key is unique for one owner and kind.
type keyName struct{ owner, kind, key string }

type key struct {
	store.Key
	digest []byte
	state  job.State // the last state of the job; set when the job is removed
}

// Enqueue implements store.Producer.
func (s *Store) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	t, err := s.begin(ctx, "enqueue")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if len(jobs) > job.EnqueueMax {
		return nil, t.errorf("%d jobs in one call: at most %d jobs are allowed: %w", len(jobs), job.EnqueueMax, store.ErrTooLarge)
	}
	for i := range jobs {
		if err := store.Validate(&jobs[i]); err != nil {
			return nil, t.errorf("job %d of %d: %w", i+1, len(jobs), err)
		}
	}
	receipts, err := t.enqueue(jobs)
	if err != nil {
		return nil, t.errorf("%w", err)
	}
	return receipts, nil
}

// enqueue accepts all the jobs or none.
func (t *tx) enqueue(jobs []job.New) ([]job.Receipt, error) {
	c := newIntake(t)
	receipts := make([]job.Receipt, len(jobs))
	for i := range jobs {
		var err error
		if receipts[i], err = c.look(i, &jobs[i], false); err != nil {
			return nil, fmt.Errorf("job %d of %d: %w", i+1, len(jobs), err)
		}
	}
	for _, n := range c.fresh {
		t.insert(n)
	}
	return receipts, nil
}

// intake checks the jobs of one enqueue call, one after the other, before any job is written. Each
// job is also checked against the earlier jobs of the call.
type intake struct {
	*tx
	fresh    []*job.New // jobs that the call will write
	newIDs   map[job.ID]bool
	newKeys  map[keyName]*key
	newLanes map[laneName]bool
}

func newIntake(t *tx) *intake {
	return &intake{tx: t, newIDs: make(map[job.ID]bool), newKeys: make(map[keyName]*key), newLanes: make(map[laneName]bool)}
}

// look returns the receipt or the error for one job of the call. If revive is true, the job may take the key of a
// job that was cancelled.
func (c *intake) look(i int, n *job.New, revive bool) (job.Receipt, error) {
	state := c.state(n.ID)
	if n.Repeat && state != job.None {
		if r := c.jobs[n.ID]; r != nil && !storekit.Repeats(&r.Job, n, c.originals[n.ID].Payload != nil) {
			return job.Receipt{}, &store.IDConflict{ID: n.ID}
		}
		return job.Receipt{ID: n.ID, State: state}, nil
	}
	if k := c.held(n); k != nil && (!revive || c.stateOf(k) != job.Cancelled) {
		return c.existing(i, n, k)
	}
	if q := c.queues[n.Queue]; q != nil && q.Mode == store.Draining {
		return job.Receipt{}, fmt.Errorf("queue %q takes no new jobs until a person resumes it: %w", n.Queue, store.ErrDraining)
	}
	if err := c.joins(n); err != nil {
		return job.Receipt{}, err
	}
	if state != job.None || c.drafts[n.ID] != nil {
		return job.Receipt{}, &store.IDConflict{ID: n.ID}
	}
	name := laneName{n.Queue, n.Kind, n.Deps}
	if c.lanes[name] == nil {
		c.newLanes[name] = true
		if len(c.lanes)+len(c.newLanes) > job.LanesMax {
			return job.Receipt{}, tooManyLanes(name)
		}
	}
	c.newIDs[n.ID] = true
	if n.Key != "" {
		c.newKeys[nameOf(n)] = keyOf(n, c.now)
	}
	c.fresh = append(c.fresh, n)
	return job.Receipt{ID: n.ID, State: job.Waiting}, nil
}

func (c *intake) state(id job.ID) job.State {
	if c.newIDs[id] {
		return job.Waiting
	}
	if r := c.jobs[id]; r != nil {
		return r.State
	}
	return job.None
}

// held returns the idempotency key of a new job if another job holds the key. Otherwise it returns
// nil.
func (c *intake) held(n *job.New) *key {
	if n.Key == "" {
		return nil
	}
	if k := c.newKeys[nameOf(n)]; k != nil {
		return k // an earlier job of the same call holds the key, so the key cannot have expired
	}
	if k := c.keys[nameOf(n)]; k != nil && c.holds(k) {
		return k
	}
	return nil
}

// holds reports whether the key's job still holds the stored key now.
func (t *tx) holds(k *key) bool {
	return (k.Until == 0 || k.Until > t.now) && (!job.WhileAlive(k.Key.Key) || t.alive(k.Job))
}

// alive reports whether a job exists and has not ended.
func (t *tx) alive(id job.ID) bool {
	r := t.jobs[id]
	return r != nil && !r.State.Terminal()
}

func (c *intake) existing(i int, n *job.New, k *key) (job.Receipt, error) {
	if !bytes.Equal(k.digest, n.Digest) {
		return job.Receipt{}, &store.KeyConflict{Index: i, Kind: n.Kind, Owner: n.Owner, Key: n.Key, ID: k.Job}
	}
	return job.Receipt{ID: k.Job, Existing: true, State: c.stateOf(k)}, nil
}

// stateOf returns the state of the job that holds a key, or its last one if it was removed.
func (c *intake) stateOf(k *key) job.State {
	if state := c.state(k.Job); state != job.None {
		return state
	}
	return k.state
}

func nameOf(n *job.New) keyName { return keyName{n.Owner, n.Kind, n.Key} }

func keyOf(n *job.New, now job.Micros) *key {
	return &key{
		Key:    store.Key{Owner: n.Owner, Kind: n.Kind, Key: n.Key, Job: n.ID, Until: n.KeyEnd(now)},
		digest: bytes.Clone(n.Digest),
	}
}

func tooManyLanes(name laneName) error {
	return storekit.TooManyLanes(name.queue, name.kind, name.deps)
}

func (t *tx) insert(n *job.New) {
	if n.Key != "" {
		t.keys[nameOf(n)] = keyOf(n, t.now)
	}
	t.insertJob(n)
}

// insertJob writes a new job, but not its key.
func (t *tx) insertJob(n *job.New) {
	r := &record{
		Job: job.Job{
			ID: n.ID, Kind: n.Kind, Queue: n.Queue, Priority: n.Priority, Life: 1,
			CreatedAt: t.now, LifeAt: max(t.now, n.RunAt), Deadline: n.Deadline,
			Owner: n.Owner, Correlation: n.Correlation, Key: n.Key, Batch: n.Batch, Aside: n.Aside,
			Attrs: bytes.Clone(n.Attrs), Override: bytes.Clone(n.Override), Payload: bytes.Clone(n.Payload),
		},
		lane:  t.lane(laneName{n.Queue, n.Kind, n.Deps}),
		terms: n.Terms,
	}
	t.jobs[n.ID] = r
	at, _ := slices.BinarySearch(t.ids, n.ID)
	t.ids = slices.Insert(t.ids, at, n.ID)
	runAt := n.RunAt
	if runAt == 0 {
		runAt = t.now
	}
	t.count(r.lane.laneName, func(f *store.Figures) { f.Enqueued++ })
	t.countMember(r, func(c *store.BatchCounts) { c.Total++ })
	t.wait(r, job.Waiting, runAt)
	t.transition(r, job.None, job.Enqueued, "")
}
