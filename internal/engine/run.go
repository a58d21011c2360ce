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

// Run is a run as its handler sees it. Its methods are safe for concurrent use until the
// handler has returned. Later calls have no effect.
type Run struct {
	Claim job.Claim

	engine *Engine
	task   *Task
	kind   *Kind
	ctx    runContext
	cancel context.CancelCauseFunc
	begun  time.Time

	mu       sync.Mutex
	closed   bool       // whether the run has ended and its outcome is being made
	held     bool       // whether the run was not admitted; its task then has an outcome already
	inTx     bool       // whether a transaction of the handler contains the success
	end      job.Ending // the evidence about the run that is known so far
	progress job.Progress
	sends    func() int
	group    *proc.Group
	dir      *tempdir.Dir
}

// Progress reports the progress of the run; if total is 0, the total is unknown. Calls are
// cheap: the process writes the last report of each run at most once a second. The note is
// cut to job.TextMax bytes.
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

// SetResult sets the result to store if the run succeeds, at most job.ResultMax bytes. A
// later call replaces the result.
func (r *Run) SetResult(b []byte) error {
	if len(b) > job.ResultMax {
		return fmt.Errorf("the result has %d bytes, at most %d are allowed: %w", len(b), job.ResultMax, store.ErrTooLarge)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.end.Result = bytes.Clone(b)
	}
	return nil
}

// AddCost adds an amount to the cost of the run, in millionths of a US dollar. The cost is
// limited to the range from zero to job.CostMax.
func (r *Run) AddCost(microUSD int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.end.Cost = max(0, min(r.end.Cost+min(microUSD, job.CostMax), job.CostMax))
	}
}

// CountSends sets the function that returns how many requests the run's calls have sent.
func (r *Run) CountSends(sends func() int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sends = sends
}

// sent returns how many requests the run's calls have sent so far.
func (r *Run) sent() int32 {
	if r.sends == nil {
		return 0
	}
	return int32(min(max(r.sends(), 0), math.MaxInt32))
}

// TempDir returns the directory of the run. The first call creates it. It is removed, with
// its content, when the run's outcome is stored. If the directory cannot be created, the
// error is a *proc.NotStartedError.
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
		return "", &proc.NotStartedError{Err: err, Process: true, Check: r.engine.cfg.Dirs.Check}
	}
	r.dir = dir
	return dir.Path(), nil
}

// Command returns a command, which the caller starts. The command's process group is ended when
// ctx ends, or when the handler returns. The last part of its standard error is kept as
// evidence.
func (r *Run) Command(ctx context.Context, name string, arg ...string) *exec.Cmd {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed { // the evidence is being read, so a closed group refuses the command
		late := proc.NewGroup(r.kind.KillGrace)
		_ = late.Close()
		return late.Command(ctx, name, arg...)
	}
	if r.group == nil {
		r.group = proc.NewGroup(r.kind.KillGrace)
	}
	return r.group.Command(ctx, name, arg...)
}

// Success returns the outcome for a run that succeeds now. A handler uses it to write the
// success in a transaction of the handler.
func (r *Run) Success() job.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return job.Outcome{
		ID: r.Claim.ID, Token: r.Claim.Token, Cause: job.Succeeded, To: job.Completed,
		Result: r.end.Result, Cost: r.end.Cost, Sends: r.sent(), Progressed: r.end.Progressed, Keep: r.kind.KeepPayload,
	}
}

// SettledInTx records that a transaction of the handler contains the success. When the
// handler returns, the engine asks the store to write the run as failed. If the transaction
// was committed, the store refuses this outcome. If not, the outcome is correct, because
// the job was not completed.
func (r *Run) SettledInTx() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && !r.inTx {
		r.inTx = true
		r.engine.in.post(WrittenInTx{r.task})
	}
}

// handle calls the handler if the run is admitted, and records how the handler ended. It
// recovers from a panic. If the handler calls runtime.Goexit, only the deferred functions of
// the caller still run.
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
	if r.task.separate {
		r.end.Err = r.elsewhere()
	} else if r.admitted() {
		crashpoint.Hit(crashpoint.HandlerStart)
		r.end.Err = r.kind.Handler(&r.ctx, r)
	}
	returned = true
}

// admitted calls Config.Admit and reports whether the handler of the run may be called.
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

// close closes the run, so that later calls of the handler have no effect. It reports
// whether the run was open until now. If so, the caller has to make the outcome.
func (r *Run) close() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return first
}

// gather adds the remaining evidence of a closed run.
func (r *Run) gather(end *job.Ending) {
	if r.group != nil {
		if err := r.group.Close(); err != nil {
			r.engine.logProcesses(r, err)
		}
		end.Stderr = r.group.Stderr()
	}
	end.Result, end.Cost, end.Sends, end.Progressed = r.end.Result, r.end.Cost, r.sent(), r.end.Progressed
	end.Keep = r.kind.KeepPayload
	end.Stopped = stopOf(context.Cause(&r.ctx))
	end.Holder, end.Build, end.Admission = r.engine.cfg.Holder, r.engine.cfg.Build, r.end.Admission
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
// engine ends the context at this time.
type runContext struct {
	context.Context           //nolint:containedctx // a runContext is a context
	limit           time.Time // the time limit of the run; zero means no limit
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

// cut returns s if it has at most limit bytes. Otherwise, it returns the beginning of s, up to
// limit bytes, without a partial character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit]
}
