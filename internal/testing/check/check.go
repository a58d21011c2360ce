package check

import (
	"fmt"

	"github.com/redrive/redrive/job"
)

// Invariant is the name of an invariant.
type Invariant string

// The invariants, in the order in which they are checked.
const (
	// NoLostEnqueue: a job whose enqueue was acknowledged is found in exactly
	// one state.
	NoLostEnqueue Invariant = "NoLostEnqueue"
	// NoPhantom: every job comes from one submission that was not refused, and no submission made
	// two jobs.
	NoPhantom Invariant = "NoPhantom"
	// IdempotentEnqueue: one key gives one job and one row with one payload. If a key is
	// held while its job is alive, at most one job with the key is alive at a time.
	IdempotentEnqueue Invariant = "IdempotentEnqueue"
	// UnknownCommitSafe: repeating a call whose answer was lost has the effect of exactly one
	// success.
	UnknownCommitSafe Invariant = "UnknownCommitSafe"
	// OneLease: a job has at most one current lease, and each claim of a job gets a higher token.
	OneLease Invariant = "OneLease"
	// FencedWrite: a write with an old token changed nothing, and a write that the store
	// acknowledged was carried out.
	FencedWrite Invariant = "FencedWrite"
	// SingleCompletion: a life has at most one end. A manual retry opens the next life.
	SingleCompletion Invariant = "SingleCompletion"
	// LegalTransition: every job's events follow the transition table of package job and lead to
	// the job's state.
	LegalTransition Invariant = "LegalTransition"
	// AttemptAccounting: in each life, every claim has a run that a counter counts, that was
	// cancelled, or that is still running.
	AttemptAccounting Invariant = "AttemptAccounting"
	// BoundedRetry: no life has more attempts or crashes than allowed, and no run starts after the
	// deadline.
	BoundedRetry Invariant = "BoundedRetry"
	// ErrorKept: each run that failed or crashed has exactly one failure record.
	ErrorKept Invariant = "ErrorKept"
	// NoSilentDrop: no row vanishes and no payload is cut.
	NoSilentDrop Invariant = "NoSilentDrop"
	// DeadConservation: every job that died has a dead letter, unless an audited action removed it.
	// The status of the dead letter follows from the actions on it.
	DeadConservation Invariant = "DeadConservation"
	// RedriveNumbers: the counters of a redrive are consistent and agree with the audit.
	RedriveNumbers Invariant = "RedriveNumbers"
	// AuditComplete: each action of a person has exactly one audit row.
	AuditComplete Invariant = "AuditComplete"
	// ActKept: an action of a person that was acknowledged is in the events of its job and in the
	// audit, once. One that was refused has changed nothing.
	ActKept Invariant = "ActKept"
	// WaitKept: a retry is due after the wait that the policy says, and no job is claimed before it
	// is due.
	WaitKept Invariant = "WaitKept"
	// NoBurnedAttempt: a run that used up an attempt had begun, and has failed by itself.
	NoBurnedAttempt Invariant = "NoBurnedAttempt"
	// NoStrayChild: a process that a worker started for a job ends with its worker.
	NoStrayChild Invariant = "NoStrayChild"
	// BatchCounts: the counts of each batch agree with its members, and its state with its counts and
	// with its last outcome.
	BatchCounts Invariant = "BatchCounts"
	// OneOutcome: each end of a batch has one outcome and one event, and the outcomes are numbered
	// without gaps.
	OneOutcome Invariant = "OneOutcome"
	// NoEarlyOutcome: a batch ends when all its members have ended, and not before. One that has expired stays so.
	NoEarlyOutcome Invariant = "NoEarlyOutcome"
	// NoticeKept: a recipient is notified once, by a notice, a digest or a window that is open, of each death and each outcome
	// of which the rules tell them, and of nothing else. All attempts of a notice have one id.
	NoticeKept Invariant = "NoticeKept"
	// PositionCounts: a partition of a stream has as many read records as it counts by what became of
	// them, and each move of a position and each pause of a stream is in the audit.
	PositionCounts Invariant = "PositionCounts"
	// NoFalseCrash: a run counts as a crash only if something happened to its worker.
	NoFalseCrash Invariant = "NoFalseCrash"
	// OwnCrash: the crash that ends a job is of a run that had begun and was alone in its process.
	OwnCrash Invariant = "OwnCrash"
	// PromptStart: after the faults have stopped, no job that is ready waits long while a slot is free.
	PromptStart Invariant = "PromptStart"
	// SoundStore: the file is undamaged and every counter agrees with the rows that it counts.
	SoundStore Invariant = "SoundStore"
	// OneAnswer: all answers to one request with an idempotency key name the same objects, and no
	// other request has them.
	OneAnswer Invariant = "OneAnswer"
	// EveryEventHeard: a listener has every event of its topics once and in order, or a reset that
	// says that it may have missed some.
	EveryEventHeard Invariant = "EveryEventHeard"
	// EventualProgress: after the faults have stopped, every job ends.
	EventualProgress Invariant = "EventualProgress"
)

// Violation is one violation of an invariant.
type Violation struct {
	Invariant Invariant
	Job       job.ID // the job of the violation; 0 if the violation is not about one job
	What      string
}

// String returns the violation as one line.
func (v Violation) String() string {
	if v.Job == 0 {
		return fmt.Sprintf("%s: %s", v.Invariant, v.What)
	}
	return fmt.Sprintf("%s: job %d: %s", v.Invariant, v.Job, v.What)
}

// checker searches for violations of one invariant and calls broken for each violation.
type checker struct {
	invariant Invariant
	look      func(x *index, broken func(id job.ID, format string, args ...any))
}

func checkers() []checker {
	return []checker{
		{NoLostEnqueue, noLostEnqueue},
		{NoPhantom, noPhantom},
		{IdempotentEnqueue, idempotentEnqueue},
		{UnknownCommitSafe, unknownCommitSafe},
		{OneLease, oneLease},
		{FencedWrite, fencedWrite},
		{SingleCompletion, singleCompletion},
		{LegalTransition, legalTransition},
		{AttemptAccounting, attemptAccounting},
		{BoundedRetry, boundedRetry},
		{ErrorKept, errorKept},
		{NoSilentDrop, noSilentDrop},
		{DeadConservation, deadConservation},
		{RedriveNumbers, redriveNumbers},
		{AuditComplete, auditComplete},
		{ActKept, actKept},
		{WaitKept, waitKept},
		{NoBurnedAttempt, noBurnedAttempt},
		{NoStrayChild, noStrayChild},
		{BatchCounts, batchCounts},
		{OneOutcome, oneOutcome},
		{NoEarlyOutcome, noEarlyOutcome},
		{NoticeKept, noticeKept},
		{PositionCounts, positionCounts},
		{NoFalseCrash, noFalseCrash},
		{OwnCrash, ownCrash},
		{PromptStart, promptStart},
		{SoundStore, soundStore},
		{OneAnswer, oneAnswer},
		{EveryEventHeard, everyEventHeard},
		{EventualProgress, eventualProgress},
	}
}

// Invariants returns the names of all invariants, in their order.
func Invariants() []Invariant {
	var names []Invariant
	for _, j := range checkers() {
		names = append(names, j.invariant)
	}
	return names
}

// Check returns all violations of the invariants, in the order of the invariants. For a sound
// history, it returns nil.
func Check(h *History) []Violation {
	x := newIndex(h)
	var found []Violation
	for _, j := range checkers() {
		j.look(x, func(id job.ID, format string, args ...any) {
			found = append(found, Violation{j.invariant, id, fmt.Sprintf(format, args...)})
		})
	}
	return found
}
