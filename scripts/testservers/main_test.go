//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
)

// roleVar is an environment variable. If it is set, the test binary runs as the command
// testservers.
const roleVar = "TESTSERVERS_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns the command testservers with the given arguments and with server
// addresses in its environment.
func command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleVar+"=1", pgtest.EnvDSN+"=the one", envRedis+"=the other")
	return cmd
}

func TestServersThatAreNamedAreUsed(t *testing.T) {
	t.Parallel()
	out, err := command(t, "sh", "-c", `echo "$REDRIVE_TEST_POSTGRES, $REDRIVE_TEST_REDIS"`).Output()
	if err != nil || string(out) != "the one, the other\n" {
		t.Errorf("the command printed %q and ended with error %v, want the given server addresses", out, err)
	}
}

func TestTheExitCodeIsThatOfTheCommand(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{
		"exit 0": 0, "exit 3": 3, "kill -s KILL $$": 1,
		// testservers sends the signal on to its command and waits for it, so the exit code
		// is 7.
		`trap 'exit 7' TERM; kill -s TERM "$PPID"; while :; do sleep 0.01; done`: 7,
	} {
		cmd := command(t, "sh", "-c", script)
		_ = cmd.Run() // no error check: the exit code is checked instead
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
			t.Errorf("arguments %q: got error %v and output %s, want an error with the prefix testservers:", args, err, out)
		}
	}
}
