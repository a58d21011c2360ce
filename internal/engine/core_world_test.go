package engine

import (
	"context"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// world is one core on a memory store. The test does the work of the loop, in random order: calls
// take effect late, answers arrive late or are errors, and handlers return or hang.
type world struct {
	t     *rapid.T
	now   time.Duration
	store *memory.Store
	core  *Core
	calls []*pendingCall
	runs  []*Task // the tasks whose handlers are running
	stuck []*Task // the abandoned tasks whose handlers have not returned
	ended map[*Task]bool
	stops bool

	late      bool // whether the store reports every second outcome of an exchange as late
	completed map[job.ID]int
	starts    int
	faults    int
}

// pendingCall is a call of the store. Its function executes the call and returns the answer as an
// event.
type pendingCall struct {
	run   func() Event
	fail  func(error) Event
	event Event
}

const worldWorkers, worldLease = 3, 10 * time.Second

// newWorld makes a world. The given function, if any, changes the configuration of its core.
func newWorld(t *rapid.T, change func(*Config)) *world {
	w := &world{t: t, ended: map[*Task]bool{}, completed: map[job.ID]int{}}
	w.store = memory.New(memory.Options{Clock: func() time.Time { return time.Unix(1e9, 0).Add(w.now) }})
	cfg := Config{
		Store: w.store, Holder: "me", Lease: worldLease, Decide: func(*job.Claim, *job.Ending) job.Outcome { return job.Outcome{} },
		Queues: []Queue{{Name: "q", Workers: worldWorkers}, {Name: "r", Workers: 1}},
		Kinds: []Kind{
			{Name: "k", Timeout: time.Minute, Handler: func(context.Context, *Run) error { return nil }},
			{Name: "l", Workers: 2, Handler: func(context.Context, *Run) error { return nil }},
		},
		Rand: func() float64 { return 0 },
	}
	if change != nil {
		change(&cfg)
	}
	core, err := NewCore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.core = core
	return w
}

// step calls Core.Step and executes the returned actions.
func (w *world) step(events ...Event) {
	a := w.core.Step(w.now, events...)
	if a.Wake <= w.now {
		w.t.Fatalf("the core asks for its next step at %s, want a time after the present time, %s", a.Wake, w.now)
	}
	for _, t := range a.Start {
		if w.stops {
			w.t.Fatal("a run was started after the core had stopped, want no start")
		}
		w.starts++
		w.runs = append(w.runs, t)
	}
	for _, t := range slices.Concat(a.Written, a.Dropped) {
		if w.ended[t] {
			w.t.Fatalf("the context of run %d of job %d was ended twice, want once", t.Claim.Token, t.Claim.ID)
		}
		w.ended[t] = true
	}
	for _, t := range a.Written {
		if t.Outcome.Cause == job.Succeeded {
			w.completed[t.Claim.ID]++
		}
	}
	w.send(a)
	w.stops = w.stops || a.Stopped
	w.check()
	for _, t := range slices.Clone(a.Abandon) {
		w.runs = slices.DeleteFunc(w.runs, func(r *Task) bool { return r == t })
		w.stuck = append(w.stuck, t)
		t.Stuck = true
		w.conclude(t, job.Failed)
	}
}

func (w *world) check() {
	perKind := map[string]int{}
	perQueue := map[string]int{}
	for _, t := range slices.Concat(w.runs, w.stuck, w.beginning()) {
		perKind[t.kind.Name]++
		perQueue[t.queue.Name]++
	}
	for _, q := range w.core.queues {
		if q.busy != perQueue[q.Name] || q.busy > q.Workers {
			w.t.Fatalf("queue %s counts %d of %d workers as busy, want %d", q.Name, q.busy, q.Workers, perQueue[q.Name])
		}
	}
	for _, k := range w.core.kinds {
		if k.busy != perKind[k.Name] || k.Workers > 0 && k.busy > k.Workers {
			w.t.Fatalf("kind %s counts %d of %d workers as busy, want %d", k.Name, k.busy, k.Workers, perKind[k.Name])
		}
	}
}

// beginning returns the tasks that have a slot and wait for their begin call.
func (w *world) beginning() []*Task {
	return slices.DeleteFunc(slices.Clone(w.core.tasks), func(t *Task) bool { return t.phase != beginning })
}

func (w *world) send(a *Actions) {
	ctx := context.Background()
	add := func(run func() Event, fail func(error) Event) {
		w.calls = append(w.calls, &pendingCall{run: run, fail: fail})
	}
	if a.Exchange != nil {
		x := *a.Exchange
		x.Settle, x.Want = slices.Clone(x.Settle), slices.Clone(x.Want)
		add(func() Event { answer, err := w.exchange(x); return Exchanged{answer, err} },
			func(err error) Event { return Exchanged{Err: err} })
	}
	if a.Late != nil {
		x := *a.Late
		x.Settle = slices.Clone(x.Settle)
		add(func() Event { answer, err := w.exchange(x); return LateAsked{answer, err} },
			func(err error) Event { return LateAsked{Err: err} })
	}
	if len(a.Beat) > 0 {
		beat := store.Beat{Lease: worldLease}
		for _, t := range a.Beat {
			beat.Runs = append(beat.Runs, t.name())
		}
		add(func() Event { status, err := w.store.Heartbeat(ctx, beat); return Beaten{status, err} },
			func(err error) Event { return Beaten{Err: err} })
	}
	if len(a.Begin) > 0 {
		beat := store.Beat{Lease: worldLease, Begin: true}
		for _, t := range a.Begin {
			beat.Runs = append(beat.Runs, t.name())
		}
		add(func() Event { status, err := w.store.Heartbeat(ctx, beat); return Begun{status, err} },
			func(err error) Event { return Begun{Err: err} })
	}
	if limit := a.Rescue; limit > 0 {
		add(func() Event {
			rescue, err := w.store.Rescue(ctx, limit)
			return Rescued{len(rescue.Jobs), rescue.NextExpiry, err}
		},
			func(err error) Event { return Rescued{Err: err} })
	}
	if a.Signals {
		add(func() Event { signals, err := w.store.Signals(ctx, "me"); return SignalsRead{signals, err} },
			func(err error) Event { return SignalsRead{Err: err} })
	}
	if a.Declare {
		add(func() Event { return Declared{w.store.Declare(ctx, []string{"q", "r"})} },
			func(err error) Event { return Declared{err} })
	}
}

// exchange calls the store. It may report some outcomes as late.
func (w *world) exchange(x store.Exchange) (store.Exchanged, error) {
	all := x.Settle
	if w.late {
		x.Settle = nil
		for i := 1; i < len(all); i += 2 {
			x.Settle = append(x.Settle, all[i])
		}
	}
	answer, err := w.store.Exchange(context.Background(), x)
	if err != nil || !w.late {
		return answer, err
	}
	written := answer.Settled
	answer.Settled = make([]error, len(all))
	for i := range all {
		if answer.Settled[i] = store.ErrUnavailable; i%2 == 1 {
			answer.Settled[i] = written[i/2]
		}
	}
	return answer, nil
}

// advance executes a pending call, or delivers its answer.
func (w *world) advance(c *pendingCall, fault int) {
	if c.event != nil {
		w.calls = slices.DeleteFunc(w.calls, func(o *pendingCall) bool { return o == c })
		w.step(c.event)
		return
	}
	switch fault {
	case 1: // The call fails and has no effect.
		w.faults++
		c.event = c.fail([]error{store.ErrFull, store.ErrUnavailable}[w.faults%2])
	case 2: // The call takes effect and then returns an error.
		w.faults++
		c.run()
		c.event = c.fail(store.ErrUnknown)
	case 3:
		w.faults++
		w.late = true
		c.event = c.run()
		w.late = false
	default:
		c.event = c.run()
	}
}

// conclude gives a run an outcome. In production the loop and a policy do this.
func (w *world) conclude(t *Task, cause job.Cause) {
	to := job.Completed
	switch cause {
	case job.Failed:
		to = job.Retrying
	case job.Interrupted:
		to = job.Waiting
	case job.Cancel:
		to = job.Cancelled
	default: // The run succeeded.
	}
	t.settle(cause, to)
	if cause == job.Failed {
		t.Outcome.Failure = &job.Failure{Class: "Test", How: job.ByError}
		if t.Claim.Attempt() >= 3 {
			t.Outcome.To, t.Outcome.Reason = job.Dead, job.MaxRetries
		}
	}
	w.step(Finished{[]*Task{t}})
}

// finish lets a running handler return.
func (w *world) finish(t *Task, cause job.Cause) {
	w.runs = slices.DeleteFunc(w.runs, func(r *Task) bool { return r == t })
	switch {
	case cause == job.Succeeded:
	case t.Cause == ErrLeaseLost || t.Cause == ErrInterrupted:
		cause = job.Interrupted
	case t.Cause == ErrCancelled:
		cause = job.Cancel
	}
	w.conclude(t, cause)
}

// unstick lets the handler of an abandoned task return.
func (w *world) unstick(i int) {
	back := w.stuck[i]
	w.stuck = slices.Delete(w.stuck, i, i+1)
	w.step(Unstuck{[]*Task{back}})
}

func (w *world) enqueue(n int) {
	first, err := w.store.ReserveIDs(context.Background(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	var jobs []job.New
	for i := range n {
		jobs = append(jobs, job.New{
			ID: first + job.ID(i), Queue: []string{"q", "r"}[i%2], Kind: []string{"k", "l"}[i/2%2], Priority: 2,
		})
	}
	if _, err := w.store.Enqueue(context.Background(), jobs); err != nil {
		w.t.Fatal(err)
	}
	w.step(Woken{})
}

// act executes one randomly chosen action of the store, a handler or a person.
func (w *world) act() {
	t := w.t
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "which") }
	switch rapid.IntRange(0, 11).Draw(t, "action") {
	case 0:
		w.enqueue(rapid.IntRange(1, 6).Draw(t, "jobs"))
	case 1:
		w.now += time.Duration(rapid.IntRange(1, 15).Draw(t, "seconds")) * time.Second
		w.step()
	case 2:
		w.now += time.Duration(rapid.IntRange(0, 500).Draw(t, "ms")) * time.Millisecond
		w.step()
	case 3, 4:
		if len(w.runs) > 0 {
			cause := []job.Cause{job.Succeeded, job.Failed}[pick(2)]
			w.finish(w.runs[pick(len(w.runs))], cause)
		}
	case 5:
		if len(w.stuck) > 0 {
			w.unstick(pick(len(w.stuck)))
		}
	case 6:
		w.person()
	case 7: // Another process acts on the store.
		x := store.Exchange{Holder: "other", Lease: worldLease, Want: []store.Want{
			{Queue: "q", Max: 1, Kinds: []store.KindWant{{Kind: "k", Max: 1, MaxCrashes: job.MaxCrashes}}},
		}}
		if _, err := w.store.Exchange(context.Background(), x); err != nil {
			t.Fatal(err)
		}
	default:
		if len(w.calls) > 0 {
			w.advance(w.calls[pick(len(w.calls))], rapid.IntRange(0, 5).Draw(t, "fault"))
		}
	}
}

// person cancels a job or changes a queue, as a user would.
func (w *world) person() {
	ctx, by := context.Background(), store.By{Actor: "test"}
	if rapid.Bool().Draw(w.t, "cancel") {
		id := job.ID(rapid.IntRange(1, 30).Draw(w.t, "job"))
		if _, err := w.store.Cancel(ctx, by, []job.ID{id}); err != nil {
			w.t.Fatal(err)
		}
	} else {
		mode := store.Mode(rapid.IntRange(0, 1).Draw(w.t, "mode"))
		// Ignore the error, because the queue may not exist yet.
		_, _ = w.store.SetQueue(ctx, by, store.QueueChange{Name: "q", Mode: &mode})
	}
	w.step(Woken{})
}

// heal ends all faults and continues until the core has nothing left to do.
func (w *world) heal() {
	mode := store.Open
	_, _ = w.store.SetQueue(context.Background(), store.By{Actor: "test"}, store.QueueChange{Name: "q", Mode: &mode})
	for round := 0; ; round++ {
		for len(w.calls) > 0 {
			w.advance(w.calls[0], 0)
		}
		for len(w.runs) > 0 {
			w.finish(w.runs[0], job.Succeeded)
		}
		for len(w.stuck) > 0 {
			w.unstick(0)
		}
		if w.stops || round > 200 && w.core.Idle() && len(w.calls) == 0 {
			return
		}
		if round > 5000 {
			w.t.Fatalf("%s after the start of the test, and long after the last fault, there are still %d tasks and %d calls, want none", w.now, len(w.core.tasks), len(w.calls))
		}
		w.now += 500 * time.Millisecond
		w.step()
	}
}
