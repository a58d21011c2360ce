//go:build linux

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

// patience is the time limit of a wait. It only ends a wait that would never end, because machines
// under test are busy.
const patience = 2 * time.Minute

// process is a child process that faults happen to.
type process struct {
	*round
	name    string
	cmd     *exec.Cmd
	log     string
	ended   chan struct{}
	hurt    bool  // the test has killed it
	stopped bool  // the test has asked it to stop
	starved bool  // its files could not grow for a while
	born    int64 // the value of round.shortages at its start
}

// start starts a process in a role, with a crash point or "". If it cannot be started, the test has
// failed; the process counts as ended and has no state.
func (r *round) start(role, point string, command func(name string) (*exec.Cmd, error)) *process {
	name := fmt.Sprintf("%04d-%s", r.started.Add(1), role)
	p := &process{round: r, name: name, cmd: new(exec.Cmd), log: filepath.Join(r.dir, "log", name), ended: make(chan struct{}),
		born: r.shortages.Load()}
	if err := p.begin(point, command); err != nil {
		r.Errorf("start process %s: %v", name, err) // not always the test's own goroutine
		close(p.ended)
		return p
	}
	go func() {
		_ = p.cmd.Wait() // the state of the process says how it ended
		close(p.ended)
	}()
	return p
}

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

// endsWithin waits for the end of the process and reports whether it came in time.
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
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
	return p.book("kill")
}

// stop stops the process gracefully, and returns the cause of its death if it died otherwise.
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
	p.signal(syscall.SIGQUIT)
	if !p.endsWithin(patience) {
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
	p.Errorf("process %s %s within %s; its log is %s", p.name, fmt.Sprintf(format, args...), patience, p.log)
}

// short reports whether disk space was short at any time while the process lived.
func (p *process) short() bool {
	return p.starved || p.born%2 == 1 || p.shortages.Load() != p.born
}

// failed is the exit code of a process that returns an error. A panic has another code.
const failed = 1

// book counts and returns the cause of the process's death, or "" if it did not die of a fault.
// Only a process that met a fault may end with an error.
func (p *process) book(by string) string {
	state := p.cmd.ProcessState
	if state == nil {
		return "" // the process could not be started
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
	case p.stopped && status.Signal() == syscall.SIGTERM: // it got SIGTERM before it had a handler for it
	case state.ExitCode() == failed && p.short():
	case !p.program.exits(state.ExitCode()):
		p.Errorf("process %s ended with %s, which the test does not allow; its log is %s", p.name, state, p.log)
	}
	return ""
}

// atWork is in the log of a worker, or of a client that runs for a while, after it has opened the
// database.
const atWork = "msg=working"

// awake is in the log of a worker that has noticed that it was paused, and has then made late
// writes.
const awake = "msg=awake"

// isUp reports whether the process is ready.
func (p *process) isUp() bool { return p.says(atWork) }

// says reports whether the process's log has the text.
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
