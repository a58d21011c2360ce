package postgres

import (
	"fmt"
	"testing"

	"github.com/redrive/redrive/job"
)

// After a fail-over that has lost a reservation, its ids are nobody else's.
//
// part of: Q10
func TestQ10_AFailOverGivesNoIDsAwayAgain(t *testing.T) {
	t.Parallel()
	a, dsn := freshAt(t, nil)
	b := opened(t, dsn, &Options{Schema: a.Schema()})
	admin := connected(t, dsn)
	before := numberOf(t, admin, `SELECT value FROM `+a.Schema()+`.redrive_meta WHERE key = 'next_id'`)
	first, err := a.ReserveIDs(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	// As of a replica that has not heard of it.
	run(t, admin, fmt.Sprintf(`UPDATE %s.redrive_meta SET value = %d WHERE key = 'next_id'`, a.Schema(), before))
	a.pool.Reset()
	if _, err := a.Counts(t.Context()); err != nil {
		t.Fatal(err)
	}
	others, err := b.ReserveIDs(t.Context(), 1)
	if err != nil || others < first+1000 {
		t.Errorf("id %d is given away, of the block from %d on: %v", others, first, err)
	}
	if used := job.ID(a.intake.used.Load()); used < first+999 {
		t.Errorf("jobs that have ended are looked for up to %d, want %d", used, first+999)
	}
}
