package storetest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// This file has the operations of a differential run on dead letters, redrives, retention and
// schedules.

// status draws a random status of a dead letter.
func (d *duel) status() job.Status {
	return pick(d.t, "status", job.Pending, job.Redriven, job.Resolved, job.Ignored)
}

// deadFilter draws a random filter. Most of these filters have only one field, so that they
// select some dead letters.
func (d *duel) deadFilter() (f store.DeadFilter) {
	t := d.t
	for range rapid.IntRange(0, 2).Draw(t, "number of fields") {
		switch pick(t, "field", "class", "group", "groups", "queue", "kind", "owner", "reason", "status", "since", "until", "text", "redrive",
			"batch", "worker", "correlation", "key", "attribute") {
		case "class":
			f.Class = pick(t, "class", "A", "B", job.ClassCrash)
		case "group":
			f.Group = d.fingerprint()
		case "groups":
			f.Groups = []string{d.fingerprint(), d.fingerprint()}
		case "queue":
			f.Queue = d.queue()
		case "kind":
			f.Kind = d.kind()
		case "owner":
			f.Owner = "alice"
		case "reason":
			f.Reason = pick(t, "reason", job.MaxRetries, job.NonRetriable, job.DeadlineOver, job.Stalled, job.ManualReview)
		case "status":
			f.Statuses = some(t, "statuses", 3, func(int) job.Status { return d.status() })
		case "since":
			f.Since = d.now().Add(-d.tick("since"))
		case "until":
			f.Until = d.now().Add(d.tick("until") - time.Minute)
		case "text":
			f.Text = pick(t, "text", "SIGN", "worker", "a", "nowhere")
		case "redrive":
			f.Redrive = rapid.Int64Range(1, 3).Draw(t, "redrive")
		case "batch":
			f.Batch = d.batch()
		case "worker":
			f.Worker = d.holder()
		case "correlation":
			f.Correlation = "req-7"
		case "key":
			f.Key, f.Kind, f.Owner = pick(t, "key", "k1", "k2", "k3", job.AliveKey+"a"), d.kind(), pick(t, "owner", "", "alice")
		case "attribute":
			f.Attr = store.Attr{Name: "a", Value: pick(t, "value", "1", "1", "2")}
		}
	}
	if f.Until != 0 && f.Until <= f.Since {
		f.Since = 0
	}
	return f
}

// fingerprint draws a fingerprint, in most cases the fingerprint of an existing group.
func (d *duel) fingerprint() string {
	if len(d.last.Groups) == 0 || chance(d.t, "other group", 8) {
		return "unheard"
	}
	i := rapid.IntRange(0, len(d.last.Groups)-1).Draw(d.t, "group")
	return d.last.Groups[i].Fingerprint
}

func (d *duel) act(do store.Act) store.Action {
	a := store.Action{Do: do, Note: pick(d.t, "note", "", "seen")}
	switch {
	case do == store.ActRetry && chance(d.t, "change", 2):
		a.Change = store.Change{
			Queue: pick(d.t, "to queue", "", "x", "z"), Priority: pick(d.t, "to priority", int8(0), 0, 1, 4), Once: chance(d.t, "once", 2),
			Override: pick(d.t, "to policy", nil, []byte{}, []byte(`{"p":1}`)), Delay: pick(d.t, "delay", nil, nil, new(time.Duration(0)), new(time.Second)),
		}
	case do == store.ActIgnore && chance(d.t, "for a time", 2):
		a.Until = d.now().Add(d.tick("ignored"))
	}
	return a
}

func (d *duel) drawAct() store.Act {
	return pick(d.t, "act", store.ActRetry, store.ActResolve, store.ActIgnore, store.ActReopen, store.ActPurge)
}

func (d *duel) actIDs() {
	a := d.act(d.drawAct())
	a.IDs = some(d.t, "ids", 1, func(int) job.ID { return d.id() })
	for i := range d.last.Dead {
		if chance(d.t, "dead letter", 3) {
			a.IDs = append(a.IDs, d.last.Dead[i].Job)
		}
	}
	// only a retry of a single job may also change the payload
	if a.Do == store.ActRetry && len(a.IDs) > 0 && chance(d.t, "one", 2) {
		a.IDs = a.IDs[len(a.IDs)-1:]
	}
	if len(a.IDs) == 1 && a.Do == store.ActRetry {
		a.Change.Payload = pick(d.t, "payload", nil, []byte("q"), make([]byte, 1025))
	}
	d.ask("Preview", func(s store.Store) (any, error) { return actedOf(s.Preview(ctx(), a)) })
	by := d.bySeen(a.IDs)
	got := d.each("Act", func(s store.Store) (any, error) { return actedOf(s.Act(ctx(), by, a)) })
	d.acted(a.Do, "act by id that is taken", got)
}

// acted records how many dead letters an action has changed, and whether it has removed data.
func (d *duel) acted(do store.Act, what string, a answer) {
	if done, ok := a.Value.(actAnswer); ok {
		d.did(what, int(done.Done))
		d.removed = d.removed || do == store.ActPurge && done.Done > 0
	}
}

// actAnswer holds those parts of an answer that must be equal for all stores. Other parts may
// differ, because the steps of two stores may have different sizes.
type actAnswer struct {
	Errors  []string
	Done    int64
	Through int64
}

func actedOf(a store.Acted, err error) (any, error) {
	return actAnswer{sentinels(a.Errors), a.Done, a.Through}, err
}

func (d *duel) actFilter() {
	a := d.act(d.drawAct())
	f := d.deadFilter()
	if a.Do == store.ActIgnore && chance(d.t, "whole group", 2) {
		f = store.DeadFilter{Group: d.fingerprint()}
		if chance(d.t, "several groups", 2) {
			f = store.DeadFilter{Groups: []string{d.fingerprint(), d.fingerprint()}}
		}
		a.Count = pick(d.t, "count", int64(0), 1, 2)
	}
	a.Filter, a.Limit = &f, pick(d.t, "limit", 0, 0, 1, 2)
	got := d.ask("Preview", func(s store.Store) (any, error) {
		p := a
		p.Limit = 0
		return actedOf(s.Preview(ctx(), p))
	})
	counted, ok := got.Value.(actAnswer)
	if a.Through = counted.Through; !ok || a.Through == 0 {
		return
	}
	by := d.by()
	got = d.each("Act", func(s store.Store) (any, error) {
		sum, a := actAnswer{Through: a.Through}, a
		for {
			answer, err := s.Act(ctx(), by, a)
			if sum.Done += answer.Done; err != nil || answer.Next == 0 {
				return sum, err
			}
			a.After = answer.Next
		}
	})
	d.acted(a.Do, "act by filter that changes something", got)
}

func (d *duel) readDead() {
	f, limit := d.deadFilter(), rapid.IntRange(0, 4).Draw(d.t, "limit")
	d.ask("DeadLetters", func(s store.Store) (any, error) {
		var all []store.DeadEntry
		p := store.DeadPaging{Limit: limit, Jobs: true}
		for {
			page, err := s.DeadLetters(ctx(), f, p)
			if all = append(all, page.Entries...); err != nil || page.Next == 0 {
				return all, err
			}
			p.Before = page.Next
		}
	})
	g := store.GroupFilter{
		Kind: pick(d.t, "kind", "", "", "a"), Class: pick(d.t, "class", "", "", "A"), Pending: chance(d.t, "pending", 3),
		Assignee: pick(d.t, "assignee", "", "", "ben"), Set: pick(d.t, "set", "", "", "s1"), State: pick(d.t, "state", "", "", store.GroupRegressed),
		Merge: chance(d.t, "merge", 2), Largest: chance(d.t, "largest", 2), Skip: rapid.IntRange(0, 2).Draw(d.t, "skip"), Limit: limit,
	}
	d.ask("Groups", func(s store.Store) (any, error) { return s.Groups(ctx(), g) })
	d.ask("DeadStats", func(s store.Store) (any, error) { return s.DeadStats(ctx()) })
	d.original(d.id())
	for _, o := range d.last.Originals { // also read all stored original values, because the random id above rarely has original values with a payload
		d.original(o.Job)
	}
	n := rapid.Int64Range(1, 3).Draw(d.t, "redrive")
	d.ask("Redrive", func(s store.Store) (any, error) { return s.Redrive(ctx(), n) })
	d.ask("RedriveList", func(s store.Store) (any, error) { return s.RedriveList(ctx()) })
	d.ask("Schedules", func(s store.Store) (any, error) { return s.CronSlots(ctx()) })
}

func (d *duel) startRedrive() {
	addP := []byte(`[{"op":"add","path":"/p","value":2}]`)
	f, by := d.deadFilter(), d.by()
	patch := pick(d.t, "patch", nil, nil, addP, addP, []byte(`[{"op":"eat","path":""}]`))
	if patch != nil && chance(d.t, "all dead letters", 2) { // random filters rarely find a payload that the patch fits
		f = store.DeadFilter{}
		d.endDead()
	}
	spec := store.RedriveSpec{
		Filter: f, Canary: pick(d.t, "canary", -1, 0, 1, 2, 3), Rate: pick(d.t, "rate", 0, 0, 1, 3), StopShare: pick(d.t, "share", 0, 1, 0.5),
		StopOther: pick(d.t, "other", 0, 1, 0.25), StopDead: pick(d.t, "dead", 0, 1, 0.5),
		Change: store.Change{Queue: pick(d.t, "to queue", "", "", "z"), Override: pick(d.t, "to policy", nil, nil, []byte{}, []byte(`{"p":2}`))},
		Key:    pick(d.t, "key", "", "", "a", "b"),
		Patch:  patch,
	}
	if spec.Patch != nil {
		spec.PayloadMax = pick(d.t, "payload max", 1_000, 1_000, 0, 5)
	}
	got := d.ask("Preview", func(s store.Store) (any, error) {
		return actedOf(s.Preview(ctx(), store.Action{Do: store.ActRetry, Filter: &f}))
	})
	if counted, ok := got.Value.(actAnswer); ok {
		spec.Through, spec.Total = counted.Through, counted.Done
	}
	d.each("StartRedrive", func(s store.Store) (any, error) { return s.StartRedrive(ctx(), by, spec) })
	if spec.Patch != nil {
		d.stepRedrives() // the dead letters of a small filter are often changed before the next random step
		d.stepRedrives() // it sees what the first has released
	}
	if chance(d.t, "control at once", 3) {
		d.controlRedrive()
	}
}

func (d *duel) stepRedrives() {
	limit := pick(d.t, "limit", 1, 2, 100)
	got := d.each("StepRedrives", func(s store.Store) (any, error) { return s.StepRedrives(ctx(), limit) })
	live := slices.ContainsFunc(d.last.Redrives, func(r store.Redrive) bool { return r.Live != nil && r.Released > 0 })
	for i := range d.last.Redrives {
		if r := &d.last.Redrives[i]; r.Patch != nil && r.Released > 0 {
			d.did("redrive that patches a payload", 1)
		}
	}
	if step, ok := got.Value.(store.RedriveStep); ok && live {
		d.did("live job that a redrive changes", int(step.Released))
	} else if ok {
		d.did("job that a redrive brings back", int(step.Released))
	}
}

func (d *duel) controlRedrive() {
	id, by := int64(rapid.IntRange(1, len(d.last.Redrives)+1).Draw(d.t, "redrive")), d.by()
	do := pick(d.t, "do", store.RedriveResume, store.RedriveProceed, store.RedrivePause, store.RedriveCancel, "explode")
	if chance(d.t, "seen redrive", 3) {
		by.Seen = &store.Seen{Redrive: new(pick(d.t, "seen state", store.RedriveRamping, store.RedrivePaused, store.RedriveCanary))}
	}
	d.each("ControlRedrive", func(s store.Store) (any, error) { return s.ControlRedrive(ctx(), by, id, do) })
}

// sweep makes a sweep with steps that are large enough to remove everything at once, because two
// stores may remove different rows in a smaller step.
func (d *duel) sweep() {
	if chance(d.t, "of what was ignored for a time", 2) {
		d.ignore()
	}
	if chance(d.t, "later", 2) {
		d.clock.Advance(pick(d.t, "much later", time.Hour, 24*time.Hour, 31*24*time.Hour))
	}
	age := func(what string) time.Duration {
		return pick(d.t, what, 0, 0, time.Minute, time.Hour, 24*time.Hour)
	}
	keep := store.Retention{
		Completed: age("completed"), Failures: age("failures"), Dead: age("dead"), Events: age("events"), Batches: age("batches"),
		DropPending: chance(d.t, "pending too", 4),
	}
	if d.apart && (keep.Events > 0 || keep.Completed > 0) {
		d.mark()
	}
	if keep.Completed > 0 {
		d.noteEnded()
	}
	got := d.each("Sweep", func(s store.Store) (any, error) {
		swept, err := s.Sweep(ctx(), keep, store.SweepMax)
		if d.apart { // the ends of batches may be in commits of their own, which count, too
			swept.Events = min(swept.Events, 1)
		}
		return swept, err
	})
	if swept, ok := got.Value.(store.Swept); ok {
		if swept.Removed() {
			d.removed = true
			d.did("removal by a sweep", 1)
		}
		d.did("reopening by a sweep", int(swept.Reopened))
	}
}

// ignore ignores all dead letters for a limited time, so that a later sweep has dead letters
// to make pending again.
func (d *duel) ignore() {
	a := store.Action{Do: store.ActIgnore, Until: d.now().Add(time.Minute)}
	for i := range d.last.Dead {
		a.IDs = append(a.IDs, d.last.Dead[i].Job)
	}
	if by := d.by(); len(a.IDs) > 0 {
		d.each("Act", func(s store.Store) (any, error) { return actedOf(s.Act(ctx(), by, a)) })
	}
}

// mark makes a job and lets it end in a separate commit. A sweep keeps the job that ended last and
// the events of the last commit. Without mark, several jobs could have ended last in the same
// exchange, and two stores could keep different jobs.
func (d *duel) mark() {
	first := d.reserve(1)
	n := job.New{ID: first, Kind: "mark", Queue: "mark", Priority: job.PriorityDefault}
	d.each("Enqueue", func(s store.Store) (any, error) { return s.Enqueue(ctx(), []job.New{n}) })
	d.each("Cancel", func(s store.Store) (any, error) {
		errs, err := s.Cancel(ctx(), person, []job.ID{first})
		return sentinels(errs), err
	})
}

func (d *duel) fire() {
	first := d.reserve(1)
	jobs := []job.New{d.newJob(first)}
	name, slot := pick(d.t, "schedule", "s1", "s2", "no good"), d.now().Add(pick(d.t, "slot", -time.Minute, 0, time.Microsecond))
	expression := pick(d.t, "expression", "* * * * * UTC", "@every 1s")
	got := d.each("Fire", func(s store.Store) (any, error) { return s.Fire(ctx(), name, expression, slot, jobs) })
	if fired, ok := got.Value.(store.Fired); ok && fired.Fired {
		d.did("slot that is fired", 1)
		if r := fired.Receipts[0]; r.ID == first && !r.Existing {
			d.ids = append(d.ids, first)
		}
	}
}

func (d *duel) setSchedule() {
	name, paused, by := pick(d.t, "schedule", "s1", "s2", "no good"), chance(d.t, "paused", 2), d.by()
	d.each("SetSchedule", func(s store.Store) (any, error) { return s.SetSchedule(ctx(), by, name, paused) })
}

func (d *duel) runSchedule() {
	first := d.reserve(1)
	jobs := []job.New{d.newJob(first)}
	name, by := pick(d.t, "schedule", "s1", "s2", "no good"), d.by()
	got := d.each("RunSchedule", func(s store.Store) (any, error) { return s.RunSchedule(ctx(), by, name, jobs) })
	if receipts, ok := got.Value.([]job.Receipt); ok && len(receipts) > 0 && receipts[0].ID == first && !receipts[0].Existing {
		d.ids = append(d.ids, first)
	}
}

func (d *duel) publish() {
	hash, by := pick(d.t, "hash", "h1", "h2"), d.by()
	d.each("PublishPolicy", func(s store.Store) (any, error) {
		return nil, s.PublishPolicy(ctx(), by, store.StoredPolicy{Hash: hash, Name: "n", Body: []byte(hash)})
	})
	d.ask("Policy", func(s store.Store) (any, error) { return s.Policy(ctx(), hash) })
	d.ask("PolicyList", func(s store.Store) (any, error) { return s.PolicyList(ctx()) })
}

func (d *duel) original(id job.ID) {
	d.ask("Original", func(s store.Store) (any, error) { return s.Original(ctx(), id) })
}

// present registers a random process. Sometimes it also orders a process to be quiet.
func (d *duel) present() {
	t := d.t
	p := process(d.holder(), pick(t, "instance", "1", "2"))
	p.Running, p.Build, p.Left = rapid.IntRange(0, 2).Draw(t, "running"), pick(t, "build", "", "b7"), chance(t, "left", 5)
	if chance(t, "sick", 3) {
		p.Sick = []store.Sickness{{Kind: pick(t, "sick kind", "", kind), Cause: "no program"}}
	}
	if chance(t, "later", 3) {
		d.clock.Advance(pick(t, "silence", store.SilentAfter, store.SilentAfter, store.SilentAfter, store.SilentKept))
	}
	before := len(d.last.Events)
	d.each("Present", func(s store.Store) (any, error) { return s.Present(ctx(), p) })
	for _, e := range d.last.Events[min(before, len(d.last.Events)):] {
		if e.Type == event.ProcessSilent {
			d.did("process that is found silent", 1)
		}
	}
	d.ask("Processes", func(s store.Store) (any, error) { return s.Processes(ctx()) })
	if by, name, quiet := d.by(), d.holder(), chance(t, "quiet", 2); chance(t, "order", 2) {
		d.each("OrderProcess", func(s store.Store) (any, error) { return nil, s.OrderProcess(ctx(), by, name, quiet) })
	}
}
