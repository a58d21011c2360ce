package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// mountedAt mounts a file system for a test, or skips the test.
func mountedAt(t *testing.T, dir string, files image) *mounted {
	t.Helper()
	m, err := mount(dir, files)
	if errors.Is(err, errNoFUSE) {
		t.Skipf("NO POWER CUTS: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The record has every change of the files in its order. A shell changes them, because a process must
// not wait for its own file system.
func TestTheRecordHasEveryChange(t *testing.T) {
	dir := t.TempDir()
	m := mountedAt(t, dir, image{"old": []byte("12345")})
	begun := len(m.taken())
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", `
		printf new > made
		sync made
		mv made moved
		sync .
		truncate -s 2 old
		cat old > copy
		rm moved`)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the shell: %v\n%s", err, out)
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range m.taken()[begun:] {
		got = append(got, fmt.Sprint(o.kind, o.name, o.to, o.off, string(o.data)))
	}
	want := []string{
		fmt.Sprint(create, "made", "", 0, ""), fmt.Sprint(write, "", "", 0, "new"), fmt.Sprint(flush, "", "", 0, ""),
		fmt.Sprint(rename, "made", "moved", 0, ""), fmt.Sprint(flushDir, "", "", 0, ""), fmt.Sprint(truncate, "", "", 2, ""),
		fmt.Sprint(create, "copy", "", 0, ""), fmt.Sprint(write, "", "", 0, "12"), fmt.Sprint(unlink, "moved", "", 0, ""),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("record (kind, name, new name, offset, data):\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("after unmounting, the directory has %v, error %v; want nothing", left, err)
	}
}
