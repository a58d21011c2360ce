package storetest

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// A test suite that cannot fail proves nothing. So each broken store in this file breaks one
// promise of the contract, and the suite must notice this.

// mutant is a broken store: a correct store with one changed method. The change breaks one promise.
type mutant struct {
	name string
	by   string // the promise whose check must fail when the check runs with this store
	bend func(store.Store, *Clock) store.Store
}

func mutants() []mutant {
	return slices.Concat(writeMutants(), readMutants(), listMutants(), seriesMutants(), deadMutants(), liveMutants(), accessMutants(), endpointMutants())
}

// proves: Q10
func TestQ10_SuiteCatchesBrokenStores(t *testing.T) {
	t.Parallel()
	for _, m := range slices.Concat(mutants(), raceMutants(), streamMutants()) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			s := m.bend(memory.New(memory.Options{Clock: clock.Now}), clock)
			err := promiseNamed(t, m.by).on(s, clock)
			if err == nil {
				t.Fatalf("the check %s passed with a broken store, want it to fail", m.by)
			}
			t.Logf("the check %s found that the store is broken: %s", m.by, err)
		})
	}
}

// The message of a failed check begins with the file and line of the check, even if the failure is
// found in a helper method of the rig.
func TestAMessageNamesTheLineOfTheCheck(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(*rig){
		"a helper on any job":         func(r *rig) { r.get(1) },
		"a helper on a redrive":       func(r *rig) { r.redrive(1) },
		"a helper that calls another": func(r *rig) { r.takeID(r.add(func(n *job.New) { n.RunAt = r.in(time.Hour) })) },
		"a direct failure":            func(r *rig) { r.fail("so") },
	} {
		clock := NewClock()
		err := promise{name, check}.on(memory.New(memory.Options{Clock: clock.Now}), clock)
		if err == nil || !strings.HasPrefix(err.Error(), "broken_test.go:") {
			t.Errorf("failure in %s: got the message %v, want it to begin with broken_test.go:", name, err)
		}
	}
}

func promiseNamed(t *testing.T, name string) promise {
	all := suite()
	i := slices.IndexFunc(all, func(p promise) bool { return p.name == name })
	if i < 0 {
		t.Fatalf("the suite has no promise named %s, but a broken store of this test names it; want a promise with this name", name)
	}
	return all[i]
}

// proves: Q10
func TestQ10_DifferentialCatchesABrokenStore(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short, where rapid runs too few checks to find every difference")
	}
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "0s")
	// Each run ends at the first difference. The broken store whose difference is hardest to find
	// needs 60 checks on average.
	setFlag(t, "rapid.checks", "3000")
	setFlag(t, "rapid.steps", "60")
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, own := range []bool{false, true} { // own says whether the run allows the broken store to number its commits differently
				if !differs(m, own) {
					t.Errorf("the differential run found no difference between a broken store and a correct store, want a difference (Match.Own allows other commit numbers: %v)", own)
				}
			}
		})
	}
}

// differs reports whether a differential run finds a difference between the broken store m and a
// correct store. If the last argument is true, the run allows the broken store to number its
// commits differently.
func differs(m mutant, own bool) bool {
	verdict := &silentTB{}
	done := make(chan struct{})
	go func() { // the run needs a separate goroutine, because FailNow ends the goroutine that calls it
		defer close(done)
		rapid.Check(verdict, func(rt *rapid.T) {
			d := newDuel(rt, newCoverage(), func(clock *Clock) []contender {
				open := func() store.Store { return memory.New(memory.Options{Clock: clock.Now}) }
				good, bad := contender{name: "good", Store: open()}, contender{name: "bad", Store: m.bend(open(), clock)}
				if own {
					bad.numbers = newNumbers()
				}
				return []contender{good, bad}
			})
			rt.Repeat(d.operations(nil))
		})
	}()
	<-done
	return verdict.failed
}

// A differential run that has carried out no operation must report all operations and transitions
// as missing.
func TestCoverageNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	seen := newCoverage()
	if got, want := len(seen.missing()), len(operationNames())+len(batchOperationNames())+len(job.Transitions); got != want {
		t.Errorf("a run without operations reports %d operations and transitions as missing, want all %d", got, want)
	}
	seen.ops["Retry"]++
	seen.edges[job.Transitions[0]]++
	missing := seen.missing()
	if slices.Contains(missing, "the operation Retry succeed") || slices.Contains(missing, "a job go from none to waiting by enqueued") {
		t.Errorf("missing: got %q, want neither the operation Retry nor the first transition, because the run has seen both", missing)
	}
}

// silentTB is the testing.TB of a run that must fail. It records the failure and prints
// nothing.
type silentTB struct {
	rapid.TB
	failed bool
}

func (*silentTB) Helper()                 {}
func (*silentTB) Name() string            { return "broken" }
func (*silentTB) Logf(string, ...any)     {}
func (*silentTB) Log(...any)              {}
func (s *silentTB) Errorf(string, ...any) { s.failed = true }
func (s *silentTB) Error(...any)          { s.failed = true }
func (s *silentTB) Failed() bool          { return s.failed }
func (s *silentTB) Fail()                 { s.failed = true }
func (s *silentTB) FailNow()              { s.failed = true; runtime.Goexit() }
func (s *silentTB) Fatalf(string, ...any) { s.FailNow() }
func (s *silentTB) Fatal(...any)          { s.FailNow() }

func writeMutants() []mutant {
	return []mutant{
		{"keeps no payload of a completed job", "Q1_PayloadIsKeptWhereAsked", exchanges(func(_ store.Store, x *store.Exchange) {
			for i := range x.Settle {
				x.Settle[i].Keep = false
			}
		})},
		{"settles without the token", "Q4_LostRunCannotEnd", exchanges(func(s store.Store, x *store.Exchange) {
			for i := range x.Settle {
				if j, err := s.Get(context.Background(), x.Settle[i].ID); err == nil && j.State == job.Running {
					x.Settle[i].Token = j.Token
				}
			}
		})},
		{"cancels what completed after it was asked to stop", "Q9_LateSuccessWins", exchanges(func(s store.Store, x *store.Exchange) {
			for i, o := range x.Settle {
				if j, err := s.Get(context.Background(), o.ID); err == nil && j.CancelAt != 0 && o.To == job.Completed {
					x.Settle[i].Cause, x.Settle[i].To, x.Settle[i].Result = job.Cancel, job.Cancelled, nil
				}
			}
		})},
		{"forgets the limit of crashes", "Q3_StallsThatEndTheJob", exchanges(func(_ store.Store, x *store.Exchange) {
			for i := range x.Want {
				x.Want[i].Kinds = slices.Clone(x.Want[i].Kinds)
				for k := range x.Want[i].Kinds {
					x.Want[i].Kinds[k].MaxCrashes = job.MaxCrashes
				}
			}
		})},
		{"drops the terms of a claim", "Q3_TermsOfTheClaimDecideACrash", exchanges(func(_ store.Store, x *store.Exchange) {
			for i := range x.Want {
				x.Want[i].Kinds = slices.Clone(x.Want[i].Kinds)
				for k := range x.Want[i].Kinds {
					x.Want[i].Kinds[k].Terms = ""
				}
			}
		})},
		{"drops the terms of an enqueue", "D1_TermsOfTheEnqueueDecideAnExpiry", enqueues(func(n *job.New) { n.Terms = "" })},
		{"forgets that a person released a job", "R5_ReleaseTravelsWithTheClaim", func(s store.Store, _ *Clock) store.Store { return &holding{s} }},
		{"loses the not-before time that the dependency sent", "R3_NotBeforeIsAFloor", exchanges(func(_ store.Store, x *store.Exchange) {
			for i := range x.Settle {
				x.Settle[i].NotBefore = 0
			}
		})},
		{"claims what is not due", "Q2_NeverBeforeItsTime", func(s store.Store, c *Clock) store.Store { return &early{s, c} }},
		{"refuses to write an outcome again", "I1_EndCanBeWrittenAgain", func(s store.Store, _ *Clock) store.Store { return &forgetful{s} }},
		{"rescues living runs", "Q3_RescueAtTheEndOfTheLease", func(s store.Store, c *Clock) store.Store { return &hasty{s, c} }},
		{"loses the marks of runs that begin", "Q3_LastCrashCountsForABegunRun", func(s store.Store, _ *Clock) store.Store { return &beginless{s} }},
		{"marks each claimed run as begun", "Q3_LastCrashCountsForABegunRun", func(s store.Store, _ *Clock) store.Store { return &begunAlways{s} }},
		{"revives leases that are lost", "Q4_LostRunLearnsItFromItsHeartbeat", func(s store.Store, _ *Clock) store.Store { return &reviving{s} }},
		{"enqueues only some of the jobs", "Q1_AllOrNothing", func(s store.Store, _ *Clock) store.Store { return &partial{s} }},
		{"does not compare payloads", "I1_OtherPayloadIsRefused", enqueues(func(n *job.New) { n.Digest = nil })},
		{"ignores deadlines", "D1_DeadlineIsTheEnd", enqueues(func(n *job.New) { n.Deadline = 0 })},
		{"makes a second job of a key", "I1_SameKeyGivesTheFirstJobAndItsState", enqueues(func(n *job.New) { n.Key = "" })},
		{"makes a second job of a key whose job has ended", "I1_SameKeyGivesTheFirstJobAndItsState", func(s store.Store, _ *Clock) store.Store { return &endingKeys{s} }},
		{"keeps keys for ever", "I1_KeyIsForgottenAtItsTime", enqueues(func(n *job.New) { n.KeyUntil = 0 })},
		{"keeps the key of a job that has ended", "I1_AliveKeyIsFreeWhenItsJobHasEnded", enqueues(func(n *job.New) {
			if job.WhileAlive(n.Key) {
				n.Key = "any " + n.Key
			}
		})},
		{"keeps the key of the payload that a retry has changed", "I1_ChangedRetryTakesTheKeyOfItsPayload", enqueues(func(n *job.New) {
			if job.WhileAlive(n.Key) {
				n.Key = "fixed " + n.Key
			}
		})},
		{"makes a second job of a key whose job is alive", "I1_AliveKeyGivesTheLivingJob", enqueues(func(n *job.New) {
			if job.WhileAlive(n.Key) {
				n.Key = ""
			}
		})},
		{"counts periods from the enqueue", "I1_KeyPeriodsAreAligned", func(s store.Store, c *Clock) store.Store {
			return &enqueuing{s, func(n *job.New) {
				if n.KeyPeriod > 0 {
					n.KeyUntil, n.KeyPeriod = job.At(c.Now().Add(n.KeyPeriod)), 0
				}
			}}
		}},
		{"trims what is too long", "X3_SizesOfAJob", enqueues(func(n *job.New) { n.Owner = n.Owner[:min(len(n.Owner), job.TextMax)] })},
		{"does not pause", "Q7_PausedGivesNothing", func(s store.Store, _ *Clock) store.Store { return &restless{s} }},
		{"does not say that a job is cancelled instead of ready", "Q9_CancelOutlivesTheRun", answers(func(x *store.Exchanged) { x.Cancelled = nil })},
		{"does not ask a running job to stop", "Q9_RunningIsAskedToStop", func(s store.Store, _ *Clock) store.Store { return &deaf{s} }},
	}
}

// raceMutants are stores that are broken only for concurrent callers or for callers that wait for
// wake-ups. The differential test has neither.
func raceMutants() []mutant {
	return []mutant{
		{"wakes followers only when jobs become ready", "N6_EachCommitWakesItsFollowers", func(s store.Store, _ *Clock) store.Store { return &sleepyFollow{s} }},
		{"looks for a key outside its transaction", "I1_ConcurrentCallersMakeOneJob", func(s store.Store, _ *Clock) store.Store { return &racing{Store: s} }},
		{"looks for the job of a key outside its transaction", "I1_ConcurrentCallersOfAnAliveKeyMakeOneJob",
			func(s store.Store, _ *Clock) store.Store { return &racing{Store: s} }},
	}
}

func readMutants() []mutant {
	return []mutant{
		{"answers for many jobs in the order of their ids", "Q9_ManyJobsAreReadAtOnce", func(s store.Store, _ *Clock) store.Store { return &sortingIDs{s} }},
		{"answers with the first failure of each job", "Q9_LastFailuresAreReadAtOnce", func(s store.Store, _ *Clock) store.Store { return &firstFailures{s} }},
		{"reads the audit log from its beginning", "Q9_AuditIsReadFromItsEnd", func(s store.Store, _ *Clock) store.Store { return &oldAudit{s} }},
		{"finds the job of a key whose time is over", "Q9_KeyNamesItsJob", func(s store.Store, _ *Clock) store.Store { return &longKeys{s} }},
		{"burns an attempt with a crash", "history/Q3_KilledWorkerBurnsNoAttempt", dumps(func(d *store.Dump) {
			for i := range d.Jobs {
				d.Jobs[i].Counters.Attempts += d.Jobs[i].Counters.Crashes
			}
		})},
		{"retries in the same life", "D5_RetryOpensTheNextLife", dumps(func(d *store.Dump) {
			for i := range d.Jobs {
				d.Jobs[i].Life = 1
			}
		})},
		{"forgets the payload of a retried job", "D5_RetryOpensTheNextLife", dumps(func(d *store.Dump) {
			for i := range d.Jobs {
				if d.Jobs[i].Life > 1 {
					d.Jobs[i].Payload = nil
				}
			}
		})},
		{"keeps the entry of a second death closed", "history/D1_DiesAgain", dumps(func(d *store.Dump) {
			for i := range d.Dead {
				if d.Dead[i].Life > 1 && d.Dead[i].Status == job.Pending {
					d.Dead[i].Status = job.Resolved
				}
			}
		})},
		{"writes a failure twice", "F1_FailureIsAWholeRecord", dumps(func(d *store.Dump) { d.Failures = slices.Concat(d.Failures, d.Failures) })},
		{"overwrites the failure before", "F1_FailuresAreKeptBesideEachOther", dumps(func(d *store.Dump) {
			all := slices.Clone(d.Failures)
			d.Failures = slices.DeleteFunc(d.Failures, func(f job.Failure) bool {
				return slices.ContainsFunc(all, func(o job.Failure) bool { return o.Job == f.Job && o.Token > f.Token })
			})
		})},
		{"loses events", "N6_EachTransitionIsAnEvent", dumps(func(d *store.Dump) {
			d.Events = slices.DeleteFunc(d.Events, func(e event.Event) bool { return e.Type == event.JobDeferred })
		})},
		{"does not say that events were removed", "N6_EndsOfTheEvents", func(s store.Store, _ *Clock) store.Store { return &keepsAll{s} }},
		{"does not report that a process is silent", "Q9_SilentProcessIsFoundOnce", dumps(func(d *store.Dump) {
			d.Events = slices.DeleteFunc(d.Events, func(e event.Event) bool { return e.Type == event.ProcessSilent })
		})},
		{"forgets that a process is sick", "Q9_SickProcessIsShown", func(s store.Store, _ *Clock) store.Store { return forgetsSick{s} }},
		{"does not report that a cause has regressed", "D6_ResolvedCauseRegresses", dumps(func(d *store.Dump) {
			d.Events = slices.DeleteFunc(d.Events, func(e event.Event) bool { return e.Type == event.GroupChanged && e.Reason == "regressed" })
		})},
		{"counts every retry as help", "D6_RetriesThatHelpedAreCounted", groupLists(func(g *store.Group) { g.Helped = g.Retried })},
		{"forgets the first build of a cause", "D6_BuildsOfFirstAndLastDeath", groupLists(func(g *store.Group) { g.FirstBuild = g.LastBuild })},
		{"does not list the groups of a set", "D6_SetIsListedAsOne", groupLists(func(g *store.Group) { g.Groups = nil })},
		{"keeps the notes of removed jobs", "Q6_NotesGoWithTheirJob", func(s store.Store, _ *Clock) store.Store { return &keepsNotes{Store: s} }},
		{"loses the build of a failure", "F1_FailureNamesItsBuild", exchanges(func(_ store.Store, x *store.Exchange) {
			for i := range x.Settle {
				if x.Settle[i].Failure != nil {
					f := *x.Settle[i].Failure
					f.Build = ""
					x.Settle[i].Failure = &f
				}
			}
		})},
		{"does not count what was cancelled", "B3_CountsFollowEveryChange", dumps(func(d *store.Dump) {
			d.Counts = slices.DeleteFunc(d.Counts, func(c store.Count) bool { return c.State == job.Cancelled })
		})},
		{"writes no audit row of a retry", "Q9_RetryIsAudited", dumps(func(d *store.Dump) {
			d.Audit = slices.DeleteFunc(d.Audit, func(a store.Audit) bool { return a.Action == "job.retry" })
		})},
		{"claims in the order of ids", "Q2_MicrosecondsSortAsNumbers", answers(func(x *store.Exchanged) {
			slices.SortFunc(x.Claims, func(a, b job.Claim) int { return int(a.ID - b.ID) })
		})},
		{"does not know when the next job is due", "Q2_NextDue", answers(func(x *store.Exchanged) { x.NextDue = 0 })},
		{"leaves the memo behind", "R2_MemoTravelsWithTheJob", answers(func(x *store.Exchanged) {
			for i := range x.Claims {
				x.Claims[i].Memo = nil
			}
		})},
	}
}
