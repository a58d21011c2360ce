package sqlite

import (
	"context"
	"database/sql"
	"regexp"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// Every stored time is an integer with the same unit and time zone. If times were stored as texts,
// SQLite would compare them byte by byte, and the later time "10:00:00.5Z" would come before
// "10:00:00Z".
//
// proves: Q2
func TestQ2_TimesAreNumbers(t *testing.T) {
	t.Parallel()
	s := openSeeded(t)
	s.fill(seedKinds)
	s.act()
	s.addInTx()

	isTime := regexp.MustCompile(`^(at|\w+_at|\w*until|deadline|arrival)$`)
	tables := s.texts(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'redrive_*' AND name <> 'redrive_migrations'`)
	earliest, latest := job.At(seedNow.Add(-time.Second)), job.At(seedNow.AddDate(1, 0, 0))
	columns := 0
	for _, table := range tables {
		for _, column := range s.texts(`SELECT name FROM pragma_table_info('` + table + `')`) {
			if !isTime.MatchString(column) {
				continue
			}
			columns++
			for _, kind := range s.texts(`SELECT DISTINCT typeof(` + column + `) FROM ` + table) {
				if kind != "integer" && kind != "null" {
					t.Errorf("column %s.%s has a value of type %s, want an integer", table, column, kind)
				}
			}
			var low, high job.Micros
			s.rows(`SELECT coalesce(min(`+column+`), 0), coalesce(max(`+column+`), 0) FROM `+table, func(r sqlstore.Row) {
				low, high = job.Micros(r.Int(0)), job.Micros(r.Int(1))
			})
			// A time in this table is the start of a minute or hour, so it may be up to an hour
			// before the earliest time.
			if table == "redrive_figures" || table == "redrive_trends" {
				low += 3_600_000_000
			}
			if high != 0 && (low < earliest || high > latest) {
				t.Errorf("column %s.%s has values from %d to %d, want microseconds between %d and %d", table, column, low, high, earliest, latest)
			}
		}
	}
	if columns < 25 {
		t.Errorf("found %d columns with times, want at least 25", columns)
	}
}

// addInTx enqueues a job that has every optional time. It enqueues the job in a caller's
// transaction, because such a transaction uses another driver.
func (s *seeder) addInTx() {
	at := func(d time.Duration) job.Micros { return job.At(seedNow.Add(d).In(time.FixedZone("", -7*3600))) }
	ctx := s.t.Context()
	first, err := s.s.ReserveIDs(ctx, 1)
	s.must(err)
	s.must(s.s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := s.s.EnqueueTx(ctx, Tx(tx), []job.New{{ID: first, Kind: seedKind(0), Queue: seedQueue, Priority: 1,
			RunAt: at(time.Hour), Deadline: at(2 * time.Hour), Key: "own transaction", Digest: []byte{1}, KeyUntil: at(time.Minute)}})
		return err
	}))
}

func (s *seeder) texts(text string) (all []string) {
	s.rows(text, func(r sqlstore.Row) { all = append(all, r.Text(0)) })
	return all
}

func (s *seeder) rows(text string, each func(sqlstore.Row)) {
	s.t.Helper()
	s.must(s.s.read(s.t.Context(), func(c sqlstore.Session) error {
		return c.Rows(&sqlstore.Query{Text: text}, func(r sqlstore.Row) error { each(r); return nil })
	}))
}
