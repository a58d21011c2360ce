package sqlstore

import (
	"errors"
	"fmt"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insDone      = ask("insDone")
	insPlainDone = ask("insPlainDone")
	insKept      = ask("insKept")
	selKept      = ask("selKept")
	delBody      = ask("delBody")

	setReady = ask("setReady")

	insFailure      = ask("insFailure")
	insPlainFailure = ask("insPlainFailure")
	selCrashed      = ask("selCrashed")
	delProgress     = ask("delProgress")
	setResolved     = ask("setResolved")
)

// settle writes one outcome. The first error concerns only this outcome; the second error ends the
// transaction. After the call, t.cancelled says whether the job was cancelled although the outcome
// asks for another run.
func (t *Txn) settle(o *job.Outcome) (own, fatal error) {
	t.cancelled = false
	if err := o.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, store.ErrInvalid), nil
	}
	if o.Queue != "" {
		if err := store.ValidName("queue", o.Queue); err != nil {
			return err, nil
		}
	}
	if r := t.recall(o); r != nil {
		if own, ok, err := t.end(r, o); ok || err != nil {
			return own, err
		}
	}
	r, err := t.running(o.ID, o.Token)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return t.settledBefore(o)
	}
	own, ok, err := t.end(r, o)
	if err == nil && !ok {
		err = fmt.Errorf("job %d, run %d: the row was read in this transaction, but the update did not find the row", o.ID, o.Token) // This cannot happen: the row was read in this transaction.
	}
	return own, err
}

// end writes the outcome of the run r. If the row in the database differs from r, end writes
// nothing and ok is false. This can happen if r was remembered from the claim: since then,
// another process may have ended the run, or a person may have asked the run to stop. So the
// first write must be the statement that checks the row of the run.
func (t *Txn) end(r *Run, o *job.Outcome) (own error, ok bool, fatal error) {
	from, to := r.lane, r.lane
	if o.To.Ready() {
		var err error
		switch to, err = t.laneAfter(r, o.Queue); {
		case errors.Is(err, store.ErrTooLarge):
			return err, true, nil
		case err != nil:
			return nil, false, err
		}
	}
	r.counters.Count(o.Cause)
	attempt := isAttempt(o)
	answer, fatal := t.answer(r, attempt, o.To, o.Failure)
	if fatal != nil {
		return nil, false, fatal
	}
	switch o.To {
	case job.Completed, job.Cancelled:
		ok, fatal = t.close(r, o)
	case job.Dead:
		ok, fatal = t.makeDead(job.Running, r, o.Cause, o.Reason, o.Failure, o.Notified)
	case job.Waiting, job.Retrying:
		ok, fatal = t.again(r, o, to)
	case job.None, job.Running:
		fatal = fmt.Errorf("job %d: a run cannot end as %s", o.ID, o.To) // This cannot happen: Validate refuses such an outcome.
	}
	if fatal != nil || !ok {
		return nil, false, fatal
	}
	t.answered(r, answer)
	t.spent(from, o)
	if attempt {
		t.attempted(from, r, o)
	}
	if o.Failure != nil {
		if err := t.fail(r, o); err != nil {
			return nil, false, err
		}
	}
	if o.Progressed {
		_, fatal = t.exec(delProgress, num(o.ID))
	}
	return nil, true, fatal
}

func (t *Txn) settledBefore(o *job.Outcome) (own, fatal error) {
	state, token, err := t.find(o.ID)
	if err != nil {
		return nil, err
	}
	crashed := false
	err = t.rows(selCrashed, func(Row) error { crashed = true; return nil }, num(o.ID), num(o.Token))
	if err != nil {
		return nil, err
	}
	own = storekit.Settled(state, token, o, crashed)
	t.reliesOnEarlier = t.reliesOnEarlier || own == nil
	t.cancelled = own == nil && o.To.Ready() && state == job.Cancelled
	return own, nil
}

func (t *Txn) fail(r *Run, o *job.Outcome) error {
	f := o.Failure
	attempt := r.counters.Attempts
	if o.Cause != job.Failed && o.Cause != job.Succeeded {
		attempt++ // the counters do not yet contain the attempt that ends now
	}
	return t.insertFailure(r, f, attempt, o.Cost, o.Sends)
}

func (t *Txn) insertFailure(r *Run, f *job.Failure, attempt int32, cost int64, sends int32) error {
	q := insFailure
	if cost == 0 && sends == 0 && r.correlation == "" && plainFailure(f) {
		q = insPlainFailure
		t.packed = packRecord(t.packed[:0], f.Decision)
		t.args = append(t.args[:0], num(r.id), num(r.token), num(r.life), num(attempt), num(r.claimedAt), num(t.now),
			text(f.How), text(f.Class), setText(f.Code), bit(f.Permanent), setNum(f.HTTPStatus), setText(r.holder),
			setText(f.Fingerprint), text(f.Message), setText(userMessage(r, f)), blob(t.packed), setText(f.Build))
	} else {
		t.args, t.packed = appendFailure(t.args[:0], t.packed[:0], t.now, r, f, attempt, cost, sends)
	}
	n, err := t.s.Exec(q, t.args...)
	t.wrote = t.wrote || n > 0
	return err
}

// userMessage returns the text for the user in the failure record of a run.
func userMessage(r *Run, f *job.Failure) string { return job.WithNotified(f.UserMessage, r.notified) }

// plainFailure reports whether insPlainFailure has a column for everything that f says of a failure.
func plainFailure(f *job.Failure) bool {
	return f.Decision != nil && f.Exit == nil && f.Signal == "" && f.Details == nil && f.Stack == "" && f.Stderr == nil && f.Stdout == nil
}

// appendFailure appends the columns of a failure record to args, in the order of selFailures. It
// appends the packed record of the decision to the second slice.
func appendFailure(args []Value, packed []byte, now job.Micros, r *Run, f *job.Failure, attempt int32, cost int64, sends int32) ([]Value, []byte) {
	exit := Value{}
	if f.Exit != nil {
		exit = num(*f.Exit)
	}
	decision := Value{}
	if f.Decision != nil {
		begin := len(packed)
		packed = packRecord(packed, f.Decision)
		decision = blob(packed[begin:])
	}
	return append(args, num(r.id), num(r.token), num(r.life), num(attempt), num(r.claimedAt), num(now),
		text(f.How), text(f.Class), setText(f.Code), bit(f.Permanent), setNum(f.HTTPStatus), exit, setText(f.Signal),
		setText(r.holder), setText(r.correlation), setText(f.Fingerprint), setNum(cost), text(f.Message),
		setText(userMessage(r, f)), decision, setBlob(f.Details), setText(f.Stack), setBlob(f.Stderr), setNum(sends), setText(f.Build),
		setBlob(f.Stdout)), packed
}

// close ends a job whose run has completed or cancelled it.
func (t *Txn) close(r *Run, o *job.Outcome) (ok bool, err error) {
	var kept *keptPayload
	if o.Keep && o.To == job.Completed {
		kept = new(keptPayload)
		err := t.rows(selKept, func(r Row) error { kept.attrs, kept.payload = r.Blob(0), r.Blob(1); return nil }, num(r.id))
		if err != nil {
			return false, err
		}
	}
	n, err := t.exec(delRun, num(r.id), num(r.token))
	if err != nil || n == 0 {
		return false, err
	}
	cost, sends := o.Cost, o.Sends
	if o.Failure != nil {
		cost, sends = 0, 0 // the failure record has the cost and the sent bytes
	}
	return true, t.finish(r, job.Running, o.To, o.Cause, cost, sends, o.Result, kept)
}

// keptPayload holds the attributes and the payload that a job keeps after it is completed.
type keptPayload struct{ attrs, payload []byte }

// finish writes the row of an ended job. The row of the live job is already deleted. The last
// argument is nil if the job does not keep its payload.
func (t *Txn) finish(r *Run, from, to job.State, cause job.Cause, cost int64, sends int32, result []byte, kept *keptPayload) error {
	c, q := r.counters, insDone
	t.args = append(t.args[:0], num(r.id), num(r.lane.id), num(to), num(r.priority), num(r.token), num(r.life), num(c.Attempts))
	if kept == nil && cost == 0 && sends == 0 && result == nil && r.plain() {
		q = insPlainDone
		t.args = append(t.args, num(r.createdAt), num(r.lifeAt), setNum(r.claimedAt), num(t.now), setText(r.holder))
	} else {
		t.args = append(t.args, num(c.Crashes), num(c.Deferrals), num(c.Snoozes), num(c.Interrupts),
			num(r.createdAt), num(r.lifeAt), setNum(r.claimedAt), num(t.now), setText(r.holder), setText(r.owner),
			setText(r.correlation), setText(r.key), setNum(r.batch), setNum(cost), setNum(sends), setBlob(result))
	}
	if kept != nil {
		q, t.args = insKept, append(t.args, setBlob(kept.attrs), setBlob(kept.payload))
	}
	t.wrote = true
	if _, err := t.s.Exec(q, t.args...); err != nil {
		return err
	}
	if r.long {
		if _, err := t.exec(delBody, num(r.id)); err != nil {
			return err
		}
	}
	t.move(r.lane, from, r.lane, to)
	t.ended(r, to)
	if to == job.Completed {
		t.completed(r)
	} else {
		t.of(r.lane).Cancelled++
	}
	t.events.Add(r.event(from, to, cause))
	return t.resolve(r, to)
}

// plain reports whether the job of the run has no owner, correlation id, key or batch, and has
// counted nothing but attempts.
func (r *Run) plain() bool {
	c := &r.counters
	return r.owner == "" && r.correlation == "" && r.key == "" && r.batch == 0 &&
		c.Crashes == 0 && c.Deferrals == 0 && c.Snoozes == 0 && c.Interrupts == 0
}

// resolve closes the dead letter of a job. It is called when a later life of the job ended
// with success, or when a person cancelled the job.
func (t *Txn) resolve(r *Run, to job.State) error {
	if r.life < 2 {
		return nil
	}
	if err := t.lockDeadLetters(); err != nil {
		return err
	}
	e, err := t.entry(r.id)
	if err != nil || e == nil || e.status != job.Redriven {
		return err
	}
	did := job.ActionCompleted
	if to == job.Cancelled {
		did = job.ActionCancelled
	}
	t.recount(e.group, e.deadKey, job.Resolved)
	if e.group != 0 && to == job.Completed {
		t.groups.at(e.group).helped++
	}
	return t.one(setResolved, num(r.id), text(did), num(t.now))
}

func (t *Txn) ended(r *Run, to job.State) {
	t.batchCount(r.batch, batchDelta{endings: endingIn(to)})
	if !t.shared() { // do not use the cache here: with other writers, other processes also end jobs
		t.cat.ended = max(t.cat.ended, r.id)
	}
}

// again makes a job waiting or retrying in the given lane. If a person has asked the job to stop,
// the job is cancelled at once. ok is false if the row of the run has changed.
func (t *Txn) again(r *Run, o *job.Outcome, to *Lane) (ok bool, err error) {
	if err := t.followsRequest(r); err != nil {
		return false, err
	}
	priority := r.priority
	if o.Priority != 0 {
		priority = o.Priority
	}
	runAt := max(t.now.Add(o.Delay), o.NotBefore)
	n := 0
	if r.asked {
		n, err = t.exec(delRun, num(r.id), num(r.token))
	} else {
		c := &r.counters
		n, err = t.exec(setReady, num(r.id), num(r.token), num(o.To), num(to.id), num(priority), num(runAt),
			num(c.Attempts), num(c.Deferrals), num(c.Snoozes), num(c.Interrupts), setBlob(o.Memo))
	}
	if err != nil || n == 0 {
		return false, err
	}
	t.move(r.lane, job.Running, to, o.To)
	e := r.event(job.Running, o.To, o.Cause)
	e.Queue, e.DueAt = to.queue, runAt
	if o.Failure != nil {
		e.Class = o.Failure.Class
	}
	t.events.Add(e)
	if r.asked {
		t.wake, t.cancelled = true, true
		r.lane, r.priority = to, priority
		err = t.stopped(r, o.To)
	} else {
		t.ready(to, priority, runAt)
	}
	return true, err
}

func (t *Txn) laneAfter(r *Run, queue string) (*Lane, error) {
	if queue == "" || queue == r.lane.queue {
		return r.lane, nil
	}
	return t.lane(queue, r.lane.kind, r.lane.deps)
}
