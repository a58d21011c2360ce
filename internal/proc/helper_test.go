//go:build unix

package proc_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redrive/redrive/internal/proc"
)

// The test binary also runs as the subprocesses of the tests. These environment variables
// contain the role of the process, the role of its child, the address at which the test
// listens, and the size of a command's input.
const (
	roleVar  = "PROC_TEST_ROLE"
	childVar = "PROC_TEST_CHILD"
	stageVar = "PROC_TEST_STAGE"
	inputVar = "PROC_TEST_INPUT"
	guardArg = "__guard"
)

// termGrace is long enough for a process to report SIGTERM. A test that waits for SIGKILL
// takes at least this time.
const termGrace = 5 * time.Second

const (
	floodBytes = 10 << 20
	patience   = 2 * time.Minute // a test fails if it waits longer for a process
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		syscall.Exit(play(role)) // os.Exit would write coverage data and race reports, so the process does not call it
	}
	if len(os.Args) > 1 && os.Args[1] == guardArg {
		proc.RunGuard(os.Stdin)
		syscall.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func play(role string) int {
	switch role {
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "deaf":
	case "worker": // this role runs a command and its child with a guard
		_, _ = proc.Run(context.Background(), proc.Spec{Argv: os.Args[:1], Guard: proc.NewGuard(guardArg), Env: map[string]string{
			roleVar: "leader", childVar: "child", stageVar: os.Getenv(stageVar)}})
	case "unguarded": // this role runs a command with an input, without a guard
		size, _ := strconv.Atoi(os.Getenv(inputVar))
		_, _ = proc.Run(context.Background(), proc.Spec{Argv: os.Args[:1], Stdin: make([]byte, size), Env: map[string]string{
			roleVar: "reader", stageVar: os.Getenv(stageVar)}})
	case "flood":
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("o"), floodBytes))
		_, _ = os.Stderr.Write(append(bytes.Repeat([]byte("e"), floodBytes), "the end"...))
	case "fail":
		fmt.Fprint(os.Stderr, "disk full")
		return 3
	case "suicide":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "environ":
		dir, _ := os.Getwd()
		env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, roleVar) })
		fmt.Print(dir, "\n", strings.Join(env, "\n"))
	default:
		return act(role)
	}
	return 0
}

// act runs a role that communicates with the test. The process sends its name, sends "term"
// for each SIGTERM that it gets, and waits for the line "go". Then a reader reads its input and sends
// the number of bytes.
func act(role string) int {
	term := make(chan os.Signal, 1)
	if role != "leader" {
		signal.Notify(term, syscall.SIGTERM)
	}
	conn, err := net.Dial("tcp", os.Getenv(stageVar))
	if err != nil {
		panic(err)
	}
	if child := os.Getenv(childVar); child != "" {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVar+"="+child, childVar+"=")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // the connection is open as long as the child lives
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	fmt.Fprintln(conn, role)
	released := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		close(released)
	}()
	for {
		select {
		case <-term:
			fmt.Fprintln(conn, "term")
			if role == "polite" {
				return 0
			}
		case <-released:
			if role == "reader" {
				n, err := io.Copy(io.Discard, os.Stdin)
				fmt.Fprintln(conn, n, err)
			}
			return 0
		}
	}
}

// stage is the listener to which the processes of a test connect. A connection stays open
// as long as its process lives.
type stage struct{ net.Listener }

func newStage(t *testing.T) stage {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return stage{ln}
}

// env returns the environment of a process with a role. If child is not empty, the process
// starts a child with this role.
func (s stage) env(role, child string) map[string]string {
	return map[string]string{roleVar: role, childVar: child, stageVar: s.Addr().String()}
}

// cast gives a command a role. If child is not empty, the command starts a child with this
// role.
func (s stage) cast(cmd *exec.Cmd, role, child string) *exec.Cmd {
	cmd.Env = os.Environ()
	for k, v := range s.env(role, child) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

// enter waits until a process has connected for each role, and returns the processes.
func (s stage) enter(t *testing.T, roles ...string) map[string]*actor {
	t.Helper()
	actors := map[string]*actor{}
	for range roles {
		stop := time.AfterFunc(patience, func() { s.Close() })
		conn, err := s.Accept()
		stop.Stop()
		if err != nil {
			t.Fatalf("the processes with the roles %v did not all connect to the test: %v", roles, err)
		}
		a := &actor{conn: conn, lines: make(chan string, 1000)}
		go a.listen()
		t.Cleanup(func() { conn.Close() })
		actors[a.next(t)] = a
	}
	for _, role := range roles {
		if actors[role] == nil {
			t.Fatalf("want processes with the roles %v, got %v", roles, actors)
		}
	}
	return actors
}

type actor struct {
	conn  net.Conn
	lines chan string // the lines of the process; closed when the process has ended
}

func (a *actor) listen() {
	defer close(a.lines)
	for in := bufio.NewScanner(a.conn); in.Scan(); {
		a.lines <- in.Text()
	}
}

func (a *actor) release() { fmt.Fprintln(a.conn, "go") }

// next returns the next line of the process, or "dead" if the process has ended.
func (a *actor) next(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-a.lines:
		if !ok {
			return "dead"
		}
		return line
	case <-time.After(patience):
		t.Fatal("the process neither sent a line nor ended in time, want a line or the end of the process")
		return ""
	}
}

// expect fails the test unless the next lines of the process are the given ones.
func (a *actor) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, line := range want {
		if got := a.next(t); got != line {
			t.Fatalf("the process sent the line %q, want %q", got, line)
		}
	}
}

// expectDead fails the test unless the process ends in time. It ignores the lines that the
// process sends before its end. It is only useful for a process that would otherwise live
// longer than the constant patience.
func (a *actor) expectDead(t *testing.T) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case _, ok := <-a.lines:
			if !ok {
				return
			}
		case <-timeout:
			t.Fatal("the process still runs, want it to end")
		}
	}
}

// result returns the value that another goroutine of the test sends. It fails the test if the
// value does not come within the time limit.
func result[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no result within %s, want a result", patience)
		panic("unreachable")
	}
}
