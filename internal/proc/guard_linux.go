package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Guard starts the commands of a worker and ends them when the worker is killed. It does this
// in two ways. First, the kernel kills a command when the thread that started it ends, and the
// guard's threads end only with the worker. Second, a guard process, which survives the worker,
// kills the remaining processes of the commands' groups. A process that has left its group
// (setsid) is not killed.
//
// The worker writes the numbers of the groups to a file that the guard process has open too. The
// guard process reads it only when the worker has ended, so it sleeps while commands start and end.
//
// Its methods are safe for concurrent use.
type Guard struct {
	args    []string
	starts  chan func()
	closed  chan struct{}
	threads sync.WaitGroup

	mu      sync.Mutex
	groups  groupFile
	pipe    *os.File      // the guard process kills the groups when this pipe is closed; nil before the first command
	exited  chan struct{} // closed when the guard process has ended
	process *os.Process
}

// NewGuard returns a guard. The guard process starts with the first command. It is this
// program, called with args; the program must then call [RunGuard].
func NewGuard(args ...string) *Guard {
	g := &Guard{args: args, starts: make(chan func()), closed: make(chan struct{})}
	for range runtime.GOMAXPROCS(0) {
		g.threads.Go(func() {
			// The kernel sends the signal when the thread ends. A locked thread ends only with
			// its goroutine, and not at all if it is unlocked before.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for {
				select {
				case start := <-g.starts:
					start()
				case <-g.closed:
					return
				}
			}
		})
	}
	return g
}

// Close ends the guard process, which kills the commands that still run. Later starts are
// refused.
func (g *Guard) Close() {
	close(g.closed)
	g.threads.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		g.pipe.Close()
		<-g.exited
		g.pipe = nil
	}
	g.groups.close()
}

// start starts a command. The command must lead a process group.
func (g *Guard) start(c *exec.Cmd) error {
	if err := g.ensure(); err != nil {
		return err
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error, 1)
	select {
	case g.starts <- func() { started <- c.Start() }:
	case <-g.closed:
		return errClosed
	}
	if err := <-started; err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// Ignore the error, because the command runs already, and the kernel still kills it with
	// the worker.
	_ = g.groups.add(c.Process.Pid)
	return nil
}

// ended removes a process group that no longer exists.
func (g *Guard) ended(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups.remove(group)
}

// ensure starts a guard process if none runs, unless the guard is closed.
func (g *Guard) ensure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.closed:
		return errClosed
	default:
	}
	if g.pipe != nil {
		select {
		case <-g.exited:
			g.pipe.Close()
			g.pipe = nil
		default:
			return nil
		}
	}
	if err := g.run(); err != nil {
		return fmt.Errorf("start the guard of the commands: %w", err)
	}
	return nil
}

// run starts the guard process.
func (g *Guard) run() error {
	if err := g.groups.open(); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	c := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{os.Args[0]}, g.args...), Stdin: r, Dir: "/", Env: []string{}}
	c.ExtraFiles = []*os.File{g.groups.file}           // the descriptor guardFD
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // in a new session, the guard process gets no signals of the worker's terminal
	if err := c.Start(); err != nil {
		w.Close()
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(exited)
	}()
	g.pipe, g.exited, g.process = w, exited, c.Process
	return nil
}

// guardFD is the descriptor under which the guard process has the file of the groups.
const guardFD = 3

// RunGuard is the guard process of a [Guard]. At the end of its standard input it kills the process
// groups whose numbers are in the file of the groups.
func RunGuard(in io.Reader) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	_, _ = io.Copy(io.Discard, in)
	groups := readGroups(os.NewFile(guardFD, "groups"))
	for range killWait / pollMin {
		if len(groups) == 0 {
			return
		}
		groups = slices.DeleteFunc(groups, func(group int) bool { return syscall.Kill(-group, syscall.SIGKILL) != nil })
		<-time.After(pollMin)
	}
}
