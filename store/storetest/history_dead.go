package storetest

import (
	"time"

	"github.com/redrive/redrive/job"
)

// The histories of jobs that become dead. They were written from the requirements and the contract
// of package store, without reading the code of the stores.

// proves: D1, D5, Q3, F1, I1
// part of: P2, P4, R7, Y1, Y2
func deadHistories() []history {
	deadline := func(d time.Duration) func(*job.New) {
		return func(n *job.New) { n.Deadline = job.At(NewClock().Now().Add(d)) }
	}
	// This function returns, as a text, when the job of a crashed run is due again: the given time
	// of the crash in seconds, plus the wait after this number of crashes.
	after := func(seconds int, crashes int32) string {
		return (time.Duration(seconds)*time.Second + defaults.CrashDelay(1, crashes)).String()
	}
	return []history{
		{"P4_ThreeRetriesThenDead", []step{ // the job waits exactly 60, 300 and 900 seconds between its runs
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"0s", fail("T", "60s"), "retrying run=1 attempts=1 due=1m0s failures=T"},
			{"60s", claim(), "running run=2 attempts=1 failures=T"},
			{"60s", fail("T", "300s"), "retrying run=2 attempts=2 due=6m0s failures=T,T"},
			{"360s", claim(), "running run=3 attempts=2 failures=T,T"},
			{"360s", fail("T", "900s"), "retrying run=3 attempts=3 due=21m0s failures=T,T,T"},
			{"1260s", claim(), "running run=4 attempts=3 failures=T,T,T"},
			{"1260s", die("T", job.MaxRetries), "dead run=4 attempts=4 reason=max_retries_exceeded failures=T,T,T,T entry=pending"},
			{"99h", claim(), "nothing: dead run=4 attempts=4 reason=max_retries_exceeded failures=T,T,T,T entry=pending"},
		}},
		{"Y1_PrivateVideoRunsOnce", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", die("InvalidInput", job.NonRetriable), "dead run=1 attempts=1 reason=non_retriable_error failures=InvalidInput entry=pending"},
			{"2s", cancel, "conflict: dead run=1 attempts=1 reason=non_retriable_error failures=InvalidInput entry=pending"},
		}},
		{"Y2_SecondStallEndsTheJob", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(crashMax(2)), "running run=1"},
			{"30s", rescue, "waiting run=1 crashes=1 due=30s failures=Crash"},
			{"30s", claim(crashMax(2)), "running run=2 crashes=1 failures=Crash"},
			{"60s", rescue, "dead run=2 crashes=2 reason=stalled failures=Crash,Crash entry=pending"},
			{"61s", succeed(), "lease lost: dead run=2 crashes=2 reason=stalled failures=Crash,Crash entry=pending"},
		}},
		{"Q3_FailuresAreNoStalls", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(crashMax(2)), "running run=1"},
			{"30s", rescue, "waiting run=1 crashes=1 due=30s failures=Crash"},
			{"30s", claim(crashMax(2)), "running run=2 crashes=1 failures=Crash"},
			{"31s", fail("T", "0s"), "retrying run=2 attempts=1 crashes=1 due=31s failures=Crash,T"},
			{"31s", claim(crashMax(2)), "running run=3 attempts=1 crashes=1 failures=Crash,T"},
			{"32s", wait(job.Interrupted, "0s"), "waiting run=3 attempts=1 crashes=1 interrupts=1 due=32s failures=Crash,T"},
			{"32s", claim(crashMax(2)), "running run=4 attempts=1 crashes=1 interrupts=1 failures=Crash,T"},
			{"62s", rescue, "dead run=4 attempts=1 crashes=2 interrupts=1 reason=stalled failures=Crash,T,Crash entry=pending"},
		}},
		{"Q3_FiveStallsEndAnyJob", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(crashMax(1000)), "running run=1"},
			{"30s", rescue, "waiting run=1 crashes=1 due=30s failures=Crash"},
			{"30s", claim(crashMax(1000)), "running run=2 crashes=1 failures=Crash"},
			{"60s", rescue, "waiting run=2 crashes=2 due=" + after(60, 2) + " failures=Crash,Crash"},
			{"65s", claim(crashMax(1000)), "running run=3 crashes=2 failures=Crash,Crash"},
			{"95s", rescue, "waiting run=3 crashes=3 due=" + after(95, 3) + " failures=Crash,Crash,Crash"},
			{"95s", claim(crashMax(1000)), "nothing: waiting run=3 crashes=3 due=" + after(95, 3) + " failures=Crash,Crash,Crash"},
			{"105s", claim(crashMax(1000)), "running run=4 crashes=3 failures=Crash,Crash,Crash"},
			{"135s", rescue, "waiting run=4 crashes=4 due=" + after(135, 4) + " failures=Crash,Crash,Crash,Crash"},
			{"155s", claim(crashMax(1000)), "running run=5 crashes=4 failures=Crash,Crash,Crash,Crash"},
			{"185s", rescue, "dead run=5 crashes=5 reason=stalled failures=Crash,Crash,Crash,Crash,Crash entry=pending"},
		}},
		{"Q3_StallsAreCountedPerLife", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(crashMax(2)), "running run=1"},
			{"30s", rescue, "waiting run=1 crashes=1 due=30s failures=Crash"},
			{"30s", claim(crashMax(2)), "running run=2 crashes=1 failures=Crash"},
			{"31s", die("InvalidInput", job.NonRetriable), "dead run=2 attempts=1 crashes=1 reason=non_retriable_error failures=Crash,InvalidInput entry=pending"},
			{"40s", retry, "waiting life=2 run=2 due=40s failures=Crash,InvalidInput entry=retried"},
			{"40s", claim(crashMax(2)), "running life=2 run=3 failures=Crash,InvalidInput entry=retried"},
			{"70s", rescue, "waiting life=2 run=3 crashes=1 due=1m10s failures=Crash,InvalidInput,Crash entry=retried"},
		}},
		{"D5_RetriedThenCompletes", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", fail("T", "1s"), "retrying run=1 attempts=1 due=2s failures=T"},
			{"2s", claim(), "running run=2 attempts=1 failures=T"},
			{"3s", die("T", job.MaxRetries), "dead run=2 attempts=2 reason=max_retries_exceeded failures=T,T entry=pending"},
			{"1h", retry, "waiting life=2 run=2 due=1h0m0s failures=T,T entry=retried"},
			{"1h", retry, "conflict: waiting life=2 run=2 due=1h0m0s failures=T,T entry=retried"},
			{"1h", claim(), "running life=2 run=3 failures=T,T entry=retried"},
			{"1h", fail("U", "1s"), "retrying life=2 run=3 attempts=1 due=1h0m1s failures=T,T,U entry=retried"},
			{"2h", claim(), "running life=2 run=4 attempts=1 failures=T,T,U entry=retried"},
			{"2h", succeed(), "completed life=2 run=4 attempts=2 failures=T,T,U entry=resolved"},
			{"3h", retry, "conflict: completed life=2 run=4 attempts=2 failures=T,T,U entry=resolved"},
		}},
		{"D1_DiesAgain", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", die("T", job.MaxRetries), "dead run=1 attempts=1 reason=max_retries_exceeded failures=T entry=pending"},
			{"1h", retry, "waiting life=2 run=1 due=1h0m0s failures=T entry=retried"},
			{"1h", claim(), "running life=2 run=2 failures=T entry=retried"},
			{"2h", die("InvalidInput", job.NonRetriable), "dead life=2 run=2 attempts=1 reason=non_retriable_error failures=T,InvalidInput entry=pending entry-life=2"},
			{"2h", late(succeed()), "lease lost: dead life=2 run=2 attempts=1 reason=non_retriable_error failures=T,InvalidInput entry=pending entry-life=2"},
			{"3h", retry, "waiting life=3 run=2 due=3h0m0s failures=T,InvalidInput entry=retried entry-life=2"},
			{"3h", claim(), "running life=3 run=3 failures=T,InvalidInput entry=retried entry-life=2"},
			{"4h", succeed(), "completed life=3 run=3 attempts=1 failures=T,InvalidInput entry=resolved entry-life=2"},
		}},
		{"D5_RetriedThenCancelled", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", die("T", job.MaxRetries), "dead run=1 attempts=1 reason=max_retries_exceeded failures=T entry=pending"},
			{"2s", retry, "waiting life=2 run=1 due=2s failures=T entry=retried"},
			{"3s", cancel, "cancelled life=2 run=1 failures=T entry=resolved"},
			{"4s", retry, "conflict: cancelled life=2 run=1 failures=T entry=resolved"},
		}},
		{"I1_KeyOfADeadJob", []step{
			{"0s", enqueue(keyed("k", "a")), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", die("T", job.MaxRetries), "dead run=1 attempts=1 reason=max_retries_exceeded failures=T entry=pending"},
			{"2s", enqueueAgain(keyed("k", "a")), "exists, dead: dead run=1 attempts=1 reason=max_retries_exceeded failures=T entry=pending"},
			{"3s", enqueueAgain(keyed("k", "b")), "conflict: dead run=1 attempts=1 reason=max_retries_exceeded failures=T entry=pending"},
			{"4s", retry, "waiting life=2 run=1 due=4s failures=T entry=retried"},
			{"5s", enqueueAgain(keyed("k", "a")), "exists, waiting: waiting life=2 run=1 due=4s failures=T entry=retried"},
			{"6s", claim(), "running life=2 run=2 failures=T entry=retried"},
			{"7s", succeed(), "completed life=2 run=2 attempts=1 failures=T entry=resolved"},
		}},
		{"D1_DeadlineBeforeTheFirstRun", []step{
			{"0s", enqueue(deadline(10 * time.Second)), "waiting due=0s"},
			{"10s", look, "waiting due=0s"},
			{"10s", claim(), "nothing: dead reason=expired entry=pending"},
			// In the second life, the deadline of the first life no longer ends the job.
			{"11s", retry, "waiting life=2 due=11s entry=retried"},
			{"12s", claim(), "running life=2 run=1 entry=retried"},
			{"13s", succeed(), "completed life=2 run=1 attempts=1 entry=resolved"},
		}},
		{"D1_DeadlineBetweenAttempts", []step{
			{"0s", enqueue(deadline(10 * time.Second)), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"9s", fail("T", "5s"), "retrying run=1 attempts=1 due=14s failures=T"},
			{"12s", claim(), "nothing: retrying run=1 attempts=1 due=14s failures=T"},
			{"14s", claim(), "nothing: dead run=1 attempts=1 reason=expired failures=T entry=pending"},
		}},
		{"D1_DeadlineStopsNoRun", []step{
			{"0s", enqueue(deadline(10 * time.Second)), "waiting due=0s"},
			{"9.999999s", claim(), "running run=1"},
			{"20s", beat, "held: running run=1"},
			{"25s", succeed(), "completed run=1 attempts=1"},
		}},
	}
}
