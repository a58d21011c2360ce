package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// freeHeads reads the first job of each place that is due and that no transaction
// under way holds. Such a one stays behind the bound and is found by a later look. No
// job is locked to find out: a claim would pass over it. Of the number of who holds
// it the row has the lower half; under way are those that the snapshot names, and
// those that came after it.
var freeHeads = &sqlstore.Query{Name: "freeHeads"}

// lookAll makes the looks that are wanted, until the store is closed.
func (s *Store) lookAll() {
	ctx, cancel := s.untilClosed()
	defer cancel()
	for {
		select {
		case <-s.closed:
			return
		case places := <-s.hot.scans:
			s.look(ctx, places)
		}
	}
}

// look sets the bounds of places to their first jobs, as far back as it can.
func (s *Store) look(ctx context.Context, places []claims.Place) {
	h, begun := s.hot.cursors, s.clock.local()
	since := h.Latest()
	var now, back job.Micros
	up := make(map[claims.Place]job.Micros, len(places))
	err := s.fast(ctx, func(t *fastTxn) error {
		now, back = t.Now(), h.ScanFrom(t.Now())
		lanes, priorities, lows := pg.Ints(len(places)), pg.Ints(len(places)), pg.Ints(len(places))
		for _, p := range places {
			lanes.Int(p.Lane)
			priorities.Int(int64(p.Priority))
			lows.Int(int64(h.From(p, true, back)))
			up[p] = now
		}
		return t.send(pg.Step{Q: freeHeads, Args: []any{lanes, priorities, lows, int64(now), int64(-1 << 63)},
			Each: func(r sqlstore.Row) error {
				up[claims.Place{Lane: r.Int(0), Priority: int8(r.Int(1))}] = job.Micros(r.Int(2))
				return nil
			}})
	})
	end := s.clock.local()
	switch {
	case err == nil:
	case s.tookTooLong(err, end.Sub(begun)):
		s.readTooLong(err, end, true, now, nil)
		return
	default:
		h.ScanEnded(end, end.Sub(begun))
		return
	}
	h.Raise(claims.Taken{Since: since, Up: up})
	s.hasLooked(end, end.Sub(begun), len(places), back)
}

// hasLooked notes a look that went so far back, and tells when all is seen again.
func (s *Store) hasLooked(end time.Time, took time.Duration, rows int, back job.Micros) {
	s.hot.cursors.Scanned(end, took, rows, back)
	if back == claims.Earliest {
		s.hot.scanning.see(nil)
	}
}

// readTooLong notes that reading places took too long, and tells of it.
func (s *Store) readTooLong(err error, end time.Time, look bool, now job.Micros, places []*front) {
	s.hot.cursors.TookTooLong(end, look, now, placesOf(places))
	s.hot.scanning.see(err)
}
