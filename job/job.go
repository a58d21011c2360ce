// Package job holds the domain: what a job is, which states it can have, which
// transitions are legal, and how a run of it can end. The package uses no clock and
// does no I/O.
package job

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// The bounds of a priority. Jobs with priority 1 run first. Among jobs of the same priority,
// the job that was due first runs first. Priority is strict: while there are due jobs of
// priority 1, jobs of the same queue with other priorities wait. Jobs for which this wait
// would be too long need a separate queue.
const (
	PriorityMin     = 1
	PriorityDefault = 2
	PriorityMax     = 4
)

// Limits for values that a caller sets. Stores and clients refuse larger values; no
// value is shortened silently.
const (
	PayloadMax  = 16 << 20 // maximum size of a payload in bytes; the default limit of a client is 256 KiB
	ResultMax   = 64 << 10 // maximum size of a result in bytes
	AttrsMax    = 16 << 10 // maximum size of a job's attributes as JSON, in bytes
	PolicyMax   = 1 << 10  // maximum size of a job's own retry settings, in bytes
	NameMax     = 64       // maximum length of the name of a kind or queue, in bytes
	TextMax     = 256      // maximum length of an owner, key or correlation id, in bytes
	MessageMax  = 8 << 10  // maximum length of a failure's message, in bytes
	EvidenceMax = 64 << 10 // maximum size of the stored stderr, of stdout, of the details and of the stack, in bytes each
	EnqueueMax  = 10_000   // maximum number of jobs in one enqueue call
	ExchangeMax = 10_000   // maximum number of outcomes in one exchange, and of wanted jobs in one exchange
	IDsMax      = 1_000    // maximum number of job ids in one bulk action of a person
	PageMax     = 500      // maximum number of entries on a page of a list
	LanesMax    = 1_000    // maximum number of different combinations of queue, kind and dependencies in a store
	MaxCrashes  = 5        // maximum number of crashes (expired leases) in one life; after this number of crashes any job is dead
	CostMax     = 1e15     // the maximum cost of a run, in millionths of a dollar: a billion US dollars
)

// New is a job to be enqueued.
type New struct {
	ID          ID     // the id, reserved in the store
	Kind        string // the kind; required
	Queue       string // the queue; required
	Priority    int8   // the priority, from PriorityMin to PriorityMax
	RunAt       Micros // the job is due at this time; 0 means at once
	Deadline    Micros // the job is not started at or after this time; 0 means never
	Owner       string // the owner of the job, such as a tenant; part of the idempotency key; may be empty
	Correlation string // the caller's id for logs; may be empty
	Key         string // the idempotency key, unique for an owner and kind; may be empty
	Digest      []byte // a digest of the payload; compared when a job with the same key exists
	KeyUntil    Micros // the time at which the store forgets the key; 0 means never
	// KeyPeriod replaces KeyUntil if it is not 0: the store forgets the key at the end of
	// the period in which the job is enqueued, by the store's clock. Periods are aligned
	// to 1970-01-01 00:00 UTC. KeyPeriod is a whole number of microseconds.
	KeyPeriod time.Duration
	Batch     int64  // the number of the batch; 0 means no batch
	Aside     bool   // the job is neither in the total nor in the end of its batch, as for a kind without retry
	Deps      string // the names of the dependencies in canonical form; a part of the lane
	Attrs     []byte // the attributes as a JSON object; nil means none
	Override  []byte // the job's own retry settings, encoded by package policy; nil means none
	Payload   []byte // the payload; stored without any change
	Terms     string // what the policy says about crashes and the deadline (see Terms.Encode); used until the first claim
	// Repeat says that an earlier call with this id ended in ErrUnknown: the store
	// looks for the job first and inserts it only if it does not exist.
	Repeat bool
}

// Receipt is the result of an enqueue.
type Receipt struct {
	ID ID
	// Existing is true when a job with the same key exists, so no job was created. ID
	// and State are then the id and the state of that job.
	Existing bool
	State    State
}

// Skipped reports whether the work was done before: a job with the same key has completed.
func (r *Receipt) Skipped() bool { return r.Existing && r.State == Completed }

// The status and the reason that outputs give to a receipt with Skipped.
const (
	StatusSkipped    = "skipped"
	AlreadyProcessed = "already_processed"
)

// Processed is what an idempotency key says about the completed job that holds it. The store keeps it when retention
// removes the job, until it forgets the key.
type Processed struct {
	ID ID
	// Summary is the beginning of the result of the job, of at most SummaryMax bytes; see Summary. It is "" when
	// the job had no result.
	Summary string
}

// SummaryMax is the maximum length of the summary of a result, in bytes.
const SummaryMax = 256

// SummaryKept is how many bytes of a result a store keeps with a key: one more than a summary has, so that a summary
// shows when the result was longer.
const SummaryKept = SummaryMax + 1

// Summary returns a result of up to SummaryMax bytes without the white space around it, and otherwise its beginning with "…" behind it. The
// argument can be only the first SummaryKept bytes of the result.
func Summary(result []byte) string {
	if len(result) <= SummaryMax {
		return string(bytes.TrimSpace(result))
	}
	const more = "…"
	cut := SummaryMax - len(more)
	for cut > 0 && !utf8.RuneStart(result[cut]) {
		cut--
	}
	return string(result[:cut]) + more
}

// Claim is a job that a worker has claimed, with all data that is needed to run the job
// and to decide about a failure.
type Claim struct {
	ID          ID
	Token       Token
	Kind, Queue string
	Priority    int8
	Released    bool // whether a rule held the job in an earlier life and a person has retried it since
	Life        int32
	Counters    Counters // the counters of the present life, without this run
	CreatedAt   Micros
	LifeAt      Micros // the first time at which the job could run in its present life; the age of the life counts from this time
	RunAt       Micros // the time at which the job became due
	ClaimedAt   Micros // the time of the claim, by the store's clock
	Deadline    Micros
	Owner       string
	Correlation string
	Batch       int64
	Attrs       []byte
	Override    []byte
	Memo        []byte // notes that the last decision stored for the next decision
	Payload     []byte
}

// Attempt returns the attempt number of this run, from 1. If a run uses up no attempt,
// the next run has the same number.
func (c *Claim) Attempt() int32 { return c.Counters.Attempts + 1 }

// Job is the present state of a job, as a store returns it to readers.
type Job struct {
	ID          ID       `json:"id"`
	Kind        string   `json:"kind"`
	Queue       string   `json:"queue"`
	State       State    `json:"state"`
	Priority    int8     `json:"priority"`
	Life        int32    `json:"life"`
	Token       Token    `json:"runs"`
	Counters    Counters `json:"counters"`
	CreatedAt   Micros   `json:"created_at"`
	LifeAt      Micros   `json:"life_at"`
	RunAt       Micros   `json:"run_at,omitempty"`      // the time at which a live job is due
	ClaimedAt   Micros   `json:"claimed_at,omitempty"`  // the time of the last claim
	FinishedAt  Micros   `json:"finished_at,omitempty"` // the time at which a completed, dead or cancelled job ended
	Deadline    Micros   `json:"deadline,omitempty"`
	LeaseUntil  Micros   `json:"lease_until,omitempty"` // the time at which the lease of a running job expires
	CancelAt    Micros   `json:"cancel_at,omitempty"`   // the time at which a person asked to cancel the running job
	Holder      string   `json:"holder,omitempty"`      // the process that runs the job or ran it last
	Owner       string   `json:"owner,omitempty"`
	Correlation string   `json:"correlation,omitempty"`
	Key         string   `json:"key,omitempty"`
	Batch       int64    `json:"batch,omitempty"`
	Aside       bool     `json:"aside,omitempty"`  // the job is neither in the total nor in the end of its batch
	Reason      Reason   `json:"reason,omitempty"` // the reason why a dead job is dead
	Attrs       []byte   `json:"-"`
	Override    []byte   `json:"-"` // the job's own retry settings; kept while the job is live or dead
	Payload     []byte   `json:"-"` // the payload; kept while the job is live or dead
	Result      []byte   `json:"-"` // the result of a completed job
	Cost        int64    `json:"cost_microusd,omitempty"`
	Sends       int64    `json:"sends,omitempty"` // the number of requests sent by all runs of the job; see Outcome.Sends
	Progress    Progress `json:"progress,omitzero"`
}

// Progress is how far a run has come, as its handler reports it. A progress belongs to
// one run: the next run starts without progress.
type Progress struct {
	ID    ID     `json:"-"`
	Token Token  `json:"-"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"` // the amount of work; 0 means unknown
	Note  string `json:"note,omitempty"`
	At    Micros `json:"at"`
}
