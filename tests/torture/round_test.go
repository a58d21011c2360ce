//go:build linux

package torture

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
)

// The roles of the program.
const (
	work   = "work"
	client = "client"
)

// round is the work on one database, from its creation to its check.
type round struct {
	*torture
	n         int
	dir       string
	database  string       // the address of the database for the processes
	direct    string       // the address of the database without the proxy
	small     bool         // whether the database is on a small file system that can be filled
	started   atomic.Int64 // the number of started processes; it also gives each process its number
	shortages atomic.Int64 // how often space, programs or the server have begun to be missing
	lacking   atomic.Int64 // how many of these are missing now

	reasons   atomic.Int64   // the number of actions of people; it also gives each of them its reason
	watching  sync.WaitGroup // the goroutines that watch the machine and the children of workers
	unwatch   context.CancelFunc
	healed    atomic.Int64 // when the last worker began to work after the faults, in microseconds since 1970
	processes []*process   // guarded by torture.mu, like the three fields below
	troubles  []check.Trouble
	children  []check.Child
	acts      []check.Act

	purged     map[job.ID]string      // the correlation ids of jobs that were purged; guarded by torture.mu
	unanswered map[string]ledger.Line // the submissions that have a key and got no answer; guarded by torture.mu
}

// ledger returns the path of a process's ledger.
func (r *round) ledger(name string) string { return filepath.Join(r.dir, "ledger", name) }

// round runs some cycles of faults on a new database. The database is then settled and checked
// while the next round runs, because that is mostly waiting for leases and delays.
func (tt *torture) round(cycles int) {
	r := tt.newRound()
	r.program.begin(r)
	r.watch()
	r.migrate()
	for c := range cycles {
		r.cycle(c)
		tt.count(func(s *summary) { s.Cycles++ })
	}
	tt.settling.Wait()
	tt.settling.Go(r.settle)
}

// newRound makes the next round with its directories.
func (tt *torture) newRound() *round {
	tt.count(func(s *summary) { s.Rounds++ })
	n := tt.summary.Rounds
	r := &round{torture: tt, n: n, dir: filepath.Join(tt.dir, fmt.Sprintf("round-%03d", n)),
		purged: make(map[job.ID]string), unanswered: make(map[string]ledger.Line)}
	for _, sub := range []string{"ledger", "log", "data"} {
		if err := os.MkdirAll(filepath.Join(r.dir, sub), 0o700); err != nil {
			tt.Fatal(err)
		}
	}
	return r
}

// settle runs the remaining jobs of a round and checks the result.
func (r *round) settle() {
	r.heal()
	r.finishRound()
}

// finishRound checks a round whose jobs have ended.
func (r *round) finishRound() {
	r.unwatch()
	r.watching.Wait()
	err := r.program.finish(r)
	if err == nil {
		err = r.verify()
	}
	if err != nil {
		r.Errorf("round %d: the final check failed: %v", r.n, err)
	}
	r.program.end(r)
	if !r.Failed() {
		if err := os.RemoveAll(r.dir); err != nil {
			r.Error(err)
		}
	}
}

// migrate creates the database. One process is killed while it writes the schema, and the process
// that continues is killed right after the schema is complete. If a process gets past its crash
// point, the round starts again with a new database.
func (r *round) migrate() {
	s := r.workers(-1)
	for _, died := range []func() bool{
		func() bool { return s.startsAndDies(crashpoint.InMigration, s.within(8*time.Millisecond)) },
		func() bool { return s.startsAndDies(crashpoint.AfterMigration, 0) },
	} {
		s.insist("the death of a process in the migration", func() bool {
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

// faultsPerSlot is the number of faults in each cycle for each of the slots in which workers run.
const faultsPerSlot = 3

// cycle runs two workers and a client with faults for a while.
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
	last.insist("the death of a worker in a rescue", func() bool {
		r.enqueue(orphans)
		return crashAt(crashpoint.AfterClaimCommit, 1, 0).do(last) && crashAt(crashpoint.InRescue, 1, 0).do(last)
	})
	if r.program.comesTo(crashpoint.InCheckpoint) {
		last.insist("the death of a worker in a checkpoint", last.closing)
	}
}

// orphans is the number of jobs that must exist before a worker claims some of them and dies, so
// that other workers have jobs to rescue.
const orphans = 4

// closing makes a worker stop and kills it while its store is being closed, when SQLite copies the
// log into the database.
func (s *slot) closing() bool {
	w := s.start(pointValue(crashpoint.InCheckpoint, 1, s.within(2*time.Millisecond)))
	s.comesUp(w)
	w.endsWithin(s.between(0, s.program.lease()/5))
	return w.stop() == string(crashpoint.InCheckpoint)
}

// clients runs clients until the cycle is over. The first client of a cycle also enqueues the jobs
// that kill their workers.
func (r *round) clients(c int, over <-chan struct{}) {
	s := &slot{round: r, role: client, rand: r.random(r.n, c, 3), over: over}
	for poison := poisonous(c); ; poison = 0 {
		s.command = func(name string) (*exec.Cmd, error) {
			return r.program.client(r, name, intake{poison: poison, seed: s.rand.Uint64()})
		}
		s.next(r.clientBag)
		if waitOr(over, clientPause) {
			return
		}
	}
}

// poisonous returns the number of jobs in a cycle that kill their workers.
func poisonous(c int) int {
	if c == 0 {
		return 2
	}
	return 1
}

// clientPause is the time between two clients.
const clientPause = 50 * time.Millisecond

// acked returns how many enqueues were acknowledged to those clients whose process number is above
// the given one.
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

// enqueue enqueues jobs with a client without faults.
func (r *round) enqueue(jobs int) {
	if jobs <= 0 {
		return
	}
	p := r.start(client, "", func(name string) (*exec.Cmd, error) {
		return r.program.client(r, name, intake{jobs: jobs, seed: uint64(r.started.Load())})
	})
	if !p.endsWithin(patience) {
		p.hang("did not enqueue %d jobs", jobs)
		return
	}
	p.book("kill")
}

// heal runs workers without faults until no job is left. Jobs with the plan Poison may still kill their
// worker, and jobs of dead workers wait for seconds.
func (r *round) heal() {
	if r.program.ownTables() {
		r.enqueue(1) // the client also publishes the batches that killed clients have left
	}
	for range 20 {
		p := r.start(work, "", func(name string) (*exec.Cmd, error) { return r.program.drain(r, name) })
		(&slot{round: r}).comesUp(p)
		r.healed.Store(time.Now().UnixMicro())
		for noted := int64(-1); !p.endsWithin(patience); {
			now := r.noted()
			if now == noted {
				p.hang("made no progress after the faults had ended")
				return
			}
			noted = now
		}
		p.book("kill")
		if state := p.cmd.ProcessState; (state == nil || state.Success()) && !r.goesOn() {
			return
		}
	}
	r.Errorf("workers still died after the faults had ended, want no deaths; their logs are in %s", filepath.Join(r.dir, "log"))
}

// goesOn waits until no batch is about to end, and reports whether jobs are live after that: the ends
// of batches enqueue callbacks and notices.
func (r *round) goesOn() (live bool) {
	st, err := place.Open(r.Context(), r.direct)
	if err != nil {
		r.Errorf("round %d: the database cannot be opened after the faults: %v", r.n, err)
		return false
	}
	defer r.close(st)
	for begun := time.Now(); time.Since(begun) < patience && !live; waitOr(nil, 50*time.Millisecond) {
		// The batches come first: one that ends after that has its jobs in the counts.
		page, err := st.BatchList(r.Context(), store.BatchFilter{State: job.BatchProcessing})
		if err != nil {
			r.Errorf("round %d: list the batches after the faults: %v", r.n, err)
			return false
		}
		counts, err := st.Counts(r.Context())
		if err != nil {
			r.Errorf("round %d: count the jobs after the faults: %v", r.n, err)
			return false
		}
		live = slices.ContainsFunc(counts, func(c store.Count) bool { return !c.State.Terminal() && c.N > 0 })
		if len(page.Batches) == 0 && !live {
			return false
		}
	}
	return live
}

// noted returns the size of all ledgers in bytes. The size grows while jobs run or are enqueued.
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
