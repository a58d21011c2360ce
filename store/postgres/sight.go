package postgres

import (
	"context"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
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
	// sightWaitTest is that with a clock of its own, as tests have it: they want the same
	// answer whatever else the server does.
	sightWaitTest = 30 * time.Second
	// sightLook is how long a sweep waits before it looks again, at first.
	sightLook = 2 * time.Millisecond
)

var (
	selNewest = &sqlstore.Query{Name: "selNewestEvents"}
	selHidden = &sqlstore.Query{Name: "selHiddenEvents"}
)

// inSight waits until what is committed now, and is from before until, can be read.
// A transaction that it has waited for in vain it does not wait for again.
func (s *Store) inSight(ctx context.Context, until job.Micros) error {
	most := sightWait
	if s.options.Clock != nil {
		most = sightWaitTest
	}
	newest, hidden := int64(0), int64(0)
	look := func(c sqlstore.Session) (err error) {
		if newest == 0 {
			if newest, err = sqlstore.ReadInt(c, selNewest); err != nil {
				return err
			}
		}
		hidden, err = sqlstore.ReadInt(c, selHidden, sqlstore.Num(newest), sqlstore.Num(until))
		return err
	}
	for wait, waited := sightLook, time.Duration(0); ; wait *= 2 {
		if err := s.read(ctx, look); err != nil || hidden == 0 || hidden == s.blocked.Load() {
			return err
		}
		if waited >= most {
			s.blocked.Store(hidden)
			return nil
		}
		wait = min(wait, most-waited)
		waited += wait
		if err := s.wait(ctx, wait); err != nil {
			return err
		}
	}
}
