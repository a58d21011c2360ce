package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A history is a table of what happens to one job. Each row has a time, an action, and the values
// that the job must have after the action.
type history struct {
	name  string // name of the history; it begins with the id of the requirement that the history proves
	steps []step
}

type step struct {
	at   string // time since the beginning of the history, such as "1m5s"
	do   action
	want string // the expected answer of the action, if the action has an answer, and then the expected values of the job
}

// An action does one thing and returns the store's answer as one word. The answer is "" when
// the store has returned no error.
type action func(*tale) string

// tale is the state of a check that replays a history.
type tale struct {
	*rig
	id    job.ID
	runs  []job.Claim
	said  job.Claim // the claim of the run whose outcome the next action writes
	lease time.Duration
}

func histories() []promise {
	var promises []promise
	for _, h := range append(livingHistories(), deadHistories()...) {
		promises = append(promises, promise{"history/" + h.name, h.prove})
	}
	return promises
}

func (h history) prove(r *rig) {
	t := &tale{rig: r}
	for i, s := range h.steps {
		at, err := time.ParseDuration(s.at)
		r.ok(err)
		r.clock.Set(r.start.Add(at).Time())
		got := s.do(t)
		if got != "" {
			got += ": "
		}
		if got += t.describe(); got != s.want {
			r.fail("step %d at %s:\n got %s\nwant %s", i+1, s.at, got, s.want)
		}
	}
}

// describe returns one line that describes the job: its state, and then all values that are
// not the default.
func (t *tale) describe() string {
	j := t.get(t.id)
	words := []string{j.State.String()}
	say := func(on bool, format string, args ...any) {
		if on {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(j.Life > 1, "life=%d", j.Life)
	say(j.Token > 0, "run=%d", j.Token)
	say(j.Counters.Attempts > 0, "attempts=%d", j.Counters.Attempts)
	say(j.Counters.Crashes > 0, "crashes=%d", j.Counters.Crashes)
	say(j.Counters.Snoozes > 0, "snoozes=%d", j.Counters.Snoozes)
	say(j.Counters.Deferrals > 0, "deferrals=%d", j.Counters.Deferrals)
	say(j.Counters.Interrupts > 0, "interrupts=%d", j.Counters.Interrupts)
	say(j.State.Ready(), "due=%s", j.RunAt.Sub(t.start))
	say(j.Queue != queue, "queue=%s", j.Queue)
	say(j.Priority != job.PriorityDefault, "priority=%d", j.Priority)
	say(j.CancelAt != 0, "asked-to-stop")
	say(j.Reason != "", "reason=%s", j.Reason)
	if failures := t.failures(t.id); len(failures) > 0 {
		classes := make([]string, len(failures))
		for i, f := range failures {
			classes[i] = f.Class
		}
		say(true, "failures=%s", strings.Join(classes, ","))
	}
	if l, err := t.DeadLetter(ctx(), t.id); err == nil {
		say(true, "entry=%s", l.Status)
		say(l.Life > 1, "entry-life=%d", l.Life)
	}
	return strings.Join(words, " ")
}

func word(err error) string {
	for sentinel, word := range map[error]string{
		store.ErrLeaseLost: "lease lost", store.ErrConflict: "conflict", store.ErrNotFound: "not found", store.ErrDraining: "draining",
	} {
		if errors.Is(err, sentinel) {
			return word
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// The actions of a program that enqueues jobs.

func enqueue(options ...func(*job.New)) action {
	return func(t *tale) string {
		t.id = t.add(options...)
		return ""
	}
}

// enqueueAgain enqueues a second job, which may have the same idempotency key as the first job.
func enqueueAgain(options ...func(*job.New)) action {
	return func(t *tale) string {
		receipts, err := t.Enqueue(ctx(), []job.New{t.newJob(options...)})
		if err != nil {
			return word(err)
		}
		if receipts[0].ID == t.id && receipts[0].Existing {
			return "exists, " + receipts[0].State.String()
		}
		return "another job"
	}
}

func look(*tale) string { return "" }

// The actions of workers.

// claim claims the job and begins its run, with a lease of 30 s unless an option changes it.
func claim(options ...func(*store.Exchange)) action {
	return func(t *tale) string {
		x := store.Exchange{Lease: lease, Want: []store.Want{want(1)}}
		for _, o := range options {
			o(&x)
		}
		claims := t.exchange(x).Claims
		if len(claims) == 0 {
			return "nothing"
		}
		if claims[0].ID != t.id {
			return "another job"
		}
		t.said, t.lease = claims[0], x.Lease
		t.runs = append(t.runs, t.said)
		_, err := t.Heartbeat(ctx(), store.Beat{Lease: x.Lease, Runs: []store.Run{runOf(t.said)}, Begin: true})
		t.ok(err)
		return ""
	}
}

func crashMax(n int) func(*store.Exchange) {
	return func(x *store.Exchange) { x.Want[0].Kinds[0].MaxCrashes = n }
}

func leaseOf(d time.Duration) func(*store.Exchange) { return func(x *store.Exchange) { x.Lease = d } }

func from(queue string) func(*store.Exchange) {
	return func(x *store.Exchange) { x.Want[0].Queue = queue }
}

// beat sends a heartbeat. The heartbeat extends the lease by its original length.
func beat(t *tale) string {
	status, err := t.Heartbeat(ctx(), store.Beat{Lease: t.lease, Runs: []store.Run{runOf(t.said)}})
	t.ok(err)
	switch s := status[0]; {
	case s.Cancel:
		return "held, stop"
	case s.Held:
		return "held"
	}
	return "lost"
}

func rescue(t *tale) string {
	if len(t.rig.rescue(10).Jobs) == 0 {
		return "nothing"
	}
	return ""
}

// late returns an action that carries out the given action for the job's first run, although that
// run has already ended.
func late(do action) action {
	return func(t *tale) string {
		now := t.said
		t.said = t.runs[0]
		answer := do(t)
		t.said = now
		return answer
	}
}

func ends(o func(job.Claim) job.Outcome) action {
	return func(t *tale) string { return word(t.settle(o(t.said))) }
}

func succeed() action { return ends(succeeded) }
func stop() action {
	return ends(func(c job.Claim) job.Outcome { return outcome(c, job.Cancel, job.Cancelled) })
}

func fail(class, again string, options ...func(*job.Outcome)) action {
	return ends(func(c job.Claim) job.Outcome {
		o := failed(c, class, duration(again))
		for _, option := range options {
			option(&o)
		}
		return o
	})
}

func die(class string, reason job.Reason) action {
	return ends(func(c job.Claim) job.Outcome { return died(c, class, reason) })
}

func wait(cause job.Cause, again string) action {
	return ends(func(c job.Claim) job.Outcome { return waits(c, cause, duration(again)) })
}

// duration parses a duration of a history. It panics if the text is not a duration, because that is
// a mistake in this package.
func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

// The actions of people.

func cancel(t *tale) string { return word(t.cancel(t.id)) }
func retry(t *tale) string  { return word(t.retry(t.id)) }

func mode(m store.Mode) action {
	return func(t *tale) string {
		t.set(store.QueueChange{Mode: &m})
		return ""
	}
}
