package storetest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The operations of a differential run on live jobs.

// drawAlter draws a change of live jobs. It has no payload.
func (d *duel) drawAlter() store.Change {
	t := d.t
	return store.Change{
		Queue: pick(t, "to queue", "", "", "x", "y", "z"), Priority: pick(t, "to priority", int8(0), 0, 1, 4), Once: chance(t, "once", 20),
		Override: pick(t, "to policy", nil, nil, []byte{}, []byte(`{"p":3}`)),
		Delay:    pick(t, "delay", nil, new(time.Duration(0)), new(time.Second), new(time.Minute)),
	}
}

func (d *duel) alter() {
	c := d.drawAlter()
	ids := some(d.t, "ids", 2, func(int) job.ID { return d.id() })
	for i := range d.last.Jobs {
		if j := &d.last.Jobs[i]; j.State.Ready() && chance(d.t, "ready job", 3) {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) > 0 && chance(d.t, "one", 2) { // only a change of a single job may include the payload
		ids = ids[len(ids)-1:]
		c.Payload = pick(d.t, "payload", nil, []byte("q"), []byte("p"), make([]byte, 1025))
	}
	by := d.bySeen(ids)
	a := d.each("Alter", func(s store.Store) (any, error) {
		errs, err := s.Alter(ctx(), by, ids, c)
		return sentinels(errs), err
	})
	d.did("alter that is taken", accepted(a))
}

// liveAction draws an action on live jobs.
func (d *duel) liveAction() store.LiveAction {
	t := d.t
	a := store.LiveAction{Do: pick(t, "do", store.LiveCancel, store.LiveAlter)}
	if a.Do == store.LiveAlter {
		a.Change = d.drawAlter()
	}
	f := &a.Filter
	for range rapid.IntRange(0, 2).Draw(t, "number of fields") {
		switch pick(t, "field", "kind", "queue", "owner", "state", "batch", "correlation", "attribute", "created", "due", "class", "text", "worker") {
		case "kind":
			f.Kind = d.kind()
		case "queue":
			f.Queue = d.queue()
		case "owner":
			f.Owner = "alice"
		case "state":
			f.States = some(t, "states", 2, func(int) job.State { return pick(t, "state", job.Waiting, job.Retrying, job.Running) })
		case "batch":
			f.Batch = d.batch()
		case "correlation":
			f.Correlation = "req-7"
		case "attribute":
			f.Attr = store.Attr{Name: "a", Value: "1"}
		case "created":
			f.Created.Until = d.now().Add(pick(t, "created until", time.Microsecond, -time.Second))
		case "due":
			f.Due.Since = d.now()
		case "class":
			f.Class = "A"
		case "text":
			f.Text = pick(t, "text", "SIGN", "nowhere")
		case "worker":
			f.Worker = d.holder()
		}
	}
	return a
}

// liveAnswer is the part of an answer that must be equal for all stores.
type liveAnswer struct {
	Done    int64
	Through job.ID
	At      job.Micros
}

func liveOf(a store.LiveActed, err error) (any, error) {
	return liveAnswer{a.Done, a.Through, a.At}, err
}

// actLive counts the jobs that an action on live jobs selects. Sometimes it then enqueues more
// jobs. At the end, it makes the steps of the action or starts a redrive with the action.
func (d *duel) actLive() {
	a := d.liveAction()
	got := d.ask("PreviewLive", func(s store.Store) (any, error) { return liveOf(s.PreviewLive(ctx(), a)) })
	counted, ok := got.Value.(liveAnswer)
	if !ok || counted.Through == 0 {
		return
	}
	a.Through, a.At = counted.Through, counted.At
	if chance(d.t, "enqueued meanwhile", 4) {
		d.enqueue()
	}
	by := d.by()
	if chance(d.t, "as a redrive", 3) {
		spec := store.RedriveSpec{
			Live: &store.LiveSpec{Do: a.Do, Filter: a.Filter, At: a.At}, Through: int64(a.Through), Total: max(1, counted.Done), Change: a.Change,
			Rate: pick(d.t, "rate", 0, 0, 2),
		}
		d.each("StartRedrive", func(s store.Store) (any, error) { return s.StartRedrive(ctx(), by, spec) })
		return
	}
	a.Limit = pick(d.t, "limit", 0, 0, 1, 2)
	got = d.each("ActLive", func(s store.Store) (any, error) {
		sum, a := liveAnswer{Through: a.Through, At: a.At}, a
		for {
			answer, err := s.ActLive(ctx(), by, a)
			if sum.Done += answer.Done; err != nil || answer.Next == 0 {
				return sum, err
			}
			a.After = answer.Next
		}
	})
	if done, ok := got.Value.(liveAnswer); ok {
		d.did("act on live jobs that changes something", int(done.Done))
	}
}
