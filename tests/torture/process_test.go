//go:build linux

package torture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

// patience is the time limit of a wait. It is long, because machines that run tests are busy. So
// only a wait that would never end reaches it.
const patience = 2 * time.Minute

// process is a child process in which the test causes faults.
type process struct {
	*round
	name    string
	cmd     *exec.Cmd
	log     string
	ended   chan struct{}
	hurt    bool  // whether the test has killed the process
	stopped bool  // whether the test has asked the process to stop
	starved bool  // whether the process could not open or grow files for a while
	born    int64 // the value of round.shortages at the start of the process
	lacked  bool  // whether something was missing at the start of the process

	disturbed atomic.Int64 // when the process was first disturbed, in microseconds since 1970; 0 if it was not
	endedAt   atomic.Int64 // when the process ended, in microseconds since 1970; 0 if it is alive
}

// start starts a process in a role, with a crash point or "". If the process cannot be started,
// start fails the test; the process then counts as ended and has no state.
func (r *round) start(role, point string, command func(name string) (*exec.Cmd, error)) *process {
	name := fmt.Sprintf("%04d-%s", r.started.Add(1), role)
	p := &process{round: r, name: name, cmd: new(exec.Cmd), log: filepath.Join(r.dir, "log", name), ended: make(chan struct{}),
		lacked: r.lacking.Load() > 0, born: r.shortages.Load()}
	if err := p.begin(point, command); err != nil {
		r.Errorf("the process %s could not be started: %v", name, err) // Errorf and not Fatal, because this may run outside of the test's goroutine
		close(p.ended)
		return p
	}
	r.enlist(p)
	go func() {
		_ = p.cmd.Wait() // no error check: the state of the process says how it ended
		if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() || status.ExitStatus() == failed {
			p.disturb()
		}
		p.endedAt.Store(time.Now().UnixMicro())
		close(p.ended)
	}()
	return p
}

// disturb records that from now on something keeps the process from its work.
func (p *process) disturb() { p.disturbed.CompareAndSwap(0, time.Now().UnixMicro()) }

func (p *process) begin(point string, command func(name string) (*exec.Cmd, error)) error {
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, err := command(p.name)
	if err != nil {
		return err
	}
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), crashpoint.Variable+"="+point)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd = cmd
	return cmd.Start()
}

// endsWithin waits for the end of the process and reports whether the process ended in time.
func (p *process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// signal sends a signal to a process that may have died already.
func (p *process) signal(s syscall.Signal) {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

// kill kills the process, unless it has died already, and returns the cause of its death.
func (p *process) kill() string {
	select {
	case <-p.ended:
	default:
		p.hurt = true
		p.disturb()
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
	return p.book("kill")
}

// stop stops the process gracefully. If the process died in another way, stop returns the cause.
func (p *process) stop() string {
	p.stopped = true
	p.signal(syscall.SIGTERM)
	if !p.endsWithin(patience) {
		p.hang("did not stop after SIGTERM")
		return ""
	}
	return p.book("kill")
}

// hang kills a process that took too long. Its goroutines are printed to its log.
func (p *process) hang(format string, args ...any) {
	p.disturb()
	p.signal(syscall.SIGQUIT)
	if !p.endsWithin(patience) {
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
	p.Errorf("process %s %s within %s; its log is %s", p.name, fmt.Sprintf(format, args...), patience, p.log)
}

// short reports whether space, a program or the server was missing at any time while the process was
// running.
func (p *process) short() bool {
	return p.starved || p.lacked || p.shortages.Load() != p.born
}

// lack records that something is missing from now on that processes need, until the returned function is
// called.
func (r *round) lack() (over func()) {
	r.lacking.Add(1)
	r.shortages.Add(1)
	return func() { r.lacking.Add(-1) }
}

// The exit codes of a process that returns an error, and of a worker whose programs are missing when it
// starts. A panic has another code.
const (
	failed = 1
	absent = 4
)

// book returns the cause of the death of the process and counts it. It returns "" if no fault killed
// the process. Only a process with a fault may end with an error.
func (p *process) book(by string) string {
	state := p.cmd.ProcessState
	if state == nil {
		return "" // there is no state, because the process could not be started
	}
	status := state.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		if point, ok := p.lastWords(); ok {
			by = point
		} else if !p.hurt {
			by = "poison"
		}
		p.killed(by)
		return by
	case p.stopped && status.Signal() == syscall.SIGTERM: // the process got SIGTERM before it could handle the signal
	case (state.ExitCode() == failed || state.ExitCode() == absent) && p.short():
	case !p.program.exits(state.ExitCode()):
		text, _ := os.ReadFile(p.log) // no error check: a log that cannot be read is a failure, too
		if state.ExitCode() == failed && strings.HasSuffix(p.name, "-"+serve) && bytes.Contains(text, []byte("store unavailable")) && !listening.Match(text) {
			return "" // a server does not start while its database cannot be reached
		}
		p.Errorf("process %s ended with %s, which the test does not allow; its log is %s and ends with\n%s", p.name, state, p.log, text[max(0, len(text)-1_000):])
	}
	return ""
}

// atWork is a text that a worker or a long-running client logs when it has opened the database.
const atWork = "msg=working"

// serving is a text that a server logs when it has opened the database and its port.
const serving = "msg=serving"

// awake is a text that a worker logs when it has noticed that it was paused and has then made late
// writes.
const awake = "msg=awake"

// isUp reports whether the process is ready.
func (p *process) isUp() bool { return p.says(atWork) || p.says(serving) }

// says reports whether the log of the process contains the text.
func (p *process) says(what string) bool {
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.Error(err)
	}
	return strings.Contains(string(text), what)
}

// lastWords returns the crash point at which the process died.
func (p *process) lastWords() (point string, ok bool) {
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.Error(err)
		return "", false
	}
	_, point, ok = strings.Cut(string(text), "\n"+crashpoint.KilledPrefix+" ")
	if !ok {
		point, ok = strings.CutPrefix(string(text), crashpoint.KilledPrefix+" ")
	}
	return strings.TrimSpace(point), ok
}
