package redrive

import (
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Types of jobs, as this package uses them.
type (
	// JobID identifies a job for ever. In JSON it is a string.
	JobID = job.ID
	// State is the state of a job, such as job.Waiting.
	State = job.State
	// Receipt is the answer to an enqueue: the ID of the job, its State, and Existing, which is
	// true if a job with the same key or unique arguments exists, so that nothing was enqueued.
	Receipt = job.Receipt
	// JobFilter selects jobs for List.
	JobFilter = store.Filter
	// JobOrder is the order of a list of jobs: Newest, Due or Ended.
	JobOrder = store.Order
	// JobCursor is a position in a list of jobs.
	JobCursor = store.Cursor
	// JobAttr selects jobs by an attribute.
	JobAttr = store.Attr
	// Span is a range of time.
	Span = store.Span
	// JobPage is a page of jobs, as List returns it.
	JobPage = store.Page
	// JobCount is the number of jobs of one queue, kind and state.
	JobCount = store.Count
	// CronSlot is the last slot of a cron entry that was fired.
	CronSlot = store.CronSlot
)

// The orders of a list of jobs.
const (
	Newest = store.Newest // all jobs, the highest id first
	Due    = store.Due    // waiting and retrying jobs, the earliest due time first
	Ended  = store.Ended  // completed, cancelled and dead jobs, the latest end first
)

// Types of the actions and settings of people.
type (
	// By names the person or program who acts, for the audit log: By{Actor: "ann", Reason: "the
	// service is back"}. Actor is required.
	By = store.By
	// Seen is what the person has seen of a job; an action on a job that has changed since does nothing.
	Seen = store.Seen
	// AuditEntry is one action of a person.
	AuditEntry = store.Audit
	// AuditFilter selects entries of the audit log.
	AuditFilter = store.AuditFilter
	// AuditPage holds the newest entries that a filter selects.
	AuditPage = store.AuditPage
	// Rate is a number of starts per duration; the zero value means no limit.
	Rate = store.Rate
	// QueueSettings is a queue with the settings that people have made.
	QueueSettings = store.Queue
	// QueueChange changes the settings of a queue.
	QueueChange = store.QueueChange
	// QueueMode says whether a queue accepts jobs and hands them out.
	QueueMode = store.Mode
	// Request is a request with an idempotency key, and its answer.
	Request = store.Request
	// AccessKey is a key with which a program or a person signs in to a server.
	AccessKey = store.AccessKey
	// Process is a process that works on the store.
	Process = store.Process
	// Sickness is a trouble of a process: it cannot start the program of a kind.
	Sickness = store.Sickness
	// StoredPolicy is a policy as the store keeps it.
	StoredPolicy = store.StoredPolicy
)

// ErrNotStarted says that this worker could not start the work of a job: the temporary directory
// of the run could not be made, or a program could not be started. errors.Is finds it in the
// errors of Info.TempDir, and of Info.Command if the program was not found. When a handler
// returns it, or another error of starting a command, the job is handed back without an
// attempt, so that another worker runs it. This worker claims no more jobs of the kind until it
// can start them again. A handler may wrap ErrNotStarted in an error about something else that
// this worker lacks, such as a device.
var ErrNotStarted = proc.ErrNotStarted

// The modes of a queue.
const (
	QueueOpen     = store.Open
	QueuePaused   = store.Paused   // the queue accepts jobs, but none of its jobs starts
	QueueDraining = store.Draining // the queue's jobs run, but it accepts no new jobs
)

// Types of dead letters.
type (
	// DeadFilter selects dead letters by Class, Kind, Queue, Group, Statuses and other fields, which
	// all must match; the zero value selects all.
	DeadFilter = store.DeadFilter
	// DeadPaging selects a page of dead letters: Limit entries, older than DeadPage.Next of the page
	// before, with their jobs if Jobs is true.
	DeadPaging = store.DeadPaging
	// DeadPage is a page of dead letters.
	DeadPage = store.DeadPage
	// DeadEntry is a dead letter in a list. The id of its job is DeadLetter.Job; the field Job is the
	// job itself, if DeadPaging.Jobs asked for it.
	DeadEntry = store.DeadEntry
	// DeadStats contains the numbers of dead letters, and of the jobs that ended in each hour.
	DeadStats = store.DeadStats
	// DeadCount is the number of dead letters of one status, reason, class, kind and
	// queue.
	DeadCount = store.DeadCount
	// Hour counts the jobs that ended in one hour, by state.
	Hour = store.Hour
	// Group holds the dead letters with one root cause.
	Group = store.Group
	// GroupFilter selects groups.
	GroupFilter = store.GroupFilter
	// GroupPage is a page of groups.
	GroupPage = store.GroupPage
	// GroupChange changes what people say about a group.
	GroupChange = store.GroupChange
	// GroupState says how far people have come with the cause of a group.
	GroupState = store.GroupState
	// Note is a text that a person or a handler has added to a job or a group.
	Note = store.Note
	// NoteKind is PlainNote for what people know about a cause, or Feedback for what a user
	// or a handler says about a job.
	NoteKind = store.NoteKind
	// NoteFilter selects notes.
	NoteFilter = store.NoteFilter
	// Original is a job as it was before a retry changed it.
	Original = store.Original
	// Action is a change that a person makes to dead letters: Do says what, such as ActRetry, and
	// either IDs or Filter says to which. Change applies to retries.
	Action = store.Action
	// Act names what an Action does, such as ActRetry or ActIgnore.
	Act = store.Act
	// Acted is the result of an Action.
	Acted = store.Acted
	// EncodedChange is a Change in the encoded form that Action, LiveAction and RedriveSpec contain.
	EncodedChange = store.Change
)

// Types of actions on live jobs.
type (
	// LiveAction is a change that a person makes to all live jobs that a filter selects.
	LiveAction = store.LiveAction
	// LiveAct names what a LiveAction does.
	LiveAct = store.LiveAct
	// LiveActed is the result of a LiveAction.
	LiveActed = store.LiveActed
)

// The operations on live jobs.
const (
	LiveCancel = store.LiveCancel // cancels waiting and retrying jobs, and asks running jobs to stop
	LiveAlter  = store.LiveAlter  // changes waiting and retrying jobs
)

// The operations on dead letters.
const (
	ActRetry   = store.ActRetry   // retries the job: it waits again and begins a new life
	ActResolve = store.ActResolve // marks pending and ignored dead letters as resolved
	ActIgnore  = store.ActIgnore  // marks pending dead letters as ignored
	ActReopen  = store.ActReopen  // makes resolved and ignored dead letters pending again
	ActPurge   = store.ActPurge   // removes resolved and ignored dead letters and their jobs
)

// The states of a group.
const (
	GroupOpen      = store.GroupOpen
	GroupResolved  = store.GroupResolved  // a person marked the cause as resolved, and no job has died of it since
	GroupRegressed = store.GroupRegressed // a job has died of the cause since a person marked it as resolved
)

// The kinds of notes.
const (
	PlainNote = store.PlainNote // what people know about a job or a cause
	Label     = store.Label     // the class that the failures of a group have; see Client.Reclassify
	Feedback  = store.Feedback  // what the user of a job, or its handler, says about it
)

// Types of figures over time.
type (
	// SeriesQuery selects figures over time.
	SeriesQuery = store.SeriesQuery
	// SeriesBy says what divides the points of a series, such as the queue or the class.
	SeriesBy = store.SeriesBy
	// Point holds the figures of one step of a series.
	Point = store.Point
	// Figures counts what happened to jobs in a time.
	Figures = store.Figures
	// DueRetries says how many retries fall due in the next minutes.
	DueRetries = store.DueRetries
	// Head says when the first jobs of a queue and kind are due.
	Head = store.Head
)

// The names that can divide the points of a series.
const (
	ByQueue = store.ByQueue
	ByKind  = store.ByKind
	ByClass = store.ByClass // the class of the failure
)

// Limits of figures over time.
const (
	FigureMinutesKept = store.MinutesKept   // how long figures by minute are kept
	FigureHoursKept   = store.HourRowsKept  // how long figures by hour are kept
	DueMinutesMax     = store.DueMinutesMax // the maximum number of minutes of Client.Due
)

// HoursKept is the number of hours for which DeadStats returns the counts per hour.
const HoursKept = store.HoursKept

// Types of redrives.
type (
	// Redrive is a bulk retry.
	Redrive = store.Redrive
	// RedriveSpec describes a redrive to start: Filter selects the dead letters, Canary is the number
	// of jobs that go first, Rate the jobs per second, and StopShare, StopOther and StopDead are the
	// shares of failures at which it stops. The zero value of each has a default.
	RedriveSpec = store.RedriveSpec
	// RedriveState is the state of a redrive.
	RedriveState = store.RedriveState
	// RedriveStop is one of the three shares that can stop a redrive.
	RedriveStop = store.RedriveStop
	// RedriveCause counts the failures of a redrive's jobs that have one cause.
	RedriveCause = store.RedriveCause
	// RedriveOp is an operation of a person on a redrive.
	RedriveOp = store.RedriveOp
)

// The states of a redrive.
const (
	RedriveCanary    = store.RedriveCanary    // a few jobs are retried; the other jobs wait until these have ended
	RedriveRamping   = store.RedriveRamping   // more and more jobs are retried
	RedriveSettling  = store.RedriveSettling  // all jobs are retried; some of them have not ended
	RedrivePaused    = store.RedrivePaused    // paused by a person
	RedriveStopped   = store.RedriveStopped   // stopped automatically, because too many jobs failed again
	RedriveCompleted = store.RedriveCompleted // all jobs have completed
	RedriveEnded     = store.RedriveEnded     // all jobs have ended, and some of them are dead or cancelled
	RedriveCancelled = store.RedriveCancelled // cancelled by a person
)

// The operations on a redrive.
const (
	RedrivePause   = store.RedrivePause
	RedriveResume  = store.RedriveResume  // continues a redrive that is paused or was stopped automatically
	RedriveProceed = store.RedriveProceed // ends the canary now, so that more jobs are retried
	RedriveCancel  = store.RedriveCancel  // retries no more jobs; jobs that were already retried continue
)

// The shares that can stop a redrive.
const (
	RedriveStopAgain = store.StopAgain // first attempts that failed by the same cause
	RedriveStopOther = store.StopOther // first attempts that failed by another cause
	RedriveStopDead  = store.StopDead  // dead jobs among those that have ended
)

// The limits of a RedriveSpec.
const (
	RedriveCanaryMax = store.CanaryMax      // the maximum number of canary jobs
	RedriveRateMax   = store.RedriveRateMax // the maximum rate, in jobs per second
)

// The errors of a store, which calls of a Client return. Test for them with errors.Is.
var (
	ErrNotFound    = store.ErrNotFound    // the object of the call, such as a job, does not exist
	ErrMoved       = store.ErrMoved       // the job is not as By.Seen says; it is an ErrConflict, too
	ErrConflict    = store.ErrConflict    // the present state of the object, such as a job, does not allow the call
	ErrInvalid     = store.ErrInvalid     // an argument is not valid
	ErrTooLarge    = store.ErrTooLarge    // a value exceeds its limit
	ErrDraining    = store.ErrDraining    // the queue takes no new jobs
	ErrLeaseLost   = store.ErrLeaseLost   // another run of the job has taken over
	ErrFull        = store.ErrFull        // the disk is full
	ErrUnavailable = store.ErrUnavailable // the store did not answer; nothing was written
	ErrClosed      = store.ErrClosed      // the store was closed; it is an ErrUnavailable, too
	ErrGone        = store.ErrGone        // events that the caller has not read were removed; see EventsGone
	ErrUnknown     = store.ErrUnknown     // it is not known whether the commit happened
)

// KeyConflict is the error of an enqueue whose idempotency key belongs to a job with
// another payload. Its field ID is this job. It is an ErrConflict; find it with
// errors.AsType[*KeyConflict].
type KeyConflict = store.KeyConflict
