package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Default values that the checks use.
const (
	kind   = "encode"
	queue  = "main"
	holder = "w1"
	lease  = 30 * time.Second
)

// rig is a store under test with short methods for its calls. If the store returns an unexpected
// error, such a method ends the check.
type rig struct {
	store.Store
	clock *Clock
	start job.Micros

	batches int64 // number of batches that newJob has created

	removed bool // whether a purge or a sweep has removed data, so that the events are incomplete
}

func newRig(s store.Store, clock *Clock) *rig {
	return &rig{Store: s, clock: clock, start: job.At(clock.Now())}
}

// ctx returns the context for every call. The suite cancels no call.
func ctx() context.Context { return context.Background() }

// fail ends the check with a message. The message begins with the file and line of the check.
func (r *rig) fail(format string, args ...any) {
	panic(broken(checkLine() + fmt.Sprintf(format, args...)))
}

// checkLine returns the file and line of the check that called a method of the rig.
func checkLine() string {
	for skip := 2; ; skip++ {
		_, path, line, ok := runtime.Caller(skip)
		if !ok {
			return ""
		}
		if base := filepath.Base(path); base != "rig.go" && base != "rig_dead.go" {
			return fmt.Sprintf("%s:%d: ", base, line)
		}
	}
}

func (r *rig) ok(err error) {
	if err != nil {
		r.fail("a call of the store returned error %v, want none", err)
	}
}

// is checks that err matches one of the given errors. If nil is among the given errors, err may
// also be nil.
func (r *rig) is(err error, targets ...error) {
	for _, target := range targets {
		if errors.Is(err, target) {
			return
		}
	}
	r.fail("got error %v, want %v", err, targets)
}

// equal reports whether two values are equal. An empty slice and a nil slice are equal. Byte slices
// are compared as a whole, because cmp takes minutes to compare a large payload byte by byte.
var equal = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal)),
}

// same fails the check unless got equals want.
func same[T any](r *rig, what string, got, want T) {
	if diff := cmp.Diff(want, got, equal); diff != "" {
		r.fail("%s (-want +got):\n%s", what, diff)
	}
}

// unchanged calls f and checks that the content of the store is the same as before.
func (r *rig) unchanged(f func()) {
	before := r.dump()
	f()
	same(r, "content of the store", r.dump(), before)
}

func (r *rig) now() job.Micros               { return job.At(r.clock.Now()) }
func (r *rig) in(d time.Duration) job.Micros { return r.now().Add(d) }

// newJob returns a job with a new id. The functions in options change the job. If it names a batch,
// newJob makes the job aside and creates all batches up to this one.
func (r *rig) newJob(options ...func(*job.New)) job.New {
	id, err := r.ReserveIDs(ctx(), 1)
	r.ok(err)
	n := job.New{ID: id, Kind: kind, Queue: queue, Priority: job.PriorityDefault}
	for _, o := range options {
		o(&n)
	}
	if n.Batch != 0 {
		n.Aside = true
		r.haveBatches(n.Batch)
	}
	return n
}

// haveBatches creates batches until there are n.
func (r *rig) haveBatches(n int64) {
	for ; r.batches < n; r.batches++ {
		_, err := r.CreateBatch(ctx(), store.By{}, store.NewBatch{})
		r.ok(err)
	}
}

func (r *rig) enqueue(jobs ...job.New) []job.Receipt {
	receipts, err := r.Enqueue(ctx(), jobs)
	r.ok(err)
	if len(receipts) != len(jobs) {
		r.fail("Enqueue returned %d receipts for %d jobs, want one receipt for each job", len(receipts), len(jobs))
	}
	return receipts
}

// add enqueues one job and returns its id.
func (r *rig) add(options ...func(*job.New)) job.ID {
	return r.enqueue(r.newJob(options...))[0].ID
}

// refuse enqueues jobs and checks that the store refuses them all with the given error.
func (r *rig) refuse(target error, jobs ...job.New) {
	r.unchanged(func() {
		_, err := r.Enqueue(ctx(), jobs)
		r.is(err, target)
	})
}

func (r *rig) exchange(x store.Exchange) store.Exchanged {
	if x.Holder == "" {
		x.Holder = holder
	}
	if x.Lease == 0 {
		x.Lease = lease
	}
	answer, err := r.Exchange(ctx(), x)
	r.ok(err)
	if len(answer.Settled) != len(x.Settle) {
		r.fail("Exchange returned %d answers for %d outcomes, want one answer for each outcome", len(answer.Settled), len(x.Settle))
	}
	return answer
}

// want asks for at most n jobs of the default queue and kind.
func want(n int, options ...func(*store.Want)) store.Want {
	w := store.Want{Queue: queue, Max: n, Kinds: []store.KindWant{{Kind: kind, Max: n, MaxCrashes: job.MaxCrashes}}}
	for _, o := range options {
		o(&w)
	}
	return w
}

func (r *rig) claim(wants ...store.Want) []job.Claim {
	return r.exchange(store.Exchange{Want: wants}).Claims
}

// take claims one job. It fails the check when there is no job to claim.
func (r *rig) take(options ...func(*store.Want)) job.Claim {
	claims := r.claim(want(1, options...))
	if len(claims) != 1 {
		r.fail("got %d claims, want 1", len(claims))
	}
	return claims[0]
}

// none fails the check if there is a job to claim.
func (r *rig) none() {
	if claims := r.claim(want(1)); len(claims) != 0 {
		r.fail("job %d was claimed, want no job to claim", claims[0].ID)
	}
}

// settle writes one outcome and returns the error for this outcome.
func (r *rig) settle(o job.Outcome) error {
	return r.exchange(store.Exchange{Settle: []job.Outcome{o}}).Settled[0]
}

// end writes outcomes and checks that the store accepts all of them.
func (r *rig) end(outcomes ...job.Outcome) {
	for _, err := range r.exchange(store.Exchange{Settle: outcomes}).Settled {
		r.ok(err)
	}
}

func (r *rig) beat(runs ...store.Run) []store.RunStatus {
	status, err := r.Heartbeat(ctx(), store.Beat{Lease: lease, Runs: runs})
	r.ok(err)
	if len(status) != len(runs) {
		r.fail("Heartbeat returned %d answers for %d runs, want one answer for each run", len(status), len(runs))
	}
	return status
}

// beginRun writes that the run of a claim begins.
func (r *rig) beginRun(c job.Claim) {
	status, err := r.Heartbeat(ctx(), store.Beat{Lease: lease, Runs: []store.Run{runOf(c)}, Begin: true})
	r.ok(err)
	same(r, "status of the run that begins", status, []store.RunStatus{{Held: true}})
}

func (r *rig) rescue(limit int) store.Rescue {
	rescue, err := r.Rescue(ctx(), limit)
	r.ok(err)
	return rescue
}

var person = store.By{Actor: "ann", Reason: "because"}

// cancel cancels one job and returns the error for this job.
func (r *rig) cancel(id job.ID) error {
	errs, err := r.Cancel(ctx(), person, []job.ID{id})
	return r.only(errs, err)
}

// retry retries one job and returns the error for this job. The note of the dead letter is the
// person's reason.
func (r *rig) retry(id job.ID) error {
	return r.actOn(store.ActRetry, id, func(a *store.Action) { a.Note = person.Reason })
}

func (r *rig) only(errs []error, err error) error {
	r.ok(err)
	if len(errs) != 1 {
		r.fail("the call returned %d answers for one id, want one answer", len(errs))
	}
	return errs[0]
}

func (r *rig) set(c store.QueueChange) store.Queue {
	if c.Name == "" {
		c.Name = queue
	}
	q, err := r.SetQueue(ctx(), person, c)
	r.ok(err)
	return q
}

func (r *rig) get(id job.ID) job.Job {
	j, err := r.Get(ctx(), id)
	r.ok(err)
	return j
}

func (r *rig) state(id job.ID, want job.State) {
	if j := r.get(id); j.State != want {
		r.fail("job %d is %s, want %s", id, j.State, want)
	}
}

func (r *rig) failures(id job.ID) []job.Failure {
	failures, err := r.Failures(ctx(), id)
	r.ok(err)
	return failures
}

func (r *rig) letter(id job.ID) job.DeadLetter {
	d, err := r.DeadLetter(ctx(), id)
	r.ok(err)
	return d
}

// events returns the events after the cursor.
func (r *rig) events(after event.Cursor) []event.Event {
	events, err := r.Events(ctx(), after, job.PageMax)
	r.ok(err)
	return events
}

// cursor returns the cursor of the newest event.
func (r *rig) cursor() event.Cursor {
	if events := r.dump().Events; len(events) > 0 {
		return events[len(events)-1].Cursor
	}
	return event.Cursor{}
}

func (r *rig) audit() []store.Audit {
	rows, err := r.Audit(ctx(), 0, job.PageMax)
	r.ok(err)
	return rows
}

func (r *rig) dump() *store.Dump {
	d, err := r.Dump(ctx())
	r.ok(err)
	return d
}

// takeID claims the job with the given id. Before that, it claims all jobs of the same kind and
// queue that come first in the order of claims.
func (r *rig) takeID(id job.ID) job.Claim {
	j := r.get(id)
	w := store.Want{Queue: j.Queue, Max: 1, Kinds: []store.KindWant{{Kind: j.Kind, Max: 1, MaxCrashes: job.MaxCrashes}}}
	for {
		claims := r.claim(w)
		if len(claims) == 0 {
			r.fail("claims of all jobs in the queue and kind of job %d: got no claim of this job, want one", id)
		}
		if claims[0].ID == id {
			return claims[0]
		}
	}
}
