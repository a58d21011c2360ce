package sqlstore

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A job is in one of three tables: redrive_jobs if it is live, redrive_done if it has ended,
// redrive_dead if it is dead. The tables are searched in this order. The entry of a dead job that
// was retried stays in redrive_dead, marked as revived.
var (
	selLive = ask("selLive")
	selDone = ask("selDone")
	selDead = ask("selDead")

	selLetterNow = ask("selLetterNow")
)

// selPlace searches all three tables for a job in one statement. With two statements, another
// writer could move the job between them. Only a store with other writers has an SQL text for
// this statement.
var selPlace = ask("selPlace")

// find returns the state of a job and the token of its last run. If the job does not exist, the
// state is job.None.
func (t *Txn) find(id job.ID) (state job.State, token job.Token, err error) {
	now, err := t.jobNow(id)
	return now.State, now.Token, err
}

// stateOf is find for a job whose state the call may have read at its beginning.
func (t *Txn) stateOf(id job.ID) (state job.State, err error) {
	if m, ok := t.seen.ids[id]; ok {
		return m.state, nil
	}
	state, _, err = t.find(id)
	return state, err
}

// jobNow returns a job as it is now, without its dead letter. If the job does not exist, the state
// is job.None.
func (t *Txn) jobNow(id job.ID) (now store.Present, err error) {
	places := []*Query{selLive, selDone, selDead}
	if t.shared() {
		places = []*Query{selPlace}
	}
	for _, q := range places {
		err = t.rows(q, func(r Row) error {
			now.State, now.Token, now.Life = job.State(r.Int(0)), job.Token(r.Int(1)), int32(r.Int(2))
			return nil
		}, num(id))
		if err != nil || now.State != job.None {
			break
		}
	}
	return now, err
}

// moved returns, as its first error, an ErrMoved unless the job is as the person has seen it. Call
// it after the job and the dead letters are locked, as for the action itself.
func (t *Txn) moved(by *store.By, id job.ID) (own, fatal error) {
	if by.Seen == nil {
		return nil, nil
	}
	now, err := t.jobNow(id)
	if err == nil {
		err = t.rows(selLetterNow, func(r Row) error { now.Death, now.Status = r.Int(0), job.Status(r.Int(1)); return nil }, num(id))
	}
	if err != nil || now.State == job.None && now.Death == 0 {
		return nil, err // the action itself answers that there is no such job
	}
	return by.Seen.Check(id, now), nil
}
