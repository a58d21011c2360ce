package sqlstore

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The statements that read figures return rows with the columns "at", "lane" and "body". In a store
// with other writers, they also return rows whose column "lane" is the constant unfolded. The body
// of such a row is a result of AppendFigures for the time in the column "at".
var (
	walkFigures = ask("walkFigures")
	laneFigures = ask("laneFigures")
	allFigures  = ask("allFigures")
)

// unfolded is the value that a query returns as the lane of a row whose figures are not yet added
// to redrive_figures.
const unfolded = -1

// seekShare decides how the figures of some lanes are read. If the caller wants at most one
// lane in seekShare, each row is looked up by its key. Otherwise, the rows of all lanes are
// read. A look-up takes about four times as long as reading the next row.
const seekShare = 4

// Series implements store.Reader.
func (s *Core) Series(ctx context.Context, q store.SeriesQuery) (points []store.Point, err error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		sum := storekit.NewSeries(q, s.db.Clock.Now())
		if err := readSeries(c, sum); err != nil {
			return err
		}
		points = sum.Points()
		return nil
	})
	return points, err
}

func readSeries(c Session, s *storekit.Series) error {
	if s.Since >= s.Until {
		return nil
	}
	g := figureRange{unit: s.Unit, since: s.Since, until: s.Until, classes: s.ByClass()}
	if s.Total {
		g.onlyTotal()
		return g.read(c, func(at job.Micros, _ int64, f *store.Figures) { s.Add(at, "", "", f) })
	}
	lanes, all := make(map[int64]*Lane), 0
	err := c.Rows(selLanes, func(r Row) error {
		all++
		if l := (&Lane{id: r.Int(0), queue: r.Text(1), kind: r.Text(2)}); s.Selects(l.queue, l.kind) {
			lanes[l.id] = l
		}
		return nil
	})
	if err != nil || len(lanes) == 0 {
		return err
	}
	if err := s.Check(len(lanes)); err != nil {
		return err
	}
	if len(lanes)*seekShare <= all {
		g.seek = slices.Collect(maps.Keys(lanes))
	}
	g.wanted = func(lane int64) bool { return lanes[lane] != nil }
	return g.read(c, func(at job.Micros, lane int64, f *store.Figures) { s.Add(at, lanes[lane].queue, lanes[lane].kind, f) })
}

// figureRange says which figures are read: their times and their lanes.
type figureRange struct {
	unit         time.Duration
	since, until job.Micros
	seek         []int64 // the lanes whose rows are looked up by key; nil means that the rows of all lanes are read
	wanted       func(lane int64) bool
	classes      bool // whether the figures of classes are read, too
}

// read calls the given function for the figures of the range, in any order, and perhaps several
// times for the same time and lane. The figures are valid only during the call.
func (g *figureRange) read(c Session, each func(job.Micros, int64, *store.Figures)) error {
	var sums store.Figures // one value for all rows
	row := func(r Row) error {
		if lane := r.Int(1); lane != unfolded && !g.wanted(lane) {
			return nil
		}
		sums = store.Figures{}
		return scanFigures(r, &sums, g.classes, func(at job.Micros, lane int64, f *store.Figures) {
			if g.wanted(lane) {
				each(storekit.FigureStart(at, g.unit), lane, f)
			}
		})
	}
	args := []Value{num(unitNumber(g.unit)), num(g.since), num(g.until)}
	if g.seek == nil {
		return c.Rows(walkFigures, row, args...)
	}
	list, err := json.Marshal(g.seek)
	if err != nil {
		return err // This cannot happen: numbers can always be marshalled.
	}
	return c.Rows(laneFigures, row, append(args, num(g.unit/time.Microsecond), text(string(list)))...)
}

// onlyTotal selects only the figures that are the sums of all lanes.
func (g *figureRange) onlyTotal() {
	g.seek, g.wanted = []int64{allLanes}, func(lane int64) bool { return lane == allLanes }
}

// scanFigures reads a row with the columns at, lane and body. It unpacks the body into f, which must
// be zero.
func scanFigures(r Row, f *store.Figures, classes bool, each func(job.Micros, int64, *store.Figures)) error {
	at, lane := job.Micros(r.Int(0)), r.Int(1)
	if lane != unfolded {
		err := unpackFigures(r.Blob(2), f, classes)
		each(at, lane, f)
		return err
	}
	return EachFigures(r.Blob(2), func(lane int64, f *store.Figures) error {
		each(at, lane, f)
		each(at, allLanes, f)
		return nil
	})
}

// readHours reads the figures by hour that DeadStats returns.
func readHours(c Session, now job.Micros) (hours []store.Hour, err error) {
	since := storekit.FigureStart(now.Add(-store.HoursKept), time.Hour) + hour
	sums := make(map[job.Micros]*store.Figures)
	g := figureRange{unit: time.Hour, since: since, until: now + 1}
	g.onlyTotal()
	err = g.read(c, func(at job.Micros, _ int64, f *store.Figures) {
		if sums[at] == nil {
			sums[at] = new(store.Figures)
		}
		sums[at].Add(f)
	})
	return storekit.Hours(sums), err
}

// dumpStored reads all stored figures, including those that no row of redrive_figures includes yet.
func dumpStored(c Session, d *store.Dump) error {
	lanes := make(map[int64]*Lane)
	err := c.Rows(selLanes, func(r Row) error {
		lanes[r.Int(0)] = &Lane{queue: r.Text(1), kind: r.Text(2)}
		return nil
	})
	if err != nil {
		return err
	}
	sums := make(map[storekit.FigureName]*store.Figures)
	err = c.Rows(allFigures, func(r Row) error {
		number := r.Int(3)
		return scanFigures(r, new(store.Figures), true, func(at job.Micros, lane int64, f *store.Figures) {
			for n, unit := range unitsOfFigures {
				if r.Int(1) != unfolded && number != int64(n) {
					continue
				}
				k := storekit.FigureName{Unit: unit, At: storekit.FigureStart(at, unit)}
				if lane != allLanes {
					l := lanes[lane]
					if l == nil {
						l = &Lane{queue: "?", kind: "?"} // the names "?" show in the dump that the row of the lane is missing
					}
					k.Queue, k.Kind = l.queue, l.kind
				}
				if sums[k] == nil {
					sums[k] = new(store.Figures)
				}
				sums[k].Add(f)
			}
		})
	})
	d.Figures = storekit.SortedFigures(sums)
	return err
}

var (
	nextFigures = ask("nextFigures")
	delFigures  = ask("delFigures")
)

// oldFigures removes the figures of minutes and hours that are not shown any more.
func (w *sweep) oldFigures() error {
	for n, u := range storekit.FigureUnits {
		until := int64(storekit.FigureStart(w.now, u.Unit).Add(-u.Kept))
		last := int64(-1)
		for found := 0; ; found++ {
			at := int64(0)
			if err := w.rows(nextFigures, func(r Row) error { at = max(r.Int(0), 1); return nil }, num(int64(n)), num(last)); err != nil {
				return err
			}
			if at == 0 || at > until {
				break
			}
			if found == store.SweptFigures {
				w.swept.More = true
				break
			}
			last = at
		}
		if last < 0 {
			continue
		}
		if _, err := w.exec(delFigures, num(int64(n)), num(last)); err != nil {
			return err
		}
	}
	return nil
}

// selHeads finds two jobs for each lane, priority and state: the job with the earliest due time, and the
// first job that is due after ?1.
var selHeads = ask("selHeads")

// Heads implements store.Reader.
func (s *Core) Heads(ctx context.Context) (heads []store.Head, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		now := s.db.Clock.Now()
		all := make(storekit.Heads)
		err := c.Rows(selHeads, func(r Row) error {
			for col := 2; col <= 3; col++ {
				if !r.Null(col) {
					all.Add(r.Text(0), r.Text(1), job.Micros(r.Int(col)), now)
				}
			}
			return nil
		}, num(now))
		if err != nil {
			return err
		}
		rates, err := readRates(c)
		if err != nil {
			return err
		}
		heads = all.Sorted(func(queue string) job.Micros { return rates["queue:"+queue] }, func(kind string) job.Micros { return rates["kind:"+kind] })
		return nil
	})
	return heads, err
}
