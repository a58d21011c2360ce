package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// workload runs processes on one directory.
type workload struct {
	*testing.T
	program string
	dir     string
	seed    uint64
	started int
}

// history is a record with the number of operations that have made its first files.
type history struct {
	ops   []op
	begun int
}

// recorded runs workers and clients on a recording file system and returns what they have done. The
// work has two parts; after the first one the database is closed, so SQLite removes its log. The
// work continues from the files of an earlier cut, or begins with none.
func recorded(t *testing.T, program string, seed uint64, from image) history {
	t.Helper()
	dir := t.TempDir()
	m := mountedAt(t, dir, from)
	begun := len(m.taken())
	defer func() {
		if err := m.close(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	}()
	w := &workload{T: t, program: program, dir: dir, seed: seed}
	for name := range from {
		if strings.HasPrefix(name, ledgerPrefix) {
			w.started++
		}
	}
	for range 2 {
		w.part(recordedJobs / 2)
	}
	return history{m.taken(), begun}
}

// recordedJobs is the number of jobs in one record.
const recordedJobs = 80

// part starts two workers, enqueues jobs with a third process, kills one worker, and waits until
// the jobs are completed.
func (w *workload) part(jobs int) {
	w.Helper()
	first, second := w.start(), w.start()
	client := w.start("-enqueue", fmt.Sprint(jobs), "-once", "-backlog", "40", "-seed", fmt.Sprint(w.seed+uint64(w.started)))
	w.ends(client)
	if err := first.Process.Kill(); err != nil {
		w.Error(err)
	}
	_ = first.Wait() // no error check: it was killed
	last := w.start("-drain")
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		w.Error(err)
	}
	w.ends(second)
	w.ends(last)
}

// start starts a process with its ledger in the same directory.
func (w *workload) start(args ...string) *exec.Cmd {
	w.Helper()
	w.started++
	name := fmt.Sprintf("%04d", w.started)
	cmd := exec.Command(w.program, append([]string{"-database", filepath.Join(w.dir, database), "-name", "p" + name,
		"-ledger", filepath.Join(w.dir, ledgerPrefix+name)}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = new(strings.Builder)
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return cmd
}

// ends waits for a process, which must end without an error.
func (w *workload) ends(cmd *exec.Cmd) {
	w.Helper()
	if err := cmd.Wait(); err != nil {
		w.Errorf("process %s: %v\n%s", cmd, err, cmd.Stderr)
	}
}

// memory returns a directory for the states, in memory where the system has such a place. Nothing
// there needs a flush.
func memory(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, "redrive-powercut-") //nolint:usetesting // what a failed run leaves must stay
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kept: %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
