//go:build linux

package processes

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/place"
)

var (
	endBatches   = flag.Int("ends.batches", 500, "batches whose last members end at once, in TestB2_Trap1")
	endProcesses = flag.Int("ends.processes", 4, "processes that end the members, in TestB2_Trap1")
)

// endsEnv makes this test binary a process that ends members of batches in the named database until its
// input ends.
const endsEnv = "REDRIVE_TEST_ENDS"

// lookEnv says how often such a process looks for jobs. With many of them on few processors, each looks less often, so
// that they do not keep each other from the work.
const lookEnv = "REDRIVE_TEST_ENDS_LOOK"

// membersEach is how many members a batch has. They are claimed one after the other, so they run in
// several processes at a time.
const membersEach = 4

var person = store.By{Actor: "ann", Reason: "test"}

// endMembers claims members and ends them: those whose payload is "dead" die in their first life.
func endMembers(where string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
		cancel()
	}()
	p, err := place.Open(ctx, where)
	if err != nil {
		return err
	}
	defer p.Close()
	look, err := time.ParseDuration(os.Getenv(lookEnv))
	if err != nil {
		return err
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	x := store.Exchange{Holder: fmt.Sprint(os.Getpid()), Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 2, Kinds: []store.KindWant{{Kind: "member", Max: 2, MaxCrashes: 2}}}}}
	for ctx.Err() == nil {
		out, err := p.Exchange(ctx, x)
		if err != nil && (ctx.Err() != nil || place.Passes(err)) {
			continue // outcomes are written again
		}
		if err != nil {
			return err
		}
		x.Settle = nil
		for i := range out.Claims {
			c := &out.Claims[i]
			o := job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Succeeded, To: job.Completed}
			if string(c.Payload) == `"dead"` && c.Life == 1 {
				o = job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Failed, To: job.Dead, Reason: job.NonRetriable,
					Failure: &job.Failure{How: job.ByError, Class: "Bad", Message: "bad", Fingerprint: "1:bad"}}
			}
			x.Settle = append(x.Settle, o)
		}
		if len(x.Settle) == 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// The last members of many small batches end at the same time in several processes, and dead ones are
// retried meanwhile. Each end is one outcome, with one event and one callback, and the outcomes are
// numbered without gaps.
//
// proves: B2
func TestB2_Trap1_ConcurrentLastEnds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test starts processes")
	}
	for name, where := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "jobs.db") },
		"PostgreSQL": func(t *testing.T) string { dsn, schema := pgtest.Schema(t); return dsn + "#" + schema },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lastEnds(t, where(t))
		})
	}
}

func lastEnds(t *testing.T, where string) {
	p, err := place.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	startEnders(t, where, *endProcesses)
	for i := range *endBatches {
		first, err := p.ReserveIDs(t.Context(), membersEach)
		if err != nil {
			t.Fatal(err)
		}
		members := make([]job.New, membersEach)
		for k := range members {
			members[k] = job.New{ID: first + job.ID(k), Kind: "member", Queue: "default", Priority: job.PriorityDefault, Payload: []byte(`"ok"`)}
			if i%3 == 0 && k == membersEach-1 {
				members[k].Payload = []byte(`"dead"`)
			}
		}
		_, _, err = p.StartBatch(t.Context(), store.By{}, store.NewBatch{Callbacks: []store.BatchCallback{{On: "end", Kind: "after", Queue: "after"}}}, members)
		if err != nil {
			t.Fatal(err)
		}
		if i%50 == 49 { // some have ended by now, and some are about to
			retryDead(t, p)
		}
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	limit, cancel := context.WithTimeout(t.Context(), patience+time.Duration(*endBatches)*50*time.Millisecond)
	defer cancel()
	for {
		d, err := p.Dump(limit)
		if err != nil {
			t.Fatal(err)
		}
		ready := 0
		for i := range d.Batches {
			if d.Batches[i].State == job.BatchReady {
				ready++
			}
		}
		if ready == *endBatches {
			checkEnds(t, d)
			return
		}
		select {
		case <-tick.C:
			retryDead(t, p)
		case <-limit.Done():
			t.Fatalf("%d of %d batches are READY", ready, *endBatches)
		}
	}
}

// startEnders starts processes that end jobs until the test ends. The test may kill them.
func startEnders(t *testing.T, where string, n int) (all []*exec.Cmd) {
	t.Helper()
	for range n {
		cmd := exec.Command(os.Args[0])
		look := time.Duration(n) * 1250 * time.Microsecond
		cmd.Env, cmd.Stderr = append(os.Environ(), endsEnv+"="+where, lookEnv+"="+look.String()), os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		input, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = input.Close() // it ends then
			err := cmd.Wait()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err != nil && (!ok || !status.Signaled()) {
				t.Errorf("a process: %v", err)
			}
		})
		all = append(all, cmd)
	}
	return all
}

// retryDead retries all that is dead.
func retryDead(t *testing.T, p *place.Place) {
	t.Helper()
	a := store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}, Through: 1 << 40}
	for {
		did, err := p.Act(t.Context(), person, a)
		if err != nil {
			t.Fatal(err)
		}
		if a.After = did.Next; a.After == 0 {
			return
		}
	}
}

func checkEnds(t *testing.T, d *store.Dump) {
	t.Helper()
	for _, v := range check.Check(&check.History{Dump: d}) {
		if v.Invariant == check.BatchCounts || v.Invariant == check.OneOutcome {
			t.Error(v)
		}
	}
	callbacks, outcomes, again := make(map[string]int), 0, 0
	for i := range d.Jobs {
		if d.Jobs[i].Kind == "after" {
			callbacks[d.Jobs[i].Correlation]++
		}
	}
	for id, all := range d.Outcomes {
		outcomes += len(all)
		if len(all) > 1 {
			again++
		}
		for k := range all {
			if all[k].N != int64(k+1) || callbacks[fmt.Sprintf("batch:%d:%d", id, k+1)] != 1 {
				t.Errorf("outcome %d of batch %d has the number %d and %d callbacks, want one", k+1, id, all[k].N, callbacks[fmt.Sprintf("batch:%d:%d", id, k+1)])
			}
		}
	}
	if outcomes != len(callbacks) || len(d.Outcomes) != *endBatches {
		t.Errorf("%d outcomes of %d batches and %d callbacks, want as many callbacks as outcomes and %d batches", outcomes, len(d.Outcomes), len(callbacks), *endBatches)
	}
	t.Logf("%d batches, %d outcomes, %d batches ended more than once", len(d.Batches), outcomes, again)
}
