package redrive

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The names of the domain that users of this package meet: jobs.
type (
	// JobID names a job for ever. In JSON it is a string.
	JobID = job.ID
	// State is where a job stands, such as job.Waiting.
	State = job.State
	// Receipt is the answer to an enqueue.
	Receipt = job.Receipt
	// JobFilter selects jobs for List.
	JobFilter = store.Filter
	// JobPage is a page of List.
	JobPage = store.Page
	// JobCount is a number of jobs of one queue, kind and state.
	JobCount = store.Count
)

// The names of what people do, and of what they set.
type (
	// By says who acts, for the audit, and why.
	By = store.By
	// AuditEntry is one action of a person.
	AuditEntry = store.Audit
	// Rate is so many starts per duration; the zero value means no limit.
	Rate = store.Rate
	// QueueSettings are a queue and what people have set on it.
	QueueSettings = store.Queue
	// QueueChange changes the settings of a queue.
	QueueChange = store.QueueChange
	// QueueMode says whether a queue takes jobs in and gives them out.
	QueueMode = store.Mode
	// StoredPolicy is a policy as it is kept in the store.
	StoredPolicy = store.StoredPolicy
)

// The modes of a queue.
const (
	QueueOpen     = store.Open
	QueuePaused   = store.Paused   // takes jobs in, gives none out
	QueueDraining = store.Draining // gives jobs out, takes no new ones in
)

// The names of dead letters.
type (
	// DeadFilter selects dead letters; the zero value selects all.
	DeadFilter = store.DeadFilter
	// DeadPaging says which page of dead letters.
	DeadPaging = store.DeadPaging
	// DeadPage is a page of dead letters.
	DeadPage = store.DeadPage
	// DeadEntry is a dead letter in a list.
	DeadEntry = store.DeadEntry
	// DeadStats are figures about dead letters.
	DeadStats = store.DeadStats
	// DeadCount is a number of dead letters.
	DeadCount = store.DeadCount
	// Hour is what became of jobs in an hour.
	Hour = store.Hour
	// Group is the dead letters of one root cause.
	Group = store.Group
	// GroupFilter selects groups.
	GroupFilter = store.GroupFilter
	// GroupPage is a page of groups.
	GroupPage = store.GroupPage
	// Original is what a job was before a retry changed it.
	Original = store.Original
	// Action is what a person wants done to dead letters.
	Action = store.Action
	// Act is what an Action does.
	Act = store.Act
	// Acted is the answer to an Action.
	Acted = store.Acted
	// EncodedChange is a Change as an Action and a RedriveSpec take it.
	EncodedChange = store.Change
)

// The acts on dead letters.
const (
	ActRetry   = store.ActRetry   // opens the next life of the job
	ActResolve = store.ActResolve // closes pending and ignored ones
	ActIgnore  = store.ActIgnore  // puts pending ones aside
	ActReopen  = store.ActReopen  // makes resolved and ignored ones pending
	ActPurge   = store.ActPurge   // removes resolved and ignored ones with their jobs
)

// The names of redrives.
//
//nolint:revive // Redrive is the thing here, which happens to have the package's name
type (
	// Redrive is a bulk retry.
	Redrive = store.Redrive
	// RedriveSpec is what a person wants of a redrive.
	RedriveSpec = store.RedriveSpec
	// RedriveState is where a redrive stands.
	RedriveState = store.RedriveState
	// RedriveOp is what a person does with a redrive.
	RedriveOp = store.RedriveOp
)

// The states of a redrive.
const (
	RedriveCanary    = store.RedriveCanary    // a few jobs are out, the rest waits for them
	RedriveRamping   = store.RedriveRamping   // more and more jobs are brought back
	RedriveSettling  = store.RedriveSettling  // all jobs are out, some have not ended
	RedrivePaused    = store.RedrivePaused    // by a person
	RedriveStopped   = store.RedriveStopped   // by itself
	RedriveCompleted = store.RedriveCompleted // all jobs have ended
	RedriveCancelled = store.RedriveCancelled // by a person
)

// What people do with a redrive.
const (
	RedrivePause   = store.RedrivePause
	RedriveResume  = store.RedriveResume  // a paused one, or one that has stopped by itself
	RedriveProceed = store.RedriveProceed // do not wait for the canary any longer
	RedriveCancel  = store.RedriveCancel  // bring back no more jobs; those that are out go on
)

// The limits of a RedriveSpec.
const (
	RedriveCanaryMax = store.CanaryMax      // jobs
	RedriveRateMax   = store.RedriveRateMax // jobs per second
)

// The errors of a store, which calls of a Client return. Test for them with errors.Is.
var (
	ErrNotFound    = store.ErrNotFound    // there is no such thing
	ErrConflict    = store.ErrConflict    // its state does not allow the call
	ErrInvalid     = store.ErrInvalid     // the call itself is wrong
	ErrTooLarge    = store.ErrTooLarge    // something is above its limit
	ErrDraining    = store.ErrDraining    // the queue takes no new jobs
	ErrLeaseLost   = store.ErrLeaseLost   // the run is not the current one of its job any more
	ErrFull        = store.ErrFull        // no space is left
	ErrUnavailable = store.ErrUnavailable // the store did not answer; nothing was written
	ErrUnknown     = store.ErrUnknown     // it is not known whether the commit happened
)

// KeyConflict says that an idempotency key is held by a job with another payload. It
// is an ErrConflict.
type KeyConflict = store.KeyConflict
