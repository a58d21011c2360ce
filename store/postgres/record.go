package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"strconv"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// A row of redrive_events holds, besides the events of a transaction, what it has
// changed in the counters of jobs, in batches and in the figures. So no
// row that others want is written by every commit. Now and then the changes are
// folded into the tables of the counters and figures; readers add up both.
//
// What is folded is what is there to be seen, up to a number; the transactions that
// had a lower one and were under way then are kept beside it (late), and their rows
// are folded when they are there. So a late commit delays only its own row. One folds
// at a time, by a lock that nothing else takes but the sweep of events.

var (
	recordEvents = &sqlstore.Query{Name: "recordEvents"}
	lock         = &sqlstore.Query{Name: "lock"}
	lockLive     = &sqlstore.Query{Name: "lockLive"}
	countLive    = &sqlstore.Query{Name: "countLive"}
	nextSettings = &sqlstore.Query{Name: "nextSettings"}
	selReserved  = &sqlstore.Query{Name: "selReserved"}
	selVersion   = &sqlstore.Query{Name: "selVersion"}
	tryLock      = &sqlstore.Query{Name: "tryLock"}
	foldEvents   = &sqlstore.Query{Name: "foldEvents"}
	raiseBase    = &sqlstore.Query{Name: "raiseBase"}
)

// record writes the events of a transaction and what it has changed in counters
// and figures. It is the last statement of the transaction.
func record(t *sqlstore.Txn) error {
	var lanes, states, ns array
	t.Deltas(func(lane int64, state job.State, n int64) {
		lanes.add(lane)
		states.add(int64(state))
		ns.add(n)
	})
	var batches array
	t.Batches(func(id, total, completed, dead, cancelled int64) {
		for _, n := range [...]int64{id, total, completed, dead, cancelled} {
			batches.add(n)
		}
	})
	events, figures := t.Events(), sqlstore.Value{}
	if packed := t.AppendFigures(nil); packed != nil {
		figures = sqlstore.Value{Kind: sqlstore.IsBlob, B: packed}
	}
	if events.Len() == 0 && len(lanes) == 0 && len(batches) == 0 && figures.B == nil {
		return nil
	}
	n, err := t.Session().Exec(recordEvents, sqlstore.Num(t.Now()), sqlstore.Num(events.Len()),
		sqlstore.Value{Kind: sqlstore.IsBlob, B: events.Bytes()}, lanes.value(), states.value(), ns.value(), figures,
		batches.value())
	if err == nil && n == 0 {
		err = sqlstore.ErrNoMeta
	}
	return err
}

// recordFast is recordEvents for a transaction that writes one row for sure.
var recordFast = &sqlstore.Query{Name: "recordFast"}

// recordStep is record as a step, none when there is nothing to write.
func recordStep(t *sqlstore.Txn) []pg.Step {
	lanes, states, ns := pg.Ints(8), pg.Ints(8), pg.Ints(8)
	t.Deltas(func(lane int64, state job.State, n int64) {
		lanes.Int(lane)
		states.Int(int64(state))
		ns.Int(n)
	})
	batches := pg.Ints(0)
	t.Batches(func(id, total, completed, dead, cancelled int64) {
		for _, n := range [...]int64{id, total, completed, dead, cancelled} {
			batches.Int(n)
		}
	})
	events, figures := t.Events(), t.AppendFigures(nil)
	if events.Len() == 0 && lanes.N == 0 && batches.N == 0 && figures == nil {
		return nil
	}
	args := []any{int64(t.Now()), int64(events.Len()), events.Bytes(), lanes, states, ns, nil, nil}
	if figures != nil {
		args[6] = figures
	}
	if batches.N > 0 {
		args[7] = batches
	}
	return []pg.Step{{Q: recordFast, Args: args}}
}

// array is an array of numbers in PostgreSQL's text form, while it is written.
type array []byte

func (a *array) add(n int64) {
	if len(*a) == 0 {
		*a = append(*a, '{')
	} else {
		*a = append(*a, ',')
	}
	*a = strconv.AppendInt(*a, n, 10)
}

// value returns the array, NULL when nothing was added.
func (a array) value() sqlstore.Value {
	if len(a) == 0 {
		return sqlstore.Value{}
	}
	return sqlstore.Value{Kind: sqlstore.IsText, S: string(a) + "}"}
}

// foldMax bounds the rows that are folded at a time.
const foldMax = 20_000

// fold folds the changes of earlier transactions in, unless another process is
// at it. It reports whether there may be more.
func (s *Store) fold(c *pg.Session) (more bool, err error) {
	got, err := sqlstore.ReadInt(c, tryLock, sqlstore.Num(s.folds))
	if err != nil || got == 0 {
		return false, err
	}
	var n int64
	var figures []byte
	err = c.Rows(foldEvents, func(r sqlstore.Row) error { n, figures = r.Int(0), r.Blob(1); return nil }, sqlstore.Num(foldMax))
	if err == nil {
		err = foldFigures(c, figures)
	}
	return n >= foldMax, err
}
