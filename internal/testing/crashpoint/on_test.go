//go:build crashpoint && unix

package crashpoint_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

// The test program runs again as a child with a crash point. The child reaches each point three
// times, and prints a line each time before it does.
const childVariable = "REDRIVE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	for i := range 3 {
		fmt.Println(i + 1)
		crashpoint.Hit(crashpoint.AfterMigration)
		crashpoint.Hit(crashpoint.HandlerStart)
		end := crashpoint.Span(crashpoint.InCommit)
		if os.Getenv(childVariable) == "slow" && i > 0 {
			<-time.After(time.Minute)
		}
		end()
	}
	<-time.After(1100 * time.Millisecond) // the process must survive the end of a span
}

func TestTheProcessDiesAtTheNamedPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value, child string
		killed       bool
		printed      int
	}{
		{"handler-start", "quick", true, 1},
		{"handler-start:3", "quick", true, 3},
		{"handler-start:2:1ms", "quick", true, 2},
		{"handler-start:4", "quick", false, 3},
		{"in-rescue", "quick", false, 3},
		{"in-commit:1:1s", "slow", true, 2},
		{"in-commit:1:1s", "quick", false, 3},
		{"", "quick", false, 3},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			t.Parallel()
			out, err := child(t, tt.value, tt.child)
			var exit *exec.ExitError
			if point, _, _ := strings.Cut(tt.value, ":"); tt.killed && errors.As(err, &exit) &&
				string(exit.Stderr) != crashpoint.KilledPrefix+" "+point+"\n" {
				t.Errorf("got standard error %q, want only the line of the crash point", exit.Stderr)
			}
			if killed := diedOf(err, syscall.SIGKILL); killed != tt.killed || !killed && err != nil {
				t.Errorf("the process was killed: %v, want %v; it ended with the error %v", killed, tt.killed, err)
			}
			if n := strings.Count(out, "\n"); n != tt.printed {
				t.Errorf("the process printed %d lines before its end, want %d", n, tt.printed)
			}
		})
	}
}

func TestAWrongPointIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"handler", "handler-start:0", "handler-start:x", "handler-start:1:soon", "handler-start:1:-1s"} {
		out, err := child(t, value, "quick")
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(exit.Stderr), crashpoint.Variable) {
			t.Errorf("crash point %s: the process printed %q and ended with %v, want it to refuse the crash point", value, out, err)
		}
	}
}

func child(t *testing.T, value, mode string) (string, error) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+mode, crashpoint.Variable+"="+value)
	out, err := cmd.Output()
	return string(out), err
}

func diedOf(err error, sig syscall.Signal) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == sig
}
