package redrive

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// The limits on the calls of Config.OnOutcome.
const (
	// OutcomeCalls is how many calls run at a time.
	OutcomeCalls = 4
	// OutcomeBuffer is how many outcomes wait for a call. Further outcomes are skipped.
	OutcomeBuffer = 1_000
)

// Outcome is the result of a run, as it was written to the store.
type Outcome struct {
	ID          JobID
	Kind        string
	Queue       string // the queue that the run was claimed from
	Owner       string
	Correlation string
	Batch       int64
	Life        int // the number of the job's life, from 1; each manual retry adds one
	Attempt     int // the number of the attempt within this life, from 1
	Run         int // the number of the run over all lives, from 1

	Cause job.Cause // how the run ended, such as job.Succeeded, job.Failed or job.Snoozed
	// State is the state of the job after the run, as it was written. For a failure that
	// would have been retried, it is job.Cancelled if a person has cancelled the job
	// meanwhile.
	State  State
	Reason job.Reason    // why the job is dead; "" when it is not dead
	Delay  time.Duration // the shortest time until the next run; 0 when no run follows
	Took   time.Duration // how long the handler ran

	// Failure is the failure record: class, code, message and texts, without secrets
	// unless Config.KeepRaw is set. Failure is nil when the run has no failure record,
	// such as after a success or a snooze. Its StartedAt and EndedAt are 0, because the
	// store sets these times in the stored record. The record must not be changed.
	Failure *job.Failure
}

// Final reports whether the job has ended: it is completed, dead or cancelled. A
// failure that is retried is not final.
func (o *Outcome) Final() bool { return o.State.Terminal() }

// Decision returns the record of the decision about the failure: what was decided, by
// which rule and why. The record is the zero value when the run has no failure or no
// policy decided.
func (o *Outcome) Decision() (policy.Record, error) {
	if o.Failure == nil || len(o.Failure.Decision) == 0 {
		return policy.Record{}, nil
	}
	return policy.ParseRecord(o.Failure.Decision)
}

// newOutcome returns the public form of an outcome.
func newOutcome(claim *job.Claim, o *job.Outcome, took time.Duration) Outcome {
	return Outcome{
		ID: claim.ID, Kind: claim.Kind, Queue: claim.Queue, Owner: claim.Owner, Correlation: claim.Correlation, Batch: claim.Batch,
		Life: int(claim.Life), Attempt: int(claim.Attempt()), Run: int(claim.Token),
		Cause: o.Cause, State: o.To, Reason: o.Reason, Delay: o.Delay, Took: took, Failure: o.Failure,
	}
}

// outcomeCalls calls Config.OnOutcome during one Run. It has goroutines separate from
// the engine's, so that a slow call delays no job.
type outcomeCalls struct {
	config *Config
	queue  chan Outcome

	working  sync.WaitGroup
	underWay atomic.Int64
	dropped  atomic.Int64  // the number of outcomes that were not reported because the grace time was over
	endGrace func()        // ends the grace time by closing the channel of the field "over"
	over     chan struct{} // this channel is closed when no further call may begin
	skipped  logThrottle   // the counter of the outcomes that were skipped
}

// newOutcomeCalls starts the calls of one Run. It returns nil when Config.OnOutcome is
// nil. The calls get the values of ctx, but do not end with it.
func (c *Client) newOutcomeCalls(ctx context.Context) *outcomeCalls {
	if c.config.OnOutcome == nil {
		return nil
	}
	o := &outcomeCalls{
		config: &c.config, queue: make(chan Outcome, OutcomeBuffer), over: make(chan struct{}),
	}
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	o.endGrace = sync.OnceFunc(func() {
		close(o.over)
		cancel()
	})
	for range OutcomeCalls {
		o.working.Go(func() { o.work(calls) })
	}
	return o
}

// add puts an outcome into the queue of OnOutcome, unless the queue is full. It never
// blocks.
func (o *outcomeCalls) add(claim *job.Claim, outcome *job.Outcome, took time.Duration) {
	select {
	case o.queue <- newOutcome(claim, outcome, took):
	default:
		if suppressed, ok := o.skipped.allow(o.config.now(), "", skippedLine); ok {
			o.logSkipped(suppressed + 1)
		}
	}
}

// skippedLine is the line about outcomes that are not reported because too many wait.
const skippedLine = "Config.OnOutcome is too slow: some outcomes are not reported to it; a program that must not miss any reads Client.Events"

func (o *outcomeCalls) logSkipped(n int) {
	o.config.Logger.Warn(skippedLine, "skipped", n, "waiting", len(o.queue))
}

// work reports outcomes until none is left or the grace time is over.
func (o *outcomeCalls) work(ctx context.Context) {
	ended := false
	defer func() {
		if !ended { // the call has ended this goroutine with runtime.Goexit, as t.FailNow does
			o.working.Go(func() { o.work(ctx) })
		}
	}()
	for outcome := range o.queue {
		select {
		case <-o.over:
			o.dropped.Add(1)
		default:
			o.report(ctx, outcome)
		}
	}
	ended = true
}

// report makes one call of OnOutcome and recovers its panic.
func (o *outcomeCalls) report(ctx context.Context, outcome Outcome) {
	o.underWay.Add(1)
	defer o.underWay.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			o.config.Logger.Error("Config.OnOutcome panicked", "job", outcome.ID.String(), "run", outcome.Run,
				"panic", p, "stack", string(debug.Stack()))
		}
	}()
	o.config.OnOutcome(ctx, outcome)
}

// stop begins the grace time of the calls, and waits until all calls are made or the grace
// time is over. Call stop only after the engine has ended, because the engine then adds no
// more outcomes.
func (o *outcomeCalls) stop() {
	if o == nil {
		return
	}
	close(o.queue)
	grace := o.config.afterFunc(max(cmp.Or(o.config.Grace, engine.GraceDefault), 0), o.endGrace)
	defer grace.Stop()
	done := make(chan struct{})
	go func() {
		o.working.Wait()
		close(done)
	}()
	select {
	case <-done:
		o.endGrace()
	case <-o.over:
	}
	if n := o.skipped.rest(skippedLine); n > 0 {
		o.logSkipped(n)
	}
	waiting, underWay := int64(len(o.queue))+o.dropped.Load(), o.underWay.Load()
	if waiting+underWay > 0 {
		o.config.Logger.Warn("Config.OnOutcome did not end within the grace time: calls that still run are abandoned, and outcomes that wait are not reported",
			"under_way", underWay, "not_reported", waiting)
	}
}

// halt ends the grace time at once, even if it has not begun.
func (o *outcomeCalls) halt() {
	if o != nil {
		o.endGrace()
	}
}
