// Package store is the contract between the engine and the stores that keep its jobs. It uses the
// terms of the domain and no SQL types.
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
	Live
	Policies
	Notices
	DeadLetters
	Causes
	Requests
	Redrives
	Batches
	Keeper
	Presence
	Access
	Endpoints
	Streams
	Marks
	// Close releases the store's resources. Calls after Close return an ErrClosed.
	Close() error
}

// Producer accepts new jobs.
type Producer interface {
	// ReserveIDs reserves n (1 to 1<<20) consecutive job ids and returns the first. Reserved
	// ids that are never used leave a gap and do no harm.
	ReserveIDs(ctx context.Context, n int) (job.ID, error)
	// Enqueue accepts all the jobs or none (at most job.EnqueueMax) and returns their receipts in
	// the same order. For an idempotency key that is already used, it returns the receipt of the
	// job that holds the key. If that job has another payload, the whole call fails with a
	// *KeyConflict. For a draining queue it returns ErrDraining. For a job with Repeat whose id is
	// already stored, Enqueue writes nothing and returns the receipt of the stored job. If the
	// stored job differs from the new job, the call fails with an *IDConflict. A job holds a key
	// that begins with job.AliveKey only until the job has ended. A job can name a batch that is in
	// PROCESSING; otherwise the call fails with a *BatchRefused, or with an ErrNotFound if there is
	// no such batch. A job that is aside can name any batch.
	Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error)
}

// Tx is a transaction of the caller in a form that a store accepts. sqlite.Tx, postgres.Tx and
// postgres.SQLTx make it from a transaction of the database driver.
type Tx interface {
	// StoreTx returns the name of the package whose store accepts the transaction, for error
	// messages.
	StoreTx() string
}

// Transactor is a store that can join a transaction of the caller. The changes of its calls
// exist if and only if the caller commits. A call that returns an error has written nothing.
// The stores of redrive (sqlite, postgres) then leave the transaction as it was before the
// call, and the caller can continue it unless its connection was lost. With any other store,
// roll back the transaction unless that store promises the same.
type Transactor interface {
	// EnqueueTx does the same as Enqueue, but inside the caller's transaction. Until that
	// transaction commits, another Enqueue with the same key may wait for the transaction.
	EnqueueTx(ctx context.Context, tx Tx, jobs []job.New) ([]job.Receipt, error)
	// SettleTx writes one outcome inside the caller's transaction. After ErrLeaseLost the
	// caller must roll back, because the job now belongs to another run.
	SettleTx(ctx context.Context, tx Tx, o job.Outcome) error
}

// Worker holds the calls that an engine needs to run jobs.
type Worker interface {
	// Exchange writes the outcomes of ended runs and then claims jobs. If an outcome cannot be
	// written because the lease of its run is lost, the answer contains an error for it. The other
	// outcomes are still written. A store may commit the outcomes and the claims separately. After
	// an error, repeat the call with the same outcomes; outcomes that are already written are then
	// only looked up. If the answer was lost, its claims end with their leases, or the store ends
	// them earlier as interrupted.
	//
	// Exchange is safe for concurrent use. An empty answer with NextDue 0 is legal
	// when another process was faster; wait a little before the next call.
	//
	// While no other call is under way, every store claims in the same order. After the outcomes it
	// goes through the wants in order and, within a want, through the priorities from 1. It takes
	// due jobs of the open lanes of the wanted kinds, ordered by (run_at, id), within the want's
	// Max, the kind's Max, the limits over all processes and the rates. If the deadline of a job
	// has passed when Exchange finds the job, the job dies as expired and does not count as
	// claimed.
	//
	// NextDue covers all lanes from which the wants may take jobs, with two exceptions: the lanes
	// of a want that was filled to its Max (Full is set instead), and the lanes of a kind for which
	// no further job may be claimed because of its Max. A job that is due later counts with its due
	// time. A job that is due but delayed by a rate counts with the time of the next allowed start
	// (the later one of the queue's rate and the kind's rate). A job that waits for a limit over
	// all processes does not count, because the store notifies the callers of Notify when another
	// run ends.
	Exchange(ctx context.Context, x Exchange) (Exchanged, error)
	// Heartbeat extends the leases of runs and stores the progress of these runs. If Beat.Begin is
	// set, it also records that the handlers of the runs begin.
	Heartbeat(ctx context.Context, b Beat) ([]RunStatus, error)
	// Rescue ends at most limit runs whose lease has expired. Their jobs wait again and are due
	// after job.Terms.CrashDelay. A job's number of crashes grows by one, but not its number of
	// attempts. If the life of a job has reached the crash limit, the job becomes dead as stalled
	// instead. Each crashed run gets a failure record. The terms of the run's claim determine the
	// class and the texts of this record, and the delay.
	//
	// The crash that reaches the limit counts only for a run that has begun; see Beat.Begin. A run
	// that has not begun is handed back instead, as if its worker had handed the job back: the job
	// is due at once, and the run counts as interrupted.
	Rescue(ctx context.Context, limit int) (Rescue, error)
	// Signals returns the requests of people to the process with this holder name: runs that
	// must stop, and the settings of queues. The call costs little; make it each time the
	// process wakes up.
	Signals(ctx context.Context, holder string) (Signals, error)
	// Declare registers the names of queues, so that people can refer to them.
	Declare(ctx context.Context, queues []string) error
	// Notify sends to ch, without blocking, whenever any process may have made jobs ready or
	// changed signals. It may also send when nothing has changed. The returned function stops the
	// notifications.
	Notify(ch chan<- struct{}) (stop func())
}

// Mode says whether a queue accepts new jobs and whether its jobs are claimed. The numbers of
// the modes are stored in databases.
type Mode uint8

// The modes of a queue.
const (
	Open     Mode = 0
	Paused   Mode = 1 // the queue accepts new jobs, but its jobs are not claimed
	Draining Mode = 2 // the queue's jobs are claimed, but it accepts no new jobs
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

// Queue is a queue with the settings that people have made for it. If a setting is zero, the
// configuration of each process applies.
type Queue struct {
	Name    string `json:"name"`
	Mode    Mode   `json:"mode"`
	Workers int    `json:"workers,omitempty"` // maximum number of jobs that each process runs at a time
	Limit   int    `json:"limit,omitempty"`   // maximum number of jobs that all processes together run at a time
	Rate    Rate   `json:"rate,omitzero"`     // maximum rate of starts in all processes together
}

// Reader reads stored data. No call holds a snapshot for more than a second.
type Reader interface {
	// Get returns a job in any state. It returns ErrNotFound when the job does not exist.
	Get(ctx context.Context, id job.ID) (job.Job, error)
	// Failures returns the failure records of a job, the oldest first.
	Failures(ctx context.Context, id job.ID) ([]job.Failure, error)
	// GetAll returns jobs in any state with the fields that lists have: without payload,
	// attributes, settings, result, progress and cost. The jobs are in the order of the ids.
	// An id that does not exist is left out. A job whose id is given twice is returned twice.
	// More than job.PageMax ids are an ErrTooLarge.
	GetAll(ctx context.Context, ids []job.ID) ([]job.Job, error)
	// Latest returns the last failure record of each job, in the order of the ids. A job
	// without a failure record is left out. For an id that is given twice, the record is
	// returned twice. More than job.PageMax ids are an ErrTooLarge.
	Latest(ctx context.Context, ids []job.ID) ([]job.Failure, error)
	// Lookup returns the job that holds an idempotency key. It returns ErrNotFound when no job
	// holds the key. The reason can be that the key was never used, that its time is over, or
	// that it begins with job.AliveKey and its job has ended. Retention may have removed the
	// job while its key is kept; then Get does not find the job.
	Lookup(ctx context.Context, owner, kind, key string) (job.ID, error)
	// Processed returns the completed job that holds an idempotency key, with the summary of its result, also when
	// retention has removed the job. It returns ErrNotFound when no job holds the key, or one that has not
	// completed. Keys without a kind, as those of batch members, and keys that begin with job.AliveKey are not found.
	Processed(ctx context.Context, owner, kind, key string) (job.Processed, error)
	// DeadLetter returns the dead letter of a job. It returns ErrNotFound when the job has
	// none.
	DeadLetter(ctx context.Context, id job.ID) (job.DeadLetter, error)
	// List returns a page of jobs without their payloads. Three kinds of lists are fast for
	// any number of jobs: lists by Key, lists by Owner or Correlation, and lists of dead jobs
	// in the order Ended by Class, Group, Owner, Correlation or Ended. In the orders Due and
	// Ended, lists by Owner or Correlation are fast if at most 2,000 jobs have that owner or
	// correlation id. Other filters may examine many jobs; see Page.Next.
	List(ctx context.Context, f Filter) (Page, error)
	// Counts returns the number of jobs for each queue, kind and state. It reads counters, so
	// its cost does not grow with the number of jobs.
	Counts(ctx context.Context) ([]Count, error)
	// Series returns figures over time. For each step of the query in which something happened, it
	// returns one point, or, if the query has By, one point for each name. The points are sorted by
	// time and name. A query that would read more than SeriesRowsMax stored figures is an
	// ErrTooLarge.
	Series(ctx context.Context, q SeriesQuery) ([]Point, error)
	// Due returns how many retries fall due in each of the next minutes. The argument must be 1 to
	// DueMinutesMax.
	Due(ctx context.Context, minutes int) (DueRetries, error)
	// Heads returns, for each queue and kind with waiting or retrying jobs, when the first of these
	// jobs are due. The result is sorted by queue and kind. It includes paused queues. Its cost
	// grows with the number of queues and kinds, not with the number of jobs.
	Heads(ctx context.Context) ([]Head, error)
	// Queues returns the queues, sorted by name.
	Queues(ctx context.Context) ([]Queue, error)
	// Events returns at most limit events after the cursor, in the order of their cursors. If an
	// earlier commit is not visible yet, it stops before that commit, so that the caller misses no
	// event.
	Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error)
	// EventSpan returns the two ends of the events. The first result is the cursor of the last
	// event that a sweep has removed, or zero. A reader whose cursor is before this one has missed
	// events; Events with this cursor returns the oldest kept event. The second result is the
	// cursor of the newest event that Events returns, or zero.
	EventSpan(ctx context.Context) (first, last event.Cursor, err error)
	// Follow sends to ch, without blocking, within 50 ms after any process has committed events,
	// when Events can return them. It may also send when there are no new events. Without callers
	// of Follow, a store does no work for it. The returned function stops the notifications.
	Follow(ch chan<- struct{}) (stop func())
	// Audit returns at most limit audit rows whose Seq is above the given number, ordered by Seq.
	Audit(ctx context.Context, after int64, limit int) ([]Audit, error)
	// AuditPage returns the newest audit rows that the filter selects, the newest first. If
	// the filter has an actor, a target or times, AuditPage reads rows by an index; otherwise
	// it examines the newest rows of the log.
	AuditPage(ctx context.Context, f AuditFilter) (AuditPage, error)
	// Dump returns the whole content in a canonical order. Tests use it to check invariants
	// and to compare stores. `redrive doctor` uses it, too.
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
	// Cancel cancels jobs. A waiting job is cancelled at once. For a running job, the handler
	// is asked to stop. The answer has one error for each id: ErrNotFound, ErrConflict for a
	// job that has ended, or nil. Cancelling twice is not an error.
	Cancel(ctx context.Context, by By, ids []job.ID) ([]error, error)
	// SetQueue changes the settings of a queue. A nil field keeps the setting; a zero
	// value removes it. ErrNotFound means that the queue was never declared or used.
	SetQueue(ctx context.Context, by By, c QueueChange) (Queue, error)
	// SetSchedule pauses or resumes a cron entry. The slots of a paused entry are not fired, and
	// slots that pass during the pause are not fired later. The store does not know the entries
	// that no process has fired yet, so it stores a pause of any valid name. ErrTooLarge means that
	// the store would have more than CronsMax names. ErrNotFound means that the name to resume is
	// not stored. A call that changes nothing writes no audit row.
	SetSchedule(ctx context.Context, by By, name string, paused bool) (CronSlot, error)
	// RunSchedule enqueues the jobs of a cron entry at once, because a person asked for it. The
	// slots of the entry do not change, and a pause does not hinder the call. The jobs are accepted
	// as by Enqueue: all or none. If a key shows that all of them exist already, nothing is written;
	// otherwise the call writes one audit row "schedule.run" and one event.
	RunSchedule(ctx context.Context, by By, name string, jobs []job.New) ([]job.Receipt, error)
}

// By names the person who acts, and the reason.
type By struct {
	Actor  string // the name of the person; required
	Reason string
	// Via says how the request of the person reached redrive, such as the id of an access key, the
	// address and the id of the request; at most job.TextMax bytes. "" means that the person used
	// the store directly.
	Via string
	// Owner is the owner of jobs in whose name the person acts, if the person may act on the jobs of
	// this owner only; at most job.TextMax bytes.
	Owner string
	// Seen is what the person has seen of the job, the redrive or the group. Cancel, Alter, Act,
	// ControlRedrive and SetGroup compare it with the object in their transaction: if it differs, they
	// do nothing and answer with ErrMoved. It is allowed only for these calls and one object. A
	// ControlRedrive or SetGroup that has nothing to change does not compare it.
	Seen *Seen
}

// QueueChange changes a queue's settings.
type QueueChange struct {
	Name    string
	Mode    *Mode
	Workers *int
	Limit   *int
	Rate    *Rate
}

// Dump is the whole content of a store in a canonical order. Jobs, failures, dead letters and
// keys are sorted by id. Counts are sorted by queue, kind and state, and zero counts are left
// out.
type Dump struct {
	Now      job.Micros // the store's time when the dump was made
	Jobs     []job.Job
	Failures []job.Failure
	Dead     []job.DeadLetter
	Keys     []Key
	Counts   []Count
	Groups   []Group // groups without their trends, sorted by fingerprint
	// DeadCounts are sorted by queue, kind, reason, class and status. Zero counts are left
	// out.
	DeadCounts []DeadCount
	Originals  []Original               // original values, sorted by job id
	Redrives   []Redrive                // redrives, sorted by id
	Batches    []Batch                  // batches, sorted by id; without the number of running members
	Outcomes   map[int64][]BatchOutcome // the outcomes of each batch, in order
	Drafts     []Member                 // members that are not published, sorted by id
	Schedules  []CronSlot               // cron slots, sorted by name
	Figures    []StoredFigures          // figures, sorted by unit, time, queue and kind; the figures of all lanes of the same queue and kind are added up
	Queues     []Queue
	Events     []event.Event
	Audit      []Audit
	Policies   []StoredPolicy // policies, sorted by hash
	Notify     []NotifyRules  // the rules of notifications, sorted by number
	Windows    []string       // windows of notifications: scope, target, window and items; sorted
	Processes  []Process      // processes, sorted by name and instance
	Requests   []Request      // requests with an idempotency key, sorted by scope and key
	Notes      []Note         // notes and feedbacks, sorted by number
	Access     []AccessKey    // access keys, sorted by id
	Endpoints  []Endpoint     // receivers of webhooks with their secrets, sorted by name
	Secrets    []string       // the names of the secrets, sorted; a dump never has a secret
	Streams    []Stream       // streams, sorted by name
	Positions  []Position     // positions of streams, as Positions sorts them
	Sinks      []Sink         // sinks of streams, sorted by stream and name
	Reports    []StreamReport // reports about streams, sorted by stream and process
	Marks      []Mark         // marks of effects, sorted by key
	Begun      []Run          // running runs that have begun, see Beat.Begin; sorted by job
	Terms      []JobTerms     // terms of live and dead jobs, sorted by job; jobs with the default terms are left out
}

// JobTerms holds the terms that are stored with a job. They apply when its run crashes or its
// deadline passes.
type JobTerms struct {
	Job      job.ID
	Terms    string // the terms, encoded by job.Terms.Encode
	Released bool   // whether a rule had stopped the job for review and a person has released the job; see job.Claim
}

// Key is an idempotency key and the job that holds the key.
type Key struct {
	Owner, Kind, Key string
	Job              job.ID
	Until            job.Micros // when the store forgets the key; 0 means never
	Result           string     // the first job.SummaryKept bytes of the result of a completed job that was removed
}
