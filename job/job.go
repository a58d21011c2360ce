// Package job holds the domain: what a job is, which states it can have, which
// transitions are legal and what one run of it can end in. It is pure: no
// clock, no I/O.
package job

// Priorities: 1 runs first. Within one priority the job that was due first runs
// first. Priority is strict: as long as jobs of priority 1 keep coming, the
// others of the same queue wait; work that must not starve gets its own queue.
const (
	PriorityMin     = 1
	PriorityDefault = 2
	PriorityMax     = 4
)

// Limits on what a caller controls. Stores and clients refuse what is above
// them; nothing is ever trimmed silently.
const (
	PayloadMax  = 16 << 20 // bytes; the client's own default is 256 KiB
	ResultMax   = 64 << 10 // bytes
	AttrsMax    = 16 << 10 // bytes of JSON
	PolicyMax   = 1 << 10  // bytes of a job's own settings
	NameMax     = 64       // bytes of a kind or queue
	TextMax     = 256      // bytes of an owner, key or correlation id
	MessageMax  = 8 << 10  // bytes of a failure's message
	EvidenceMax = 64 << 10 // bytes of kept stderr, details or stack, each
	EnqueueMax  = 10_000   // jobs per enqueue call
	ExchangeMax = 10_000   // outcomes or wanted jobs per exchange
	IDsMax      = 1_000    // ids per bulk call of a person
	PageMax     = 500      // rows per page
	LanesMax    = 1_000    // different (queue, kind, dependencies) in a store
	MaxCrashes  = 5        // lost leases of one life that end any job
	CostMax     = 1e15     // of one run, in millionths of a US dollar: a billion dollars
)

// New is a job to be enqueued.
type New struct {
	ID          ID     // from a block that the store reserved
	Kind        string // required
	Queue       string // required
	Priority    int8   // PriorityMin to PriorityMax
	RunAt       Micros // not before this time; 0 is at once
	Deadline    Micros // not started at this time or later; 0 is never
	Owner       string // scopes keys and visibility; may be empty
	Correlation string // the caller's id for logs; may be empty
	Key         string // idempotency key within (owner, kind); may be empty
	Digest      []byte // of the payload, compared when the key is known already
	KeyUntil    Micros // when the key is forgotten; 0 is never
	Batch       int64  // 0 is none
	Deps        string // canonical set of dependencies, part of the lane
	Attrs       []byte // a JSON object or nil
	Override    []byte // the job's own settings, as package policy writes them; nil is none
	Payload     []byte // bytes exactly as given
	// Repeat says that an earlier call with this id ended in ErrUnknown: the
	// store looks for the job first instead of inserting a second one.
	Repeat bool
}

// Receipt is the answer to an enqueue.
type Receipt struct {
	ID ID
	// Existing says that the key was known: no job was created, ID is the job
	// that holds the key and State where it stands. A dead one is so no silent
	// no-run; a completed one means the work was already done.
	Existing bool
	State    State
}

// Claim is a job as handed to a worker, with everything that running it and
// deciding about its failure needs.
type Claim struct {
	ID          ID
	Token       Token
	Kind, Queue string
	Priority    int8
	Life        int32
	Counters    Counters // of the life so far, without this run
	CreatedAt   Micros
	LifeAt      Micros // when the life could first run: age limits count from here
	RunAt       Micros // when it was due
	ClaimedAt   Micros // the store's now at the claim
	Deadline    Micros
	Owner       string
	Correlation string
	Batch       int64
	Attrs       []byte
	Override    []byte
	Memo        []byte // what the last decision left for the next
	Payload     []byte
}

// Attempt returns the number of the attempt that this run is, from 1. Runs
// that burned nothing share a number with the run after them.
func (c *Claim) Attempt() int32 { return c.Counters.Attempts + 1 }

// Job is a job as it stands, for readers.
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
	RunAt       Micros   `json:"run_at,omitempty"`      // live jobs: due at
	ClaimedAt   Micros   `json:"claimed_at,omitempty"`  // last claim
	FinishedAt  Micros   `json:"finished_at,omitempty"` // completed, dead, cancelled
	Deadline    Micros   `json:"deadline,omitempty"`
	LeaseUntil  Micros   `json:"lease_until,omitempty"` // running
	CancelAt    Micros   `json:"cancel_at,omitempty"`   // running and asked to stop
	Holder      string   `json:"holder,omitempty"`      // who runs or last ran it
	Owner       string   `json:"owner,omitempty"`
	Correlation string   `json:"correlation,omitempty"`
	Key         string   `json:"key,omitempty"`
	Batch       int64    `json:"batch,omitempty"`
	Reason      Reason   `json:"reason,omitempty"` // dead: why
	Attrs       []byte   `json:"-"`
	Override    []byte   `json:"-"` // its own settings, kept while live or dead
	Payload     []byte   `json:"-"` // kept while live or dead
	Result      []byte   `json:"-"` // completed
	Cost        int64    `json:"cost_microusd,omitempty"`
	Sends       int64    `json:"sends,omitempty"` // of the calls of all its runs, see Outcome.Sends
	Progress    Progress `json:"progress,omitzero"`
}

// Progress is how far a run has come, as its handler reports it. It belongs to
// one run: the next run starts without.
type Progress struct {
	ID    ID     `json:"-"`
	Token Token  `json:"-"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"` // 0 when unknown
	Note  string `json:"note,omitempty"`
	At    Micros `json:"at"`
}
