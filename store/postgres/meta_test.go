package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Where somebody has removed rows without which counters and events cannot be written,
// nothing is written, and the caller gets an error.
//
// part of: Q10
func TestQ10_NothingIsWrittenWithoutMeta(t *testing.T) {
	t.Parallel()
	for what, remove := range map[string]string{
		"all":               `TRUNCATE redrive_meta`,
		"number of events":  `DELETE FROM redrive_meta WHERE key = 'event_base'`,
		"settings' version": `DELETE FROM redrive_meta WHERE key = 'settings'`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, dsn := freshAt(t, nil)
			c := claimN(t, s, 1)[0]
			plain, again := plainJob(t, s), plainJob(t, s)
			again.Repeat = true
			admin := connected(t, dsn)
			// Nobody folds before they are back: what is kept says what is folded.
			fold := fmt.Sprintf(`(%d)`, s.folds)
			run(t, admin, `SET search_path = `+s.Schema(), `SELECT pg_advisory_lock`+fold,
				`CREATE TABLE kept AS SELECT * FROM redrive_meta`, remove)
			calls := map[string]func() error{
				"Enqueue": func() error { _, err := s.Enqueue(t.Context(), []job.New{plain}); return err },
				"Repeat":  func() error { _, err := s.Enqueue(t.Context(), []job.New{again}); return err },
				"Exchange": func() error {
					_, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{completes(&c)}})
					return err
				},
				"SetQueue": func() error {
					_, err := s.SetQueue(t.Context(), store.By{Actor: "ann"}, store.QueueChange{Name: "default", Workers: new(7)})
					return err
				},
			}
			if what == "all" {
				calls["ReserveIDs"] = func() error { _, err := s.ReserveIDs(t.Context(), 1); return err }
			}
			for name, call := range calls {
				if err := call(); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s: %v", name, err)
				}
			}
			run(t, admin, `DELETE FROM redrive_meta`, `INSERT INTO redrive_meta SELECT * FROM kept`, `SELECT pg_advisory_unlock`+fold)
			for name, call := range calls {
				if err := call(); err != nil {
					t.Errorf("%s, when they are back: %v", name, err)
				}
			}
			counts, err := s.Counts(t.Context())
			if want := []store.Count{{Queue: "default", Kind: "mail", State: job.Waiting, N: 2}, {Queue: "default", Kind: "mail", State: job.Completed, N: 1}}; err != nil || len(counts) != 2 || counts[0] != want[0] || counts[1] != want[1] {
				t.Errorf("%+v, %v", counts, err)
			}
		})
	}
}
