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

// patience is how long nothing may happen. It only ends what would never end by
// itself: machines under test are busy.
const patience = 2 * time.Minute

// process is a child that is going to be hurt.
type process struct {
	*round
	name    string
	cmd     *exec.Cmd
	log     string
	ended   chan struct{}
	hurt    bool  // we killed it
	stopped bool  // we asked it to stop
	starved bool  // its files could not grow for a while
	born    int64 // round.shortages when it was started
}

// start starts a process in a role, with a crash point or "". With one that cannot be
// started the test has failed: it has ended, and has no state.
func (r *round) start(role, point string, command func(name string) (*exec.Cmd, error)) *process {
	name := fmt.Sprintf("%04d-%s", r.started.Add(1), role)
	p := &process{round: r, name: name, cmd: new(exec.Cmd), log: filepath.Join(r.dir, "log", name), ended: make(chan struct{}),
		born: r.shortages.Load()}
	if err := p.begin(point, command); err != nil {
		r.Errorf("%s: %v", name, err) // not always the test's own goroutine
		close(p.ended)
		return p
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is read from its state
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

// endsWithin waits for the end of the process.
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

// kill kills the process, unless it has died by itself, and returns what it died
// of.
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

// stop ends the process gracefully, and returns what it died of else.
func (p *process) stop() string {
	p.stopped = true
	p.signal(syscall.SIGTERM)
	if !p.endsWithin(patience) {
		p.hang("did not stop after SIGTERM")
		return ""
	}
	return p.book("kill")
}

// hang ends a process that lost our patience, and leaves its goroutines in its log.
func (p *process) hang(format string, args ...any) {
	p.signal(syscall.SIGQUIT)
	if !p.endsWithin(patience) {
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
	p.Errorf("%s %s within %s, see %s", p.name, fmt.Sprintf(format, args...), patience, p.log)
}

// short reports whether there was no space at some time of the process's life.
func (p *process) short() bool {
	return p.starved || p.born%2 == 1 || p.shortages.Load() != p.born
}

// failed is the exit code of a process that returns an error. A panic has another.
const failed = 1

// book notes and returns what a process died of, "" for one that did not. Only a
// process that met a fault may end with an error.
func (p *process) book(by string) string {
	state := p.cmd.ProcessState
	if state == nil {
		return "" // it could not be started
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
	case p.stopped && status.Signal() == syscall.SIGTERM: // before it was ready to stop otherwise
	case state.ExitCode() == failed && p.short():
	case !p.program.exits(state.ExitCode()):
		p.Errorf("%s ended with %s, see %s", p.name, state, p.log)
	}
	return ""
}

// atWork is in the log of a worker, or of a client that goes on for a while, from
// when it has opened the database.
const atWork = "msg=working"

// awake is in the log of a worker that has noticed that it stood still, and has
// written as if it had not.
const awake = "msg=awake"

// isUp reports whether the process has begun to work.
func (p *process) isUp() bool { return p.says(atWork) }

// says reports whether something is in the process's log.
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
