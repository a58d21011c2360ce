package proc_test

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redrive/redrive/internal/proc"
)

// When a worker is killed by SIGKILL, its command and the command's child end.
//
// proves: Q5
func TestQ5_CommandsEndWhenTheirWorkerIsKilled(t *testing.T) {
	t.Parallel()
	for range 3 {
		s := newStage(t)
		worker := s.cast(exec.Command(os.Args[0]), "worker", "")
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		group := s.enter(t, "leader", "child")
		if err := worker.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = worker.Wait()
		group["leader"].expectDead(t)
		group["child"].expectDead(t)
	}
}

// Commands continue when threads of the worker end and when the guard process is killed. The next
// guard process gets the file with the groups of all running commands.
func TestCommandsSurviveThreadsAndTheGuardProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	guard := proc.NewGuard(guardArg)
	run := func() chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := proc.Run(t.Context(), proc.Spec{Argv: []string{os.Args[0]}, Env: s.env("leader", ""), Guard: guard})
			ended <- err
		}()
		return ended
	}
	first := run()
	one := s.enter(t, "leader")["leader"]
	var threads sync.WaitGroup
	for range 50 {
		threads.Go(runtime.LockOSThread) // the thread ends with its goroutine
	}
	threads.Wait()
	if err := guard.Kill(); err != nil {
		t.Fatal(err)
	}
	second := run()
	two := s.enter(t, "leader")["leader"]
	one.release()
	if err := result(t, first); err != nil {
		t.Errorf("the first command returned the error %v, want none, because it must end by itself", err)
	}
	guard.Close() // closes the pipe of the guard process, as the end of the worker would
	two.expectDead(t)
	if err := result(t, second); err == nil {
		t.Error("the second command ended without an error, want an error, because the guard process must kill it")
	}
	if _, err := proc.Run(t.Context(), proc.Spec{Argv: []string{"true"}, Guard: guard}); err == nil {
		t.Error("a command after Close of the guard returned no error, want an error")
	}
}

// A program can read its whole standard input, even if the worker is stopped right after the start
// of the program.
func TestRunPassesAWholeFile(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 2, 60 << 10, 1 << 20} {
		r, err := proc.Run(t.Context(), proc.Spec{
			Argv: []string{"sh", "-c", "stat -L -c %s /dev/stdin; wc -c"}, Stdin: []byte(strings.Repeat("x", size)), Inherit: []string{"PATH"},
		})
		want := strconv.Itoa(size) + "\n" + strconv.Itoa(size) + "\n"
		if err != nil || string(r.Stdout) != want {
			t.Errorf("payload of %d bytes: got the size of the file and the number of bytes read %q, error %v; want %q", size, r.Stdout, err, want)
		}
	}
}
