//go:build unix

package proc_test

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive/redrive/internal/proc"
)

// shell returns a Spec that runs a script and passes its reports on to a buffer.
func shell(script string) (proc.Spec, *bytes.Buffer) {
	var got bytes.Buffer
	return proc.Spec{Argv: []string{"sh", "-c", script}, Inherit: []string{"PATH"}, Report: &got}, &got
}

// proves: Q11
func TestQ11_ReportsOfAProgram(t *testing.T) {
	t.Parallel()
	s, got := shell(`echo one >&3; echo out; echo two >&3; printf half >&3; exit 3`)
	r, err := proc.Run(t.Context(), s)
	if err == nil || r.Status.Code != 3 || string(r.Stdout) != "out\n" {
		t.Errorf("got %+v and %v, want exit code 3 and the output", r, err)
	}
	if want := "one\ntwo\nhalf"; got.String() != want {
		t.Errorf("got the reports %q, want %q", got, want)
	}
}

// The reports of a large program are all passed on, also those that are in the pipe when it ends.
//
// part of: Q11
func TestQ11_AllReportsOfAProgram(t *testing.T) {
	t.Parallel()
	s, got := shell(`head -c 5000000 /dev/zero >&3`)
	if _, err := proc.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got.Len() != 5_000_000 {
		t.Errorf("got %d bytes of reports, want 5000000", got.Len())
	}
}

// A program that has left the group keeps the pipe open. The run does not wait for it, and passes
// on what the command itself has written.
//
// part of: Q11
func TestQ11_ReportsDoNotWaitForAProgramThatLeftTheGroup(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	s, got := shell(`setsid sleep 100 >/dev/null 2>&1 & echo $! >&3; while ! test "$(ps -o sid= -p $! | tr -d " ")" = $!; do :; done; echo end >&3`)
	if _, err := proc.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	number, rest, _ := strings.Cut(got.String(), "\n")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("got the reports %q, want a process number first", got)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the program that left the group is not alive, so the test proves nothing: %v", err)
	}
	if rest != "end\n" {
		t.Errorf("got the reports %q after the number, want \"end\"", rest)
	}
}

// A program without a writer for reports has no such descriptor, and one that cannot be started
// leaves no descriptor open.
//
// part of: Q11
func TestQ11_NoReports(t *testing.T) {
	t.Parallel()
	s, _ := shell(`echo x >&3`)
	s.Report = nil
	if r, err := proc.Run(t.Context(), s); err == nil {
		t.Errorf("the script wrote to descriptor 3: %+v, want a failure", r)
	}
	s, got := shell("")
	s.Argv = []string{"/no/such/program"}
	if _, err := proc.Run(t.Context(), s); err == nil || got.Len() > 0 {
		t.Errorf("got %v and the reports %q, want an error and none", err, got)
	}
}
