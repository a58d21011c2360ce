package seed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	minute = job.Micros(60_000_000)
	hour   = 60 * minute
)

// tallies writes the tables that count jobs, dead letters and deaths.
func (f *filler) tallies() {
	f.figures()
	f.laneCounters()
	f.groups()
}

// figures writes the figures by minute and by hour, of each lane and of all lanes together.
func (f *filler) figures() {
	minutes := make(map[sqlstore.FigureKey]*store.Figures)
	var r *record
	at := func(t job.Micros) *store.Figures {
		k := sqlstore.FigureKey{At: t - t%minute, Lane: int64(r.lane)}
		v := minutes[k]
		if v == nil {
			v = new(store.Figures)
			minutes[k] = v
		}
		return v
	}
	failed := func(from, to job.Micros) {
		v := at(to)
		v.Failed++
		v.RunTime += int64(to - from)
		v.Class(classOf(r.group)).Failed++
	}
	for r = range f.all(job.Waiting, job.Retrying, job.Completed, job.Dead) {
		at(r.created).Enqueued++
		if r.state == job.Waiting {
			continue
		}
		v := at(r.claimed)
		v.Started++
		v.WaitTime += int64(r.claimed - r.created)
		if r.state == job.Completed {
			v := at(r.ended)
			v.Completed++
			v.RunTime += int64(r.ended - r.claimed)
			continue
		}
		failed(r.claimed, r.created.Add(runTime))
		if r.state == job.Dead {
			at(r.secondRun()).Started++
			failed(r.secondRun(), r.ended)
			v := at(r.ended)
			v.Retries++
			v.Dead++
			v.Exhausted++
			v.Class(classOf(r.group)).Dead++
		}
	}
	sums := make(map[sqlstore.FigureKey]*store.Figures)
	for k, v := range minutes {
		for _, key := range sqlstore.FigureKeys(k.At, k.Lane) {
			if key == k {
				continue
			}
			sum := sums[key]
			if sum == nil {
				sum = new(store.Figures)
				sums[key] = sum
			}
			sum.Add(v)
		}
	}
	maps.Copy(minutes, sums)
	f.insert("redrive_figures", "unit at lane body", func(yield func([]any) bool) {
		var packed []byte
		// Rows in the order of the primary key are inserted several times faster.
		keys := slices.SortedFunc(maps.Keys(minutes), func(a, b sqlstore.FigureKey) int {
			return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.At, b.At), cmp.Compare(a.Lane, b.Lane))
		})
		for _, k := range keys {
			v := minutes[k]
			packed = sqlstore.PackFigures(packed[:0], v)
			if !yield([]any{k.Unit, int64(k.At), k.Lane, packed}) {
				return
			}
		}
	})
}

func (f *filler) laneCounters() {
	type key struct {
		lane  int
		state job.State
	}
	counts := make(map[key]int64)
	for r := range f.all(job.Waiting, job.Retrying, job.Completed, job.Dead) {
		counts[key{r.lane, r.state}]++
	}
	f.insert("redrive_counters", "lane state n", func(yield func([]any) bool) {
		for k, n := range counts {
			if !yield([]any{int64(k.lane), int64(k.state), n}) {
				return
			}
		}
	})
}

// deadKey is what the dead letters are counted by.
type deadKey struct {
	lane   int
	reason job.Reason
	class  string
	status job.Status
}

// trendKey is a unit of time in which deaths are counted. group is 0 for all jobs together.
type trendKey struct {
	group int
	at    job.Micros
}

// groupRow has the counts of one group.
type groupRow struct {
	n, pending  int64
	sample      job.ID
	kind        int
	first, last job.Micros
	message     string
}

func (f *filler) groups() {
	groups := make(map[int]*groupRow)
	counts := make(map[deadKey]int64)
	trends := make(map[trendKey]int64)
	for _, r := range f.deaths() {
		g := groups[r.group]
		if g == nil {
			g = &groupRow{sample: r.id, kind: r.kind, first: r.ended, message: r.message()}
			groups[r.group] = g
		}
		g.n++
		g.last = r.ended
		if r.status() == job.Pending {
			g.pending++
		}
		counts[deadKey{r.lane, r.reason(), classOf(r.group), r.status()}]++
		trends[trendKey{0, r.ended - r.ended%minute}]++
		trends[trendKey{r.group + 1, r.ended - r.ended%hour}]++
	}
	f.insert("redrive_groups", `id fingerprint kind class code message sample first_at last_at n pending entries name assignee assigned_at resolved_at
		resolved_by merged`, func(yield func([]any) bool) {
		for i, g := range groups {
			row := []any{int64(i + 1), fingerprintOf(i), f.kind(g.kind), classOf(i), "http.503", g.message, int64(g.sample),
				int64(g.first), int64(g.last), g.n, g.pending, g.n, nil, nil, nil, nil, nil, nil}
			if i%20 == 1 {
				row[12], row[13], row[14] = fmt.Sprintf("cause %d", i), "ann", int64(f.now)
			}
			if i%20 == 2 {
				row[15], row[16] = int64(f.now), "bob"
			}
			if i%100 < 2 {
				row[17] = fmt.Sprintf("set-%d", i/1000)
			}
			if !yield(row) {
				return
			}
		}
	})
	f.insert("redrive_dead_counts", "lane reason class status n", func(yield func([]any) bool) {
		for k, n := range counts {
			if !yield([]any{int64(k.lane), string(k.reason), k.class, int64(k.status), n}) {
				return
			}
		}
	})
	f.insert("redrive_trends", "grp at n", func(yield func([]any) bool) {
		for k, n := range trends {
			if !yield([]any{int64(k.group), int64(k.at), n}) {
				return
			}
		}
	})
}

// people writes what people did: the audit log, and notes on jobs.
func (f *filler) people() {
	step := int64(span.Microseconds()) / int64(f.Audit)
	actors := [...]string{"ann", "bob", "cy", "deploy"}
	f.insert("redrive_audit", "seq at actor action target reason before after", rows(seq(f.Audit), func(row []any, i int) []any {
		action, target := "job.cancel", job.ID(1+mix(i, 20)%uint64(f.jobs)).String()
		if i%10 == 0 {
			action, target = "queue.set", f.queue(int(mix(i, 21)%uint64(f.Kinds)))
		}
		return append(row, int64(i+1), int64(f.now.Add(-quiet))-int64(f.Audit-1-i)*step, actors[mix(i, 22)%uint64(len(actors))], action, target, "as asked", "waiting", "cancelled")
	}))
	notes := max(1, f.Audit/10)
	f.insert("redrive_notes", "id at by what job text", rows(seq(notes), func(row []any, i int) []any {
		what := store.PlainNote
		if i%4 == 0 {
			what = store.Feedback
		}
		return append(row, int64(i+1), int64(f.now.Add(-quiet))+int64(i), actors[mix(i, 23)%uint64(len(actors))], string(what), int64(1+mix(i, 24)%uint64(f.jobs)), "called the customer")
	}))
	f.exec(fmt.Sprintf(`INSERT INTO redrive_meta (key, value) VALUES ('notes', %d)`, notes))
}
