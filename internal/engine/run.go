package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/tempdir"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	errEnded  = errors.New("the run has ended")
	errNoDirs = errors.New("this process has no base for temp directories; set one in its configuration")
)

// Run is one run from the view of its handler. Its methods are safe for concurrent use
// until the handler has returned. Later calls have no effect.
type Run struct {
	Claim job.Claim

	engine *Engine
	task   *Task
	kind   *Kind
	ctx    runContext
	cancel context.CancelCauseFunc
	begun  time.Time

	mu       sync.Mutex
	closed   bool       // closed is true when the outcome is being made.
	held     bool       // held is true when the run was not admitted. Its task then has its outcome.
	inTx     bool       // inTx is true when the success is part of a transaction of the handler.
	end      job.Ending // end holds what is known about the end of the run so far.
	progress job.Progress
	sends    func() int
	group    *proc.Group
	dir      *tempdir.Dir
}

// Progress reports the progress of the run. A total of 0 means that it is unknown. A call
// is cheap, because the process writes only the last report of each run, at most once a
// second. Notes are cut to job.TextMax bytes.
func (r *Run) Progress(done, total int64, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.progress = job.Progress{
		ID: r.Claim.ID, Token: r.Claim.Token, Done: done, Total: total, Note: cut(note, job.TextMax),
	}
	r.end.Progressed = true
	r.engine.in.postReported(r.task)
}

// SetResult sets the result that is stored when the run succeeds, at most job.ResultMax
// bytes. A later call replaces the result.
func (r *Run) SetResult(b []byte) error {
	if len(b) > job.ResultMax {
		return fmt.Errorf("result of %d bytes: at most %d: %w", len(b), job.ResultMax, store.ErrTooLarge)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.end.Result = bytes.Clone(b)
	}
	return nil
}

// AddCost adds to the cost of the run, in millionths of a US dollar. The cost stays between
// zero and job.CostMax.
func (r *Run) AddCost(microUSD int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.end.Cost = max(0, min(r.end.Cost+min(microUSD, job.CostMax), job.CostMax))
	}
}

// CountSends sets the function that returns how many requests the calls of the run have
// sent.
func (r *Run) CountSends(sends func() int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sends = sends
}

// sent returns the number of requests that were sent so far.
func (r *Run) sent() int32 {
	if r.sends == nil {
		return 0
	}
	return int32(min(max(r.sends(), 0), math.MaxInt32))
}

// TempDir returns the directory of the run. The first call makes it. The directory is
// removed with its content when the outcome of the run is stored.
func (r *Run) TempDir() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return "", fmt.Errorf("create a temp directory: %w", errEnded)
	case r.dir != nil:
		return r.dir.Path(), nil
	case r.engine.cfg.Dirs == nil:
		return "", errNoDirs
	}
	dir, err := r.engine.cfg.Dirs.Create(int64(r.Claim.ID))
	if err != nil {
		return "", err
	}
	r.dir = dir
	return dir.Path(), nil
}

// Command returns a command whose process group is killed when ctx ends, or at the latest
// when the handler returns. The end of its standard error is kept as evidence.
func (r *Run) Command(ctx context.Context, name string, arg ...string) *exec.Cmd {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The evidence is being read. A closed group refuses the command.
	if r.closed {
		late := proc.NewGroup(r.kind.KillGrace)
		_ = late.Close()
		return late.Command(ctx, name, arg...)
	}
	if r.group == nil {
		r.group = proc.NewGroup(r.kind.KillGrace)
	}
	return r.group.Command(ctx, name, arg...)
}

// Success returns the outcome that the run has if it succeeds now. A handler that completes
// its job in its own transaction writes this outcome.
func (r *Run) Success() job.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return job.Outcome{
		ID: r.Claim.ID, Token: r.Claim.Token, Cause: job.Succeeded, To: job.Completed,
		Result: r.end.Result, Cost: r.end.Cost, Sends: r.sent(), Progressed: r.end.Progressed,
	}
}

// SettledInTx records that the success is part of a transaction of the handler. When the
// handler returns, the engine writes the run as failed. The store refuses this outcome if
// the transaction was committed. Otherwise the outcome is right, because the job was not
// completed.
func (r *Run) SettledInTx() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && !r.inTx {
		r.inTx = true
		r.engine.in.post(WrittenInTx{r.task})
	}
}

// handle calls the handler if the run is admitted, and records how it ended. It recovers a
// panic. After runtime.Goexit only the deferred functions of the caller run.
func (r *Run) handle() {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		r.end.How = job.ByPanic
		if p == nil {
			r.end.Err = errGoexit
			return
		}
		stack := make([]byte, job.EvidenceMax)
		r.end.Stack = string(stack[:runtime.Stack(stack, false)])
		if err, ok := p.(error); ok {
			r.end.Err = fmt.Errorf("panic: %w", err)
		} else {
			r.end.Err = fmt.Errorf("panic: %v", p)
		}
	}()
	if r.admitted() {
		crashpoint.Hit(crashpoint.HandlerStart)
		r.end.Err = r.kind.Handler(&r.ctx, r)
	}
	returned = true
}

// admitted reports whether the run may begin.
func (r *Run) admitted() bool {
	if r.engine.cfg.Admit == nil {
		return true
	}
	admission, held := r.engine.cfg.Admit(&r.Claim)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.end.Admission = admission
	if r.held = held != nil; r.held {
		r.task.Outcome = *held
	}
	return !r.held
}

// Admission returns the value that Config.Admit returned for the run, or nil.
func (r *Run) Admission() any { return r.end.Admission }

// close makes later calls of the handler have no effect. It returns true if the run was
// open before. In this case the caller makes the outcome.
func (r *Run) close() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return first
}

// gather completes the evidence of a closed run.
func (r *Run) gather(end *job.Ending) {
	if r.group != nil {
		if err := r.group.Close(); err != nil {
			r.engine.logProcesses(r, err)
		}
		end.Stderr = r.group.Stderr()
	}
	end.Result, end.Cost, end.Sends, end.Progressed = r.end.Result, r.end.Cost, r.sent(), r.end.Progressed
	end.Stopped = stopOf(context.Cause(&r.ctx))
	end.Holder, end.Waited, end.Admission = r.engine.cfg.Holder, r.task.waited, r.end.Admission
	if end.Err == nil && r.inTx {
		end.Err = errNotCommitted
	}
	switch {
	case end.Err == nil:
		end.How = ""
	case end.How != "":
	case end.Stopped == job.StopTimeLimit:
		end.How = job.ByTimeout
	default:
		end.How = job.ByError
	}
}

// removeDir removes the run's directory.
func (r *Run) removeDir() {
	if err := r.dir.Remove(); err != nil {
		r.engine.logLeftover(r, err)
	}
}

// runContext is the context of a handler. Deadline returns the time limit of the run. The
// engine ends the context at that time.
type runContext struct {
	context.Context           //nolint:containedctx // it is one
	limit           time.Time // A zero limit means no limit.
}

// Deadline implements context.Context.
func (c *runContext) Deadline() (time.Time, bool) { return c.limit, !c.limit.IsZero() }

// Err implements context.Context.
func (c *runContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), ErrTimeLimit) {
		return context.DeadlineExceeded
	}
	return err
}

// cut returns the first bytes of s. It does not split a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit]
}
