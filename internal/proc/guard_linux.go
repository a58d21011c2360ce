package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
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
// Its methods are safe for concurrent use.
type Guard struct {
	args    []string
	starts  chan func()
	closed  chan struct{}
	threads sync.WaitGroup

	mu      sync.Mutex
	groups  map[int]bool  // the process groups of the running commands
	pipe    *os.File      // the guard process kills the groups when this pipe is closed; nil before the first command
	exited  chan struct{} // closed when the guard process has ended
	process *os.Process
}

// NewGuard returns a guard. The guard process starts with the first command. It is this
// program, called with args; the program must then call [RunGuard].
func NewGuard(args ...string) *Guard {
	g := &Guard{args: args, starts: make(chan func()), closed: make(chan struct{}), groups: make(map[int]bool)}
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
}

// start starts a command. The command must lead a process group.
func (g *Guard) start(c *exec.Cmd) error {
	if err := g.tell(""); err != nil { // make sure that the guard process runs
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
	g.groups[c.Process.Pid] = true
	g.mu.Unlock()
	// Ignore the error, because the command runs already, and the kernel still kills it with
	// the worker. The next start returns the error.
	_ = g.tell("+" + strconv.Itoa(c.Process.Pid) + "\n")
	return nil
}

// ended removes a process group that no longer exists.
func (g *Guard) ended(group int) {
	g.mu.Lock()
	delete(g.groups, group)
	g.mu.Unlock()
	_ = g.tell("-" + strconv.Itoa(group) + "\n") // if this fails, the next guard process gets a list without the group
}

// tell writes a line to the guard process. If no guard process runs, tell starts one.
func (g *Guard) tell(line string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		select {
		case <-g.exited:
			g.pipe.Close()
			g.pipe = nil
		default:
			if _, err := io.WriteString(g.pipe, line); err == nil {
				return nil
			}
			g.pipe.Close()
			<-g.exited
			g.pipe = nil
		}
	}
	return g.run()
}

// run starts the guard process and sends it the numbers of all groups.
func (g *Guard) run() error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the guard of the commands: %w", err)
	}
	defer r.Close()
	c := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{os.Args[0]}, g.args...), Stdin: r, Dir: "/", Env: []string{}}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // in a new session, the guard process gets no signals of the worker's terminal
	if err := c.Start(); err != nil {
		w.Close()
		return fmt.Errorf("start the guard of the commands: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(exited)
	}()
	for group := range g.groups {
		if _, err = fmt.Fprintf(w, "+%d\n", group); err != nil {
			break
		}
	}
	if err != nil {
		w.Close()
		<-exited
		return fmt.Errorf("start the guard of the commands: %w", err)
	}
	g.pipe, g.exited, g.process = w, exited, c.Process
	return nil
}

// RunGuard is the guard process of a [Guard]. It reads the numbers of process groups from
// its standard input. At the end of the input it kills the groups that remain.
func RunGuard(in io.Reader) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	groups := make(map[int]bool)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := lines.Text()
		group, err := strconv.Atoi(line[min(1, len(line)):])
		switch {
		case err != nil || group <= 1:
		case line[0] == '+':
			groups[group] = true
		case line[0] == '-':
			delete(groups, group)
		}
	}
	for range killWait / pollMin {
		if len(groups) == 0 {
			return
		}
		for group := range groups {
			if syscall.Kill(-group, syscall.SIGKILL) != nil {
				delete(groups, group)
			}
		}
		<-time.After(pollMin)
	}
}
