package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selManyFigures = &sqlstore.Query{Name: "selManyFigures"}
	putManyFigures = &sqlstore.Query{Name: "putManyFigures"}
)

var errFoldedFigures = errors.New("the figures in rows of redrive_events are damaged: restore the database from a backup")

// foldFigures adds the figures of events, in the form of partFigures, to redrive_figures.
// Only the holder of the lock of folding writes that table.
func foldFigures(c *pg.Session, packed []byte) error {
	sums := make(map[sqlstore.FigureKey]*store.Figures)
	for len(packed) > 0 {
		if len(packed) < 16 {
			return errFoldedFigures
		}
		at, size := job.Micros(binary.BigEndian.Uint64(packed)), binary.BigEndian.Uint64(packed[8:])
		if packed = packed[16:]; size > uint64(len(packed)) {
			return errFoldedFigures
		}
		err := sqlstore.EachFigures(packed[:size], func(lane int64, f *store.Figures) error {
			for _, k := range sqlstore.FigureKeys(at, lane) {
				if sums[k] == nil {
					sums[k] = new(store.Figures)
				}
				sums[k].Add(f)
			}
			return nil
		})
		if err != nil {
			return err
		}
		packed = packed[size:]
	}
	if len(sums) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b sqlstore.FigureKey) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.At, b.At), cmp.Compare(a.Lane, b.Lane))
	})
	units, times, lanes, bodies := pg.Ints(len(keys)), pg.Ints(len(keys)), pg.Ints(len(keys)), pg.Blobs(len(keys))
	for _, k := range keys {
		units.Int(k.Unit)
		times.Int(int64(k.At))
		lanes.Int(k.Lane)
	}
	err := c.Send(pg.Step{Q: selManyFigures, Args: []any{units, times, lanes}, Each: func(r sqlstore.Row) error {
		k := sqlstore.FigureKey{Unit: r.Int(0), At: job.Micros(r.Int(1)), Lane: r.Int(2)}
		return sqlstore.UnpackFigures(r.Blob(3), sums[k])
	}})
	if err != nil {
		return err
	}
	for _, k := range keys {
		bodies.Blob(sqlstore.PackFigures(nil, sums[k]))
	}
	return c.Send(pg.Step{Q: putManyFigures, Args: []any{units, times, lanes, bodies}})
}
