// Package job holds the domain: what a job is, which states it can have, which
// transitions are legal, and how a run of it can end. It is pure: no clock, no I/O.
package job

import "time"

// The bounds of a priority; 1 runs first. Within one priority, the job that was due
// first runs first. Priority is strict: as long as jobs of priority 1 keep coming, the
// others of the same queue wait. Jobs that must not wait so long need a queue of their
// own.
const (
	PriorityMin     = 1
	PriorityDefault = 2
	PriorityMax     = 4
)

// Limits on what a caller controls. Stores and clients refuse larger values; nothing is
// trimmed silently.
const (
	PayloadMax  = 16 << 20 // bytes of a payload; the client's own default is 256 KiB
	ResultMax   = 64 << 10 // bytes of a result
	AttrsMax    = 16 << 10 // bytes of a job's attributes as JSON
	PolicyMax   = 1 << 10  // bytes of a job's own settings
	NameMax     = 64       // bytes of a kind or queue
	TextMax     = 256      // bytes of an owner, key or correlation id
	MessageMax  = 8 << 10  // bytes of a failure's message
	EvidenceMax = 64 << 10 // bytes of kept stderr, details or stack, each
	EnqueueMax  = 10_000   // jobs per call of enqueue
	ExchangeMax = 10_000   // outcomes or wanted jobs per exchange
	IDsMax      = 1_000    // ids per bulk action of a person
	PageMax     = 500      // rows per page
	LanesMax    = 1_000    // different combinations of queue, kind and dependencies in a store
	MaxCrashes  = 5        // lost leases in one life after which any job is dead
	CostMax     = 1e15     // a billion US dollars per run, in millionths of a dollar
)

// New is a job to be enqueued.
type New struct {
	ID          ID     // reserved in the store
	Kind        string // required
	Queue       string // required
	Priority    int8   // PriorityMin to PriorityMax
	RunAt       Micros // the job is due at this time; 0 means at once
	Deadline    Micros // the job is not started at or after this time; 0 means never
	Owner       string // the owner of the job, such as a tenant; part of the idempotency key; may be empty
	Correlation string // the caller's id for logs; may be empty
	Key         string // idempotency key within (owner, kind); may be empty
	Digest      []byte // a digest of the payload, compared when the key is known already
	KeyUntil    Micros // when the key is forgotten; 0 means never
	// KeyPeriod, when it is not 0, replaces KeyUntil: the key is forgotten at the end of
	// the period in which the job is enqueued, by the store's clock. Periods are aligned
	// to 1970-01-01 00:00 UTC. It is a whole number of microseconds.
	KeyPeriod time.Duration
	Batch     int64  // 0 means no batch
	Deps      string // the dependencies in canonical form; part of the lane
	Attrs     []byte // a JSON object or nil
	Override  []byte // the job's own retry settings, encoded by package policy; nil means none
	Payload   []byte // stored exactly as given
	Terms     string // what the policy says of crashes and of the deadline, see Terms.Encode; they hold until the first claim
	// Repeat says that an earlier call with this id ended in ErrUnknown: the store
	// looks for the job first and inserts it only if it does not exist.
	Repeat bool
}

// Receipt is the result of an enqueue.
type Receipt struct {
	ID ID
	// Existing says that the key was known: no job was created. ID is the job that has
	// the key, and State is its state, so that the caller sees whether it is dead or
	// already completed.
	Existing bool
	State    State
}

// Claim is a job as handed to a worker, with everything that is needed to run it and to
// decide about its failure.
type Claim struct {
	ID          ID
	Token       Token
	Kind, Queue string
	Priority    int8
	Life        int32
	Counters    Counters // counts of this life, without this run
	CreatedAt   Micros
	LifeAt      Micros // when the life could first run; age limits count from here
	RunAt       Micros // when the job was due
	ClaimedAt   Micros // the store's time of the claim
	Deadline    Micros
	Owner       string
	Correlation string
	Batch       int64
	Attrs       []byte
	Override    []byte
	Memo        []byte // notes of the last decision for the next one
	Payload     []byte
	Released    bool // a rule held the job in an earlier life, and a person has retried it
}

// Attempt returns the number of the attempt that this run is, from 1. A run that used
// up no attempt has the same number as the run after it.
func (c *Claim) Attempt() int32 { return c.Counters.Attempts + 1 }

// Job is the present state of a job, for readers.
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
	RunAt       Micros   `json:"run_at,omitempty"`      // when a live job is due
	ClaimedAt   Micros   `json:"claimed_at,omitempty"`  // time of the last claim
	FinishedAt  Micros   `json:"finished_at,omitempty"` // when a completed, dead or cancelled job ended
	Deadline    Micros   `json:"deadline,omitempty"`
	LeaseUntil  Micros   `json:"lease_until,omitempty"` // end of the lease of a running job
	CancelAt    Micros   `json:"cancel_at,omitempty"`   // when a person asked to cancel a running job
	Holder      string   `json:"holder,omitempty"`      // the process that runs or last ran the job
	Owner       string   `json:"owner,omitempty"`
	Correlation string   `json:"correlation,omitempty"`
	Key         string   `json:"key,omitempty"`
	Batch       int64    `json:"batch,omitempty"`
	Reason      Reason   `json:"reason,omitempty"` // why a dead job is dead
	Attrs       []byte   `json:"-"`
	Override    []byte   `json:"-"` // the job's own retry settings; kept while it is live or dead
	Payload     []byte   `json:"-"` // kept while the job is live or dead
	Result      []byte   `json:"-"` // the result of a completed job
	Cost        int64    `json:"cost_microusd,omitempty"`
	Sends       int64    `json:"sends,omitempty"` // requests sent by all runs of the job; see Outcome.Sends
	Progress    Progress `json:"progress,omitzero"`
}

// Progress is how far a run has come, as its handler reports it. It belongs to one run:
// the next run starts without progress.
type Progress struct {
	ID    ID     `json:"-"`
	Token Token  `json:"-"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"` // 0 means unknown
	Note  string `json:"note,omitempty"`
	At    Micros `json:"at"`
}
