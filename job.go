package redrive

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Job is one run of a job in the hands of its handler.
type Job[T any] struct {
	Args T
	Info
}

// Info is what a handler knows about its run, and what it can do. Its methods
// are safe for concurrent use until the handler has returned; later calls change
// nothing.
type Info struct {
	ID          JobID
	Kind        string
	Queue       string
	Priority    int
	Life        int // from 1; a manual retry opens the next
	Attempt     int // of this life, from 1
	Run         int // over all lives, from 1; also the fencing token
	Owner       string
	Correlation string
	Batch       int64
	Attrs       json.RawMessage // nil when there are none
	CreatedAt   time.Time
	DueAt       time.Time
	Deadline    time.Time // zero when there is none
	// Overrides are what the rules of the policy want to be done differently for
	// this job, by its attributes; nil when there are none.
	Overrides map[string]string

	run     *engine.Run
	client  *Client
	wrapped *wrappedRun // nil without middleware
}

// set fills in place, because an Info is large and made for every run.
func (i *Info) set(c *Client, r *engine.Run, a *policy.Admission) {
	claim := &r.Claim
	i.run, i.client = r, c
	i.ID, i.Kind, i.Queue, i.Priority = claim.ID, claim.Kind, claim.Queue, int(claim.Priority)
	i.Life, i.Attempt, i.Run = int(claim.Life), int(claim.Attempt()), int(claim.Token)
	i.Owner, i.Correlation, i.Batch, i.Attrs = claim.Owner, claim.Correlation, claim.Batch, claim.Attrs
	i.CreatedAt, i.DueAt, i.Deadline = claim.CreatedAt.Time(), claim.RunAt.Time(), claim.Deadline.Time()
	if a != nil {
		i.Overrides = a.Overrides
	}
}

// Payload returns the payload as it is stored, or as a middleware has set it. It must
// not be changed.
func (i *Info) Payload() []byte { return i.run.Claim.Payload }

// SetPayload has the handler get another payload than the stored one, as one that was
// decrypted. Only a middleware can use it, before it calls the next handler.
func (i *Info) SetPayload(payload []byte) { i.run.Claim.Payload = payload }

// Progress reports how far the run has come; a total of zero is unknown. It is
// cheap: of many reports the last one counts, stored about once a second.
// Notes are cut to job.TextMax bytes. The next run starts without.
func (i *Info) Progress(done, total int64, note string) { i.run.Progress(done, total, note) }

// SetResult sets the result that is kept when the run succeeds: v as JSON, or v
// itself when it is a []byte; job.ResultMax bytes at most. The last one counts.
func (i *Info) SetResult(v any) error {
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	return i.run.SetResult(b)
}

// AddCost adds to what the run has cost, in US dollars, rounded to millionths.
// It is kept however the run ends. What is not a positive number adds nothing.
func (i *Info) AddCost(usd float64) {
	const most = 1 << 62
	if micros := math.Round(usd * 1e6); micros > 0 {
		i.run.AddCost(int64(min(micros, most)))
	}
}

// TempDir returns a directory of the run's own (mode 0700), made at the first
// call and removed with all that is in it however the run ends.
func (i *Info) TempDir() (string, error) { return i.run.TempDir() }

// Command is exec.CommandContext for a command of the run: its whole process
// group gets SIGTERM when ctx ends, SIGKILL after KillGrace, and is gone when
// the handler has returned. The end of its standard error becomes evidence.
func (i *Info) Command(ctx context.Context, name string, arg ...string) *exec.Cmd {
	return i.run.Command(ctx, name, arg...)
}

// StepKey returns an idempotency key for a step of the job, to hand to whatever
// the step writes to: the same in every attempt and every life. It is made
// of the job's id, its time of creation and the step, so another job's is
// different; one of another store is, too, unless it has the same id and was
// created in the same microsecond.
func (i *Info) StepKey(step string) string {
	created := strconv.FormatInt(int64(i.run.Claim.CreatedAt), 36)
	return i.ID.String() + "-" + created + "-" + step
}

// CompleteTx completes the job inside the caller's own transaction, so that it
// is completed if and only if what the handler writes there is committed. The
// handler then commits and returns nil. An error means to roll back and return
// it; store.ErrLeaseLost says that another run has taken over.
func (i *Info) CompleteTx(ctx context.Context, tx store.Tx) error {
	joins, ok := i.client.store.(store.Transactor)
	if !ok {
		return fmt.Errorf("complete job %d: a store of type %T cannot join a transaction of a caller's own: %w",
			i.ID, i.client.store, store.ErrInvalid)
	}
	if err := joins.SettleTx(ctx, tx, i.run.Success()); err != nil {
		return fmt.Errorf("complete job %d: %w", i.ID, err)
	}
	i.run.SettledInTx()
	return nil
}
