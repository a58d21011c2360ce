//go:build linux

package torture

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// noFiles makes a fault that leaves a process without new files for a while: its limit is what it has
// open. This keeps it from nothing that it has begun. A worker that has not yet made its directory for
// temporary files ends with an error.
func noFiles() fault {
	return fault{"no files", func(s *slot) bool {
		w := s.start("")
		s.comesUp(w)
		w.endsWithin(s.between(50*time.Millisecond, 200*time.Millisecond))
		w.starved = true
		if before, ok := w.limitOpen(); ok {
			s.faulted("no files")
			w.endsWithin(s.between(300*time.Millisecond, 2*time.Second))
			_ = unix.Prlimit(w.cmd.Process.Pid, unix.RLIMIT_NOFILE, &before, nil) // no error check: the process may have ended
		}
		w.endsWithin(s.between(100*time.Millisecond, time.Second))
		w.stop()
		return true
	}}
}

// limitOpen sets the number of files that a process may have open to what it has, and returns the
// limits as they were before.
func (p *process) limitOpen() (before unix.Rlimit, ok bool) {
	if p.cmd.Process == nil {
		return before, false
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		return before, false // the process has ended
	}
	open := uint64(0)
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 32); err == nil {
			open = max(open, n+1)
		}
	}
	if unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &before) != nil {
		return before, false
	}
	limit := unix.Rlimit{Cur: open, Max: before.Max}
	return before, unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil) == nil
}

// noPrograms makes a fault that takes the program of all jobs away for a while, as a deployment does that
// moves files.
func (c *command) noPrograms() fault {
	return fault{"no program", func(s *slot) bool {
		w := s.start("")
		s.comesUp(w)
		w.endsWithin(s.between(0, 300*time.Millisecond))
		c.away.Lock()
		back := s.lack()
		path := c.program(s.round)
		err := os.Rename(path, path+".away")
		if err == nil {
			s.faulted("no program")
			w.endsWithin(s.between(300*time.Millisecond, 1500*time.Millisecond))
			err = os.Rename(path+".away", path)
		}
		back()
		c.away.Unlock()
		if err != nil {
			s.Errorf("round %d: the program could not be moved: %v", s.n, err)
		}
		w.endsWithin(s.between(time.Second, 2*time.Second))
		w.stop()
		return true
	}}
}

// The limit of the file system for the temporary directories of runs.
const fewFiles = "nr_inodes=200,size=8m"

// mountTemp mounts a small file system at the base of the temporary directories, which needs root.
func (c *command) mountTemp(r *round) {
	if err := os.MkdirAll(c.temp(r), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := unix.Mount("redrive-torture", c.temp(r), "tmpfs", 0, fewFiles+",mode=0700"); err != nil {
		r.Logf("NO FULL DISK of temporary directories: a small file system cannot be mounted: %v", err)
		return
	}
	r.Cleanup(func() { _ = unix.Unmount(c.temp(r), unix.MNT_DETACH) }) // this is needed when the test fails before the end of the round
}

// end unmounts the small file system of a round.
func (c *command) end(r *round) {
	c.files.end(r)
	_ = unix.Unmount(c.temp(r), 0) // no error check: it may not be mounted
}

// noSpace makes a fault that leaves no space for temporary directories for a while.
func (c *command) noSpace() fault {
	return fault{"no space", func(s *slot) bool {
		w := s.start("")
		s.comesUp(w)
		w.endsWithin(s.between(0, 300*time.Millisecond))
		c.away.Lock()
		n := 0
		for ; n < 1000; n++ { // without the small file system this fills nothing
			if err := os.Mkdir(filepath.Join(c.temp(s.round), fmt.Sprintf("filler-%d", n)), 0o700); err != nil {
				s.faulted("no space")
				break
			}
		}
		w.endsWithin(s.between(300*time.Millisecond, 1500*time.Millisecond))
		for n--; n >= 0; n-- {
			if err := os.Remove(filepath.Join(c.temp(s.round), fmt.Sprintf("filler-%d", n))); err != nil {
				s.Errorf("round %d: the file system could not be emptied: %v", s.n, err)
			}
		}
		c.away.Unlock()
		w.endsWithin(s.between(time.Second, 2*time.Second))
		w.stop()
		return true
	}}
}

const lockedFault = "file locked for longer than a lease"

// lockFile keeps the file locked for longer than a lease, as a foreign program does that does not take
// part in the turns of the writers.
func (r *round) lockFile(c int, over <-chan struct{}) {
	random := r.random(r.n, c, 7)
	if waitOr(over, time.Duration(random.Int64N(int64(2*time.Second)))) {
		return
	}
	defer r.troubled("file locked")()
	db, err := sql.Open("sqlite", "file:"+r.database+"?_pragma=busy_timeout(5000)")
	if err != nil {
		r.Error(err)
		return
	}
	defer r.close(db)
	tx, err := db.Conn(r.Context())
	if err != nil {
		return // the schema is being written, or there is no space
	}
	defer r.close(tx)
	if _, err := tx.ExecContext(r.Context(), `BEGIN IMMEDIATE`); err != nil {
		return // other writers came first for a long time
	}
	r.faulted(lockedFault)
	waitOr(over, r.program.lease()*3/2+time.Duration(random.Int64N(int64(r.program.lease()))))
	if _, err := tx.ExecContext(r.Context(), `ROLLBACK`); err != nil {
		r.Error(err)
	}
}
