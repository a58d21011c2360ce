//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
)

// roleVar makes the test binary act as the command.
const roleVar = "TESTSERVERS_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the program with arguments and with addresses of servers in the environment.
func command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVar+"=1", pgtest.EnvDSN+"=the one", envRedis+"=the other")
	return cmd
}

func TestServersThatAreNamedAreUsed(t *testing.T) {
	t.Parallel()
	out, err := command(t, "sh", "-c", `echo "$REDRIVE_TEST_POSTGRES, $REDRIVE_TEST_REDIS"`).Output()
	if err != nil || string(out) != "the one, the other\n" {
		t.Errorf("got output %q, error %v; want the given addresses", out, err)
	}
}

func TestTheExitCodeIsThatOfTheCommand(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{
		"exit 0": 0, "exit 3": 3, "kill -s KILL $$": 1,
		// A signal reaches the command and does not end this program first.
		`trap 'exit 7' TERM; kill -s TERM "$PPID"; while :; do sleep 0.01; done`: 7,
	} {
		cmd := command(t, "sh", "-c", script)
		_ = cmd.Run() // its exit code is checked
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("script %s: got exit code %d, want %d", script, got, want)
		}
	}
}

func TestAWrongCommandSaysSo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"/no/such/program"}} {
		out, err := command(t, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "testservers:") {
			t.Errorf("arguments %q: got error %v and output %s, want an error", args, err, out)
		}
	}
}
