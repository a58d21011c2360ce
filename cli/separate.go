package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/wire"
)

// The last chance of a job, a run of a job that has crashed and that would be dead after one more crash,
// gets a process of its own. A worker starts it with the hidden command separateCmd. On its standard
// input the process gets the run in one line, then the line stopLine when the worker stops. When the
// input ends, the worker is gone or ends the grace time, and the process hands the job back. It writes
// readyLine before it takes the run over.
const (
	separateCommand = "__separate"
	stopLine        = "stop"
	readyLine       = "ready"
)

// separateArgs returns the arguments of the processes for last chances: the hidden command, with the
// global flags of this call.
func (a *app) separateArgs() []string {
	args := []string{separateCommand}
	for _, flag := range [][2]string{{"config", a.ConfigFile}, {"db", a.DB}, {"schema", a.Schema}} {
		if flag[1] != "" {
			args = append(args, "--"+flag[0]+"="+flag[1])
		}
	}
	return args
}

// separateLimit is the time that the process of a last chance has to end after its input and the
// kill_grace of its kind: its store may not answer for a while.
const separateLimit = 15 * time.Second

// separate runs the last chance of a job in a process of its own. It implements Config.Separate.
func (w *worker) separate(ctx context.Context, r redrive.SeparateRun) error {
	p, err := w.startSeparate(ctx, r)
	if err != nil {
		w.log.WarnContext(ctx, "cannot start a process for the last chance of a job; it gets this worker to itself",
			"job", r.ID.String(), "kind", r.Kind, "error", err)
		return proc.NotStarted(err, nil)
	}
	w.log.InfoContext(ctx, "the last chance of a job runs in a process of its own", "job", r.ID.String(), "kind", r.Kind, "pid", p.cmd.Process.Pid)
	stopping, halted := w.stopping, ctx.Done()
	limit := time.NewTimer(0)
	<-limit.C
	for {
		select {
		case <-stopping:
			stopping = nil
			close(p.stop)
		case <-halted:
			halted = nil
			p.in.Close()
			limit.Reset(w.Kinds[r.Kind].KillGrace + separateLimit)
		case <-limit.C:
			_ = p.cmd.Process.Kill() // no error check: it may have ended
		case <-p.ended:
			if p.cmd.ProcessState.ExitCode() == wire.Stopping.ExitCode() {
				w.handed.Add(1)
			}
			return nil
		}
	}
}

// separateProcess is the process of a last chance.
type separateProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	stop  chan struct{} // closed when the worker stops
	ended chan struct{} // closed when the process has ended
}

// startSeparate starts the process of a last chance and waits until it is ready to take the run over.
func (w *worker) startSeparate(ctx context.Context, r redrive.SeparateRun) (*separateProcess, error) {
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: program, Args: append([]string{os.Args[0]}, w.args...), Stderr: w.screen.w}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	p := &separateProcess{cmd: cmd, in: in, stop: make(chan struct{}), ended: make(chan struct{})}
	go p.tell(r.Data)
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != readyLine+"\n" {
		in.Close()
		return nil, errors.Join(fmt.Errorf("the process ended before it was ready: %w", err), cmd.Wait())
	}
	go func() {
		_ = cmd.Wait() // the state of the process says how it ended
		close(p.ended)
	}()
	return p, nil
}

// tell writes the run to the standard input of the process, and that the worker stops. If the process has
// ended, the writes fail, and nobody needs them.
func (p *separateProcess) tell(run []byte) {
	if _, err := p.in.Write(append(run, '\n')); err != nil {
		return
	}
	select {
	case <-p.stop:
		_, _ = io.WriteString(p.in, stopLine+"\n")
	case <-p.ended:
	}
}

// thisProgram returns the path of this program. On Linux the path works even if the file was replaced.
func thisProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// separateCmd is a hidden command: the process of a last chance.
type separateCmd struct{}

// Run implements the command.
func (*separateCmd) Run(ctx context.Context, a *app) (err error) {
	in := bufio.NewReader(a.in)
	run, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the run from standard input: %w", err)
	}
	s, err := a.settings()
	if err != nil {
		return err
	}
	screen := &live{w: a.stderr}
	w, db, err := a.openWorker(ctx, s, screen, newLogger(screen, screen.style, s.Log))
	if err != nil {
		return err
	}
	defer w.guard.Close()
	client, err := w.client(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	ctx, stop, release := w.stopOnSignals(ctx, client)
	defer release()
	defer closing(db, &err)
	defer stop()
	go obeyWorker(in, stop, client.Halt)
	if _, err := io.WriteString(a.stdout, readyLine+"\n"); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return w.returned(client.RunSeparate(ctx, run))
}

// obeyWorker reads what the worker says until the input ends. Then the worker is gone, or its grace time
// is over.
func obeyWorker(in *bufio.Reader, stop, halt func()) {
	for {
		line, err := in.ReadString('\n')
		if line == stopLine+"\n" {
			stop()
		}
		if err != nil {
			stop()
			halt()
			return
		}
	}
}
