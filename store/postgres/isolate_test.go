package postgres

import (
	"bytes"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// impatient waits a short time for locks.
func impatient() *Options { return &Options{StatementTimeout: 5 * time.Second} }

// claims enqueues n jobs and claims them.
func claimN(t *testing.T, s *Store, n int) []job.Claim {
	t.Helper()
	first, err := s.ReserveIDs(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]job.New, n)
	for i := range jobs {
		jobs[i] = job.New{ID: first + job.ID(i), Kind: "mail", Queue: "default", Priority: 2, Payload: []byte(`{}`)}
	}
	if _, err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	return claimed(t, s, n)
}

// claimed claims n jobs, in the order of their ids.
func claimed(t *testing.T, s *Store, n int) (all []job.Claim) {
	t.Helper()
	eventually(t, "claims", func() bool {
		x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
			{Queue: "default", Max: n - len(all), Kinds: []store.KindWant{{Kind: "mail", Max: n - len(all), MaxCrashes: 2}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x.Claims...)
		return len(all) == n
	})
	slices.SortFunc(all, func(a, b job.Claim) int { return int(a.ID - b.ID) })
	return all
}

func completes(c *job.Claim) job.Outcome {
	return job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Succeeded, To: job.Completed, Result: []byte("1")}
}

func retries(c *job.Claim) job.Outcome {
	return job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Failed, To: job.Retrying, Delay: time.Hour, Failure: failureOf("Later")}
}

func kills(c *job.Claim) job.Outcome {
	return job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Failed, To: job.Dead, Reason: job.NonRetriable, Failure: failureOf("Bad")}
}

func moves(c *job.Claim) job.Outcome {
	return job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Snoozed, To: job.Waiting, Delay: time.Hour, Queue: "elsewhere"}
}

func failureOf(class string) *job.Failure {
	return &job.Failure{How: job.ByError, Class: class, Message: class, Fingerprint: "1:" + class}
}

var endings = map[string]func(*job.Claim) job.Outcome{"completed": completes, "retried": retries, "dead": kills, "moved": moves}

func settles(t *testing.T, s *Store, outcomes ...job.Outcome) []error {
	t.Helper()
	x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: outcomes})
	if err != nil {
		t.Fatal(err)
	}
	return x.Settled
}

// held begins a transaction of the caller's that ends a run, and stays open.
func held(t *testing.T, s *Store, dsn string, o job.Outcome) (end func(commit bool)) {
	t.Helper()
	tx, _, over := ways()[0].begin(t, dsn, &sql.TxOptions{})
	if err := s.SettleTx(t.Context(), tx, o); err != nil {
		t.Fatal(err)
	}
	return func(commit bool) {
		t.Helper()
		if err := over(commit); err != nil {
			t.Fatal(err)
		}
	}
}

// A heartbeat does not wait for a transaction that has completed one of the runs:
// that one is held, the leases of the others are extended, and their progress is
// kept.
//
// part of: I2, Q3
func TestI2_Q3_AnOpenTransactionStopsNoHeartbeat(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claimN(t, s, 3)
	end := held(t, s, dsn, completes(&all[1]))
	admin := connected(t, dsn)
	beat := func(lease time.Duration) []store.RunStatus {
		t.Helper()
		b := store.Beat{Lease: lease}
		for i := range all {
			run := store.Run{ID: all[i].ID, Token: all[i].Token}
			b.Runs = append(b.Runs, run)
			b.Progress = append(b.Progress, job.Progress{ID: run.ID, Token: run.Token, Done: 1, Total: 2})
		}
		status, err := s.Heartbeat(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	long := `SELECT count(*) FROM ` + s.Schema() + `.redrive_jobs WHERE lease_until > (extract(epoch FROM now()) * 1000000)::bigint + 1800000000`
	alive := store.RunStatus{Held: true}
	if status := beat(time.Hour); !slices.Equal(status, []store.RunStatus{alive, alive, alive}) {
		t.Errorf("while it is open: %+v", status)
	}
	if n := numberOf(t, admin, long); n != 2 {
		t.Errorf("%d leases were extended, want 2", n)
	}
	if n := numberOf(t, admin, `SELECT count(*) FROM `+s.Schema()+`.redrive_progress`); n != 2 {
		t.Errorf("progress of %d runs is kept, want 2", n)
	}
	end(false)
	if status := beat(time.Hour); !slices.Equal(status, []store.RunStatus{alive, alive, alive}) {
		t.Errorf("after it was rolled back: %+v", status)
	}
	if n := numberOf(t, admin, long); n != 3 {
		t.Errorf("%d leases are extended, want 3", n)
	}
	held(t, s, dsn, completes(&all[1]))(true)
	if status := beat(time.Hour); !slices.Equal(status, []store.RunStatus{alive, {}, alive}) {
		t.Errorf("after it was committed: %+v", status)
	}
}

// An outcome of a run that an open transaction has ended keeps no other outcome
// from being written, whatever they are, and is written when that is rolled back.
//
// part of: I2
func TestI2_AnOpenTransactionStopsNoOutcome(t *testing.T) {
	t.Parallel()
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dsn := freshAt(t, impatient())
			all := claimN(t, s, 5)
			stuck := ending(&all[0])
			end := held(t, s, dsn, completes(&all[0]))
			answers := settles(t, s, stuck, kills(&all[1]), completes(&all[2]), retries(&all[3]), moves(&all[4]))
			if err := answers[0]; !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "job "+all[0].ID.String()) ||
				!strings.Contains(err.Error(), "CompleteTx") {
				t.Errorf("the run that is held: %v", err)
			}
			if err := errors.Join(answers[1:]...); err != nil {
				t.Errorf("the others: %v", err)
			}
			for i, want := range []job.State{job.Running, job.Dead, job.Completed, job.Retrying, job.Waiting} {
				if j, err := s.Get(t.Context(), all[i].ID); err != nil || j.State != want {
					t.Errorf("job %d is %s (%v), want %s", i, j.State, err, want)
				}
			}
			end(false)
			if err := settles(t, s, stuck)[0]; err != nil {
				t.Errorf("after it was rolled back: %v", err)
			}
			if j, err := s.Get(t.Context(), all[0].ID); err != nil || j.State != stuck.To {
				t.Errorf("it is %s (%v), want %s", j.State, err, stuck.To)
			}
		})
	}
}

// A transaction that holds what deaths need holds up deaths, and nothing else. A
// job's events are in their order.
//
// part of: I2, D1
func TestI2_D1_AnOpenDeathStopsOnlyDeaths(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claimN(t, s, 7)
	if err := settles(t, s, moves(&all[6]))[0]; err != nil { // a new lane needs the same lock
		t.Fatal(err)
	}
	end := held(t, s, dsn, kills(&all[0]))
	again := completes(&all[1]) // after the death of the same run
	answers := settles(t, s, kills(&all[1]), kills(&all[2]), completes(&all[3]), retries(&all[4]), moves(&all[5]), again)
	for _, i := range []int{0, 1} {
		if !errors.Is(answers[i], store.ErrUnavailable) {
			t.Errorf("death %d: %v", i, answers[i])
		}
	}
	if err := errors.Join(answers[2:5]...); err != nil {
		t.Errorf("the others: %v", err)
	}
	if !errors.Is(answers[5], store.ErrUnavailable) {
		t.Errorf("what comes after an outcome that is not written yet: %v", answers[5])
	}
	end(true)
	if err := errors.Join(settles(t, s, kills(&all[1]), kills(&all[2]))...); err != nil {
		t.Error(err)
	}
	for i := range 3 {
		if j, err := s.Get(t.Context(), all[i].ID); err != nil || j.State != job.Dead {
			t.Errorf("job %d is %s, %v", i, j.State, err)
		}
	}
}

// A transaction that holds something else that an outcome needs, holds up this one only.
//
// part of: Q10
func TestQ10_AnyLockStopsOnlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claimN(t, s, 4)
	own := store.Run{ID: all[0].ID, Token: all[0].Token}
	if _, err := s.Heartbeat(t.Context(), store.Beat{Lease: time.Minute, Runs: []store.Run{own},
		Progress: []job.Progress{{ID: own.ID, Token: own.Token, Done: 1, Total: 2}}}); err != nil {
		t.Fatal(err)
	}
	other := connected(t, dsn)
	run(t, other, `BEGIN`, `SELECT 1 FROM `+s.Schema()+`.redrive_progress FOR UPDATE`)
	stuck := completes(&all[0])
	stuck.Progressed = true
	for i, err := range settles(t, s, stuck, completes(&all[1]), retries(&all[2]), completes(&all[3])) {
		if i == 0 != errors.Is(err, store.ErrUnavailable) || i != 0 && err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	run(t, other, `ROLLBACK`)
	if err := settles(t, s, stuck)[0]; err != nil {
		t.Error(err)
	}
}

// An outcome that the server refuses keeps no other from being written.
//
// part of: Q10
func TestQ10_ARefusedOutcomeIsAlone(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	run(t, connected(t, dsn), `ALTER TABLE `+s.Schema()+`.redrive_done ADD CHECK (result IS DISTINCT FROM 'bad')`,
		`ALTER TABLE `+s.Schema()+`.redrive_failures ADD CHECK (class <> 'Bad')`)
	all := claimN(t, s, 9)
	outcomes := make([]job.Outcome, len(all))
	bad := map[int]bool{2: true, 5: true, 7: true}
	for i := range all {
		outcomes[i] = []func(*job.Claim) job.Outcome{completes, retries, moves}[i%3](&all[i])
	}
	outcomes[2] = kills(&all[2])
	outcomes[5] = kills(&all[5])
	outcomes[7] = completes(&all[7])
	outcomes[7].Result = []byte("bad")
	for i, err := range settles(t, s, outcomes...) {
		if bad[i] != errors.Is(err, store.ErrInvalid) || !bad[i] && err != nil {
			t.Errorf("outcome %d: %v", i, err)
		}
		want := outcomes[i].To
		if bad[i] {
			want = job.Running
		}
		if j, err := s.Get(t.Context(), all[i].ID); err != nil || j.State != want {
			t.Errorf("job %d is %s (%v), want %s", i, j.State, err, want)
		}
	}
}

// What outcomes bring goes to the server in parts of a bounded size, each whole.
//
// part of: Q10
func TestQ10_OutcomesGoInBoundedParts(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	result := bytes.Repeat([]byte("x"), job.ResultMax)
	n := partBytes/job.ResultMax + 1
	all := claimN(t, s, n)
	outcomes := make([]job.Outcome, n)
	for i := range all {
		outcomes[i] = completes(&all[i])
		outcomes[i].Result = result
	}
	if k := partOf(outcomes); k != n-1 {
		t.Errorf("%d results go together, want %d", k, n-1)
	}
	before := s.commits.Load()
	if err := errors.Join(settles(t, s, outcomes...)...); err != nil {
		t.Fatal(err)
	}
	if got := s.commits.Load() - before; got < 2 {
		t.Errorf("%d transactions, want 2 at least", got)
	}
	for _, i := range []int{0, n - 2, n - 1} {
		if j, err := s.Get(t.Context(), all[i].ID); err != nil || j.State != job.Completed || !bytes.Equal(j.Result, result) {
			t.Errorf("job %d is %s, %v", i, j.State, err)
		}
	}
	f := *failureOf("Bad")
	f.Stack, f.Stderr = strings.Repeat("s", job.EvidenceMax), result
	if size := sizeOf(&job.Outcome{Memo: result, Failure: &f}); size < 3*job.EvidenceMax {
		t.Errorf("a failure record with its memo counts %d bytes", size)
	}
}
