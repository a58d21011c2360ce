//go:build linux

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/crashpoint"
	"github.com/redrive/redrive/tests/torture/ledger"
)

// The roles of the program.
const (
	work   = "work"
	client = "client"
)

// round is one database, from its making to its check.
type round struct {
	*torture
	n        int
	dir      string
	database string
	small    bool         // the database is on a disk of its own that can be filled
	started  atomic.Int64 // processes, which also numbers them
	starving sync.Mutex   // held while space is short
	starved  atomic.Bool

	unanswered map[string]ledger.Line // submissions with a key whose call has brought no answer; torture.mu guards it
}

// ledger returns the path of a process's ledger.
func (r *round) ledger(name string) string { return filepath.Join(r.dir, "ledger", name) }

// smallDiskEvery is which rounds run on a small disk.
const smallDiskEvery = 4

func (tt *torture) round(cycles int) {
	tt.summary.Rounds++
	n := tt.summary.Rounds
	r := &round{torture: tt, n: n, dir: filepath.Join(tt.dir, fmt.Sprintf("round-%03d", n)),
		unanswered: make(map[string]ledger.Line)}
	for _, sub := range []string{"ledger", "log", "data"} {
		if err := os.MkdirAll(filepath.Join(r.dir, sub), 0o700); err != nil {
			tt.Fatal(err)
		}
	}
	r.database = filepath.Join(r.dir, "data", "jobs.db")
	if n%smallDiskEvery == 0 {
		r.small = tt.mountSmall(filepath.Join(r.dir, "data"))
	}
	r.migrate()
	for c := range cycles {
		r.cycle(c)
		tt.summary.Cycles++
	}
	r.heal()
	tt.program.finish(r)
	r.judge()
	if r.small {
		tt.unmount(filepath.Join(r.dir, "data"))
	}
	if !tt.Failed() {
		if err := os.RemoveAll(r.dir); err != nil {
			tt.Error(err)
		}
	}
}

// migrate makes the database, with one death while the schema is written and,
// by whoever goes on with what that left, one right after it. A death that came
// too late for its point is tried again with a new file.
func (r *round) migrate() {
	s := r.workers(-1)
	for _, f := range []fault{
		crashAt(crashpoint.InMigration, 1, 8*time.Millisecond), crashAt(crashpoint.AfterMigration, 1, 0),
	} {
		for range 5 {
			if f.do(s) {
				break
			}
			if err := removeDatabase(r.database); err != nil {
				r.Fatal(err)
			}
		}
	}
}

func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// faultsPerSlot is how many faults a worker's place sees in a cycle.
const faultsPerSlot = 3

// cycle hurts two workers and a client for a while.
func (r *round) cycle(c int) {
	over := make(chan struct{})
	var helpers, workers sync.WaitGroup
	before := r.started.Load()
	helpers.Go(func() { r.clients(c, over) })
	helpers.Go(func() { r.operate(c, over) })
	if r.small {
		helpers.Go(func() { r.fillDisk(c, over) })
	}
	for place := range 2 {
		workers.Go(func() {
			s := r.workers(c, place)
			for range faultsPerSlot {
				s.next(r.workerBag)
			}
			kill().do(s) // so that a lease is left behind
		})
	}
	workers.Wait()
	close(over)
	helpers.Wait()
	r.topUp(before)

	last := r.workers(c, 2)
	crashAt(crashpoint.InRescue, 1, 0).do(last)
	for range 3 {
		if r.closing(last) {
			break
		}
	}
}

// closing lets a worker die while its close moves the log into the database.
func (r *round) closing(s *slot) bool {
	w := s.start(fmt.Sprintf("%s:1:%s", crashpoint.InCheckpoint, s.between(0, 2*time.Millisecond)))
	w.endsWithin(s.between(s.program.lease()/15, s.program.lease()/5)) // so that it is up
	return w.stop() == string(crashpoint.InCheckpoint)
}

// clients enqueue until the cycle is over. The first client of a round brings the
// jobs that kill their workers.
func (r *round) clients(c int, over <-chan struct{}) {
	s := &slot{round: r, role: client, rand: r.random(r.n, c, 3), over: over}
	for poison := max(0, 1-c); ; poison = 0 {
		s.command = func(name string) *exec.Cmd {
			return r.program.client(r, name, intake{poison: poison, seed: s.rand.Uint64()})
		}
		s.next(r.clientBag)
		if waitOr(over, clientPause) {
			return
		}
	}
}

// clientPause is the time between two clients.
const clientPause = 50 * time.Millisecond

// topUp takes in what is missing to the jobs of a cycle.
func (r *round) topUp(before int64) {
	acked := 0
	for n := before + 1; n <= r.started.Load(); n++ {
		path := r.ledger(fmt.Sprintf("%04d-%s", n, client))
		if size(path) == 0 {
			continue
		}
		lines, err := ledger.Read(path)
		if err != nil {
			r.Error(err)
			return
		}
		for i := range lines {
			if lines[i].Op == ledger.Taken {
				acked++
			}
		}
	}
	if missing := ackedPerCycle - acked; missing > 0 {
		p := r.start(client, "", func(name string) *exec.Cmd {
			return r.program.client(r, name, intake{jobs: missing, seed: uint64(before)})
		})
		if !p.endsWithin(patience) {
			p.kill()
			r.Errorf("%s did not take %d jobs in within %s, see %s", p.name, missing, patience, p.log)
			return
		}
		p.book("kill")
	}
}

// healPatience is how long the rest of the work may take once the faults ended.
const healPatience = 2 * time.Minute

// heal works without faults until nothing is left. Jobs that kill their worker
// may still do so.
func (r *round) heal() {
	for range 20 {
		p := r.start(work, "", func(name string) *exec.Cmd { return r.program.drain(r, name) })
		if !p.endsWithin(healPatience) {
			p.stop()
			r.Errorf("the work was not done %s after the faults had ended, see %s", healPatience, p.log)
			return
		}
		p.book("kill")
		if p.cmd.ProcessState.Success() {
			return
		}
	}
	r.Errorf("workers kept dying after the faults had ended, see %s", filepath.Join(r.dir, "log"))
}
