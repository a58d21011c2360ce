package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an engine on a memory store. Its handler comes from the test.
type rig struct {
	t      *testing.T
	store  store.Store
	engine *engine.Engine
	stop   context.CancelFunc
	ended  chan error
}

// attemptsMax is the number of attempts after which a failing job is dead in these tests.
const attemptsMax = 3

var errDead = errors.New("permanent")

// decide is the policy of the tests. It retries after a minute, up to attemptsMax attempts.
func decide(c *job.Claim, e *job.Ending) job.Outcome {
	switch {
	case e.Err == nil:
		return e.Outcome(c, job.Succeeded, job.Completed)
	case e.Stopped == job.StopShutdown, e.Stopped == job.StopLeaseLost:
		return e.Outcome(c, job.Interrupted, job.Waiting)
	case e.Stopped == job.StopCancel:
		return e.Outcome(c, job.Cancel, job.Cancelled)
	}
	o := e.Outcome(c, job.Failed, job.Retrying)
	o.Delay, o.Failure = time.Minute, job.NewFailure(c, e)
	o.Failure.Class, o.Failure.Message = "Test", e.Err.Error()
	o.Failure.Stack, o.Failure.Stderr = e.Stack, e.Stderr
	if c.Attempt() >= attemptsMax || errors.Is(e.Err, errDead) {
		o.To, o.Delay, o.Reason = job.Dead, 0, job.MaxRetries
	}
	return o
}

type handler = func(ctx context.Context, r *engine.Run) error

// newRig makes a rig with one queue "q", which has four workers, and the kind "k".
func newRig(t *testing.T, h handler, change func(*engine.Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: memory.New(memory.Options{})}
	cfg := engine.Config{
		Store: r.store, Holder: "test", Decide: decide,
		Queues: []engine.Queue{{Name: "q", Workers: 4}},
		Kinds:  []engine.Kind{{Name: "k", Handler: h}},
		Rand:   func() float64 { return 0 },
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.engine, err = engine.New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

// start runs the engine until finish is called, or until the test ends.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.ended = cancel, make(chan error, 1)
	go func() { r.ended <- r.engine.Run(ctx) }()
}

// finish stops the engine and returns the result of Run.
func (r *rig) finish() error {
	r.stop()
	return <-r.ended
}

// payload is long enough that Go does not allocate it in one block of memory with other
// objects.
const payload = `{"scene":"a payload that has a separate block of memory"}`

// enqueue enqueues n jobs of kind k and returns their ids.
func (r *rig) enqueue(n int) []job.ID {
	r.t.Helper()
	first, err := r.store.ReserveIDs(context.Background(), n)
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []job.ID
	var jobs []job.New
	for i := range n {
		ids = append(ids, first+job.ID(i))
		jobs = append(jobs, job.New{ID: ids[i], Kind: "k", Queue: "q", Priority: job.PriorityDefault, Payload: []byte(payload)})
	}
	if _, err := r.store.Enqueue(context.Background(), jobs); err != nil {
		r.t.Fatal(err)
	}
	return ids
}

// idle waits until the engine has nothing to do.
func (r *rig) idle() {
	r.t.Helper()
	if err := r.engine.Idle(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) get(id job.ID) job.Job {
	r.t.Helper()
	j, err := r.store.Get(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

func (r *rig) failures(id job.ID) []job.Failure {
	r.t.Helper()
	f, err := r.store.Failures(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// wantState fails the test unless each job is in the state.
func (r *rig) wantState(state job.State, ids ...job.ID) {
	r.t.Helper()
	for _, id := range ids {
		if got := r.get(id).State; got != state {
			r.t.Errorf("job %d is in state %s, want state %s", id, got, state)
		}
	}
}
