package postgres

import (
	"context"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// Events are numbered by the transactions that write them, and read up to the
// oldest transaction under way, in whatever database of the server: one that has a
// lower number may still write events, and a reader who has passed it would miss
// them. So what was just committed can be out of sight for as long as another
// transaction takes. Readers ask again; a sweep, which removes only what was
// there to be read, waits a little.

const (
	// sightWait bounds how long a sweep waits for others' transactions. Those that
	// take longer keep the events of that time from being removed this time.
	sightWait = time.Second
	// sightLook is how long a sweep waits before it looks again, at first.
	sightLook = 2 * time.Millisecond
)

var (
	selNewest = &sqlstore.Query{Name: "selNewestEvents"}
	selHidden = &sqlstore.Query{Name: "selHiddenEvents"}
)

// sightStatements are the statements of this file.
var sightStatements = map[string]string{
	"selNewestEvents": `SELECT coalesce(max(seq), 0) FROM redrive_events`,
	"selHiddenEvents": `SELECT ($1::bigint >> 20) >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value
		FROM redrive_meta WHERE key = 'event_base'`,
}

// inSight waits until what is committed now can be read.
func (s *Store) inSight(ctx context.Context) error {
	newest, hidden := int64(0), false
	look := func(c sqlstore.Session) (err error) {
		if newest == 0 {
			if newest, err = sqlstore.ReadInt(c, selNewest); err != nil {
				return err
			}
		}
		n, err := sqlstore.ReadInt(c, selHidden, sqlstore.Num(newest))
		hidden = n != 0
		return err
	}
	for wait, waited := sightLook, time.Duration(0); ; wait *= 2 {
		if err := s.read(ctx, look); err != nil || !hidden || waited >= sightWait {
			return err
		}
		wait = min(wait, sightWait-waited)
		waited += wait
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.closed:
			timer.Stop()
			return errClosed
		}
	}
}

// Sweep implements store.Keeper. Events are removed when their changes are folded
// in, so that is done first.
func (s *Store) Sweep(ctx context.Context, keep store.Retention, limit int) (swept store.Swept, err error) {
	if keep.Events > 0 {
		if err := s.inSight(ctx); err != nil {
			return swept, err
		}
		if err := s.foldAll(ctx); err != nil {
			return swept, err
		}
	}
	return s.Core.Sweep(ctx, keep, limit)
}
