package pgtest_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// state returns the letter of a process's state in the output of ps.
func state(t *testing.T, pid int) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Skipf("run ps: %v", err)
	}
	return strings.TrimSpace(string(out))[:1]
}
