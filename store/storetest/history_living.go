package storetest

import (
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The histories of jobs that do not become dead. They were written from the requirements and the
// contract of package store, without reading the code of the stores.

func livingHistories() []history {
	return slices.Concat(retryHistories(), waitHistories(), leaseHistories(), cancelHistories(), pauseHistories(), onceHistories())
}

// Histories of jobs that are retried.
//
// proves: R3, R4, R15, Q2, F1
// part of: R6, Y1
func retryHistories() []history {
	retryAfter := func(d time.Duration) func(*job.Outcome) {
		return func(o *job.Outcome) { o.NotBefore = job.At(NewClock().Now().Add(d)) }
	}
	return []history{
		{"Y1_TimesOutTwiceThenSucceeds", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"5s", fail("NetworkTimeout", "30s"), "retrying run=1 attempts=1 due=35s failures=NetworkTimeout"},
			{"34.999999s", claim(), "nothing: retrying run=1 attempts=1 due=35s failures=NetworkTimeout"},
			{"35s", claim(), "running run=2 attempts=1 failures=NetworkTimeout"},
			{"40s", fail("NetworkTimeout", "60s"), "retrying run=2 attempts=2 due=1m40s failures=NetworkTimeout,NetworkTimeout"},
			{"100s", claim(), "running run=3 attempts=2 failures=NetworkTimeout,NetworkTimeout"},
			{"101s", succeed(), "completed run=3 attempts=3 failures=NetworkTimeout,NetworkTimeout"},
			{"999h", claim(), "nothing: completed run=3 attempts=3 failures=NetworkTimeout,NetworkTimeout"},
		}},
		{"R1_WaitsOfOneAndFiveMinutes", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"1s", claim(), "running run=1"},
			{"2s", fail("Transient", "60s"), "retrying run=1 attempts=1 due=1m2s failures=Transient"},
			{"62s", claim(), "running run=2 attempts=1 failures=Transient"},
			{"63s", fail("Transient", "300s"), "retrying run=2 attempts=2 due=6m3s failures=Transient,Transient"},
			{"362s", claim(), "nothing: retrying run=2 attempts=2 due=6m3s failures=Transient,Transient"},
			{"363s", claim(), "running run=3 attempts=2 failures=Transient,Transient"},
			{"364s", succeed(), "completed run=3 attempts=3 failures=Transient,Transient"},
		}},
		// The job waits for 7,260 s in total. This is longer than the time limit of an attempt,
		// 7,200 s.
		{"R15_RateLimitWaitsLongerThanItsTimeLimit", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"0s", fail("R", "60s"), "retrying run=1 attempts=1 due=1m0s failures=R"},
			{"60s", claim(), "running run=2 attempts=1 failures=R"},
			{"60s", fail("R", "180s"), "retrying run=2 attempts=2 due=4m0s failures=R,R"},
			{"240s", claim(), "running run=3 attempts=2 failures=R,R"},
			{"240s", fail("R", "540s"), "retrying run=3 attempts=3 due=13m0s failures=R,R,R"},
			{"780s", claim(), "running run=4 attempts=3 failures=R,R,R"},
			{"780s", fail("R", "1620s"), "retrying run=4 attempts=4 due=40m0s failures=R,R,R,R"},
			{"2400s", claim(), "running run=5 attempts=4 failures=R,R,R,R"},
			{"2400s", fail("R", "4860s"), "retrying run=5 attempts=5 due=2h1m0s failures=R,R,R,R,R"},
			{"7260s", claim(), "running run=6 attempts=5 failures=R,R,R,R,R"},
			{"7260s", succeed(), "completed run=6 attempts=6 failures=R,R,R,R,R"},
		}},
		{"R3_RetryAfterIsNeverShortened", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"0s", fail("RateLimitExceeded", "15s", retryAfter(120*time.Second)), "retrying run=1 attempts=1 due=2m0s failures=RateLimitExceeded"},
			{"119.999999s", claim(), "nothing: retrying run=1 attempts=1 due=2m0s failures=RateLimitExceeded"},
			{"120s", claim(), "running run=2 attempts=1 failures=RateLimitExceeded"},
		}},
		{"R6_EscalatesToTheLargeQueue", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", fail("Memory", "30s", func(o *job.Outcome) { o.Queue, o.Priority = "large", 1 }), "retrying run=1 attempts=1 due=31s queue=large priority=1 failures=Memory"},
			{"31s", claim(), "nothing: retrying run=1 attempts=1 due=31s queue=large priority=1 failures=Memory"},
			{"31s", claim(from("large")), "running run=2 attempts=1 queue=large priority=1 failures=Memory"},
			{"32s", succeed(), "completed run=2 attempts=2 queue=large priority=1 failures=Memory"},
		}},
	}
}

// Histories of jobs that wait for another run although no run has failed.
//
// proves: R15, Q8
// part of: L3, Y3
func waitHistories() []history {
	return []history{
		{"R15_SnoozeBurnsNothing", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", wait(job.Snoozed, "1h"), "waiting run=1 snoozes=1 due=1h0m1s"},
			{"1h", claim(), "nothing: waiting run=1 snoozes=1 due=1h0m1s"},
			{"1h1s", claim(), "running run=2 snoozes=1"},
			{"1h2s", wait(job.Snoozed, "0s"), "waiting run=2 snoozes=2 due=1h0m2s"},
			{"1h2s", claim(), "running run=3 snoozes=2"},
			{"1h3s", succeed(), "completed run=3 attempts=1 snoozes=2"},
		}},
		{"L3_HandOverBurnsNoAttempt", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"14s", wait(job.Deferred, "307s"), "waiting run=1 deferrals=1 due=5m21s"},
			{"321s", claim(), "running run=2 deferrals=1"},
			{"330s", succeed(), "completed run=2 attempts=1 deferrals=1"},
		}},
		{"Q8_StoppingWorkerHandsBack", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"30s", wait(job.Interrupted, "0s"), "waiting run=1 interrupts=1 due=30s"},
			{"30s", claim(), "running run=2 interrupts=1"},
			{"31s", fail("Transient", "60s"), "retrying run=2 attempts=1 interrupts=1 due=1m31s failures=Transient"},
		}},
	}
}

// Histories of jobs whose leases are extended or expire.
//
// proves: Q3, Q4
// part of: Y4
func leaseHistories() []history {
	return []history{
		{"Q3_KilledWorkerBurnsNoAttempt", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"5s", fail("Transient", "1s"), "retrying run=1 attempts=1 due=6s failures=Transient"},
			{"6s", claim(), "running run=2 attempts=1 failures=Transient"},
			{"20s", beat, "held: running run=2 attempts=1 failures=Transient"},
			{"49s", rescue, "nothing: running run=2 attempts=1 failures=Transient"},
			{"50s", rescue, "waiting run=2 attempts=1 crashes=1 due=50s failures=Transient,Crash"},
			{"50s", claim(), "running run=3 attempts=1 crashes=1 failures=Transient,Crash"},
			{"51s", succeed(), "completed run=3 attempts=2 crashes=1 failures=Transient,Crash"},
		}},
		{"Q3_LivingEncodeOfFortyMinutes", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(leaseOf(15 * time.Minute)), "running run=1"},
			{"14m", beat, "held: running run=1"},
			{"28m", beat, "held: running run=1"},
			{"40m", rescue, "nothing: running run=1"},
			{"40m", beat, "held: running run=1"},
			{"41m", rescue, "nothing: running run=1"},
			{"41m", succeed(), "completed run=1 attempts=1"},
		}},
		{"Y4_NoSignOfLifeForThirtyMinutes", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(leaseOf(30 * time.Minute)), "running run=1"},
			{"29m59s", rescue, "nothing: running run=1"},
			{"31m", rescue, "waiting run=1 crashes=1 due=31m0s failures=Crash"},
			{"31m", claim(leaseOf(30 * time.Minute)), "running run=2 crashes=1 failures=Crash"},
			{"31m", succeed(), "completed run=2 attempts=1 crashes=1 failures=Crash"},
		}},
		{"Q4_SleeperWakesUpAfterItsRescue", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"30s", rescue, "waiting run=1 crashes=1 due=30s failures=Crash"},
			{"31s", succeed(), "lease lost: waiting run=1 crashes=1 due=30s failures=Crash"},
			{"32s", claim(), "running run=2 crashes=1 failures=Crash"},
			{"33s", late(beat), "lost: running run=2 crashes=1 failures=Crash"},
			{"33s", late(succeed()), "lease lost: running run=2 crashes=1 failures=Crash"},
			{"33s", late(die("Late", job.NonRetriable)), "lease lost: running run=2 crashes=1 failures=Crash"},
			{"34s", succeed(), "completed run=2 attempts=1 crashes=1 failures=Crash"},
			{"35s", late(succeed()), "lease lost: completed run=2 attempts=1 crashes=1 failures=Crash"},
		}},
		{"Q4_SleeperWakesUpBeforeItsRescue", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			// Although the lease has expired, the job stays with its worker until the store rescues
			// the run.
			{"5m", claim(), "nothing: running run=1"},
			{"5m", beat, "held: running run=1"},
			{"5m", rescue, "nothing: running run=1"},
			{"6m", succeed(), "completed run=1 attempts=1"},
			{"6m", rescue, "nothing: completed run=1 attempts=1"},
		}},
	}
}

// Histories of jobs that a person cancels.
//
// proves: Q9
func cancelHistories() []history {
	return []history{
		{"Q9_CancelWhileRunningLateSuccessWins", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", cancel, "running run=1 asked-to-stop"},
			{"2s", beat, "held, stop: running run=1 asked-to-stop"},
			{"3s", succeed(), "completed run=1 attempts=1"},
			{"4s", cancel, "conflict: completed run=1 attempts=1"},
		}},
		{"Q9_CancelWhileRunningHandlerStops", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", cancel, "running run=1 asked-to-stop"},
			{"3s", stop(), "cancelled run=1"},
			{"4s", cancel, "cancelled run=1"},
			{"4s", retry, "conflict: cancelled run=1"},
		}},
		{"Q9_CancelWhileRunningWorkerDies", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", cancel, "running run=1 asked-to-stop"},
			{"30s", rescue, "cancelled run=1 crashes=1 failures=Crash"},
			{"31s", succeed(), "lease lost: cancelled run=1 crashes=1 failures=Crash"},
		}},
		{"Q9_CancelBetweenAttempts", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", fail("Transient", "900s"), "retrying run=1 attempts=1 due=15m1s failures=Transient"},
			{"2s", cancel, "cancelled run=1 attempts=1 failures=Transient"},
			{"901s", claim(), "nothing: cancelled run=1 attempts=1 failures=Transient"},
		}},
	}
}

// Histories of jobs in a queue that is paused or drained.
//
// proves: Q7
func pauseHistories() []history {
	return []history{
		{"Q7_PauseHoldsAndResumeGives", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"1s", mode(store.Paused), "waiting due=0s"},
			{"2s", claim(), "nothing: waiting due=0s"},
			{"3h", claim(), "nothing: waiting due=0s"},
			{"3h", mode(store.Open), "waiting due=0s"},
			{"3h", claim(), "running run=1"},
		}},
		{"Q7_PauseLeavesRunningJobsAlone", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", mode(store.Paused), "running run=1"},
			{"20s", beat, "held: running run=1"},
			{"25s", fail("Transient", "1s"), "retrying run=1 attempts=1 due=26s failures=Transient"},
			{"26s", claim(), "nothing: retrying run=1 attempts=1 due=26s failures=Transient"},
			{"1h", mode(store.Draining), "retrying run=1 attempts=1 due=26s failures=Transient"},
			{"1h", enqueueAgain(), "draining: retrying run=1 attempts=1 due=26s failures=Transient"},
			{"1h", claim(), "running run=2 attempts=1 failures=Transient"},
			{"1h", succeed(), "completed run=2 attempts=2 failures=Transient"},
		}},
	}
}

// Histories of calls that a caller makes twice. Both calls together have the effect of one call.
//
// proves: I1
func onceHistories() []history {
	return []history{
		{"I1_SameEndTwiceIsOnce", []step{
			{"0s", enqueue(), "waiting due=0s"},
			{"0s", claim(), "running run=1"},
			{"1s", fail("Transient", "60s"), "retrying run=1 attempts=1 due=1m1s failures=Transient"},
			{"2s", fail("Transient", "60s"), "retrying run=1 attempts=1 due=1m1s failures=Transient"},
			{"61s", claim(), "running run=2 attempts=1 failures=Transient"},
			{"61s", late(fail("Transient", "60s")), "lease lost: running run=2 attempts=1 failures=Transient"},
			{"62s", succeed(), "completed run=2 attempts=2 failures=Transient"},
			{"63s", succeed(), "completed run=2 attempts=2 failures=Transient"},
		}},
		{"I1_SameKeyForADay", []step{
			{"0s", enqueue(keyed("order-12", "a", forADay)), "waiting due=0s"},
			{"1s", enqueueAgain(keyed("order-12", "a")), "exists, waiting: waiting due=0s"},
			{"2s", enqueueAgain(keyed("order-12", "b")), "conflict: waiting due=0s"},
			{"3s", claim(), "running run=1"},
			{"4s", enqueueAgain(keyed("order-12", "a")), "exists, running: running run=1"},
			{"5s", succeed(), "completed run=1 attempts=1"},
			{"23h", enqueueAgain(keyed("order-12", "a")), "exists, completed: completed run=1 attempts=1"},
			{"24h", enqueueAgain(keyed("order-12", "b")), "another job: completed run=1 attempts=1"},
		}},
	}
}

func forADay(n *job.New) { n.KeyUntil = job.At(NewClock().Now().Add(24 * time.Hour)) }
