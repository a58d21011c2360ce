package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// both runs a test with statements that are prepared and with ones that are not.
func both(t *testing.T, test func(t *testing.T, s *Store)) {
	for _, unnamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("unnamed=%t", unnamed), func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t, &Options{PgBouncer: unnamed}))
		})
	}
}

func blobOf(b []byte) sqlstore.Value { return sqlstore.Value{Kind: sqlstore.IsBlob, B: b} }

// query is a statement of a test.
func query(name, text string) *sqlstore.Query { return &sqlstore.Query{Name: name, Text: text} }

// query is a statement of a test about tables of the store, which have the default schema in the text.
func (s *Store) query(name, text string) *sqlstore.Query {
	return query(name, strings.ReplaceAll(text, DefaultSchema+".redrive_", pg.Quote(s.Schema())+".redrive_"))
}

func TestValuesComeBack(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Store) {
		insert := s.query("insert", `INSERT INTO redrive.redrive_originals (job, at, by, queue, priority, policy, payload)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`)
		sel := s.query("select", `SELECT at, by, queue, policy, payload, job > 0, NULL, at + 0.0, sum(job) OVER ()
			FROM redrive.redrive_originals WHERE job = $1`)
		for i, want := range []struct {
			n       int64
			by      string
			queue   string
			policy  []byte
			payload []byte
		}{
			{math.MaxInt64 - 1, "Ünïcode 你好", "", []byte{}, nil},
			{-1, "nul\x00 and \xff\xfe", pg.EscapeMark, []byte("\x00\x01\xff"), []byte(`\x41`)},
			{0, `back\slash 'quote' "x"`, "a", bytes.Repeat([]byte{0xfe}, 300_000), []byte("x")},
			{-4_000_000_000, "", "b", nil, nil},
		} {
			err := s.transact(t.Context(), &s.begins.write, func(c *pg.Session) error {
				blobs := []sqlstore.Value{blobOf(want.policy), blobOf(want.payload)}
				for i, b := range [][]byte{want.policy, want.payload} {
					if b == nil {
						blobs[i] = sqlstore.Value{}
					}
				}
				n, err := c.Exec(insert, sqlstore.Num(int64(i+1)), sqlstore.Num(want.n), text(want.by), text(want.queue),
					sqlstore.Num(1), blobs[0], blobs[1])
				if err != nil || n != 1 {
					return fmt.Errorf("%d rows: %w", n, err)
				}
				rows := 0
				err = c.Rows(sel, func(r sqlstore.Row) error {
					rows++
					if r.Int(0) != want.n || r.Text(1) != want.by || r.Text(2) != want.queue {
						t.Errorf("%d %q %q, want %d %q %q", r.Int(0), r.Text(1), r.Text(2), want.n, want.by, want.queue)
					}
					if got := r.Blob(3); !bytes.Equal(got, want.policy) || (got == nil) != (want.policy == nil) {
						t.Errorf("policy %d bytes, nil %t", len(got), got == nil)
					}
					if !bytes.Equal(r.Blob(4), want.payload) || r.Null(4) != (want.payload == nil) {
						t.Errorf("payload %q, want %q", r.Blob(4), want.payload)
					}
					if r.Int(5) != 1 || !r.Null(6) || r.Int(6) != 0 || r.Text(6) != "" || r.Blob(6) != nil {
						t.Errorf("truth %d, NULL %t", r.Int(5), r.Null(6))
					}
					if r.Int(7) != want.n || r.Int(8) != int64(i+1) {
						t.Errorf("numerics %d, %d, want %d, %d", r.Int(7), r.Int(8), want.n, i+1)
					}
					return nil
				}, sqlstore.Num(int64(i+1)))
				if rows != 1 && err == nil {
					t.Errorf("%d rows", rows)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// A walk hands on any number of rows, while each runs statements and walks of its
// own, and leaves nothing open wherever it ends.
func TestWalksHoldOthers(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	both(t, func(t *testing.T, s *Store) {
		fill := s.query("fill", `INSERT INTO redrive.redrive_trends (grp, at, n) SELECT 1, x, x FROM generate_series(1, 5000) AS x`)
		walk := s.query("walk", `SELECT at, n FROM redrive.redrive_trends WHERE grp = $1 ORDER BY at`)
		walk.Walk = true
		count := s.query("count", `SELECT count(*) FROM redrive.redrive_trends WHERE grp = 2`)
		add := s.query("add", `INSERT INTO redrive.redrive_trends (grp, at, n) VALUES (2, $1, $1)`)
		for _, stop := range []int{1, 49, 50, 51, 550, 2_551, 5_000, 9_999} {
			err := s.transact(t.Context(), &s.begins.write, func(c *pg.Session) error {
				if _, err := c.Exec(fill); err != nil {
					return err
				}
				seen, inner := int64(0), 0
				err := c.Rows(walk, func(r sqlstore.Row) error {
					seen++
					if r.Int(0) != seen {
						t.Fatalf("row %d is %d", seen, r.Int(0))
					}
					if seen%700 == 1 {
						if _, err := c.Exec(add, sqlstore.Num(seen)); err != nil {
							return err
						}
						err := c.Rows(walk, func(sqlstore.Row) error { inner++; return nil }, sqlstore.Num(2))
						if err != nil {
							return err
						}
						if n, err := sqlstore.ReadInt(c, count); err != nil || n == 0 {
							return fmt.Errorf("%d rows: %w", n, err)
						}
					}
					if r.Int(1) != seen { // still the row that it was
						t.Fatalf("row %d has become %d", seen, r.Int(1))
					}
					if seen == int64(stop) {
						return enough
					}
					return nil
				}, sqlstore.Num(1))
				if want := min(stop, 5_000); seen != int64(want) || (err == nil) != (stop > 5_000) || err != nil && err != enough {
					t.Errorf("stop at %d: %d rows, %v", stop, seen, err)
				}
				n, err := sqlstore.ReadInt(c, query("cursors", `SELECT count(*) FROM pg_cursors WHERE name LIKE 'redrive%'`))
				if err != nil || n != 0 {
					t.Errorf("stop at %d: %d cursors are open, %v", stop, n, err)
				}
				return enough // roll back
			})
			if !errors.Is(err, enough) {
				t.Error(err)
			}
		}
	})
}

// An error inside a walk ends it with the transaction.
func TestWalkOfAFailedTransaction(t *testing.T) {
	t.Parallel()
	walk := query("walk", `SELECT x FROM generate_series(1, 100) AS x`)
	walk.Walk = true
	both(t, func(t *testing.T, s *Store) {
		err := s.transact(t.Context(), &s.begins.write, func(c *pg.Session) error {
			return c.Rows(walk, func(sqlstore.Row) error {
				_, err := c.Exec(query("bad", `SELECT 1 / 0`))
				return err
			})
		})
		if pg.SQLState(err) != "22012" { // division_by_zero
			t.Errorf("%v", err)
		}
		if _, err := s.Counts(t.Context()); err != nil {
			t.Errorf("after it: %v", err)
		}
	})
}

// A number that does not fit its column is refused before it is sent, and texts
// that PostgreSQL does not store come back as they were.
//
// part of: Q10
func TestQ10_UnstorableTextsAreStored(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *Store) {
		id, err := s.ReserveIDs(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		n := job.New{ID: id, Kind: "mail", Queue: "default", Priority: 2, Payload: []byte("\x00\xff"), Owner: "o\x00\xff", Correlation: pg.EscapeMark}
		if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
			t.Fatal(err)
		}
		j, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got := job.New{ID: j.ID, Kind: j.Kind, Queue: j.Queue, Priority: j.Priority, Payload: j.Payload, Owner: j.Owner, Correlation: j.Correlation}
		if d := cmp.Diff(n, got); d != "" {
			t.Error(d)
		}
		page, err := s.List(t.Context(), store.Filter{Owner: n.Owner})
		if err != nil || len(page.Jobs) != 1 {
			t.Errorf("%d jobs of the owner, %v", len(page.Jobs), err)
		}
	})
}
