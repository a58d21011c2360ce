//go:build unix

package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program describes how the process of a server is started.
type program struct {
	path  string
	args  []string
	ready string         // a text in the output of the server; its line says that the server is ready
	death syscall.Signal // the signal that the system sends to the server when this process dies, if the system supports that
}

// daemon is the running process of a server.
type daemon struct {
	pid    int
	proc   *os.Process
	home   *home
	ready  chan struct{}
	ended  chan struct{} // a channel that is closed when the process is gone
	logged chan struct{} // a channel that is closed when no process holds the output of the server open

	mu   sync.Mutex
	tail []string // the last lines of the process's output
}

// logName is the log file in the directory of a server.
const logName = "server.log"

// tailMax is the number of log lines that an error includes.
const tailMax = 40

// environment returns the environment of a server. It does not include the variables of the caller,
// because PGDATA, PGPORT or LANG could change what the server does.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// command prepares a process that runs as the account of the home.
func (h *home) command(path string, death syscall.Signal, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...) //nolint:noctx // the process lives as long as the server
	cmd.Dir = h.dir
	cmd.Env = environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	diesWith(cmd.SysProcAttr, death)
	if h.owner != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(h.owner.uid), Gid: uint32(h.owner.gid)}
	}
	return cmd
}

// run runs a program to its end and includes its output in the error if it fails.
func (h *home) run(path string, args ...string) error {
	var out strings.Builder
	err := onThread(func() error {
		cmd := h.command(path, syscall.SIGKILL, args...)
		cmd.Stdout, cmd.Stderr = &out, &out
		return cmd.Run()
	})
	if err != nil {
		return fmt.Errorf("run %s: %w\n%s", filepath.Base(path), err, strings.TrimSpace(out.String()))
	}
	return nil
}

// onThread calls the function f on an OS thread that exists until f returns. For the kernel, the
// parent of a child process is the thread that started it.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return <-done
}

// start starts a server and waits until it is ready.
func (h *home) start(ctx context.Context, p *program) (*daemon, error) {
	d := &daemon{home: h, ready: make(chan struct{}), ended: make(chan struct{}), logged: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the comment of onThread gives the reason
		defer runtime.UnlockOSThread()
		d.live(p, started)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(p.path), err)
	}
	return d, d.await(ctx, p)
}

// live starts the process, reports the result of the start, and returns when the process has ended.
func (d *daemon) live(p *program, started chan<- error) {
	defer close(d.ended)
	out, in, err := os.Pipe()
	if err != nil {
		started <- err
		return
	}
	cmd := d.home.command(p.path, p.death, p.args...)
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		started <- err
		return
	}
	d.proc, d.pid = cmd.Process, cmd.Process.Pid
	d.home.runs(d.pid)
	go d.read(out, p.ready)
	started <- nil
	_ = cmd.Wait() // no error check: the log says how the process ended
	d.home.runs(0)
}

// read stores the output of the process and notices when the server is ready.
func (d *daemon) read(out *os.File, ready string) {
	defer close(d.logged)
	defer out.Close()
	log := io.Discard
	if f, err := os.OpenFile(filepath.Join(d.home.dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		defer f.Close()
		log = f
	}
	seen := false
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadString('\n')
		_, _ = io.WriteString(log, line)
		if line != "" {
			d.keep(line)
		}
		if !seen && strings.Contains(line, ready) {
			seen = true
			close(d.ready)
		}
		if err != nil {
			return
		}
	}
}

func (d *daemon) keep(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tail = append(d.tail, line)
	if len(d.tail) > tailMax {
		d.tail = d.tail[1:]
	}
}

// said returns the last lines of the server's output.
func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.tail, "")
}

// await waits until the server is ready. If the server is not ready in time, await kills it.
func (d *daemon) await(ctx context.Context, p *program) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	var err error
	select {
	case <-d.ready:
		return nil
	case <-d.ended:
		within(d.logged, time.Second)
		err = errors.New("the process ended at once")
	case <-limit.C:
		err = fmt.Errorf("the server is not ready after %v", patience)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	d.signal(syscall.SIGKILL)
	<-d.ended
	return fmt.Errorf("start %s: %w\n%s", filepath.Base(p.path), err, d.said())
}

// alive reports whether the process is still running.
func (d *daemon) alive() bool {
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

// signal sends a signal. If the process has already ended, signal returns no error.
func (d *daemon) signal(s syscall.Signal) { _ = d.proc.Signal(s) }

// stop sends a signal that ends the process, and waits until the process has ended. After the time
// limit it kills the process.
func (d *daemon) stop(s syscall.Signal) error {
	d.signal(s)
	if within(d.ended, patience) {
		within(d.logged, patience) // wait for the rest of the output, because child processes may still hold it open
		return nil
	}
	d.signal(syscall.SIGKILL)
	<-d.ended
	return fmt.Errorf("process %d did not end within %v and was killed\n%s", d.pid, patience, d.said())
}

// within waits until the channel is closed, but not longer than the limit. It reports whether the
// channel was closed.
func within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
