// Package store holds the contract between the engine and whatever keeps its
// jobs. It speaks in domain terms; no SQL type crosses it.
//
// What every store promises:
//
//   - Each call is one transaction: it happens whole or not at all, and is
//     durable when the call returns without an error.
//   - The store owns the clock. Callers give durations; only scheduled times,
//     deadlines and Retry-After dates are absolute.
//   - Every write of a run is fenced by (id, token) and guarded in the
//     statement itself; a run that lost its lease gets ErrLeaseLost and changes
//     nothing. Tokens only grow.
//   - A write can be asked again: the same enqueue (with Repeat), outcome or
//     operation id is a look-up the second time. See ErrUnknown.
//   - A claim never walks rows that it may not take: not due, paused, of an
//     unknown kind, parked.
//   - Live jobs, finished ones and dead ones are kept apart; Get knows all three.
//   - Events are written in the same transaction as the change they report.
package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Store is everything that a client and its engine need. Parts that only some
// callers need are the smaller interfaces below, which every store has too.
type Store interface {
	Producer
	Worker
	Reader
	Admin
	Policies
	DeadLetters
	Redrives
	Keeper
	// Close releases what the store holds. Calls after it return an error.
	Close() error
}

// Producer takes jobs in.
type Producer interface {
	// ReserveIDs reserves n (1 to 1<<20) consecutive job ids and returns the
	// first. Ids that are never used leave a gap and nothing else.
	ReserveIDs(ctx context.Context, n int) (job.ID, error)
	// Enqueue takes all the jobs or none (job.EnqueueMax at most) and answers
	// in their order. A key that is known gives the receipt of the job that
	// holds it; with another payload the whole call is refused with a
	// *KeyConflict. A queue that drains gives ErrDraining.
	Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error)
}

// Tx is a transaction of the caller's, made by the package of the store that it
// belongs to (sqlite.Tx; postgres.Tx and postgres.SQLTx).
type Tx interface {
	// StoreTx names the store's package, for error messages.
	StoreTx() string
}

// Transactor is a store that can join the caller's own transaction. What is
// written there exists if and only if the caller commits. A call that returns an
// error has written nothing there. With the stores of redrive (sqlite, postgres)
// the transaction is then as it was before the call, and goes on, unless its
// connection was lost; with any other store roll it back, unless that promises the
// same.
type Transactor interface {
	// EnqueueTx is Enqueue inside the caller's transaction. Until that commits,
	// an Enqueue with the same key elsewhere may wait for it.
	EnqueueTx(ctx context.Context, tx Tx, jobs []job.New) ([]job.Receipt, error)
	// SettleTx writes one outcome inside the caller's transaction. ErrLeaseLost
	// means that the caller must roll back: what the run did there is another's.
	SettleTx(ctx context.Context, tx Tx, o job.Outcome) error
}

// Worker is what an engine needs to run jobs.
type Worker interface {
	// Exchange writes what has finished and claims what is wanted, in that
	// order. An outcome that cannot be written because its lease is lost gets
	// its error in the answer and does not hold up the rest. A store may commit
	// the two halves apart: after an error ask again with the same outcomes,
	// which then are look-ups. Claims of a lost answer end with their leases, or are
	// given back by the store before that, as interrupted.
	// It is safe for concurrent use. An empty answer with NextDue 0 is legal
	// when another process was faster: wait a little before asking again.
	//
	// The order of claims is the same in every store while no other call is under
	// way. After the outcomes, want by want and priority by priority from 1, it
	// takes due jobs of the open lanes of the wanted kinds, merged by (run_at,
	// id), while the want's Max, the kind's Max, the limits over all processes
	// and the rates have room. A job found past its deadline dies as expired and
	// takes no room.
	//
	// NextDue looks at all lanes that the wants may take from, except those of a
	// want that was filled to its Max (Full is set instead) or of a kind whose Max
	// is or became zero. A job that is due later counts with its time; one that is
	// due but held back by a rate counts with the time of the next start (the
	// later one of queue and kind); one held back by a limit over all processes
	// does not count, because the end of another run will be notified.
	Exchange(ctx context.Context, x Exchange) (Exchanged, error)
	// Heartbeat extends the leases of runs and stores their progress.
	Heartbeat(ctx context.Context, b Beat) ([]RunStatus, error)
	// Rescue ends up to limit runs whose lease is over: back to waiting, due
	// after CrashDelay, with one crash more and no attempt burned, or dead as
	// stalled when the life has its limit of crashes. Each gets a failure record.
	Rescue(ctx context.Context, limit int) (Rescue, error)
	// Signals returns what people want from this holder's process: runs to
	// stop and the settings of queues. It is cheap: read it at every wake-up.
	Signals(ctx context.Context, holder string) (Signals, error)
	// Declare makes queues known, so that people can name them.
	Declare(ctx context.Context, queues []string) error
	// Notify sends to ch, without ever blocking, whenever jobs may have become
	// ready, or signals may have changed, by this or another process. It may
	// send for nothing. The returned function ends that.
	Notify(ch chan<- struct{}) (stop func())
}

// Exchange is what an engine brings to and wants from the store.
type Exchange struct {
	Holder string        // names the process; at most job.TextMax bytes
	Lease  time.Duration // of the new claims
	Settle []job.Outcome
	Want   []Want
}

// Want asks for jobs of one queue.
type Want struct {
	Queue string
	Max   int // at most so many jobs, over all kinds
	Kinds []KindWant
	// Limit and Rate hold over all processes; zero is no limit. A setting that
	// a person made on the queue wins over both.
	Limit int
	Rate  Rate
}

// KindWant is one kind that the asking process knows how to run. Jobs of other
// kinds stay untouched.
type KindWant struct {
	Kind string
	Max  int // at most so many jobs of this kind
	// MaxCrashes is the number of lost leases in one life that end a job of this
	// kind, 1 to job.CrashesCeiling. It is kept with the claim, so that any
	// process can rescue it rightly.
	MaxCrashes int
	Limit      int  // running over all processes and queues; 0 is no limit
	Rate       Rate // started over all processes and queues; zero is no limit
}

// Rate is so many starts per duration; the zero value is no limit. Starts are
// spread evenly, with a burst of at most one second's worth (at least one).
type Rate struct {
	N   int
	Per time.Duration
}

// Exchanged is the answer to an exchange.
type Exchanged struct {
	Settled []error // one per outcome, in order; nil is written
	Claims  []job.Claim
	// NextDue is how long until the earliest job that the wants could take
	// becomes due; Never when there is none. It is not below zero.
	NextDue time.Duration
	// Full says that for some want there may be more that is due now. Once the claims
	// have ClaimBytes of payloads, the exchange ends early with it set.
	Full bool
	// Expired are jobs found past their deadline; they are dead now. At
	// ExpiredMax of them the exchange ends early with Full set.
	Expired []job.ID
}

// ExpiredMax bounds the jobs that one exchange finds past their deadline.
const ExpiredMax = 1_000

// ClaimBytes bounds the payloads that one exchange brings, but for the last of them.
const ClaimBytes = 32 << 20

// Never is the NextDue of an empty store.
const Never = time.Duration(1<<63 - 1)

// Run names one run.
type Run struct {
	ID    job.ID
	Token job.Token
}

// Beat tells the store that runs are alive.
type Beat struct {
	Lease    time.Duration // from the store's now on
	Runs     []Run
	Progress []job.Progress // of runs in Runs
}

// RunStatus is what a heartbeat learned about one run.
type RunStatus struct {
	Held   bool // false: the lease is lost, the run must stop and write nothing
	Cancel bool // a person asked the run to stop
}

// Rescue is what a rescue did.
type Rescue struct {
	Jobs []Rescued
	// NextExpiry is how long until the earliest lease that is still running
	// ends; Never when none is. It is not below zero. Engines time their rescues by
	// it.
	NextExpiry time.Duration
}

// Rescued is one run that was ended because its lease was over.
type Rescued struct {
	Run
	Kind, Queue string
	Holder      string // who had it
	Crashes     int32  // in this life, with this one
	To          job.State
}

// Signals is what people want from a process.
type Signals struct {
	Cancel []Run // runs of the holder to stop
	Queues []Queue
}

// Mode is whether a queue takes jobs and gives them out. The numbers are stored.
type Mode uint8

// The modes.
const (
	Open     Mode = 0
	Paused   Mode = 1 // takes jobs, gives none out
	Draining Mode = 2 // gives out, takes no new ones
)

var modeNames = [...]string{"open", "paused", "draining"}

// String returns the mode's word.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Queue is a queue and the settings that people made on it. Zero settings are
// "not set": the process's own configuration counts.
type Queue struct {
	Name    string `json:"name"`
	Mode    Mode   `json:"mode"`
	Workers int    `json:"workers,omitempty"` // concurrency of each process
	Limit   int    `json:"limit,omitempty"`   // concurrency of all processes
	Rate    Rate   `json:"rate,omitzero"`     // starts over all processes
}

// Reader looks at what is stored. No call holds a snapshot longer than a second.
type Reader interface {
	// Get returns a job wherever it is; ErrNotFound when it is nowhere.
	Get(ctx context.Context, id job.ID) (job.Job, error)
	// Failures returns the failure records of a job, oldest first.
	Failures(ctx context.Context, id job.ID) ([]job.Failure, error)
	// DeadLetter returns the dead letter of a job; ErrNotFound when it has none.
	DeadLetter(ctx context.Context, id job.ID) (job.DeadLetter, error)
	// List returns jobs without their payloads, newest id first.
	List(ctx context.Context, f Filter) (Page, error)
	// Counts returns the number of jobs per queue, kind and state. It reads
	// counters: its cost does not grow with the jobs.
	Counts(ctx context.Context) ([]Count, error)
	// Queues returns the queues, by name.
	Queues(ctx context.Context) ([]Queue, error)
	// Events returns up to limit events after the cursor, in order. It stops
	// before a commit that is not visible yet, so that none is missed.
	Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error)
	// Audit returns up to limit rows after the one numbered after, in order.
	Audit(ctx context.Context, after int64, limit int) ([]Audit, error)
	// Dump returns everything, in a canonical order, for the invariant checker
	// and for comparing stores. It is meant for tests and `doctor`.
	Dump(ctx context.Context) (*Dump, error)
}

// Filter selects jobs. Zero fields select everything.
type Filter struct {
	States []job.State
	Kind   string
	Queue  string
	Owner  string
	Before job.ID // only ids below; 0 is from the newest
	Limit  int    // 1 to job.PageMax; 0 is 50
}

// Page is one page of a list.
type Page struct {
	Jobs []job.Job
	// Next is the Before of the page after this one; 0 when this is the last.
	// A page may have fewer rows than its limit, even none, and still have a
	// next one: a list stops after a bounded number of rows looked at.
	Next job.ID
}

// Count is a number of jobs.
type Count struct {
	Queue string    `json:"queue"`
	Kind  string    `json:"kind"`
	State job.State `json:"state"`
	N     int64     `json:"n"`
}

// Admin is what people do. Each call writes one audit row per changed thing, in
// the same transaction.
type Admin interface {
	// Cancel cancels jobs: a waiting one at once, a running one by asking its
	// handler to stop. The answer has an error per id: ErrNotFound, ErrConflict
	// for a job that has ended, or nil (also for one cancelled before).
	Cancel(ctx context.Context, by By, ids []job.ID) ([]error, error)
	// SetQueue changes the settings of a queue; nil fields stay, zero values
	// take a setting back. ErrNotFound for a queue nobody has declared or used.
	SetQueue(ctx context.Context, by By, c QueueChange) (Queue, error)
	// Retry opens the next life of dead jobs; the reason is the note of their dead
	// letters. The answer has an error per id: ErrNotFound, ErrConflict for a job
	// that is not dead, or nil.
	Retry(ctx context.Context, by By, ids []job.ID) ([]error, error)
}

// By says who acts and why.
type By struct {
	Actor  string // required
	Reason string
}

// QueueChange changes a queue's settings.
type QueueChange struct {
	Name    string
	Mode    *Mode
	Workers *int
	Limit   *int
	Rate    *Rate
}

// Audit is one action of a person.
type Audit struct {
	Seq   int64      `json:"seq"`
	At    job.Micros `json:"at"`
	Actor string     `json:"actor"`
	// Action is "job.cancel", "job.retry", "queue.set", "policy.publish", the
	// "dead_letter." and "redrive." ones named in their files, or "retention.remove".
	// What a retry has changed of jobs is in After, see Change.MarshalJSON.
	Action string `json:"action"`
	Target string `json:"target"` // job id, queue, hash of a policy, filter, number of a redrive
	Reason string `json:"reason,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Dump is the whole content of a store, canonically ordered: jobs, failures,
// dead letters and keys by id, counts by queue, kind and state, zero counts left
// out.
type Dump struct {
	Now      job.Micros // the store's time of the dump
	Jobs     []job.Job
	Failures []job.Failure
	Dead     []job.DeadLetter
	Keys     []Key
	Counts   []Count
	Groups   []Group // by fingerprint, without trends
	// DeadCounts are by queue, kind, reason, class and status, zero ones left out.
	DeadCounts []DeadCount
	Originals  []Original // by job
	Redrives   []Redrive  // by id
	Schedules  []Schedule // by name
	Hours      []Hour     // by time
	Queues     []Queue
	Events     []event.Event
	Audit      []Audit
	Policies   []Policy // by hash
}

// Key is an idempotency key and the job that holds it.
type Key struct {
	Owner, Kind, Key string
	Job              job.ID
	Until            job.Micros // 0 is for ever
}
