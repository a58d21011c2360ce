package storetest

import (
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Findings fills an empty store and checks the results of the given function: due jobs,
// processes, deaths, pending dead letters, and the oldest rows that retention may remove. The
// given time is the current time of the store. The function must find no problems and must
// change nothing.
func Findings(t *testing.T, s store.Store, now time.Time, diagnose func() (*store.Findings, error)) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := s.ReserveIDs(ctx(), 6)
	must(err)
	var jobs []job.New
	for i := range 6 {
		n := job.New{ID: first + job.ID(i), Kind: kind, Queue: queue, Priority: job.PriorityDefault}
		switch i {
		case 4: // an hour is longer than any difference between the clocks of the test and the store, so this job is the oldest due job by both clocks
			n.RunAt, n.Kind = job.At(now.Add(-time.Hour)), "other"
		case 5:
			n.RunAt, n.Kind = job.At(now.Add(time.Hour)), "later"
		}
		jobs = append(jobs, n)
	}
	_, err = s.Enqueue(ctx(), jobs)
	must(err)
	x, err := s.Exchange(ctx(), store.Exchange{Holder: holder, Lease: time.Minute, Want: []store.Want{want(3)}})
	must(err)
	if len(x.Claims) != 3 {
		t.Fatalf("claim of the jobs to end: got %d claims, want 3", len(x.Claims))
	}
	outcomes := []job.Outcome{{Cause: job.Succeeded, To: job.Completed}, {Cause: job.Succeeded, To: job.Completed}, {
		Cause: job.Failed, To: job.Dead, Reason: job.NonRetriable,
		Failure: &job.Failure{How: job.ByError, Class: "UnknownError", Fingerprint: "1:cause"},
	}}
	for i := range outcomes { // write each outcome in a separate transaction, so that the newest and the oldest row of events differ
		outcomes[i].ID, outcomes[i].Token = x.Claims[i].ID, x.Claims[i].Token
		answer, err := s.Exchange(ctx(), store.Exchange{Holder: holder, Lease: time.Minute, Settle: outcomes[i : i+1]})
		must(err)
		must(answer.Settled[0])
	}
	b, err := s.CreateBatch(ctx(), operator, store.NewBatch{}) // only drafts: a job would be due
	must(err)
	first, err = s.ReserveIDs(ctx(), 2)
	must(err)
	_, err = s.AddMembers(ctx(), b.ID, []job.New{
		{ID: first, Kind: kind, Queue: queue, Priority: job.PriorityDefault}, {ID: first + 1, Kind: kind, Queue: queue, Priority: job.PriorityDefault, Aside: true}})
	must(err)
	_, err = s.Present(ctx(), process("p", "1"))
	must(err)
	before, err := s.Dump(ctx())
	must(err)

	f, err := diagnose()
	must(err)
	if len(f.Problems) != 0 {
		t.Errorf("Diagnose found the problems %q, want none", f.Problems)
	}
	if f.Oldest == nil || f.Oldest.ID != jobs[4].ID {
		t.Errorf("Diagnose: the oldest due job is %+v, want job %d", f.Oldest, jobs[4].ID)
	}
	var due []string
	for _, d := range f.Due {
		due = append(due, d.Queue+" "+d.Kind)
	}
	if len(due) != 2 || due[0] != queue+" other" || due[1] != queue+" "+kind || f.Due[1].ID != jobs[3].ID || f.Due[1].Paused {
		t.Errorf("Diagnose: got the due jobs %+v, want job %d of kind other, then job %d of kind %s", f.Due, jobs[4].ID, jobs[3].ID, kind)
	}
	if len(f.Processes) != 1 || f.Processes[0].Name != "p" || f.Processes[0].Silent {
		t.Errorf("Diagnose: got the processes %+v, want only process p, not silent", f.Processes)
	}
	near := func(what string, at job.Micros) {
		t.Helper()
		if age := before.Now.Sub(at); age < 0 || age > time.Hour {
			t.Errorf("Diagnose: %s is at %s, want a time shortly before %s", what, at.Time(), before.Now.Time())
		}
	}
	if len(f.Deaths) != 1 {
		t.Fatalf("Diagnose: got %d deaths, want 1", len(f.Deaths))
	}
	near("the death", f.Deaths[0])
	near("the oldest ended job", f.OldestEnded)
	near("the oldest event", f.OldestEvent)
	if f.OldestEnded >= f.Deaths[0] {
		t.Errorf("Diagnose: the oldest ended job ended at %s, want a time before the death at %s", f.OldestEnded.Time(), f.Deaths[0].Time())
	}
	if len(f.Classes) != 1 || f.Classes[0] != (store.PendingClass{Class: "UnknownError", Groups: 1, Pending: 1, Unassigned: 1, UnassignedPending: 1}) {
		t.Errorf("Diagnose: got the pending dead letters by class %+v, want 1 in 1 group of UnknownError", f.Classes)
	}
	mode := store.Paused
	_, err = s.SetQueue(ctx(), operator, store.QueueChange{Name: queue, Mode: &mode})
	must(err)
	if f, err = diagnose(); err != nil || len(f.Due) != 2 || !f.Due[0].Paused {
		t.Errorf("Diagnose with a paused queue: got the due jobs %+v, error %v; want 2 due jobs, marked as paused", f.Due, err)
	}
	after, err := s.Dump(ctx())
	must(err)
	if len(after.Events) != len(before.Events)+1 || len(after.Audit) != len(before.Audit)+1 {
		t.Errorf("Diagnose must write nothing: got %d events and %d audit rows, want one more of each (for the pause) than the %d and %d before",
			len(after.Events), len(after.Audit), len(before.Events), len(before.Audit))
	}
}
