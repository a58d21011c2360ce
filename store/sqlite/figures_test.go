package sqlite

import (
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// BenchmarkFigures measures what the figures cost in a commit: counting 100 jobs of one lane,
// and the rows of the minute and the hour, of the lane and of all lanes. "without" is the same
// transaction without figures. The difference of the two is the cost; one job is a hundredth
// of it.
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
