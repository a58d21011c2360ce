package sqlstore_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// When a lane's row is missing, the store must not return jobs without a queue and a kind.
// Calls that concern jobs of the lane fail until the row is restored.
func TestNothingIsWrittenWithoutALane(t *testing.T) {
	t.Parallel()
	s := openDead(t, 3)
	id, err := s.ReserveIDs(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), []job.New{{ID: id, Kind: "lonely", Queue: "aside", Priority: job.PriorityDefault}}); err != nil {
		t.Fatal(err)
	}
	x := store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{
		{Queue: "aside", Max: 1, Kinds: []store.KindWant{{Kind: "lonely", Max: 1, MaxCrashes: 1}}}}}
	out, err := s.Exchange(t.Context(), x)
	if err != nil || len(out.Claims) != 1 {
		t.Fatalf("claim before the lane's row is deleted: got %d claims, error %v; want one claim", len(out.Claims), err)
	}
	db, err := sql.Open("sqlite", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	x.Want, x.Settle = nil, []job.Outcome{{ID: id, Token: out.Claims[0].Token, To: job.Completed, Cause: job.Succeeded}}
	settle := func() error {
		out, err := s.Exchange(t.Context(), x)
		return errors.Join(append(out.Settled, err)...)
	}
	run(`CREATE TABLE kept AS SELECT * FROM redrive_lanes WHERE kind = 'lonely'`)
	run(`DELETE FROM redrive_lanes WHERE kind = 'lonely'`)
	for range 2 {
		if err := settle(); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "restore the database") {
			t.Errorf("write of an outcome while the lane's row is missing: got error %v, want ErrUnavailable with the advice to restore the database", err)
		}
	}
	if _, err := s.SetQueue(t.Context(), store.By{Actor: "ann"}, store.QueueChange{Name: "main", Workers: new(7)}); err != nil {
		t.Errorf("SetQueue of another queue while the lane's row is missing: got error %v, want none", err)
	}
	run(`INSERT INTO redrive_lanes SELECT * FROM kept`)
	if err := settle(); err != nil {
		t.Errorf("write of an outcome after the lane's row was restored: got error %v, want none", err)
	}
	if j, err := s.Get(t.Context(), id); err != nil || j.State != job.Completed || j.Queue != "aside" || j.Kind != "lonely" {
		t.Errorf("after the lane's row was restored: got job %+v, error %v; want a completed job of kind lonely in queue aside", j, err)
	}
}

// noLanes is a fake session in which the reading of lanes fails with the error err.
type noLanes struct{ err error }

func (s noLanes) Exec(*sqlstore.Query, ...sqlstore.Value) (int, error) { return 1, nil }

func (s noLanes) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, _ ...sqlstore.Value) error {
	if q == sqlstore.Statement("selLanes") {
		return s.err
	}
	return nil
}

// aRow is a fake row in which every number is 7.
type aRow struct{ sqlstore.Row }

func (aRow) Int(int) int64   { return 7 }
func (aRow) Text(int) string { return "" }
func (aRow) Null(int) bool   { return true }

// If the store cannot read the lanes, Flush returns the error, even if later statements
// succeed.
func TestTheErrorOfReadingALaneIsReturned(t *testing.T) {
	t.Parallel()
	s := noLanes{}
	cat, err := sqlstore.NewCatalog(s)
	if err != nil {
		t.Fatal(err)
	}
	s.err = errors.New("the connection is gone")
	txn := sqlstore.NewTxn(s, false, sqlstore.Hooks{})
	txn.Reset(0, cat)
	txn.ScanRun(aRow{})
	if err := txn.Flush(); !errors.Is(err, s.err) {
		t.Errorf("Flush after the lanes could not be read: got error %v, want error %v", err, s.err)
	}
	txn.Reset(0, cat)
	if err := txn.Flush(); err != nil {
		t.Errorf("Flush of the next transaction: got error %v, want none", err)
	}
}
