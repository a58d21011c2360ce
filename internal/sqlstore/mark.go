package sqlstore

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selMark  = ask("selMark")
	allMarks = ask("allMarks")
	insMark  = ask("insMark")
	setMark  = ask("setMark")
	delMark  = ask("delMark")
	delMarks = ask("delMarks")
)

// ClaimMark implements store.Marks.
func (s *Core) ClaimMark(ctx context.Context, c store.MarkClaim) (claimed store.Mark, err error) {
	if err := c.Validate(); err != nil {
		return store.Mark{}, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		if _, err := t.exec(insMark, text(c.Key)); err != nil { // without one there is no row that can be locked
			return err
		}
		known, err := t.mark(c.Key)
		if err != nil {
			return err
		}
		if claimed, err = known.Claim(&c, t.now); err != nil {
			return err
		}
		return t.putMark(&claimed)
	})
	if err != nil {
		return store.Mark{}, err
	}
	return claimed, nil
}

// EndMark implements store.Marks.
func (s *Core) EndMark(ctx context.Context, e store.MarkEnd) error {
	if err := e.Validate(); err != nil {
		return err
	}
	return s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		known, err := t.mark(e.Key)
		if err != nil {
			return err
		}
		ended, err := known.End(&e, t.now)
		if err != nil {
			return err
		}
		if ended == known {
			t.reliesOnEarlier = true
			return nil
		}
		if ended.Holder == "" {
			err = t.one(delMark, text(e.Key))
		} else {
			err = t.putMark(&ended)
		}
		if err == nil {
			_, err = t.exec(delMarks, num(t.now), num(int64(store.MarksRemoved)))
		}
		return err
	})
}

// mark reads a mark, and locks it. Without a row it is one that nobody has claimed.
func (t *Txn) mark(key string) (m store.Mark, err error) {
	m.Key = key
	err = t.rows(selMark, func(r Row) error { m = scanMark(r); return nil }, text(key))
	return m, err
}

func (t *Txn) putMark(m *store.Mark) error {
	return t.one(setMark, text(m.Key), text(m.Holder), num(m.Token), num(m.Until), setNum(m.DoneAt), setNum(m.ForgetAt), setNum(m.Job), setText(m.Summary))
}

func scanMark(r Row) store.Mark {
	return store.Mark{Key: r.Text(0), Holder: r.Text(1), Token: r.Int(2), Until: job.Micros(r.Int(3)), DoneAt: job.Micros(r.Int(4)),
		ForgetAt: job.Micros(r.Int(5)), Job: job.ID(r.Int(6)), Summary: r.Text(7)}
}

func readMarks(c Session) (list []store.Mark, err error) {
	list = []store.Mark{}
	err = c.Rows(allMarks, func(r Row) error { list = append(list, scanMark(r)); return nil })
	return list, err
}
