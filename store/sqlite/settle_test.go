package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// ends holds one outcome for each way of ending a run for which the store uses different SQL
// statements.
var ends = map[string]func() job.Outcome{
	"completed": func() job.Outcome { return job.Outcome{Cause: job.Succeeded, To: job.Completed} },
	"cancelled": func() job.Outcome {
		return job.Outcome{Cause: job.Cancel, To: job.Cancelled, Failure: failureOf("Cancelled")}
	},
	"snoozed": func() job.Outcome {
		return job.Outcome{Cause: job.Snoozed, To: job.Waiting, Delay: time.Hour}
	},
	"retrying": func() job.Outcome {
		return job.Outcome{Cause: job.Failed, To: job.Retrying, Failure: failureOf("NetworkTimeout")}
	},
	"retrying elsewhere": func() job.Outcome {
		return job.Outcome{Cause: job.Failed, To: job.Retrying, Queue: "elsewhere", Failure: failureOf("NetworkTimeout")}
	},
	"dead of a known group": func() job.Outcome {
		return job.Outcome{Cause: job.Failed, To: job.Dead, Reason: job.MaxRetries, Failure: failureOf("Known")}
	},
	"dead of a new group": func() job.Outcome {
		return job.Outcome{Cause: job.Failed, To: job.Dead, Reason: job.MaxRetries, Failure: failureOf("New")}
	},
}

func failureOf(class string) *job.Failure {
	return &job.Failure{How: job.ByError, Class: class, Message: "it failed", Fingerprint: "mail|" + class}
}

// pair holds two stores on one database file, with one clock for both. The stores behave like two
// processes.
type pair struct {
	t      *testing.T
	now    time.Time
	ours   *sqlite.Store
	theirs *sqlite.Store
	run    job.Claim // the run that the first store, ours, has claimed
}

// newPair returns a pair of stores whose first store, ours, has claimed a run. The file also
// contains one dead job, whose group is the known group of the tests.
func newPair(t *testing.T) *pair {
	p := &pair{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	path := filepath.Join(t.TempDir(), "jobs.db")
	for _, s := range []**sqlite.Store{&p.theirs, &p.ours} {
		var err error
		*s, err = sqlite.Open(t.Context(), path, &sqlite.Options{Clock: func() time.Time { return p.now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*s).Close() })
	}
	for range 2 {
		if _, err := p.ours.Enqueue(t.Context(), []job.New{newJob(t, p.ours)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.settle(claimOne(t, p.ours), ends["dead of a known group"]()); err != nil {
		t.Fatal(err)
	}
	p.run = claimOne(t, p.ours)
	return p
}

func (p *pair) settle(c job.Claim, o job.Outcome) error {
	p.t.Helper()
	o.ID, o.Token = c.ID, c.Token
	x, err := p.ours.Exchange(p.t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{o}})
	if err != nil {
		p.t.Fatal(err)
	}
	return x.Settled[0]
}

func (p *pair) dump() *store.Dump {
	p.t.Helper()
	d, err := p.theirs.Dump(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// If another process has ended a run, this process cannot write an outcome of the run, even
// though it remembers its claim of the run.
//
// proves: Q4
func TestQ4_ARememberedRunThatIsOverWritesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test opens a database for each way in which a run ends")
	}
	for name, end := range ends {
		for _, rescuer := range []string{"ours", "theirs"} {
			for _, again := range []bool{false, true} {
				p := newPair(t)
				s := map[string]*sqlite.Store{"ours": p.ours, "theirs": p.theirs}[rescuer]
				p.now = p.now.Add(2 * time.Minute) // a time after the end of the lease
				if r, err := s.Rescue(t.Context(), 10); err != nil || len(r.Jobs) != 1 {
					t.Fatalf("rescue after the end of the lease: got %+v, error %v; want one rescued job", r, err)
				}
				if again {
					p.now = p.now.Add(time.Hour)
					claimOne(t, p.theirs)
				}
				before := p.dump()
				if err := p.settle(p.run, end()); !errors.Is(err, store.ErrLeaseLost) {
					t.Errorf("outcome %s of a run that %s has rescued (claimed again: %v): got error %v, want ErrLeaseLost", name, rescuer, again, err)
				}
				if diff := cmp.Diff(before, p.dump()); diff != "" {
					t.Errorf("outcome %s of a run that %s has rescued (claimed again: %v): the outcome changed the store (-before +after):\n%s", name, rescuer, again, diff)
				}
			}
		}
	}
}

// If a person asks a run to stop after this process has claimed it, the job does not run
// again. This is true for requests through either process.
//
// proves: Q9
func TestQ9_ARememberedRunIsStillAskedToStop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test opens a database for each way in which a run ends")
	}
	want := map[string]job.State{
		"completed": job.Completed, "cancelled": job.Cancelled, "snoozed": job.Cancelled, "retrying": job.Cancelled,
		"retrying elsewhere": job.Cancelled, "dead of a known group": job.Dead, "dead of a new group": job.Dead,
	}
	for name, end := range ends {
		for _, asker := range []string{"ours", "theirs"} {
			p := newPair(t)
			s := map[string]*sqlite.Store{"ours": p.ours, "theirs": p.theirs}[asker]
			if errs, err := s.Cancel(t.Context(), store.By{Actor: "ann"}, []job.ID{p.run.ID}); err != nil || errs[0] != nil {
				t.Fatal(errs, err)
			}
			if err := p.settle(p.run, end()); err != nil {
				t.Errorf("outcome %s, stop requested through %s: got error %v, want none", name, asker, err)
			}
			if j, err := p.theirs.Get(t.Context(), p.run.ID); err != nil || j.State != want[name] {
				t.Errorf("outcome %s, stop requested through %s: got job state %s, error %v; want state %s", name, asker, j.State, err, want[name])
			}
			records, err := p.theirs.Failures(t.Context(), p.run.ID)
			if err != nil || (len(records) == 1) != (end().Failure != nil) {
				t.Errorf("outcome %s, stop requested through %s: got failure records %v, error %v; want one record if and only if the outcome has a failure", name, asker, records, err)
			}
			if report, err := sqlite.Diagnose(t.Context(), p.ours.Path(), func() time.Time { return p.now }); err != nil || len(report.Problems) > 0 {
				t.Errorf("outcome %s, stop requested through %s: redrive doctor found the problems %v, error %v; want none", name, asker, report.Problems, err)
			}
		}
	}
}
