package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"fmt"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	dropEvents    = &sqlstore.Query{Name: "dropEvents"}
	sweepDone     = &sqlstore.Query{Name: "sweepDone"}
	sweepFailures = &sqlstore.Query{Name: "sweepFailures"}
	sweepKeys     = &sqlstore.Query{Name: "sweepKeys"}
	sweepEvents   = &sqlstore.Query{Name: "sweepEvents"}
	lockKeys      = &sqlstore.Query{Name: "lockKeys"}
	seeKeys       = &sqlstore.Query{Name: "seeKeys"}
	countFailures = &sqlstore.Query{Name: "countFailures"}
	dropLetters   = &sqlstore.Query{Name: "dropLetters"}
	dropFailures  = &sqlstore.Query{Name: "dropFailures"}
	dropOriginals = &sqlstore.Query{Name: "dropOriginals"}
	dropGroups    = &sqlstore.Query{Name: "dropGroups"}
	dropTrends    = &sqlstore.Query{Name: "dropTrends"}
	dropHours     = &sqlstore.Query{Name: "dropHours"}
	markKeys      = &sqlstore.Query{Name: "markKeys"}
	dropKeys      = &sqlstore.Query{Name: "dropKeys"}
)

// remover implements sqlstore.Remover.
type remover struct{ c *pg.Session }

// send sends steps of a sweep. They are planned each time, for tables as they are: a
// plan of a table that was empty would be kept while that grows.
func (r remover) send(steps ...pg.Step) error {
	for i := range steps {
		steps[i].Anew = true
	}
	return r.c.Send(steps...)
}

// Ended implements sqlstore.Remover.
func (r remover) Ended(until job.Micros, limit int, each func(lane int64, state job.State, n int64)) (n int64, more bool, err error) {
	err = r.send(pg.Step{Q: sweepDone, Args: []any{int64(until), int64(limit)}, Each: func(row sqlstore.Row) error {
		each(row.Int(0), job.State(row.Int(1)), row.Int(2))
		n += row.Int(2)
		more = row.Int(3) != 0
		return nil
	}})
	return n, more, err
}

// Failures implements sqlstore.Remover.
func (r remover) Failures(until job.Micros, from store.Run, limit int) (n int64, next store.Run, err error) {
	err = r.send(pg.Step{Q: sweepFailures, Args: []any{int64(until), int64(from.ID), int64(from.Token), int64(limit)},
		Each: func(row sqlstore.Row) error {
			n, next = row.Int(0), store.Run{ID: job.ID(row.Int(1)), Token: job.Token(row.Int(2))}
			return nil
		}})
	return n, next, err
}

// Keys implements sqlstore.Remover.
func (r remover) Keys(now job.Micros, limit int) (n int64, more bool, err error) {
	err = r.send(pg.Step{Q: sweepKeys, Args: []any{int64(now), int64(limit)}, Each: func(row sqlstore.Row) error {
		n, more = row.Int(0), row.Int(1) != 0
		return nil
	}})
	return n, more, err
}

// Events implements sqlstore.Remover.
func (r remover) Events(until job.Micros, limit int, last func(seq, n int64)) (n int64, more bool, err error) {
	through, events := int64(0), int64(0)
	err = r.send(pg.Step{Q: sweepEvents, Args: []any{int64(until), int64(limit)}, Each: func(row sqlstore.Row) error {
		through, n, more, events = row.Int(0), row.Int(1), row.Int(2) != 0, row.Int(3)
		return nil
	}})
	if err != nil || n == 0 {
		return 0, false, err
	}
	last(through, events)
	var figures []byte
	err = r.send(pg.Step{Q: dropEvents, Args: []any{through}, Each: func(row sqlstore.Row) error {
		figures = row.Blob(0)
		return nil
	}})
	if err == nil {
		err = foldFigures(r.c, figures)
	}
	return n, more, err
}

// Records implements sqlstore.Remover.
func (r remover) Records(letters []sqlstore.GoneLetter) ([]int, error) {
	jobs, index := pg.Ints(len(letters)), make(map[job.ID]int, len(letters))
	for i := range letters {
		jobs.Int(int64(letters[i].Job))
		index[letters[i].Job] = i
	}
	n := make([]int, len(letters))
	steps := []pg.Step{{Q: countFailures, Args: []any{jobs}, Each: func(row sqlstore.Row) error {
		n[index[job.ID(row.Int(0))]] = int(row.Int(1))
		return nil
	}}}
	if keys := keysOf(letters); keys != nil {
		free := make(map[job.ID]bool)
		steps = append(steps, pg.Step{Q: lockKeys, Args: keys, Each: func(row sqlstore.Row) error {
			free[job.ID(row.Int(0))] = true
			return nil
		}}, pg.Step{Q: seeKeys, Args: keys, Each: func(row sqlstore.Row) error {
			if id := job.ID(row.Int(0)); !free[id] {
				n[index[id]] = -1
			}
			return nil
		}})
	}
	return n, r.send(steps...)
}

// keysOf returns the keys of letters as arguments, nil when the letters have no keys. The
// keys of jobs that live on are theirs.
func keysOf(letters []sqlstore.GoneLetter) []any {
	owners, kinds, keys, jobs := pg.Texts(0), pg.Texts(0), pg.Texts(0), pg.Ints(0)
	for i := range letters {
		if l := &letters[i]; l.Key != "" && !l.Revived {
			owners.Text(l.Owner)
			kinds.Text(l.Kind)
			keys.Text(l.Key)
			jobs.Int(int64(l.Job))
			if l.Batch != 0 { // the key of a member, or that of a job that names the batch
				owners.Text(store.BatchMemberKey(l.Batch))
				kinds.Text("")
				keys.Text(l.Key)
				jobs.Int(int64(l.Job))
			}
		}
	}
	if jobs.N == 0 {
		return nil
	}
	return []any{owners, kinds, keys, jobs}
}

// Letters implements sqlstore.Remover.
func (r remover) Letters(letters []sqlstore.GoneLetter) error {
	deaths, jobs, gone, long := pg.Ints(len(letters)), pg.Ints(len(letters)), pg.Ints(0), pg.Ints(0)
	for i := range letters {
		l := &letters[i]
		deaths.Int(l.Death)
		jobs.Int(int64(l.Job))
		if l.Revived {
			continue
		}
		gone.Int(int64(l.Job))
		if l.Long {
			long.Int(int64(l.Job))
		}
	}
	n := 0
	steps := []pg.Step{
		{Q: dropLetters, Args: []any{deaths, jobs}, N: &n},
		{Q: dropFailures, Args: []any{jobs}},
		{Q: dropOriginals, Args: []any{jobs}},
	}
	if gone.N > 0 {
		steps = append(steps, pg.Step{Q: delManyProgress, Args: []any{gone}})
	}
	if long.N > 0 {
		steps = append(steps, pg.Step{Q: delBodies, Args: []any{long}})
	}
	if keys := keysOf(letters); keys != nil {
		steps = append(steps, pg.Step{Q: markKeys, Args: keys},
			pg.Step{Q: dropKeys, Args: keys})
	}
	if err := r.send(steps...); err != nil {
		return err
	}
	if n != len(letters) {
		return fmt.Errorf("%d dead letters were read, and %d of them are not there", len(letters), len(letters)-n)
	}
	return nil
}

// Groups implements sqlstore.Remover.
func (r remover) Groups(ids []int64) error {
	all := vectorOf(ids)
	return r.send(pg.Step{Q: dropGroups, Args: []any{all}}, pg.Step{Q: dropTrends, Args: []any{all}})
}

// Trends implements sqlstore.Remover.
func (r remover) Trends(groups, hours []int64) error {
	return r.send(pg.Step{Q: dropHours, Args: []any{vectorOf(groups), vectorOf(hours)}})
}

func vectorOf(numbers []int64) *pg.Vector {
	v := pg.Ints(len(numbers))
	for _, n := range numbers {
		v.Int(n)
	}
	return v
}
