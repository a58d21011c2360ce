package redrive

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"time"

	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Job is one run of a job, with the arguments that the handler gets.
type Job[T any] struct {
	Args T
	Info
}

// Info holds the data of a run for its handler. Its methods let the handler act on the
// run. Its methods are safe for concurrent use until the handler has returned; later
// calls change nothing.
type Info struct {
	ID          JobID
	Kind        string
	Queue       string
	Priority    int
	Life        int // the number of the job's life, from 1; each manual retry adds one
	Attempt     int // the number of the attempt within this life, from 1
	Run         int // the number of the run over all lives, from 1; also the fencing token
	Owner       string
	Correlation string
	Batch       int64
	Attrs       json.RawMessage // the attributes as a JSON object; nil when the job has none
	CreatedAt   time.Time
	DueAt       time.Time
	Deadline    time.Time // the deadline of the job; zero when the job has none
	// Overrides are settings that the rules of the policy give this job because of its
	// attributes. They are nil when no rule gives any. The handler decides what they
	// mean.
	Overrides map[string]string

	run     *engine.Run
	wrapped *wrappedRun // the middleware's state; a run without middleware has the shared value Client.unwrapped
}

// set fills the Info in place. An Info is large and every run needs one, so it is not
// copied.
func (i *Info) set(c *Client, r *engine.Run, a *policy.Admission) {
	claim := &r.Claim
	i.run, i.wrapped = r, &c.unwrapped
	i.ID, i.Kind, i.Queue, i.Priority = claim.ID, claim.Kind, claim.Queue, int(claim.Priority)
	i.Life, i.Attempt, i.Run = int(claim.Life), int(claim.Attempt()), int(claim.Token)
	i.Owner, i.Correlation, i.Batch, i.Attrs = claim.Owner, claim.Correlation, claim.Batch, claim.Attrs
	i.CreatedAt, i.DueAt, i.Deadline = claim.CreatedAt.Time(), claim.RunAt.Time(), claim.Deadline.Time()
	if a != nil {
		i.Overrides = a.Overrides
	}
}

// Payload returns the payload as stored, or as a middleware has set it. It must not be
// changed.
func (i *Info) Payload() []byte { return i.run.Claim.Payload }

// SetPayload replaces the payload that the handler gets, for example by the decrypted
// payload. The stored payload stays. Only a middleware can use SetPayload, before it
// calls the next handler.
func (i *Info) SetPayload(payload []byte) { i.run.Claim.Payload = payload }

// Progress reports how far the run has come; a total of 0 means unknown. A call is
// cheap, because only the latest report is stored, about once a second. Secrets, paths
// of files and IP addresses are removed from notes, and notes are cut to job.TextMax
// bytes. A progress belongs to its run: the job has none while it waits for a retry and
// after it has ended, and the next run starts without progress.
func (i *Info) Progress(done, total int64, note string) { i.run.Progress(done, total, note) }

// Feedback adds a feedback to the job, such as a hint for its user about a bad input. It is
// stored at once and stays when the run fails. Client.Notes returns it, and it is an event.
// Secrets, paths of files and IP addresses are removed from it first.
// The text has 1 to store.NoteMax bytes, and a job has at most store.NotesMax notes and
// feedbacks (ErrTooLarge). The error is ErrLeaseLost when another run of the job has taken
// over.
func (i *Info) Feedback(ctx context.Context, text string) error {
	c := i.wrapped.client
	_, err := c.store.AddNote(ctx, By{Actor: c.config.Name}, Note{What: Feedback, Job: i.ID, Run: i.run.Claim.Token, Text: c.outside(text)})
	return err
}

// SetResult sets the result that is kept when the run succeeds: v as JSON, or v itself
// when it is a []byte; at most job.ResultMax bytes. The last call wins.
func (i *Info) SetResult(v any) error {
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			return invalid(fmt.Errorf("result: %w", err))
		}
	}
	return i.run.SetResult(b)
}

// AddCost adds to the cost of the run, in US dollars, rounded to millionths. The cost
// is stored also when the run fails. Values that are not positive numbers are ignored.
func (i *Info) AddCost(usd float64) {
	const most = 1 << 62
	if micros := math.Round(usd * 1e6); micros > 0 {
		i.run.AddCost(int64(min(micros, most)))
	}
}

// TempDir returns the temporary directory of the run (mode 0700). The first call
// creates the directory. It is removed with its contents when the run ends, also after
// a failure. If it cannot be made, the error is ErrNotStarted.
func (i *Info) TempDir() (string, error) { return i.run.TempDir() }

// Command returns an exec.Cmd for a command of the run, as exec.CommandContext does.
// When ctx ends, the whole process group of the command gets SIGTERM, and after
// KillGrace SIGKILL. No process of the group is left when the run has ended. If the run
// fails, the last part of the command's standard error is evidence for the failure. See
// ErrNotStarted for commands that cannot be started.
func (i *Info) Command(ctx context.Context, name string, arg ...string) *exec.Cmd {
	return i.run.Command(ctx, name, arg...)
}

// StepKey returns an idempotency key for a step of the job, for the system that the
// step writes to. It is the same in every attempt and every life. It is made of the
// job's id, its creation time and the step, so no other job has it, except a job of
// another store with the same id and the same creation time in microseconds.
func (i *Info) StepKey(step string) string {
	created := strconv.FormatInt(int64(i.run.Claim.CreatedAt), 36)
	return i.ID.String() + "-" + created + "-" + step
}

// CompleteTx completes the job inside the caller's own transaction: the job is
// completed if and only if that transaction is committed. The handler then commits and
// returns nil. After an error the handler must roll back and return the error; the
// error store.ErrLeaseLost means that another run of the job has taken over.
func (i *Info) CompleteTx(ctx context.Context, tx store.Tx) error {
	joins, ok := i.wrapped.client.store.(store.Transactor)
	if !ok {
		return fmt.Errorf("complete job %d: this store (type %T) cannot write inside the caller's own transaction: %w",
			i.ID, i.wrapped.client.store, store.ErrInvalid)
	}
	o := i.run.Success()
	decide.Succeed(&i.run.Claim, &o)
	if err := joins.SettleTx(ctx, tx, o); err != nil {
		return fmt.Errorf("complete job %d: %w", i.ID, err)
	}
	i.run.SettledInTx()
	return nil
}
