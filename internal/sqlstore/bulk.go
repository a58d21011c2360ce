package sqlstore

import (
	"bytes"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Where each statement is a message to a server and back, a call of many jobs reads and writes
// them many at a time. Only such a store sets Hooks.Columns and has texts for these statements.
var (
	reserveKeys    = ask("reserveKeys")
	seeManyKeys    = ask("seeManyKeys")
	takeEnded      = ask("takeEnded")
	seeManyIDs     = ask("seeManyIDs")
	insertManyJobs = ask("insertManyJobs")
	insertBodies   = ask("insertBodies")
	insertDrafts   = ask("insertDrafts")
)

// Columns collects the rows of a statement for many rows, whose arguments are arrays.
type Columns interface {
	Add(row ...Value)
	Args() []Value
}

// seen is what a call of many jobs has read of them at its beginning. What has changed since then is
// found when the keys and jobs are written.
type seen struct {
	keys map[keyName]keyRow
	ids  map[job.ID]memberRow // None and 0 for an id that is neither a job's nor a draft's
}

// keyRow is the row of a key, with the state of its job.
type keyRow struct {
	job            job.ID
	digest         []byte
	until, created job.Micros
	kept           job.State // the state that the row has, or None
	now            job.State // the job's state, None when it does not exist
	draft          bool      // whether it is a draft
}

type memberRow struct {
	state job.State
	batch int64 // of a draft
}

// readMany reads the keys and ids of a call, if the store reads many at a time and the call has several.
func (t *Txn) readMany(names []keyName, ids []job.ID) error {
	if t.hooks.Columns == nil {
		return nil
	}
	t.seen = seen{}
	if len(names) > 1 {
		rows := t.hooks.Columns()
		for _, n := range names {
			rows.Add(text(n.owner), text(n.kind), text(n.key))
		}
		t.seen.keys = make(map[keyName]keyRow, len(names))
		for _, n := range names {
			t.seen.keys[n] = keyRow{}
		}
		err := t.s.Rows(seeManyKeys, func(r Row) error {
			t.seen.keys[names[r.Int(0)-1]] = keyRow{job: job.ID(r.Int(1)), digest: bytes.Clone(r.Blob(2)), now: job.State(r.Int(3)),
				kept: job.State(r.Int(4)), created: job.Micros(r.Int(5)), until: job.Micros(r.Int(6)), draft: r.Int(7) != 0}
			return nil
		}, rows.Args()...)
		if err != nil {
			return err
		}
	}
	if len(ids) < 2 {
		return nil
	}
	rows := t.hooks.Columns()
	t.seen.ids = make(map[job.ID]memberRow, len(ids))
	for _, id := range ids {
		rows.Add(num(id))
		t.seen.ids[id] = memberRow{}
	}
	return t.s.Rows(seeManyIDs, func(r Row) error {
		t.seen.ids[job.ID(r.Int(0))] = memberRow{job.State(r.Int(1)), r.Int(2)}
		return nil
	}, rows.Args()...)
}

// many reports whether so many rows are written by one statement.
func (t *Txn) many(n int) bool { return n > 1 && t.hooks.Columns != nil }

// keyTaker is a key that a new job takes; see takeKey.
type keyTaker struct {
	name   keyName
	id     job.ID
	digest []byte
	until  job.Micros
	ended  job.Micros
}

// takeAll writes keys, which are sorted. It returns ErrAgain when one is not free any more.
func (t *Txn) takeAll(keys []keyTaker) error {
	if !t.many(len(keys)) {
		for _, k := range keys {
			if err := t.takeKey(k.name, k.id, k.digest, k.until, k.ended); err != nil {
				return err
			}
		}
		return nil
	}
	free, ended := t.hooks.Columns(), t.hooks.Columns()
	nFree, nEnded, got := 0, 0, 0
	for _, k := range keys {
		row := []Value{text(k.name.owner), text(k.name.kind), text(k.name.key), num(k.id), blob(k.digest), setNum(k.until)}
		if k.ended == 0 {
			free.Add(row...)
			nFree++
		} else {
			ended.Add(append(row, num(k.ended))...)
			nEnded++
		}
	}
	count := func(Row) error { got++; return nil }
	var err error
	if nFree > 0 {
		err = t.s.Rows(reserveKeys, count, append([]Value{num(t.now)}, free.Args()...)...)
	}
	if err == nil && nEnded > 0 {
		err = t.s.Rows(takeEnded, count, append([]Value{num(t.now)}, ended.Args()...)...)
	}
	if t.wrote = true; err == nil && got != len(keys) {
		err = ErrAgain
	}
	return err
}

// newRow is a job that is written with others.
type newRow struct {
	n     *job.New
	lane  *Lane
	runAt job.Micros
}

// insertMany writes new jobs.
func (t *Txn) insertMany(jobs []job.New, fresh []int) error {
	ended, err := t.endedUpTo()
	if err != nil {
		return err
	}
	rows, bodies, old := t.hooks.Columns(), t.hooks.Columns(), []job.ID(nil)
	all := make(map[job.ID]newRow, len(fresh))
	for _, i := range fresh {
		n := &jobs[i]
		if n.ID <= ended {
			old = append(old, n.ID)
		}
		row, err := t.newRow(n, rows)
		if err != nil {
			return err
		}
		if _, twice := all[n.ID]; twice {
			return taken(n.ID)
		}
		if all[n.ID] = row; len(n.Payload) > InlineMax {
			bodies.Add(num(n.ID), blob(n.Payload))
		}
	}
	if len(old) > 0 {
		if err := t.free(old); err != nil {
			return err
		}
	}
	written := make(map[job.ID]bool, len(fresh))
	err = t.s.Rows(insertManyJobs, func(r Row) error { written[job.ID(r.Int(0))] = true; return nil }, append([]Value{num(t.now)}, rows.Args()...)...)
	if err != nil {
		return err
	}
	t.wrote = true
	for _, i := range fresh {
		n := &jobs[i]
		switch row := all[n.ID]; {
		case written[n.ID]:
			t.inserted(n, row.lane, row.runAt)
		case n.Repeat: // another transaction has written it in the meantime
			return ErrAgain
		default:
			return taken(n.ID)
		}
	}
	if len(bodies.Args()) > 0 { // only now: a job that was written in the meantime has its payload, too
		_, err = t.s.Exec(insertBodies, bodies.Args()...)
	}
	return err
}

// free returns an error if one of the ids is that of a job.
func (t *Txn) free(ids []job.ID) error {
	rows := t.hooks.Columns()
	for _, id := range ids {
		rows.Add(num(id))
	}
	return t.s.Rows(seeManyIDs, func(r Row) error {
		if job.State(r.Int(1)) != job.None {
			return taken(job.ID(r.Int(0)))
		}
		return nil
	}, rows.Args()...)
}

// newRow adds the row of a new job. The columns are those of insertManyJobs.
func (t *Txn) newRow(n *job.New, rows Columns) (row newRow, err error) {
	row = newRow{n: n, runAt: n.RunAt}
	if row.runAt == 0 {
		row.runAt = t.now
	}
	if row.lane, err = t.lane(n.Queue, n.Kind, n.Deps); err != nil {
		return row, err
	}
	terms, err := t.TermsID(n.Terms)
	if err != nil {
		return row, err
	}
	inline, long := payloadColumns(n.Payload)
	rows.Add(num(n.ID), num(row.lane.id), num(n.Priority), num(row.runAt), setNum(n.Deadline), setText(n.Owner), setText(n.Correlation),
		setText(n.Key), setNum(BatchColumn(n)), setBlob(n.Attrs), setBlob(n.Override), long, inline, setNum(terms))
	return row, nil
}

// readMembers reads what is stored of the members of a call, where it has several; see readMany.
func (t *Txn) readMembers(batch int64, members []job.New) error {
	if !t.many(len(members)) {
		return nil
	}
	ended, err := t.endedUpTo()
	if err != nil {
		return err
	}
	var ids []job.ID
	for i := range members {
		if members[i].Repeat || members[i].ID <= ended {
			ids = append(ids, members[i].ID)
		}
	}
	return t.readMany(namesOf(members, func(n *job.New) keyName { return keyName{owner: store.BatchMemberKey(batch), key: n.Key} }), ids)
}

func (t *Txn) insertMembers(b *store.Batch, fresh []member) error {
	if t.many(len(fresh)) {
		if err := t.insertAllDrafts(b.ID, fresh); err != nil {
			return err
		}
		for i := range fresh {
			countDraft(b, fresh[i].Aside, 1)
		}
		return nil
	}
	for i := range fresh {
		if err := t.insertDraft(b, &fresh[i]); err != nil {
			return err
		}
	}
	return nil
}

// insertAllDrafts writes new members of a batch.
func (t *Txn) insertAllDrafts(batch int64, fresh []member) error {
	rows, bodies := t.hooks.Columns(), t.hooks.Columns()
	for i := range fresh {
		m := &fresh[i]
		l, err := t.lane(m.Queue, m.Kind, m.Deps)
		if err != nil {
			return err
		}
		terms, err := t.TermsID(m.Terms)
		if err != nil {
			return err
		}
		inline, long := payloadColumns(m.Payload)
		if len(m.Payload) > InlineMax {
			bodies.Add(num(m.ID), blob(m.Payload))
		}
		rows.Add(num(m.ID), bit(m.Aside), num(l.id), num(m.Priority), setNum(m.RunAt), setNum(m.Deadline), setText(m.Correlation), setText(m.Key),
			setBlob(m.Attrs), setBlob(m.Override), setNum(terms), long, inline, setNum(m.replaces))
	}
	written := make(map[job.ID]bool, len(fresh))
	err := t.s.Rows(insertDrafts, func(r Row) error { written[job.ID(r.Int(0))] = true; return nil },
		append([]Value{num(batch), num(t.now)}, rows.Args()...)...)
	if err != nil {
		return err
	}
	t.wrote = true
	for i := range fresh {
		if !written[fresh[i].ID] {
			return taken(fresh[i].ID)
		}
	}
	if len(bodies.Args()) > 0 {
		_, err = t.s.Exec(insertBodies, bodies.Args()...)
	}
	return err
}
