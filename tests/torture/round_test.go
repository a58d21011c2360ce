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

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
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
	n         int
	dir       string
	database  string       // where the processes find it
	direct    string       // where it is
	small     bool         // the database is on a disk of its own that can be filled
	started   atomic.Int64 // processes, which also numbers them
	shortages atomic.Int64 // beginnings and ends of times without space: odd while it is short

	purged     map[job.ID]string      // names of jobs that an operator removes; torture.mu guards it
	unanswered map[string]ledger.Line // submissions with a key whose call has brought no answer; torture.mu guards it
}

// ledger returns the path of a process's ledger.
func (r *round) ledger(name string) string { return filepath.Join(r.dir, "ledger", name) }

// round hurts a new database for some cycles. It heals and is judged while the
// next one is hurt: that is mostly waiting for leases and crashed jobs' delays.
func (tt *torture) round(cycles int) {
	tt.count(func(s *summary) { s.Rounds++ })
	n := tt.summary.Rounds
	r := &round{torture: tt, n: n, dir: filepath.Join(tt.dir, fmt.Sprintf("round-%03d", n)),
		purged: make(map[job.ID]string), unanswered: make(map[string]ledger.Line)}
	for _, sub := range []string{"ledger", "log", "data"} {
		if err := os.MkdirAll(filepath.Join(r.dir, sub), 0o700); err != nil {
			tt.Fatal(err)
		}
	}
	r.program.begin(r)
	r.migrate()
	for c := range cycles {
		r.cycle(c)
		tt.count(func(s *summary) { s.Cycles++ })
	}
	tt.settling.Wait()
	tt.settling.Go(r.settle)
}

// settle does the rest of the work of a round and judges it.
func (r *round) settle() {
	r.heal()
	err := r.program.finish(r)
	if err == nil {
		err = r.judge()
	}
	if err != nil {
		r.Errorf("round %d: %v", r.n, err)
	}
	r.program.end(r)
	if !r.Failed() {
		if err := os.RemoveAll(r.dir); err != nil {
			r.Error(err)
		}
	}
}

// migrate makes the database, with one death while the schema is written and,
// by whoever goes on with what that left, one right after it. A process that
// came too far to die is followed by one with a new database.
func (r *round) migrate() {
	s := r.workers(-1)
	for _, died := range []func() bool{
		func() bool { return s.startsAndDies(crashpoint.InMigration, s.within(8*time.Millisecond)) },
		func() bool { return s.startsAndDies(crashpoint.AfterMigration, 0) },
	} {
		s.insist("a death in the migration", func() bool {
			if died() {
				return true
			}
			if err := r.program.again(r); err != nil {
				r.Error(err)
			}
			return false
		})
	}
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
	helpers.Go(func() { r.program.meanwhile(r, c, over) })
	for place := range 2 {
		workers.Go(func() { r.workers(c, place).suffer(r.workerBag, faultsPerSlot) })
	}
	workers.Wait()
	close(over)
	helpers.Wait()
	r.enqueue(ackedPerCycle - r.acked(before))

	last := r.workers(c, 2)
	last.insist("a death in a rescue", func() bool {
		r.enqueue(orphans)
		return crashAt(crashpoint.AfterClaimCommit, 1, 0).do(last) && crashAt(crashpoint.InRescue, 1, 0).do(last)
	})
	if r.program.comesTo(crashpoint.InCheckpoint) {
		last.insist("a death in a checkpoint", last.closing)
	}
}

// orphans is how many jobs there are at least for a worker that claims some and
// dies, so that there is something to rescue.
const orphans = 4

// closing lets a worker die while its close moves the log into the database.
func (s *slot) closing() bool {
	w := s.start(pointValue(crashpoint.InCheckpoint, 1, s.within(2*time.Millisecond)))
	s.comesUp(w)
	w.endsWithin(s.between(0, s.program.lease()/5))
	return w.stop() == string(crashpoint.InCheckpoint)
}

// clients enqueue until the cycle is over. The first client of a round brings the
// jobs that kill their workers.
func (r *round) clients(c int, over <-chan struct{}) {
	s := &slot{round: r, role: client, rand: r.random(r.n, c, 3), over: over}
	for poison := max(0, 1-c); ; poison = 0 {
		s.command = func(name string) (*exec.Cmd, error) {
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

// acked returns how many jobs the clients took in that were started since.
func (r *round) acked(before int64) (n int) {
	for started := before + 1; started <= r.started.Load(); started++ {
		path := r.ledger(fmt.Sprintf("%04d-%s", started, client))
		if size(path) == 0 {
			continue
		}
		lines, err := ledger.Read(path)
		if err != nil {
			r.Error(err)
		}
		for i := range lines {
			if lines[i].Op == ledger.Taken {
				n++
			}
		}
	}
	return n
}

// enqueue takes jobs in with a client that nothing happens to.
func (r *round) enqueue(jobs int) {
	if jobs <= 0 {
		return
	}
	p := r.start(client, "", func(name string) (*exec.Cmd, error) {
		return r.program.client(r, name, intake{jobs: jobs, seed: uint64(r.started.Load())})
	})
	if !p.endsWithin(patience) {
		p.hang("did not take %d jobs in", jobs)
		return
	}
	p.book("kill")
}

// heal works without faults until nothing is left. Jobs that kill their worker
// may still do so, and those of dead workers wait for seconds.
func (r *round) heal() {
	for range 20 {
		p := r.start(work, "", func(name string) (*exec.Cmd, error) { return r.program.drain(r, name) })
		for noted := int64(-1); !p.endsWithin(patience); {
			now := r.noted()
			if now == noted {
				p.hang("has done nothing of the work that is left when the faults had ended")
				return
			}
			noted = now
		}
		p.book("kill")
		if state := p.cmd.ProcessState; state == nil || state.Success() {
			return
		}
	}
	r.Errorf("workers kept dying after the faults had ended, see %s", filepath.Join(r.dir, "log"))
}

// noted returns how long the ledgers are: they grow while work is done.
func (r *round) noted() (bytes int64) {
	paths, err := filepath.Glob(r.ledger("*"))
	if err != nil {
		r.Error(err)
	}
	for _, path := range paths {
		bytes += size(path)
	}
	return bytes
}
