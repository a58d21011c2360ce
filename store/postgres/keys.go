package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	joinBatches = &sqlstore.Query{Name: "joinBatches"}
	reserveKeys = sqlstore.Statement("reserveKeys")
	seeManyKeys = sqlstore.Statement("seeManyKeys")
	takeEnded   = sqlstore.Statement("takeEnded")
)

// wanted is what the jobs of a group name that others may hold: their keys, and batches.
type wanted struct {
	keys    []*wantedKey // in the order of their names
	named   map[keyName]*wantedKey
	batches map[int64]*store.Batch // nil: it is not there
}

type wantedKey struct {
	name   keyName
	call   *enqueueCall // the first of the group that names it
	job    *job.New     // its job, which takes the key when it is free
	id     job.ID       // the job that holds it
	state  job.State
	digest []byte
	until  job.Micros // of the job that takes it
	seen   job.Micros // created_at of a key whose job has ended
}

// refusedCalls are calls that cannot be served with the others, and why; nil when that is for the
// shared statements to find. Nothing of the group is written.
type refusedCalls map[*enqueueCall]error

func (refusedCalls) Error() string { return "some calls of the group cannot be served with the others" }

func (r refusedCalls) with(call *enqueueCall, why error) refusedCalls {
	if r == nil {
		r = make(refusedCalls)
	}
	r[call] = why
	return r
}

// admit takes the keys of a group and locks the batches that it names, and answers what is known
// already. Where a call cannot be served, nothing of the group is to be written.
func admit(t *fastTxn, group []*enqueueCall, briefly bool) error {
	w := want(t, group)
	if len(w.keys) == 0 && len(w.batches) == 0 {
		return nil
	}
	if err := w.take(t, briefly); err != nil {
		return err
	}
	var refused refusedCalls
	for _, call := range group {
		if !call.waits {
			continue
		}
		if is, why := w.answer(t, call, refused); is {
			refused = refused.with(call, why)
		}
	}
	if len(refused) > 0 {
		return refused
	}
	return nil
}

// want collects what a group names. The first of the jobs with a key takes it.
func want(t *fastTxn, group []*enqueueCall) *wanted {
	w := &wanted{named: make(map[keyName]*wantedKey), batches: make(map[int64]*store.Batch)}
	for _, call := range group {
		if !call.waits {
			continue
		}
		for i := range call.jobs {
			n := &call.jobs[i]
			if n.Batch != 0 {
				w.batches[n.Batch] = nil
			}
			if name := nameOf(n); n.Key != "" && w.named[name] == nil {
				k := &wantedKey{name: name, call: call, job: n, id: n.ID, state: job.Waiting, digest: n.Digest, until: n.KeyEnd(t.Now())}
				w.named[name] = k
				w.keys = append(w.keys, k)
			}
		}
	}
	slices.SortFunc(w.keys, func(a, b *wantedKey) int { return compareNames(a.name, b.name) })
	return w
}

func nameOf(n *job.New) keyName { return keyName{n.Owner, n.Kind, n.Key} }

func compareNames(a, b keyName) int {
	return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key))
}

// take locks the batches, takes the keys that are free and looks at the others. Their rows are not
// locked: who asks for a known key waits for nobody else who does.
func (w *wanted) take(t *fastTxn, briefly bool) error {
	steps := lead(briefly)
	if len(w.batches) > 0 {
		ids := pg.Ints(len(w.batches))
		for id := range w.batches {
			ids.Int(id)
		}
		steps = append(steps, pg.Step{Q: joinBatches, Args: []any{ids}, Each: func(r sqlstore.Row) error {
			if r.Int(5) != 0 {
				return pg.ErrOvertaken
			}
			b := &store.Batch{ID: r.Int(0), State: job.BatchState(r.Int(1)), Task: store.BatchTask(r.Int(2))}
			b.ExpiresAt = job.Micros(r.Int(3))
			w.batches[b.ID] = b
			return nil
		}})
	}
	taken := make(map[job.ID]bool, len(w.keys))
	if len(w.keys) > 0 {
		steps = append(steps, takeStep(t, reserveKeys, w.keys, taken))
	}
	if err := t.send(steps...); err != nil || len(taken) == len(w.keys) {
		return err
	}
	known := slices.DeleteFunc(slices.Clone(w.keys), func(k *wantedKey) bool { return taken[k.job.ID] })
	ended, err := look(t, known)
	if err != nil || len(ended) == 0 {
		return err
	}
	clear(taken)
	step := takeStep(t, takeEnded, ended, taken)
	seen := pg.Ints(len(ended))
	for _, k := range ended {
		seen.Int(int64(k.seen))
	}
	step.Args = append(step.Args, seen)
	if err := t.send(step); err != nil {
		return err
	}
	if len(taken) != len(ended) {
		return sqlstore.ErrAgain
	}
	return nil
}

// takeStep takes keys, and notes the jobs that have got theirs.
func takeStep(t *fastTxn, q *sqlstore.Query, keys []*wantedKey, taken map[job.ID]bool) pg.Step {
	n := len(keys)
	owners, kinds, names, jobs, digests, until := pg.Texts(n), pg.Texts(n), pg.Texts(n), pg.Ints(n), pg.Blobs(n), pg.Ints(n)
	for _, k := range keys {
		owners.Text(k.name.owner)
		kinds.Text(k.name.kind)
		names.Text(k.name.key)
		jobs.Int(int64(k.job.ID))
		digests.Blob(pg.Present(k.job.Digest))
		until.SetInt(int64(k.until))
	}
	return pg.Step{Q: q, Args: []any{int64(t.Now()), owners, kinds, names, jobs, digests, until},
		Each: func(r sqlstore.Row) error { taken[job.ID(r.Int(0))] = true; return nil }}
}

// look reads the keys that are not free. It returns those whose jobs have ended and hold them no longer.
func look(t *fastTxn, known []*wantedKey) (ended []*wantedKey, err error) {
	owners, kinds, names := pg.Texts(len(known)), pg.Texts(len(known)), pg.Texts(len(known))
	for _, k := range known {
		owners.Text(k.name.owner)
		kinds.Text(k.name.kind)
		names.Text(k.name.key)
	}
	seen := 0
	err = t.send(pg.Step{Q: seeManyKeys, Args: []any{owners, kinds, names}, Each: func(r sqlstore.Row) error {
		k, state := known[r.Int(0)-1], cmp.Or(job.State(r.Int(3)), job.State(r.Int(4)), job.Completed)
		seen++
		if state.Terminal() && job.WhileAlive(k.name.key) {
			k.seen = job.Micros(r.Int(5))
			ended = append(ended, k)
			return nil
		}
		k.id, k.digest, k.state = job.ID(r.Int(1)), r.Blob(2), state
		return nil
	}})
	if err == nil && seen != len(known) { // one was removed meanwhile
		err = sqlstore.ErrAgain
	}
	return ended, err
}

// answer writes the receipts of a call. Is says that the call is refused.
func (w *wanted) answer(t *fastTxn, call *enqueueCall, refused refusedCalls) (is bool, why error) {
	call.receipts = receipts(call.jobs)
	for i := range call.jobs {
		n := &call.jobs[i]
		if k := w.named[nameOf(n)]; n.Key != "" && (k.id != k.job.ID || k.job != n) {
			if _, gone := refused[k.call]; gone && k.id == k.job.ID {
				return false, nil // the next try tells
			}
			if !bytes.Equal(k.digest, n.Digest) {
				return true, &store.KeyConflict{Index: i, Kind: n.Kind, Owner: n.Owner, Key: n.Key, ID: k.id}
			}
			call.receipts[i] = job.Receipt{ID: k.id, Existing: true, State: k.state}
			if k.id != k.job.ID {
				t.RelyOnEarlier()
			}
			continue
		}
		if n.Batch == 0 {
			continue
		}
		if b := w.batches[n.Batch]; b == nil || b.Check(storekit.JoinEvent(n), t.Now()) != nil {
			return true, nil
		}
	}
	return false, nil
}

// refusals are how often a group is tried without the calls that were refused. What is left then is
// written one by one.
const refusals = 4

// insert writes the jobs of a group, but for calls that are refused or need a look by
// themselves: these it returns, with why they are refused. Briefly says that it waits for locks for a
// short time only.
func (s *Store) insert(group []*enqueueCall, briefly bool) (apart refusedCalls, err error) {
	for range refusals {
		odd, err := s.insertOnce(without(group, apart), briefly)
		refused, some := errors.AsType[refusedCalls](err)
		for call := range odd {
			apart = apart.with(call, nil)
		}
		if !some {
			return apart, err
		}
		for call, why := range refused {
			apart = apart.with(call, why)
		}
		if len(apart) == len(group) {
			return apart, nil
		}
	}
	return apart, errOneByOne
}
