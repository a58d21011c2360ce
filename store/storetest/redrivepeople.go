package storetest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: D7
func redriveControls(r *rig) {
	r.dieAll(40, "A")
	id := r.startRedrive(canaryOf(2)).ID
	control := func(do store.RedriveOp, want store.RedriveState) {
		d, err := r.ControlRedrive(ctx(), person, id, do)
		r.ok(err)
		same(r, "state after "+string(do), d.State, want)
		same(r, "state that is kept", r.redrive(id), d)
		r.unchanged(func() { // making the same request again changes nothing
			_, err := r.ControlRedrive(ctx(), person, id, do)
			r.ok(err)
		})
	}
	refused := func(ops ...store.RedriveOp) {
		r.unchanged(func() {
			for _, do := range ops {
				_, err := r.ControlRedrive(ctx(), person, id, do)
				r.is(err, store.ErrConflict)
			}
		})
	}
	control(store.RedrivePause, store.RedrivePaused)
	refused(store.RedriveProceed)
	s := r.step(100)
	same(r, "step of a paused redrive", []any{s.Active, s.Released, s.Wait}, []any{0, int64(0), store.Never})
	control(store.RedriveResume, store.RedriveCanary)
	same(r, "canaries", r.step(100).Released, int64(2))
	control(store.RedriveProceed, store.RedriveRamping)
	same(r, "limit of a step", r.step(7).Released, int64(7))
	control(store.RedrivePause, store.RedrivePaused)
	r.answer(9, "") // jobs that were released before the pause continue to run
	same(r, "paused", r.step(100).Released, int64(0))
	control(store.RedriveResume, store.RedriveRamping)
	same(r, "resumed", r.step(11).Released, int64(11))
	control(store.RedriveCancel, store.RedriveCancelled)
	refused(store.RedrivePause, store.RedriveResume, store.RedriveProceed)
	same(r, "cancelled", r.step(100).Released, int64(0))
	r.answer(11, "")
	d := r.redrive(id)
	same(r, "end", []any{d.State, d.Released, d.Completed}, []any{store.RedriveCancelled, int64(20), int64(20)})
	_, err := r.ControlRedrive(ctx(), person, 99, store.RedrivePause)
	r.is(err, store.ErrNotFound)
	_, err = r.ControlRedrive(ctx(), person, id, "explode")
	r.is(err, store.ErrInvalid)
}

// proves: D7
// part of: D5
func redrivePerson(r *rig) {
	all := r.dieAll(3, "A")
	id := r.startRedrive(canaryOf(1)).ID
	r.ok(r.retry(all[1])) // a person retries this job before the redrive reaches it
	r.ok(r.actOn(store.ActResolve, all[2]))
	r.step(100)
	r.end(succeeded(r.takeID(all[1])))
	r.end(died(r.takeID(all[0]), "A", job.NonRetriable))
	r.ok(r.retry(all[0])) // a person and not the redrive retries this job
	r.end(succeeded(r.takeID(all[0])))
	same(r, "redrive of the entry", r.letter(all[1]).Redrive, int64(0))
	d := r.redrive(id)
	same(r, "numbers", []int64{d.Released, d.Answered, d.Again, d.Dead, d.Completed}, []int64{1, 1, 1, 1, 0})
	r.step(100) // the redrive completes, because there are no further jobs to release
	r.state(all[2], job.Dead)
	same(r, "state", r.redrive(id).State, store.RedriveEnded)
}

// proves: D7, Q9
func redrivesAreAudited(r *rig) {
	r.dieAll(2, "A")
	after := r.cursor()
	d := r.startRedrive(canaryOf(1), func(s *store.RedriveSpec) { s.Filter.Class = "A" })
	r.step(100)
	r.answer(1, "A")
	r.step(100)
	_, err := r.ControlRedrive(ctx(), person, d.ID, store.RedriveResume)
	r.ok(err)
	r.step(100)
	r.answer(1, "")
	r.step(100)
	var rows []string
	for _, a := range r.audit() {
		same(r, "target", a.Target, "1")
		rows = append(rows, fmt.Sprintf("%s: %s %s>%s", a.Actor, a.Action, a.Before, a.After))
	}
	same(r, "audit", rows, []string{
		`ann: redrive.start >{"filter":{"statuses":["pending"],"class":"A"},"through":2,"total":2,"canary":1,"stop_share":0.2,"stop_other":0.5,"stop_dead":0.2,"change":{"priority":4,"once":true}}`,
		`redrive 1: redrive.release >{"done":1}`,
		"redrive: redrive.stop canary>stopped",
		"ann: redrive.resume stopped>canary",
		`redrive 1: redrive.release >{"done":1}`,
		"redrive: redrive.end settling>ended",
	})
	var changes []string
	for _, e := range r.events(after) {
		if e.Type == event.RedriveChanged {
			same(r, "number", e.Note, "1")
			changes = append(changes, e.Reason)
		}
	}
	same(r, "events", strings.Join(changes, " "), "canary stopped canary settling ended")
}

// proves: D7
func redrivesAreListed(r *rig) {
	r.dieAll(2, "A")
	first, second := r.startRedrive(), r.startRedrive(canaryOf(3))
	list, err := r.RedriveList(ctx())
	r.ok(err)
	same(r, "list", list, []store.Redrive{second, first})
	all := store.RedriveSpec{
		Filter: store.DeadFilter{
			Statuses: []job.Status{job.Pending, job.Ignored}, Reason: job.Stalled, Class: "C", Kind: "k", Queue: "q", Owner: "o",
			Group: "g", Since: r.start, Until: r.start + 1, Text: "t", Redrive: 1,
		},
		Through: 2, Total: 1, Change: store.Change{Queue: "night", Priority: 3, Once: true, Override: []byte("{}")}, Canary: 5, Rate: 6, StopShare: 0.7, StopOther: 0.8, StopDead: 0.9,
		Key: "key",
	}
	whole, err := r.StartRedrive(ctx(), person, all)
	r.ok(err)
	same(r, "all that was wanted", r.redrive(whole.ID).RedriveSpec, all)
	same(r, "defaults", []any{first.Canary, first.StopShare, first.StopOther, first.StopDead, first.Change.Priority, first.By, first.Reason, first.CreatedAt},
		[]any{store.CanaryDefault, store.StopDefault, store.StopOtherDefault, store.StopDeadDefault, int8(store.RedrivePriority), person.Actor, person.Reason, r.now()})
	_, err = r.Redrive(ctx(), 99)
	r.is(err, store.ErrNotFound)
	// Two redrives select the same jobs. Only one of them releases each job.
	same(r, "released", r.step(100).Released, int64(2))
	same(r, "lives", []int32{r.get(1).Life, r.get(2).Life}, []int32{2, 2})
	r.answer(2, "")
	r.step(100)
	for _, id := range []int64{first.ID, second.ID} {
		same(r, "state", r.redrive(id).State, store.RedriveCompleted)
	}
}

// proves: D7
func aKeyStartsOne(r *rig) {
	r.die("A")
	r.die("B")
	key := func(key string) func(*store.RedriveSpec) {
		return func(s *store.RedriveSpec) { s.Key = key }
	}
	first := r.startRedrive(key("monday"))
	r.unchanged(func() {
		again := r.startRedrive(key("monday"), canaryOf(-1), func(s *store.RedriveSpec) { s.Filter.Class = "B" })
		same(r, "asked again", again, first)
	})
	other, third, fourth := r.startRedrive(key("tuesday")), r.startRedrive(), r.startRedrive()
	same(r, "others", []int64{other.ID, third.ID, fourth.ID}, []int64{first.ID + 1, first.ID + 2, first.ID + 3})
	same(r, "key", []string{r.redrive(first.ID).Key, r.redrive(third.ID).Key}, []string{"monday", ""})
	_, err := r.ControlRedrive(ctx(), person, first.ID, store.RedriveCancel)
	r.ok(err)
	ended := r.redrive(first.ID)
	same(r, "after its end", r.startRedrive(key("monday")), ended)
}

// proves: D7, D3
//
// The store keeps the whole filter of a redrive, and the redrive retries only the dead letters that
// the filter selects.
func redriveKeepsItsFilter(r *rig) {
	at := r.now()
	r.die("A")
	id := r.die("A", func(n *job.New) {
		n.Owner, n.Correlation, n.Batch, n.Attrs, n.Key, n.Digest = "alice", "req-7", 4, []byte(`{"bucket":"photos"}`), "order-1", []byte("d")
	})
	for _, f := range []store.DeadFilter{
		{Attr: store.Attr{Name: "bucket", Value: "photos"}}, {Correlation: "req-7"}, {Batch: 4, Worker: holder}, {Kind: kind, Owner: "alice", Key: "order-1"},
		{Owner: "alice", Class: "A", Kind: kind, Queue: queue, Group: "A|" + kind, Reason: job.NonRetriable, Since: at, Until: r.in(time.Hour), Text: "Side"},
	} {
		d := r.startRedrive(func(s *store.RedriveSpec) { s.Filter, s.Canary = f, -1 })
		f.Statuses = []job.Status{job.Pending}
		same(r, "filter of the redrive", r.redrive(d.ID).Filter, f)
		same(r, fmt.Sprintf("number of jobs retried by %+v", f), r.step(100).Released, int64(1))
		r.end(died(r.takeID(id), "A", job.NonRetriable))
		for r.step(100).Active > 0 {
			r.clock.Advance(time.Minute)
		}
	}
}

// proves: X3
func redriveBounds(r *rig) {
	r.die("A")
	r.unchanged(func() {
		for _, bend := range []func(*store.RedriveSpec){
			func(s *store.RedriveSpec) { s.Through = 0 },
			func(s *store.RedriveSpec) { s.Total = 0 },
			func(s *store.RedriveSpec) { s.Canary = store.CanaryMax + 1 },
			func(s *store.RedriveSpec) { s.Rate = -1 },
			func(s *store.RedriveSpec) { s.Rate = store.RedriveRateMax + 1 },
			func(s *store.RedriveSpec) { s.StopShare = 1.1 },
			func(s *store.RedriveSpec) { s.StopOther = -0.1 },
			func(s *store.RedriveSpec) { s.StopDead = math.NaN() },
			func(s *store.RedriveSpec) { s.Change.Payload = []byte("p") },
			func(s *store.RedriveSpec) { s.Change.Delay = new(time.Second) },
			func(s *store.RedriveSpec) { s.Patch = []byte(`[{"op":"eat","path":""}]`) },
			func(s *store.RedriveSpec) { s.PayloadMax = 1 },
			func(s *store.RedriveSpec) {
				s.Patch, s.PayloadMax = []byte(`[{"op":"remove","path":"/a"}]`), job.PayloadMax+1
			},
			func(s *store.RedriveSpec) { s.Filter.Owner = "\xff" },
			func(s *store.RedriveSpec) { s.Filter.Groups = []string{"\xff"} },
			func(s *store.RedriveSpec) { s.Filter.Attr = store.Attr{Name: "a", Value: "\xff"} },
		} {
			spec := store.RedriveSpec{Through: 1, Total: 1}
			bend(&spec)
			_, err := r.StartRedrive(ctx(), person, spec)
			r.is(err, store.ErrInvalid)
		}
		_, err := r.StartRedrive(ctx(), person, store.RedriveSpec{Through: 1, Total: 1, Key: strings.Repeat("k", job.TextMax+1)})
		r.is(err, store.ErrTooLarge)
		for _, limit := range []int{0, store.StepMax + 1} {
			_, err := r.StepRedrives(ctx(), limit)
			r.is(err, store.ErrInvalid)
		}
	})
}
