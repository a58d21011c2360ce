package sqlstore

import (
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Run holds those columns of a live job that are needed to end its current run.
type Run struct {
	id          job.ID
	token       job.Token
	lane        *Lane
	state       job.State
	priority    int8
	life        int32
	counters    job.Counters
	createdAt   job.Micros
	lifeAt      job.Micros
	claimedAt   job.Micros
	holder      string
	owner       string
	correlation string
	key         string
	batch       int64 // below 0 for a member that is aside
	long        bool  // whether the payload is stored in the table redrive_bodies
	asked       bool  // whether a person has asked the run to stop
	released    bool  // whether a rule held the job and a person has retried it; see job.Claim
	crashMax    int32
	terms       int64 // number of the job's terms; see the method TermsID
	redrive     int64 // id of the redrive that opened this life

	// notified is what the failure record of the run's death adds to the text for the user, because people
	// were notified of the death; see job.Outcome.
	notified string
}

// runWidth is the number of columns in a statement that reads a run, such as selRun. Statements add further columns
// after them.
const runWidth = 25

var (
	selRun = ask("selRun")
	selAny = ask("selAny")
	delRun = ask("delRun")
	delJob = ask("delJob")
)

func (t *Txn) scanRun(r Row) *Run {
	return &Run{
		id: job.ID(r.Int(0)), token: job.Token(r.Int(1)), lane: t.laneOf(r.Int(2)), state: job.State(r.Int(3)),
		priority: int8(r.Int(4)), life: int32(r.Int(5)),
		counters: job.Counters{Attempts: int32(r.Int(6)), Crashes: int32(r.Int(7)), Deferrals: int32(r.Int(8)),
			Snoozes: int32(r.Int(9)), Interrupts: int32(r.Int(10))},
		createdAt: job.Micros(r.Int(11)), lifeAt: job.Micros(r.Int(12)), claimedAt: job.Micros(r.Int(13)),
		holder: r.Text(14), owner: r.Text(15), correlation: r.Text(16), key: r.Text(17), batch: r.Int(18),
		long: r.Int(19) != 0, crashMax: int32(r.Int(20)), asked: !r.Null(21),
		redrive: r.Int(22), terms: r.Int(23), released: r.Int(24) != 0,
	}
}

// running returns the current run of a job. It returns nil when the job is not running or has
// another token.
func (t *Txn) running(id job.ID, token job.Token) (*Run, error) {
	return t.oneRun(selRun, num(id), num(token))
}

// ScanRun reads a live job from a row that begins with the columns of selRun.
func (t *Txn) ScanRun(r Row) *Run { return t.scanRun(r) }

// recall returns the run that an outcome ends, with the values from this process's claim, and
// forgets the run. It returns nil when the row must be read from the database instead, or when
// the outcome may need a new lane or group. While the token of a run stays the same, only its
// field "asked" can change. The statement that ends the run compares the token and the field
// "asked", so it must be the first statement that writes.
func (t *Txn) recall(o *job.Outcome) *Run {
	r := t.ownRuns[o.ID]
	if r == nil || r.token != o.Token || o.To.Ready() && o.Queue != "" && o.Queue != r.lane.queue ||
		o.To == job.Dead && !t.cat.hasGroup(o.Failure.Fingerprint) {
		return nil
	}
	delete(t.ownRuns, o.ID)
	r.lane = t.laneOf(r.lane.id) // take the lane again, because the catalogue may have been read again since the claim
	return r
}

// ownRunsMax is the maximum number of claimed runs that a process remembers. A run that has
// lost its lease stays remembered until the memory is full.
const ownRunsMax = 2 * job.ExchangeMax

// remember keeps a run that this process has claimed, so that recall can find it.
func (t *Txn) remember(r *Run) {
	if t.ownRuns == nil {
		return
	}
	if len(t.ownRuns) >= ownRunsMax {
		clear(t.ownRuns)
	}
	t.ownRuns[r.id] = r
}

// live returns the live job with the given id, in any state. It returns nil when there is no
// such job.
func (t *Txn) live(id job.ID) (*Run, error) { return t.oneRun(selAny, num(id)) }

// followsRequest makes a transaction begin anew whose number is from before the request to stop the run: in the
// events, the end of the run would stand before the request. Only transactions of a shared store overlap.
func (t *Txn) followsRequest(r *Run) error {
	if !r.asked || !t.shared() {
		return nil
	}
	_, err := t.live(r.id)
	return err
}

func (t *Txn) oneRun(q *Query, args ...Value) (found *Run, err error) {
	err = t.rows(q, func(r Row) error { found = t.scanRun(r); return nil }, args...)
	return found, err
}

func (r *Run) event(from, to job.State, cause job.Cause) *event.Event {
	return &event.Event{Type: event.Of(cause), Job: r.id, Kind: r.lane.kind, Queue: r.lane.queue, Owner: r.owner,
		Batch: max(r.batch, -r.batch), From: from, To: to, Life: r.life, Token: r.token, Attempt: r.counters.Attempts}
}
