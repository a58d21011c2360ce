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

	"github.com/redrive/redrive/internal/crashpoint"
)

// patience is how long anything may take that should be quick. Machines under
// test are busy.
const patience = 20 * time.Second

// process is a child that is going to be hurt.
type process struct {
	*round
	name    string
	cmd     *exec.Cmd
	log     string
	ended   chan struct{}
	hurt    bool // we killed it
	stopped bool // we asked it to stop
}

// start starts a process in a role, with a crash point or "".
func (r *round) start(role, point string, command func(name string) *exec.Cmd) *process {
	name := fmt.Sprintf("%04d-%s", r.started.Add(1), role)
	p := &process{round: r, name: name, log: filepath.Join(r.dir, "log", name), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		r.Fatal(err)
	}
	defer log.Close()
	p.cmd = command(name)
	p.cmd.Stderr = log
	p.cmd.Env = append(os.Environ(), crashpoint.Variable+"="+point)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is read from its state
		close(p.ended)
	}()
	return p
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
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill kills the process, unless it has died by itself, and returns what it died
// of.
func (p *process) kill() string {
	p.hurt = true
	p.signal(syscall.SIGKILL)
	<-p.ended
	return p.book("kill")
}

// stop ends the process gracefully, and returns what it died of else.
func (p *process) stop() string {
	p.stopped = true
	p.signal(syscall.SIGTERM)
	if !p.endsWithin(patience) {
		p.signal(syscall.SIGQUIT) // leaves its goroutines in its log
		<-p.ended
		p.Errorf("%s did not stop within %s of SIGTERM, see %s", p.name, patience, p.log)
	}
	return p.book("kill")
}

// book notes and returns what a process died of, "" for one that did not. Only a
// process that met a fault may end with an error.
func (p *process) book(by string) string {
	state := p.cmd.ProcessState
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
	case !p.program.exits(state.ExitCode()) && !p.starved.Load():
		p.Errorf("%s ended with %s, see %s", p.name, state, p.log)
	}
	return ""
}

// lastWords returns the crash point at which the process died.
func (p *process) lastWords() (point string, ok bool) {
	text, err := os.ReadFile(p.log)
	if err != nil {
		p.Error(err)
		return "", false
	}
	_, point, ok = strings.Cut(string(text), "\n"+crashpoint.LastWords+" ")
	if !ok {
		point, ok = strings.CutPrefix(string(text), crashpoint.LastWords+" ")
	}
	return strings.TrimSpace(point), ok
}
