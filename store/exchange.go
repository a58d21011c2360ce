package store

import (
	"time"

	"github.com/redrive/redrive/job"
)

// Exchange holds the arguments of Worker.Exchange: the outcomes to write and the wanted
// jobs.
type Exchange struct {
	Holder string        // the name of the process; at most job.TextMax bytes
	Lease  time.Duration // the length of the leases of the new claims
	Settle []job.Outcome
	Want   []Want
}

// Want asks for jobs of one queue.
type Want struct {
	Queue string
	Max   int // maximum number of jobs, of all kinds together
	Kinds []KindWant
	// Limit and Rate apply to all processes together; zero means no limit. A setting that a
	// person has made for the queue replaces both.
	Limit int
	Rate  Rate
}

// KindWant asks for jobs of one kind that the process can run. An exchange does not touch jobs
// of other kinds.
type KindWant struct {
	Kind string
	Max  int // maximum number of jobs of this kind
	// MaxCrashes is the number of crashes in one life after which a job of this
	// kind is dead, 1 to job.MaxCrashes. It is stored with the claim, so that any
	// process can rescue the job correctly.
	MaxCrashes int
	// Terms are the policy's rules about crashes and the deadline of a job of this kind,
	// encoded by job.Terms.Encode. They replace the terms that the job has from its enqueue or
	// its last claim.
	Terms string
	Limit int  // maximum number of running jobs of this kind in all processes and queues; 0 means no limit
	Rate  Rate // maximum rate of starts of this kind in all processes and queues; zero means no limit
}

// Rate is N starts per duration Per; the zero value means no limit. Starts are spread evenly:
// a period of one second has at most one start more than the rate, also after a time without starts.
type Rate struct {
	N   int
	Per time.Duration
}

// Exchanged is the answer to an Exchange.
type Exchanged struct {
	Settled []error // one value for each outcome, in the order of the outcomes; nil means that the outcome was written
	// Cancelled holds the indexes of some outcomes, in ascending order. These outcomes would have
	// made their job run again, but the job was cancelled, because a person had asked for it.
	Cancelled []int
	Claims    []job.Claim
	// NextDue is the time until the earliest job that the wants may take becomes due. It is Never
	// when there is no such job, and 0 when the job is due now. It is never negative.
	NextDue time.Duration
	// Full says that more jobs may be due now for at least one want. An exchange ends early,
	// and sets Full, when the payloads of its claims have reached ClaimBytes.
	Full bool
	// Expired holds the jobs whose deadline had passed when the exchange found them. They are
	// dead now. An exchange ends early, and sets Full, when it has found ExpiredMax of them.
	Expired []job.ID
}

// ExpiredMax is the maximum number of jobs past their deadline that one exchange finds and
// ends.
const ExpiredMax = 1_000

// ClaimBytes limits the total size of all payloads that one exchange claims, in bytes. Only
// the last payload may exceed the limit.
const ClaimBytes = 32 << 20

// Never is the value of NextDue when there is no job to wait for. Other waits of a store use it in
// the same way.
const Never = time.Duration(1<<63 - 1)

// Run identifies a run by its job and its token.
type Run struct {
	ID    job.ID
	Token job.Token
}

// Beat is a heartbeat. It says which runs are alive.
type Beat struct {
	Lease    time.Duration // the new length of the leases, measured from the store's current time
	Runs     []Run
	Progress []job.Progress // progress of some of the runs in Runs
	// Begin says that the handlers of all runs in Runs begin after this call. Before a worker calls
	// the handler of a run, it must record this if one more crash would end the life of the job
	// (crashes + 1 >= KindWant.MaxCrashes). It may record this for any run. When the call returns
	// without an error, the begin is recorded for each run that is Held.
	Begin bool
}

// RunStatus is the answer to a heartbeat for one run.
type RunStatus struct {
	Held   bool // whether the run still holds its lease; if false, the run must stop and write nothing
	Cancel bool // whether a person has asked the run to stop
}

// Rescue is the result of Worker.Rescue.
type Rescue struct {
	Jobs []Rescued
	// NextExpiry is the time until the earliest of the valid leases expires. It is Never when
	// there is no valid lease. It is never negative. Engines schedule their next rescue for
	// that time.
	NextExpiry time.Duration
}

// Rescued is a run that the store has ended because its lease had expired.
type Rescued struct {
	Run
	Kind, Queue string
	Holder      string // name of the process that had the run
	Crashes     int32  // number of crashes in this life, including this crash
	To          job.State
}

// Signals are the requests of people to one process.
type Signals struct {
	Cancel []Run // runs of the process that must stop
	Queues []Queue
}
