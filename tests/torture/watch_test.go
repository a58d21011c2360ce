//go:build linux

package torture

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// readyMax is how long a job may be ready beside a free slot after the faults have ended. A job that has
// its process to itself holds up others until it has ended, and a worker that could not start programs
// tries again after up to 1.5 s.
const readyMax = 5 * time.Second

// retainingEvery is the interval of the rounds with a retention of 3 s: every third round has one.
const retainingEvery = 3

func (r *round) retains() bool { return r.n%retainingEvery == 0 }

// retention is the retention of such rounds. Events stay, because the checks need them.
var retention = store.Retention{Completed: 3 * time.Second, Failures: 3 * time.Second, Dead: 3 * time.Second}

// enlist adds a process to those of the round.
func (r *round) enlist(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes = append(r.processes, p)
}

// troubled records that from now on something may keep all processes from their work, until the
// returned function is called.
func (r *round) troubled(what string) (over func()) {
	from := job.At(time.Now())
	return func() { r.trouble(check.Trouble{What: what, From: from, To: job.At(time.Now())}) }
}

func (r *round) trouble(t check.Trouble) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.troubles = append(r.troubles, t)
}

// holders returns the processes of the round by the names that the failure records of crashes have.
func (r *round) holders(dump *store.Dump) (all []check.Process) {
	named := make(map[string]bool)
	for i := range dump.Failures {
		named[dump.Failures[i].Holder] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.processes {
		known := check.Process{Name: p.name, Ended: job.Micros(p.endedAt.Load()), Disturbed: job.Micros(p.disturbed.Load()),
			AtStart: p.says(crashpoint.KilledPrefix + " " + string(crashpoint.HandlerStart))}
		all = append(all, known)
		for name := range named {
			if name != p.name && r.program.holder(p, name) {
				known.Name = name
				all = append(all, known)
			}
		}
	}
	return all
}

// watch observes the machine and the processes that workers start for jobs, until the round is settled.
func (r *round) watch() {
	ctx, stop := context.WithCancel(context.Background())
	r.unwatch = stop
	r.Cleanup(stop)
	r.watching.Go(func() { r.watchMachine(ctx) })
	r.watching.Go(func() { r.watchChildren(ctx) })
}

// watchMachine writes and flushes a small file again and again. When this takes a considerable part of a
// lease, workers may lose their leases for the same reason.
func (r *round) watchMachine(ctx context.Context) {
	f, err := os.Create(filepath.Join(r.dir, "pulse"))
	if err != nil {
		r.Error(err)
		return
	}
	defer r.close(f)
	const every = 20 * time.Millisecond
	for last := time.Now(); !waitOr(ctx.Done(), every); {
		if _, err := f.WriteAt([]byte("."), 0); err != nil {
			r.Error(err)
			return
		}
		if err := f.Sync(); err != nil {
			r.Error(err)
			return
		}
		now := time.Now()
		if now.Sub(last) > r.program.lease()/5 {
			r.trouble(check.Trouble{What: check.Busy, From: job.At(last), To: job.At(now)})
		}
		last = now
	}
}

// born identifies a process: the system uses its number again, but not at the same time.
type born struct {
	pid   int
	start string // the time of its start, as the kernel counts it
}

// watchChildren looks for the programs of jobs. Each program belongs to the worker that is its parent,
// or to that of its parent.
func (r *round) watchChildren(ctx context.Context) {
	seen := make(map[born]*check.Child)
	for !waitOr(ctx.Done(), 100*time.Millisecond) {
		parents, found := r.programs()
		workers := r.living()
		for b := range found {
			now := job.At(time.Now())
			c := seen[b]
			if c == nil {
				c = &check.Child{PID: b.pid, First: now}
				seen[b] = c
			}
			c.Last = now
			for pid, up := b.pid, 0; c.Worker == "" && up < 3; up++ {
				pid = parents[pid]
				c.Worker = workers[pid]
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range seen {
		r.children = append(r.children, *c)
	}
}

// living returns the names of the processes that have not ended, by their numbers.
func (r *round) living() map[int]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make(map[int]string)
	for _, p := range r.processes {
		if p.endedAt.Load() == 0 && p.cmd.Process != nil {
			names[p.cmd.Process.Pid] = p.name
		}
	}
	return names
}

// programs returns the parents of all processes, and the processes that run a program in the directory
// of the round and have not ended.
func (r *round) programs() (parents map[int]int, found map[born]bool) {
	parents, found = make(map[int]int), make(map[born]bool)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		r.Error(err)
		return parents, found
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // the process has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest) // state, parent, and from the twentieth on the start
		if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		if parents[pid], err = strconv.Atoi(fields[1]); err != nil {
			continue
		}
		program, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err == nil && strings.HasPrefix(program, r.dir+"/") {
			found[born{pid, fields[19]}] = true
		}
	}
	return parents, found
}
