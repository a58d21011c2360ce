// Package store is the contract between the engine and the stores that keep its
// jobs. It uses the terms of the domain; no SQL type crosses it.
//
// What every store promises:
//
//   - Each call is one transaction: all of its changes are made or none. The changes
//     are durable when the call returns without an error.
//   - The store owns the clock. Callers give durations; only scheduled times,
//     deadlines and Retry-After dates are absolute.
//   - Every write of a run names (id, token), and the statement itself checks
//     both. A run that lost its lease gets ErrLeaseLost and changes nothing.
//     Tokens only grow.
//   - A write can be repeated. The same enqueue (with Repeat), outcome or operation
//     id writes nothing the second time and gets the first answer. See ErrUnknown.
//   - A claim never walks rows that it may not take: jobs that are not due,
//     paused, parked or of a kind that the process does not know.
//   - Live, finished and dead jobs are stored in separate tables; Get finds all of
//     them.
//   - Events are written in the same transaction as the change they report.
package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Store is everything that a client and its engine need. Each part is a separate
// interface, for callers that need only that part.
type Store interface {
	Producer
	Worker
	Reader
	Admin
	Policies
	DeadLetters
	Redrives
	Keeper
	Presence
	// Close releases the store's resources. Calls after it return an ErrClosed.
	Close() error
}

// Producer accepts new jobs.
type Producer interface {
	// ReserveIDs reserves n (1 to 1<<20) consecutive job ids and returns the first. Ids
	// that are not used only leave a gap.
	ReserveIDs(ctx context.Context, n int) (job.ID, error)
	// Enqueue accepts all the jobs or none (at most job.EnqueueMax) and returns their
	// receipts in the same order. For an idempotency key that is already used, it
	// returns the receipt of the job that holds the key. If that job has another
	// payload, the whole call fails with a *KeyConflict. For a draining queue it
	// returns ErrDraining. A job with Repeat whose id is already stored is only looked
	// up. If the stored job differs from it, the call fails with an *IDConflict. A key
	// that begins with job.AliveKey is known only while the job that holds it is alive.
	Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error)
}

// Tx is a transaction of the caller. The store's package makes it from the caller's
// transaction, with sqlite.Tx, postgres.Tx or postgres.SQLTx.
type Tx interface {
	// StoreTx returns the name of the store's package, for error messages.
	StoreTx() string
}

// Transactor is a store that can join a transaction of the caller. What the calls write
// exists if and only if the caller commits. A call that returns an error has written
// nothing. The stores of redrive (sqlite, postgres) then leave the transaction as it
// was before the call, and it can continue unless its connection was lost. With any
// other store, roll back the transaction unless that store promises the same.
type Transactor interface {
	// EnqueueTx is Enqueue inside the caller's transaction. Until that transaction
	// commits, another Enqueue with the same key may wait for the transaction.
	EnqueueTx(ctx context.Context, tx Tx, jobs []job.New) ([]job.Receipt, error)
	// SettleTx writes one outcome inside the caller's transaction. After
	// ErrLeaseLost the caller must roll back: another run owns the job now.
	SettleTx(ctx context.Context, tx Tx, o job.Outcome) error
}

// Worker holds the calls that an engine needs to run jobs.
type Worker interface {
	// Exchange writes the outcomes of ended runs and then claims jobs. An outcome that
	// cannot be written because its lease is lost gets an error in the answer. The
	// other outcomes are still written. A store may commit the outcomes and the claims
	// separately. After an error, repeat the call with the same outcomes; outcomes that
	// are already written are then only looked up. If the answer was lost, its claims
	// end with their leases, or the store ends them earlier as interrupted.
	//
	// Exchange is safe for concurrent use. An empty answer with NextDue 0 is legal
	// when another process was faster; wait a little before the next call.
	//
	// While no other call is under way, every store claims in the same order.
	// After the outcomes it goes through the wants in order and, within a want,
	// through the priorities from 1. It takes due jobs of the open lanes of the
	// wanted kinds, ordered by (run_at, id), within the want's Max, the kind's Max,
	// the limits over all processes and the rates. A job found past its deadline
	// dies as expired and does not count as claimed.
	//
	// NextDue covers all lanes that the wants may take from, except the lanes of a want
	// that was filled to its Max (Full is set instead) and of a kind whose Max is or
	// became zero. A job that is due later counts with its due time. A job that is due
	// but delayed by a rate counts with the time of the next allowed start (the later
	// one of the queue's rate and the kind's rate). A job that waits for a limit over
	// all processes does not count, because the store notifies the callers of Notify
	// when another run ends.
	Exchange(ctx context.Context, x Exchange) (Exchanged, error)
	// Heartbeat extends the leases of runs and stores their progress.
	Heartbeat(ctx context.Context, b Beat) ([]RunStatus, error)
	// Rescue ends up to limit runs whose lease is over. The job goes back to waiting,
	// due after job.Terms.CrashDelay. Its number of crashes grows by one, but not its
	// number of attempts. If its life has reached the crash limit, the job becomes dead
	// as stalled instead. Each rescued run gets a failure record. The terms of the
	// run's claim give the class, the texts and the delay.
	Rescue(ctx context.Context, limit int) (Rescue, error)
	// Signals returns what people have asked of the process with this holder name: runs
	// to stop, and the settings of queues. The call is cheap; make it at every wake-up.
	Signals(ctx context.Context, holder string) (Signals, error)
	// Declare registers the names of queues, so that people can refer to them.
	Declare(ctx context.Context, queues []string) error
	// Notify sends to ch, without blocking, whenever this or another process may have
	// made jobs ready or changed signals. It may also send when nothing has changed.
	// The returned function ends the notifications.
	Notify(ch chan<- struct{}) (stop func())
}

// Exchange holds the arguments of Worker.Exchange: the outcomes to write and the wanted
// jobs.
type Exchange struct {
	Holder string        // names the process; at most job.TextMax bytes
	Lease  time.Duration // the lease of the new claims
	Settle []job.Outcome
	Want   []Want
}

// Want asks for jobs of one queue.
type Want struct {
	Queue string
	Max   int // maximum number of jobs of all kinds together
	Kinds []KindWant
	// Limit and Rate apply to all processes together; zero means no limit. A setting
	// that a person made on the queue replaces both.
	Limit int
	Rate  Rate
}

// KindWant is one kind that the process can run. Jobs of other kinds are not
// touched.
type KindWant struct {
	Kind string
	Max  int // maximum number of jobs of this kind
	// MaxCrashes is the number of crashes in one life after which a job of this
	// kind is dead, 1 to job.MaxCrashes. It is stored with the claim, so that any
	// process can rescue the job correctly.
	MaxCrashes int
	// Terms says how the policy treats crashes and the deadline of a job of this kind.
	// job.Terms.Encode makes it. Terms replaces the terms of the enqueue or of the last
	// claim.
	Terms string
	Limit int  // maximum of running jobs over all processes and queues; 0 means no limit
	Rate  Rate // starts over all processes and queues; zero means no limit
}

// Rate is N starts per duration Per; the zero value means no limit. Starts are
// spread evenly, with a burst of one second's worth at most (at least one).
type Rate struct {
	N   int
	Per time.Duration
}

// Exchanged is the answer to an Exchange.
type Exchanged struct {
	Settled []error // one error per outcome, in the order of the call; nil means that the outcome was written
	// Cancelled holds the indexes of written outcomes whose job should run again, but is
	// cancelled instead, because a person has asked for it. It is in ascending order.
	Cancelled []int
	Claims    []job.Claim
	// NextDue is the time until the earliest job that the wants could take becomes due;
	// Never when there is no such job. 0 means that it is due now. It is never
	// negative.
	NextDue time.Duration
	// Full says that more jobs may be due now for at least one want. An exchange ends
	// early with Full set when the payloads of its claims have reached ClaimBytes.
	Full bool
	// Expired holds the jobs that were found past their deadline. They are dead now. An
	// exchange ends early with Full set when it has found ExpiredMax of them.
	Expired []job.ID
}

// ExpiredMax is the maximum number of jobs that one exchange finds past their deadline.
const ExpiredMax = 1_000

// ClaimBytes is the maximum size in bytes of all payloads that one exchange claims.
// Only the last payload may exceed it.
const ClaimBytes = 32 << 20

// Never is the value of NextDue when no job is waiting.
const Never = time.Duration(1<<63 - 1)

// Run names one run.
type Run struct {
	ID    job.ID
	Token job.Token
}

// Beat is a heartbeat. It says which runs are alive.
type Beat struct {
	Lease    time.Duration // the new length of the lease, from the store's current time
	Runs     []Run
	Progress []job.Progress // progress of runs in Runs
}

// RunStatus is the answer to a heartbeat for one run.
type RunStatus struct {
	Held   bool // if false, the lease is lost: the run must stop and write nothing
	Cancel bool // a person asked the run to stop
}

// Rescue is the result of a rescue.
type Rescue struct {
	Jobs []Rescued
	// NextExpiry is the time until the earliest lease that is still valid ends; Never
	// when there is no such lease. It is never negative. Engines schedule their next
	// rescue for that time.
	NextExpiry time.Duration
}

// Rescued is a run that was ended because its lease was over.
type Rescued struct {
	Run
	Kind, Queue string
	Holder      string // name of the process that had the run
	Crashes     int32  // crashes in this life, including this one
	To          job.State
}

// Signals are the requests of people to a process.
type Signals struct {
	Cancel []Run // runs of the holder that have to stop
	Queues []Queue
}

// Mode says whether a queue accepts jobs and whether they are claimed. The
// numbers are stored.
type Mode uint8

// The modes of a queue.
const (
	Open     Mode = 0
	Paused   Mode = 1 // accepts jobs, but no jobs are claimed
	Draining Mode = 2 // jobs are claimed, but no new jobs are accepted
)

var modeNames = [...]string{"open", "paused", "draining"}

// String returns the name of the mode.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Queue is a queue with the settings that people made on it. For a zero setting, the
// configuration of each process applies.
type Queue struct {
	Name    string `json:"name"`
	Mode    Mode   `json:"mode"`
	Workers int    `json:"workers,omitempty"` // maximum number of jobs that each process runs at a time
	Limit   int    `json:"limit,omitempty"`   // maximum number of jobs that all processes together run at a time
	Rate    Rate   `json:"rate,omitzero"`     // rate of starts over all processes
}

// Reader reads stored data. No call holds a snapshot for more than a second.
type Reader interface {
	// Get returns a job in any state; ErrNotFound when it does not exist.
	Get(ctx context.Context, id job.ID) (job.Job, error)
	// Failures returns the failure records of a job, oldest first.
	Failures(ctx context.Context, id job.ID) ([]job.Failure, error)
	// GetAll returns jobs in any state as lists show them: without payload, attributes,
	// settings, result, progress and cost. The jobs have the order of the ids. An id
	// that does not exist is left out, and an id that is given twice is answered twice.
	// More than job.PageMax ids are an ErrTooLarge.
	GetAll(ctx context.Context, ids []job.ID) ([]job.Job, error)
	// Latest returns the last failure record of each job, in the order of the ids. A job
	// without a failure record is left out, and an id that is given twice is answered
	// twice. More than job.PageMax ids are an ErrTooLarge.
	Latest(ctx context.Context, ids []job.ID) ([]job.Failure, error)
	// Lookup returns the job that holds an idempotency key; ErrNotFound when no job holds
	// the key: it was never used, its time is over, or it begins with job.AliveKey and
	// its job has ended. Retention may have removed the job while its key is kept; then
	// Get does not find the job.
	Lookup(ctx context.Context, owner, kind, key string) (job.ID, error)
	// DeadLetter returns the dead letter of a job; ErrNotFound when it has no dead letter.
	DeadLetter(ctx context.Context, id job.ID) (job.DeadLetter, error)
	// List returns a page of jobs without their payloads. A list by Key or Correlation,
	// and a list of dead jobs in the order Ended by Class, Group, Owner or Ended, is fast
	// whatever the number of jobs. Other filters may examine many jobs; see Page.Next.
	List(ctx context.Context, f Filter) (Page, error)
	// Counts returns the number of jobs per queue, kind and state. It reads counters,
	// so its cost does not grow with the number of jobs.
	Counts(ctx context.Context) ([]Count, error)
	// Queues returns the queues, sorted by name.
	Queues(ctx context.Context) ([]Queue, error)
	// Events returns up to limit events after the cursor, in order. If an earlier
	// commit is not visible yet, it stops before that commit, so that the caller misses
	// no event.
	Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error)
	// EventSpan returns the ends of the events. The cursor first is that of the last event
	// that a sweep has removed, or zero: Events returns the oldest kept event after it,
	// and a reader whose cursor is before first has missed events. The cursor last is
	// that of the newest event that Events returns, or zero.
	EventSpan(ctx context.Context) (first, last event.Cursor, err error)
	// Audit returns up to limit rows with a Seq above after, in order.
	Audit(ctx context.Context, after int64, limit int) ([]Audit, error)
	// AuditPage returns the newest rows that the filter selects, newest first. It reads
	// rows by an index when the filter has an actor, a target or times; otherwise it
	// examines the newest rows of the log.
	AuditPage(ctx context.Context, f AuditFilter) (AuditPage, error)
	// Dump returns the whole content in a canonical order. It is for tests, which check
	// invariants and compare stores, and for `redrive doctor`.
	Dump(ctx context.Context) (*Dump, error)
}

// Count is the number of jobs of one queue, kind and state.
type Count struct {
	Queue string    `json:"queue"`
	Kind  string    `json:"kind"`
	State job.State `json:"state"`
	N     int64     `json:"n"`
}

// Admin holds the operations of people on jobs and queues. Each call writes one audit
// row for each job or queue that it changes, in the same transaction.
type Admin interface {
	// Cancel cancels jobs: a waiting job at once, a running one by asking its handler
	// to stop. The answer has one error for each id: ErrNotFound, ErrConflict for a job
	// that has ended, or nil. Cancelling twice is not an error.
	Cancel(ctx context.Context, by By, ids []job.ID) ([]error, error)
	// SetQueue changes the settings of a queue. A nil field keeps the setting; a zero
	// value removes it. ErrNotFound means that the queue was never declared or used.
	SetQueue(ctx context.Context, by By, c QueueChange) (Queue, error)
	// SetSchedule pauses or resumes a cron entry. A paused entry is not fired, and slots
	// that pass during the pause are not fired later. The store does not know the entries
	// that no process has fired yet, so a pause of any valid name is stored; at most
	// CronsMax names (ErrTooLarge). To resume a name that the store does not have is an
	// ErrNotFound. A call that changes nothing writes no audit row.
	SetSchedule(ctx context.Context, by By, name string, paused bool) (CronSlot, error)
}

// By names the person who acts and the reason.
type By struct {
	Actor  string // required; the name of the person
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

// Dump is the whole content of a store in a canonical order: jobs, failures,
// dead letters and keys by id; counts by queue, kind and state, without zero
// counts.
type Dump struct {
	Now      job.Micros // the store's time when the dump was made
	Jobs     []job.Job
	Failures []job.Failure
	Dead     []job.DeadLetter
	Keys     []Key
	Counts   []Count
	Groups   []Group // sorted by fingerprint, without trends
	// DeadCounts are sorted by queue, kind, reason, class and status, without zero
	// counts.
	DeadCounts []DeadCount
	Originals  []Original // sorted by job
	Redrives   []Redrive  // sorted by id
	Schedules  []CronSlot // sorted by name
	Hours      []Hour     // sorted by time
	Queues     []Queue
	Events     []event.Event
	Audit      []Audit
	Policies   []StoredPolicy // sorted by hash
	Processes  []Process      // sorted by name and instance
	Terms      []JobTerms     // of live and dead jobs, sorted by job, without those that have only defaults
}

// JobTerms holds the terms that are stored with a job, for a crash or the passed
// deadline of the job.
type JobTerms struct {
	Job      job.ID
	Terms    string // the terms, encoded by job.Terms.Encode
	Released bool   // see job.Claim
}

// Key is an idempotency key and the job that holds it.
type Key struct {
	Owner, Kind, Key string
	Job              job.ID
	Until            job.Micros // when the store forgets the key; 0 means never
}
