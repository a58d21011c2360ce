package sqlite

import (
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// BenchmarkFigures measures a transaction that counts 100 jobs of one lane and writes four rows of
// figures: for the minute and for the hour, of this lane and of all lanes together. The benchmark
// "without" measures the same transaction without figures. The difference is the cost of the
// figures of 100 jobs.
func BenchmarkFigures(b *testing.B) {
	for name, figures := range map[string]bool{"without": false, "with": true} {
		b.Run(name, func(b *testing.B) {
			s, err := Open(b.Context(), b.TempDir()+"/jobs.db", nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			conn, err := connect(s.path, roleReader)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			c := newNative(conn)
			exec := func(q *sqlstore.Query, args ...sqlstore.Value) {
				if _, err := c.Exec(q, args...); err != nil {
					b.Fatal(err)
				}
			}
			exec(&sqlstore.Query{Text: `PRAGMA query_only = OFF`})
			exec(&sqlstore.Query{Text: `PRAGMA synchronous = OFF`})
			events, put := sqlstore.Statement("insEvents"), sqlstore.Statement("putFigures")
			body, packed := make([]byte, 2000), []byte(nil)
			var stored [4]store.Figures
			at := job.At(time.Now())
			for n := 0; b.Loop(); n++ {
				exec(beginTx)
				exec(events, sqlstore.Num(at), sqlstore.Num(100), sqlstore.Value{Kind: sqlstore.IsBlob, B: body})
				if figures {
					var f store.Figures
					for range 100 {
						f.Completed++
						f.RunTime += 1000
					}
					for i := range stored {
						stored[i].Add(&f)
						packed = sqlstore.PackFigures(packed[:0], &stored[i])
						exec(put, sqlstore.Num(int64(i%2)), sqlstore.Num(int64(n/1000)), sqlstore.Num(int64(i/2)), sqlstore.Value{Kind: sqlstore.IsBlob, B: packed})
					}
				}
				exec(commitTx)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/job")
		})
	}
}

// BenchmarkSeries measures queries for a series in a store that has the figures of 500 lanes for a
// day.
func BenchmarkSeries(b *testing.B) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s, err := Open(b.Context(), b.TempDir()+"/jobs.db", &Options{Clock: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f := store.Figures{Enqueued: 100, Started: 100, Completed: 90, Failed: 10, RunTime: 123_456_789, WaitTime: 12_345_678}
	f.Class("NetworkTimeout").Failed = 10
	body := sqlstore.Value{Kind: sqlstore.IsBlob, B: sqlstore.PackFigures(nil, &f)}
	day := job.At(now.Add(-24 * time.Hour))
	err = s.writer.write(b.Context(), func(t *sqlstore.Txn) error {
		for _, q := range []string{
			`WITH RECURSIVE l(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM l WHERE i < 500)
				INSERT INTO redrive_lanes (id, queue, kind, deps) SELECT i, 'q' || (i / 5), 'k' || i, '' FROM l`,
			`WITH RECURSIVE m(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM m WHERE i < 1439), l(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM l WHERE i < 500)
				INSERT INTO redrive_figures SELECT 0, ?1 + m.i * 60000000, l.i, ?2 FROM m, l`,
			`WITH RECURSIVE m(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM m WHERE i < 23), l(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM l WHERE i < 500)
				INSERT INTO redrive_figures SELECT 1, ?1 + m.i * 3600000000, l.i, ?2 FROM m, l`,
		} {
			args := []sqlstore.Value{sqlstore.Num(day), body}
			if q[len(q)-6:] == "FROM l" {
				args = nil
			}
			if _, err := t.Session().Exec(&sqlstore.Query{Text: q}, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name string
		q    store.SeriesQuery
	}{
		{"minutes of a day", store.SeriesQuery{}},
		{"minutes of a day by class", store.SeriesQuery{By: store.ByClass}},
		{"minutes of a day of one queue by kind", store.SeriesQuery{Queue: "q7", By: store.ByKind}},
		{"minutes of 90 minutes by queue", store.SeriesQuery{Since: job.At(now.Add(-90 * time.Minute)), By: store.ByQueue}},
		{"hours of a day by kind", store.SeriesQuery{Step: time.Hour, By: store.ByKind}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			if bb.q.Since == 0 {
				bb.q.Since = day
			}
			for b.Loop() {
				points, err := s.Series(b.Context(), bb.q)
				if err != nil || len(points) == 0 {
					b.Fatalf("read the series: got %d points and error %v, want at least one point", len(points), err)
				}
			}
		})
	}
}
