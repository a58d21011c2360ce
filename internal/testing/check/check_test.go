package check_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestASoundHistoryPasses(t *testing.T) {
	t.Parallel()
	h := sound(t)
	for _, v := range check.Check(h) {
		t.Errorf("the sound history has the violation %v, want none", v)
	}
	seen := make(map[job.Cause]bool)
	for _, e := range h.Dump.Events {
		seen[job.Cause(e.Type)] = true
	}
	for _, tr := range job.Transitions {
		if !seen[tr.Cause] {
			t.Errorf("the sound history has no transition with the cause %s, want every cause at least once", tr.Cause)
		}
	}
	want := check.Numbers{Submitted: 19, Acknowledged: 17, Jobs: 16, Executed: 37, DoubleRuns: 3, Crashes: 3, LateRefused: 1,
		Acts: 10, Children: 3, LongestWait: readyMax / 2}
	if got := check.Count(h); got != want {
		t.Errorf("got the totals %+v of the sound history, want %+v", got, want)
	}
}

// If a client was killed during an enqueue, the check finds the job by its correlation id. If the
// job was purged, the check uses the correlation id that was recorded before the purge.
func TestAPurgedJobOfAKilledClientIsNoPhantom(t *testing.T) {
	t.Parallel()
	h := sound(t)
	h.Purged = map[job.ID]string{purged: h.Enqueues[purged-1].Name}
	forget(h, purged)
	for _, v := range check.Check(h) {
		t.Errorf("a purged job whose client was killed causes the violation %v, want none", v)
	}
}

// Rows that retention has removed are not reported as missing. A dead letter may outlive its job
// when the job was retried and has ended.
func TestWhatRetentionRemovesIsNotMissed(t *testing.T) {
	t.Parallel()
	h := sound(t)
	h.Retention = true
	for _, id := range []job.ID{plain, unwanted, revived} {
		dropRow(h, id)
	}
	dropFailure(h, flaky)
	forget(h, plain) // its client was killed
	for _, v := range check.Check(h) {
		t.Errorf("a history after retention has the violation %v, want none", v)
	}
}

// A purge of the dead letter of a job that was retried and has completed removes the failure records and
// keeps the job.
func TestAPurgeKeepsACompletedJobWithoutItsFailures(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	r.submit(revived)
	r.work()
	answer, err := r.Act(r.ctx, r.acts("dead_letter.purge", revived.String()), store.Action{Do: store.ActPurge, IDs: []job.ID{revived}})
	r.ok(err)
	r.ok(answer.Errors[0])
	r.h.Dump, err = r.Dump(r.ctx)
	r.ok(err)
	if row(&r.h, revived).State != job.Completed || len(r.h.Dump.Failures) > 0 {
		t.Fatalf("after the purge: got the job %s and the failures %+v, want it completed and none", row(&r.h, revived).State, r.h.Dump.Failures)
	}
	for _, v := range check.Check(&r.h) {
		t.Errorf("a history with a purge has the violation %v, want none", v)
	}
}

// mutant changes a sound history so that it contains one fault. It names exactly the invariants
// that the fault breaks.
type mutant struct {
	name   string
	breaks []check.Invariant
	make   func(h *check.History)
}

func breaks(i ...check.Invariant) []check.Invariant { return i }

func mutants() []mutant {
	return slices.Concat(intakeMutants(), leaseMutants(), accountMutants(), soundMutants(), deadMutants(), sweptMutants(), batchMutants(), streamMutants(), noticeMutants(),
		peopleMutants(), workerMutants(), servedMutants())
}

func intakeMutants() []mutant {
	return []mutant{
		{"an acknowledged job and all its traces are gone", breaks(check.NoLostEnqueue), func(h *check.History) {
			dropRow(h, plain)
			dropEvents(h, plain)
			h.Runs, h.Writes = nil, nil
		}},
		{"an acknowledged job vanished after it ran", breaks(check.NoLostEnqueue, check.NoSilentDrop),
			func(h *check.History) { dropRow(h, plain) }},
		{"a draft that was discarded became a job", breaks(check.NoLostEnqueue), func(h *check.History) { h.Enqueues[plain-1].Discard = check.Discarded }},
		{"a job is in two places", breaks(check.NoLostEnqueue), func(h *check.History) {
			double := *row(h, plain)
			double.State = job.Dead
			h.Dump.Jobs = append(h.Dump.Jobs, double)
			count(h, job.Dead, 1)
		}},
		{"a receipt names the job of another", breaks(check.NoLostEnqueue), func(h *check.History) { h.Enqueues[plain-1].ID = flaky }},
		{"nobody submitted the job", breaks(check.NoPhantom), func(h *check.History) {
			h.Enqueues = slices.Delete(h.Enqueues, int(plain-1), int(plain))
		}},
		{"a refused submission is there", breaks(check.NoPhantom), func(h *check.History) {
			h.Enqueues[plain-1].Answer, h.Enqueues[plain-1].ID = check.Refused, 0
		}},
		{"nobody knows who submitted a job that was removed", breaks(check.NoPhantom), func(h *check.History) {
			forget(h, purged)
		}},
		{"a handler got a job that is nowhere", breaks(check.NoPhantom), func(h *check.History) {
			h.Runs = append(h.Runs, check.Run{Job: 99, Life: 1, Token: 1})
		}},
		{"one submission made two jobs", breaks(check.NoPhantom, check.NoSilentDrop), func(h *check.History) {
			row(h, flaky).Correlation = row(h, buried).Correlation
			h.Enqueues = slices.Delete(h.Enqueues, int(flaky-1), int(flaky))
		}},
		{"a submission without an answer made two jobs", breaks(check.UnknownCommitSafe, check.NoSilentDrop), func(h *check.History) {
			row(h, flaky).Correlation = row(h, unsure).Correlation
			h.Enqueues = slices.Delete(h.Enqueues, int(flaky-1), int(flaky))
		}},
		{"asking again made a second job", breaks(check.UnknownCommitSafe, check.NoSilentDrop), func(h *check.History) {
			row(h, flaky).Correlation = row(h, askedAgain).Correlation
			h.Enqueues = slices.Delete(h.Enqueues, int(flaky-1), int(flaky))
		}},
		{"one key got two jobs", breaks(check.IdempotentEnqueue), func(h *check.History) {
			e := enqueue(h, "again")
			e.ID = plain
		}},
		{"two rows have one key", breaks(check.IdempotentEnqueue), func(h *check.History) { row(h, plain).Key = "once" }},
		{"two jobs of one key were alive at once", breaks(check.IdempotentEnqueue), func(h *check.History) {
			row(h, plain).Key, row(h, flaky).Key = job.AliveKey+"k", job.AliveKey+"k"
		}},
		{"the key was new twice", breaks(check.IdempotentEnqueue), func(h *check.History) {
			row(h, keyed).Correlation = ""
			enqueue(h, "again").Existing = false
		}},
		{"another payload under the key was not refused", breaks(check.IdempotentEnqueue),
			func(h *check.History) { enqueue(h, "again").Digest = "other" }},
		{"the key was forgotten", breaks(check.IdempotentEnqueue), func(h *check.History) { h.Dump.Keys = nil }},
		{"a payload was trimmed", breaks(check.NoSilentDrop), func(h *check.History) {
			row(h, buried).Payload = row(h, buried).Payload[:3]
		}},
		{"a handler got another payload", breaks(check.NoSilentDrop), func(h *check.History) { run(h, plain, 1).Digest = "other" }},
		{"a retry by hand left no trace", breaks(check.AuditComplete, check.ActKept), func(h *check.History) { dropAudit(h, "job.retry") }},
		{"a revocation left no trace", breaks(check.AuditComplete, check.ActKept), func(h *check.History) { dropAudit(h, "access.revoke") }},
		{"a revoked access key is valid again", breaks(check.AuditComplete), func(h *check.History) { h.Dump.Access[0].RevokedAt = 0 }},
		{"a cancellation left no trace", breaks(check.AuditComplete, check.ActKept), func(h *check.History) { dropAudit(h, "job.cancel") }},
	}
}

func leaseMutants() []mutant {
	return []mutant{
		{"a job was claimed while it was leased", breaks(check.OneLease, check.LegalTransition, check.AttemptAccounting, check.ErrorKept),
			func(h *check.History) { dropEvent(h, orphan, event.JobCrashed) }},
		{"a token was given twice", breaks(check.OneLease, check.AttemptAccounting), func(h *check.History) {
			for i := range h.Dump.Events { // give the second run of the job plain the number 1, which its first run already has
				if e := &h.Dump.Events[i]; e.Job == plain && e.Token == 2 {
					e.Token = 1
				}
			}
			row(h, plain).Token = 1
			drop(&h.Runs, func(r check.Run) bool { return r.Job == plain })
			drop(&h.Writes, func(w check.Write) bool { return w.ID == plain })
		}},
		{"two handlers had one run", breaks(check.OneLease), func(h *check.History) { h.Runs = append(h.Runs, *run(h, plain, 1)) }},
		{"a handler had a run that no claim gave", breaks(check.OneLease), func(h *check.History) { run(h, plain, 1).Token = 9 }},
		{"a job that ended has a lease", breaks(check.OneLease), func(h *check.History) { row(h, plain).LeaseUntil = 5 }},
		{"an old token ended the run of a new one", breaks(check.FencedWrite, check.ErrorKept), func(h *check.History) {
			for i := range h.Dump.Events {
				if e := &h.Dump.Events[i]; e.Job == orphan && e.Type == event.JobCrashed {
					e.Token--
				}
			}
		}},
		{"a refused write happened", breaks(check.FencedWrite), func(h *check.History) { write(h, plain, job.Succeeded).Answer = check.Refused }},
		{"a refused hand-back happened", breaks(check.FencedWrite), func(h *check.History) { write(h, plain, job.Interrupted).Answer = check.Refused }},
		{"an acknowledged write did not happen", breaks(check.FencedWrite),
			func(h *check.History) { write(h, plain, job.Succeeded).Cause = job.Snoozed }},
		{"the result is that of a lost run", breaks(check.FencedWrite), func(h *check.History) { row(h, orphan).Result = []byte("run 0") }},
		{"a life ended twice", breaks(check.SingleCompletion, check.LegalTransition), func(h *check.History) {
			h.Dump.Events = append(h.Dump.Events, event.Event{Cursor: event.Cursor{Seq: 1000, Index: 1}, Type: event.JobCancelled,
				Job: plain, Kind: kind, Queue: queue, From: job.Waiting, To: job.Cancelled, Life: 1, Token: 2, Attempt: 1})
			row(h, plain).State = job.Cancelled
			h.Dump.Audit = append(h.Dump.Audit, store.Audit{Action: "job.cancel", Target: plain.String()})
			count(h, job.Completed, -1)
			count(h, job.Cancelled, 1)
		}},
		{"an outcome without an answer was counted twice", breaks(check.UnknownCommitSafe, check.SingleCompletion, check.LegalTransition,
			check.AttemptAccounting), func(h *check.History) {
			write(h, plain, job.Succeeded).Again = true
			e := *lastEvent(h, plain)
			e.Cursor = event.Cursor{Seq: 1000, Index: 1}
			e.Attempt++
			row(h, plain).Counters.Attempts++
			h.Dump.Events = append(h.Dump.Events, e)
		}},
		{"the row is not where its events led", breaks(check.LegalTransition), func(h *check.History) {
			row(h, unwanted).State = job.Completed
			count(h, job.Cancelled, -1)
			count(h, job.Completed, 1)
		}},
		{"a transition is not in the table", breaks(check.LegalTransition), func(h *check.History) {
			lastEvent(h, unwanted).From = job.Dead
		}},
		{"the events are out of order", breaks(check.LegalTransition), func(h *check.History) { lastEvent(h, plain).Cursor = event.Cursor{} }},
	}
}

func accountMutants() []mutant {
	return []mutant{
		{"a shutdown counted as an attempt", breaks(check.AttemptAccounting), func(h *check.History) {
			c := &row(h, patient).Counters
			c.Interrupts--
			c.Attempts++
		}},
		{"an event says the wrong number of attempts", breaks(check.AttemptAccounting), func(h *check.History) { lastEvent(h, plain).Attempt = 7 }},
		{"a manual retry kept the life", breaks(check.AttemptAccounting), func(h *check.History) { row(h, revived).Life = 1 }},
		{"a token was skipped", breaks(check.AttemptAccounting), func(h *check.History) { row(h, plain).Token = 9 }},
		{"more attempts than allowed", breaks(check.BoundedRetry), func(h *check.History) { h.Limits[kind] = check.Limits{Attempts: 1} }},
		{"more crashes than allowed", breaks(check.BoundedRetry), func(h *check.History) {
			for i := range h.Dump.Events { // turn every interrupt into a crash
				if e := &h.Dump.Events[i]; e.Job == patient && e.From == job.Running && e.To == job.Waiting {
					crash(h, e)
				}
			}
			row(h, patient).Counters = job.Counters{Attempts: 1, Crashes: 3}
			drop(&h.Writes, func(w check.Write) bool { return w.ID == patient && w.To == job.Waiting })
		}},
		{"started after the deadline", breaks(check.BoundedRetry), func(h *check.History) { row(h, buried).Deadline = 1 }},
		{"a failure was not recorded", breaks(check.ErrorKept), func(h *check.History) { dropFailure(h, flaky) }},
		{"a crash was not recorded", breaks(check.ErrorKept), func(h *check.History) { dropFailure(h, orphan) }},
		{"a failure was recorded twice", breaks(check.ErrorKept), func(h *check.History) {
			h.Dump.Failures = append(h.Dump.Failures, *failure(h, flaky))
		}},
		{"a failure was recorded without a run", breaks(check.ErrorKept), func(h *check.History) {
			h.Dump.Failures = append(h.Dump.Failures, job.Failure{Job: plain, Token: 9, Life: 1, Attempt: 1, Class: "x", Message: "x"})
		}},
		{"a failure was rewritten", breaks(check.ErrorKept), func(h *check.History) { failure(h, flaky).Message = "something else" }},
		{"a failure lost its class", breaks(check.ErrorKept), func(h *check.History) { failure(h, flaky).Class = "" }},
		{"a failure names another attempt", breaks(check.ErrorKept), func(h *check.History) { failure(h, flaky).Attempt = 2 }},
		{"a crash was recorded as an error", breaks(check.ErrorKept), func(h *check.History) { failure(h, orphan).How = job.ByError }},
		{"a success has a failure", breaks(check.ErrorKept), func(h *check.History) {
			h.Dump.Failures = append(h.Dump.Failures, job.Failure{Job: plain, Token: row(h, plain).Token, Life: 1, Attempt: 2,
				How: job.ByError, Class: "x", Message: "x"})
		}},
		{"a job never ended", breaks(check.EventualProgress), func(h *check.History) {
			j := row(h, plain)
			for lastEvent(h, plain).Type != event.JobEnqueued {
				dropEvent(h, plain, lastEvent(h, plain).Type)
			}
			j.State, j.Token, j.Counters, j.Payload = job.Waiting, 0, job.Counters{}, payload(plain)
			drop(&h.Runs, func(r check.Run) bool { return r.Job == plain })
			drop(&h.Writes, func(w check.Write) bool { return w.ID == plain })
			count(h, job.Completed, -1)
			count(h, job.Waiting, 1)
		}},
	}
}

func soundMutants() []mutant {
	return []mutant{
		{"the file is damaged", breaks(check.SoundStore), func(h *check.History) { h.Integrity = []string{"row 7 missing from index redrive_ready"} }},
		{"a counter is one too high", breaks(check.SoundStore), func(h *check.History) { count(h, job.Completed, 1) }},
		{"a counter is missing", breaks(check.SoundStore), func(h *check.History) { h.Dump.Counts = h.Dump.Counts[1:] }},
		{"a group counts one pending too many", breaks(check.SoundStore), func(h *check.History) { h.Dump.Groups[0].Pending++ }},
		{"a group counts one death too few", breaks(check.SoundStore), func(h *check.History) { h.Dump.Groups[0].N-- }},
		{"a group is missing", breaks(check.SoundStore), func(h *check.History) { h.Dump.Groups = h.Dump.Groups[1:] }},
		{"a dead letter is missing", breaks(check.DeadConservation, check.SoundStore), func(h *check.History) {
			drop(&h.Dump.Dead, func(l job.DeadLetter) bool { return l.Job == buried })
		}},
		{"a job has two dead letters", breaks(check.SoundStore), func(h *check.History) {
			h.Dump.Dead = append(h.Dump.Dead, *letter(h, buried))
		}},
		{"a dead letter says that it was revived", breaks(check.SoundStore), func(h *check.History) { letter(h, buried).Revived = true }},
		{"a revived job's dead letter is pending", breaks(check.DeadConservation, check.SoundStore),
			func(h *check.History) { letter(h, revived).Status = job.Pending }},
		{"a dead letter is left without its job", breaks(check.NoLostEnqueue, check.NoSilentDrop, check.SoundStore),
			func(h *check.History) { dropRow(h, buried) }},
		{"a key is left without its job", breaks(check.SoundStore), func(h *check.History) {
			h.Dump.Keys = append(h.Dump.Keys, store.Key{Kind: kind, Key: "other", Job: 77})
		}},
	}
}

// sweptMutants are histories from which retention has removed too much.
func sweptMutants() []mutant {
	swept := func(breaks []check.Invariant, name string, make func(h *check.History)) mutant {
		return mutant{name, breaks, func(h *check.History) { h.Retention = true; make(h) }}
	}
	return []mutant{
		swept(breaks(check.NoLostEnqueue, check.NoSilentDrop, check.SoundStore), "a dead job was removed before its dead letter",
			func(h *check.History) { dropRow(h, buried) }),
		swept(breaks(check.SoundStore), "a job of which the dead letter says that it is dead was removed", func(h *check.History) {
			dropRow(h, revived)
			letter(h, revived).Revived = false
		}),
		swept(breaks(check.ErrorKept), "a failure was removed before its dead letter", func(h *check.History) { dropFailure(h, aside) }),
		swept(breaks(check.ErrorKept), "a failure was rewritten before it was removed",
			func(h *check.History) { failure(h, flaky).Message = "something else" }),
	}
}

func TestEveryBrokenHistoryIsCaught(t *testing.T) {
	t.Parallel()
	caught := make(map[check.Invariant]bool)
	for _, m := range mutants() {
		h := sound(t)
		m.make(h)
		got := make(map[check.Invariant]bool)
		for _, v := range check.Check(h) {
			got[v.Invariant] = true
			caught[v.Invariant] = true
		}
		want := make(map[check.Invariant]bool)
		for _, i := range m.breaks {
			want[i] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("fault %q: got the broken invariants %v, want %v; violations: %v", m.name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), check.Check(h))
		}
	}
	for _, i := range check.Invariants() {
		if !caught[i] {
			t.Errorf("no test history with a fault breaks the invariant %s", i)
		}
	}
}

func TestReportHasTheJobsHistory(t *testing.T) {
	t.Parallel()
	h := sound(t)
	failure(h, flaky).Message = "something else"
	var b strings.Builder
	if err := check.Report(&b, h, check.Check(h)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ErrorKept: job 5: run 2 failed with \"boom 5\" and its record says \"something else\"\n",
		"submitted  s5: written", "stored     completed", "job.failed, running to retrying, life 1, run 2",
		"handler    run 2 of life 1 by w", "outcome    run 2 failed to retrying: written", "failure    run 2: error Boom",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not contain %q, want it there:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := check.Report(&b, h, nil); err != nil || b.Len() > 0 {
		t.Errorf("report without violations: got the text %q and the error %v, want neither", b.String(), err)
	}
}
