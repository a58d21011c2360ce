// Package check compares a history, which clients and handlers recorded outside of a store, with
// the content of the store afterwards. All layers of tests use it, from simulations to processes
// that were killed. It does no I/O.
package check

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// History is the record of a test. The slices may be in any order. A part that was not recorded
// stays empty, and the checks that need it are left out.
type History struct {
	Enqueues []Enqueue
	Runs     []Run
	Writes   []Write
	// Begins are the runs of which workers have reported to the store that they begin, recorded before the call.
	Begins []store.Run
	Dump   *store.Dump
	// Integrity has the problems that the store's own check of its file found.
	Integrity []string
	Limits    map[string]Limits // the limits of each kind
	// Retention is true when jobs, dead letters and failure records were removed some time after
	// they ended. Events are not removed.
	Retention bool
	// Purged has the correlation ids of jobs that people purged, recorded before the purge, because
	// the job no longer has one.
	Purged map[job.ID]string
	// Acts are the actions of people.
	Acts []Act
	// Requests are the requests with an idempotency key.
	Requests []Request
	// Notices are the notices that handlers have sent.
	Notices []Notice
	// Listeners are the clients that follow events.
	Listeners []Listener
	// Processes are the workers whose names are the holders of runs.
	Processes []Process
	// Children are the processes that workers started for jobs.
	Children []Child
	// Troubles are the times in which any process may have been kept from its work: an outage, a
	// full disk, a writer that was suspended in a commit, a machine that was too busy.
	Troubles []Trouble
	// Healed is the time of the store at which workers with all their slots began to work without
	// faults; 0 if it is not known.
	Healed job.Micros
	// Slots is the number of jobs that could run at the same time since Healed.
	Slots int
	// WaitMax is how long a job may be ready since Healed while a slot is free.
	WaitMax time.Duration
	// Drained is true when the faults have stopped and everything had time to end. No job may be
	// live any more.
	Drained bool
}

// Answer is the result of a write as its caller knows it.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota // no answer came: the caller was killed or disconnected, or got store.ErrUnknown
	Written               // the store acknowledged the write
	Refused               // the store refused the write, which must have no effect
)

// Enqueue is one submission as its client recorded it.
type Enqueue struct {
	Name     string // the name of the submission; it is unique, and it is the job's correlation id
	ID       job.ID // the id of the job from the receipt, or reserved before the call; 0 if it is not known
	Kind     string
	Owner    string
	Key      string
	Digest   string     // the digest of the payload, made by the function Digest
	Answer   Answer     // the answer to the last call of this submission
	Existing bool       // whether the receipt said that the key was known
	Again    bool       // whether the client made the call again after a call without an answer
	Deadline job.Micros // the deadline of the first life; 0 if the job has none
	Discard  Discard
}

// Discard says whether a client has discarded a draft.
type Discard uint8

// Whether a draft was discarded.
const (
	Kept             Discard = iota
	PerhapsDiscarded         // the call had no answer
	Discarded                // the store acknowledged the call
)

// Run is one execution as its handler recorded it.
type Run struct {
	Job    job.ID
	Life   int32
	Token  job.Token
	Holder string
	Start  job.Micros
	End    job.Micros // the end of the run; 0 if the handler recorded no end
	Digest string     // the digest of the payload that the handler got, made by the function Digest
	Result string     // digest of the run's result; "" if there was no result or the result is not known
	Error  string     // a part of the error that the handler returned; "" if it returned no error or the error is not known
}

// Write is one outcome that a worker passed to the store.
type Write struct {
	store.Run
	Cause  job.Cause
	To     job.State
	Answer Answer
	Again  bool // whether the worker made the call again after a call without an answer
}

// Act is one action of a person on one object, or one step of an action on all objects that a filter
// selects, as the person recorded it.
type Act struct {
	Reason string // the reason that the person gave; no other call has it
	Action string // the action as the audit log names it, such as "job.retry"
	Target string // the id of the job or the number of the redrive; "" if a filter selected the objects
	Done   int64  // how many objects the answer says were changed, if a filter selected them
	Answer Answer
}

// Notice is one attempt to send a notice, as its handler recorded it.
type Notice struct {
	Job    job.ID
	ID     string // by which its recipient knows a repeat
	Causes int    // how many deaths and outcomes it is about; see the function Causes
}

// Process is one worker as the test that started it recorded it.
type Process struct {
	Name      string     // the holder of its runs
	Ended     job.Micros // 0 if it has not ended
	Disturbed job.Micros // when the process was first killed, suspended or limited; 0 if never
	AtStart   bool       // whether it died after the store had recorded that a run begins, and before it called the handler
}

// Child is a process that a worker started for a job, or one that such a process started.
type Child struct {
	Worker string // the name of the worker; "" if the worker had ended when the child was first seen
	PID    int
	First  job.Micros // when it was first seen
	Last   job.Micros // when it was last seen
}

// Busy is the Trouble of a machine on which all processes may have had no processor or no disk for a
// while.
const Busy = "busy machine"

// Trouble is a time in which any process may have been kept from its work.
type Trouble struct {
	What     string // Busy, or what else happened
	From, To job.Micros
}

// Limits are the limits of a kind for one life. 0 means no limit.
type Limits struct {
	Attempts int32
	Crashes  int32
	Kills    bool // whether the handlers of some jobs of the kind kill their process
	// WaitMin and WaitMax are the shortest and the longest wait after a failure. Without WaitMax
	// the waits are not checked.
	WaitMin, WaitMax time.Duration
}

// Digest returns a short hash of a payload or result.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
