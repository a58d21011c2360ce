package check

import (
	"fmt"

	"github.com/redrive/redrive/job"
)

// Invariant is the name of a promise.
type Invariant string

// The invariants, in the order in which they are judged.
const (
	// NoLostEnqueue: a job whose enqueue was acknowledged is found in exactly
	// one state.
	NoLostEnqueue Invariant = "NoLostEnqueue"
	// NoPhantom: every job traces to one submission that was not refused, and
	// no submission made two.
	NoPhantom Invariant = "NoPhantom"
	// IdempotentEnqueue: one key gives one job and one row, with one payload.
	IdempotentEnqueue Invariant = "IdempotentEnqueue"
	// UnknownCommitSafe: asking again after an answer that was lost leaves the
	// state of exactly one success.
	UnknownCommitSafe Invariant = "UnknownCommitSafe"
	// OneLease: at most one current lease per job; tokens grow with each claim.
	OneLease Invariant = "OneLease"
	// FencedWrite: what was written with an old token changed nothing, and what
	// the store said yes to happened.
	FencedWrite Invariant = "FencedWrite"
	// SingleCompletion: at most one end per life; a manual retry opens the next.
	SingleCompletion Invariant = "SingleCompletion"
	// LegalTransition: every job's events follow the table of package job and
	// lead to where the job stands.
	LegalTransition Invariant = "LegalTransition"
	// AttemptAccounting: in each life, claims are the runs that ended by one of
	// the counters, were cancelled, or are still running.
	AttemptAccounting Invariant = "AttemptAccounting"
	// BoundedRetry: no life has more attempts or crashes than allowed, and
	// nothing starts after its deadline.
	BoundedRetry Invariant = "BoundedRetry"
	// ErrorKept: each run that failed or crashed has exactly one failure record.
	ErrorKept Invariant = "ErrorKept"
	// NoSilentDrop: no row vanishes and nothing is trimmed.
	NoSilentDrop Invariant = "NoSilentDrop"
	// DeadConservation: every job that died has its entry, in the status that what
	// was done to it makes, or was removed by somebody who is on record.
	DeadConservation Invariant = "DeadConservation"
	// RedriveNumbers: what a redrive counts fits together and fits the audit.
	RedriveNumbers Invariant = "RedriveNumbers"
	// AuditComplete: one audit row for each action of a person.
	AuditComplete Invariant = "AuditComplete"
	// SoundStore: the file is whole and every derived figure agrees with what
	// it was derived from.
	SoundStore Invariant = "SoundStore"
	// EventualProgress: once the faults stop, everything ends.
	EventualProgress Invariant = "EventualProgress"
)

// Violation is one broken promise.
type Violation struct {
	Invariant Invariant
	Job       job.ID // 0 when it is not about one job
	What      string
}

// String returns the violation as one line.
func (v Violation) String() string {
	if v.Job == 0 {
		return fmt.Sprintf("%s: %s", v.Invariant, v.What)
	}
	return fmt.Sprintf("%s: job %d: %s", v.Invariant, v.Job, v.What)
}

// judge looks for breaks of one invariant and calls broken for each.
type judge struct {
	invariant Invariant
	look      func(x *index, broken func(id job.ID, format string, args ...any))
}

func judges() []judge {
	return []judge{
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
		{SoundStore, soundStore},
		{EventualProgress, eventualProgress},
	}
}

// Invariants returns the names of all invariants, in their order.
func Invariants() []Invariant {
	var names []Invariant
	for _, j := range judges() {
		names = append(names, j.invariant)
	}
	return names
}

// Check returns every break of every invariant, in their order; none for a
// sound history.
func Check(h *History) []Violation {
	x := newIndex(h)
	var found []Violation
	for _, j := range judges() {
		j.look(x, func(id job.ID, format string, args ...any) {
			found = append(found, Violation{j.invariant, id, fmt.Sprintf(format, args...)})
		})
	}
	return found
}
