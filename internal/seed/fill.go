package seed

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// sink is a database that is filled.
type sink interface {
	// insert adds rows to a table. columns are their names, separated by spaces. A value is an
	// int64, a string, a []byte or nil. The next row may use the memory of the one before.
	insert(ctx context.Context, table, columns string, rows iter.Seq[[]any]) error
	exec(ctx context.Context, text string) error
}

// filler writes the rows of a layout. It keeps the first error and writes nothing more
// after it.
type filler struct {
	*layout
	ctx  context.Context //nolint:containedctx // the filler lives as long as one call of fill
	to   sink
	done func(table string)
	err  error
}

// fillWithout writes the rows of a layout between two lists of statements: those that drop the indexes,
// and those that make them again and finish the database. An index that is made at the end takes less
// time than one that each row changes.
func fillWithout(ctx context.Context, to sink, drops, after []string, l *layout, progress func(table string)) error {
	for _, text := range drops {
		if err := to.exec(ctx, text); err != nil {
			return err
		}
	}
	if err := fill(ctx, to, l, progress); err != nil {
		return err
	}
	for _, text := range after {
		if err := to.exec(ctx, text); err != nil {
			return err
		}
	}
	progress("indexes")
	return nil
}

// fill writes all rows except the indexes of owners, which the store makes itself. It calls
// the given function after each table.
func fill(ctx context.Context, to sink, l *layout, done func(table string)) error {
	f := &filler{layout: l, ctx: ctx, to: to, done: done}
	f.lanesAndQueues()
	f.live()
	f.ended()
	f.failures()
	f.deadLetters()
	f.keysAndBatches()
	f.events()
	f.tallies()
	f.people()
	f.exec(fmt.Sprintf(`UPDATE redrive_meta SET value = %d WHERE key = 'next_id'`, l.jobs+1))
	return f.err
}

func (f *filler) exec(text string) {
	if f.err == nil {
		f.err = f.to.exec(f.ctx, text)
	}
}

func (f *filler) insert(table, columns string, rows iter.Seq[[]any]) {
	if f.err != nil {
		return
	}
	columns = strings.Join(strings.Fields(columns), " ")
	if f.err = f.to.insert(f.ctx, table, columns, rows); f.err != nil {
		f.err = fmt.Errorf("fill %s: %w", table, f.err)
		return
	}
	f.done(table)
}

// all returns the jobs that have one of the states, the lowest id first.
func (f *filler) all(states ...job.State) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for i := range f.jobs {
			if i%65_536 == 0 && f.ctx.Err() != nil {
				return // the next statement returns the error
			}
			if r := f.job(i); slices.Contains(states, r.state) && !yield(&r) {
				return
			}
		}
	}
}

// rows turns jobs into rows. The given function appends the values of one row.
func rows[T any](of iter.Seq[T], make func(row []any, of T) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		var row []any
		for x := range of {
			if row = make(row[:0], x); !yield(row) {
				return
			}
		}
	}
}

// text returns nil for an empty text, because the databases have NULL for it.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// number returns nil for 0, for the same reason.
func number[T ~int | ~int64](n T) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func (f *filler) lanesAndQueues() {
	f.insert("redrive_queues", "name", rows(seq(f.Kinds), func(row []any, q int) []any { return append(row, f.queue(q)) }))
	f.insert("redrive_lanes", "id queue kind deps", func(yield func([]any) bool) {
		f.lanes(func(id int, queue, kind string) { _ = yield([]any{int64(id), queue, kind, ""}) })
	})
}

// seq returns the numbers from 0 to n-1.
func seq(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// counters are the columns of a job that count its runs in its life.
const counters = ` token life attempts crashes deferrals snoozes interrupts `

func appendCounters(row []any, token, attempts int64) []any {
	return append(row, token, int64(1), attempts, int64(0), int64(0), int64(0), int64(0))
}

// identity are the columns that each job has in any state.
const identity = ` lane priority created_at owner correlation key batch `

func (r *record) identity(row []any) []any {
	return append(row, int64(r.lane), int64(r.priority), int64(r.created), r.owner, text(r.correlation), text(r.key), number(r.batch))
}

func (r *record) attrs() []byte { return fmt.Appendf(nil, `{"customer":"c-%d"}`, int(r.id)%1000) }

func (f *filler) live() {
	f.insert("redrive_jobs", "id state run_at life_at claimed_at holder attrs payload"+identity+counters,
		rows(f.all(job.Waiting, job.Retrying), func(row []any, r *record) []any {
			row = append(row, int64(r.id), int64(r.state), int64(r.due))
			if r.state == job.Waiting {
				row = append(row, int64(r.due), nil, nil, r.attrs(), payload)
				return appendCounters(r.identity(row), 0, 0)
			}
			row = append(row, int64(r.created), int64(r.claimed), holderOf(int(r.id)), r.attrs(), payload)
			return appendCounters(r.identity(row), 1, 1)
		}))
}

func (f *filler) ended() {
	n := int64(0)
	f.insert("redrive_done", "seq job state life_at claimed_at finished_at holder result"+identity+counters,
		rows(f.all(job.Completed), func(row []any, r *record) []any {
			n++
			row = append(row, n, int64(r.id), int64(r.state), int64(r.created), int64(r.claimed), int64(r.ended), holderOf(int(r.id)), []byte(`{"sent":true}`))
			return appendCounters(r.identity(row), 1, 1)
		}))
}

func (f *filler) failures() {
	f.insert("redrive_failures", `job token life attempt started_at ended_at how class code permanent http holder correlation fingerprint message`,
		func(yield func([]any) bool) {
			var row []any
			one := func(r *record, token int, from, to job.Micros) bool {
				row = append(row[:0], int64(r.id), int64(token), int64(1), int64(token), int64(from), int64(to), string(job.ByError), classOf(r.group), "http.503",
					int64(0), int64(503), holderOf(int(r.id)), text(r.correlation), fingerprintOf(r.group), r.message())
				return yield(row)
			}
			for r := range f.all(job.Dead, job.Retrying) {
				if !one(r, 1, r.claimed, r.created.Add(runTime)) {
					return
				}
				if r.state == job.Dead && !one(r, 2, r.secondRun(), r.ended) {
					return
				}
			}
		})
}

// deaths returns the dead jobs in the order of their deaths.
func (f *filler) deaths() iter.Seq2[int, *record] {
	return func(yield func(int, *record) bool) {
		type death struct {
			at job.Micros
			i  int
		}
		all := make([]death, 0, f.Dead)
		for r := range f.all(job.Dead) {
			all = append(all, death{r.ended, int(r.id) - 1})
		}
		slices.SortFunc(all, func(a, b death) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.i, b.i)) })
		for n, d := range all {
			if r := f.job(d.i); !yield(n+1, &r) {
				return
			}
		}
	}
}

func (f *filler) deadLetters() {
	f.insert("redrive_dead", `death job status revived reason class grp died_at action note acted_at acted_by life_at claimed_at holder attrs payload`+
		identity+counters, func(yield func([]any) bool) {
		var row []any
		for n, r := range f.deaths() {
			status := r.status()
			row = append(row[:0], int64(n), int64(r.id), int64(status), int64(0), string(r.reason()), classOf(r.group), int64(r.group+1), int64(r.ended))
			switch status {
			case job.Resolved:
				row = append(row, string(job.ActionResolved), "repaired by hand", int64(f.now), "ann")
			case job.Ignored:
				row = append(row, string(job.ActionIgnored), "known", int64(f.now), "bob")
			case job.Pending, job.Redriven:
				row = append(row, nil, nil, nil, nil)
			}
			row = append(row, int64(r.created), int64(r.secondRun()), holderOf(int(r.id)), r.attrs(), payload)
			if row = appendCounters(r.identity(row), 2, 2); !yield(row) {
				return
			}
		}
	})
}

func (f *filler) keysAndBatches() {
	everything := f.all(job.Waiting, job.Retrying, job.Completed, job.Dead)
	f.insert("redrive_keys", "owner kind key job digest created_at", func(yield func([]any) bool) {
		for r := range everything {
			if r.key != "" && !yield([]any{r.owner, f.kind(r.kind), r.key, int64(r.id), []byte{1}, int64(r.created)}) {
				return
			}
		}
	})
	f.batches(everything)
}

// eventRow is the number of events in a row: the jobs of one enqueue.
const eventRow = 1000

// events writes the events of the enqueues, from which the store builds the index of
// owners. Their numbers are below those of all later commits.
func (f *filler) events() {
	n := int64(0)
	f.insert("redrive_events", "seq at n body", func(yield func([]any) bool) {
		var p event.Packer
		for i := range f.jobs {
			r := f.job(i)
			p.Add(&event.Event{
				Type: event.JobEnqueued, Job: r.id, Kind: f.kind(r.kind), Queue: f.queue(r.queue), Owner: r.owner, Batch: r.batch,
				To: job.Waiting, Life: 1, DueAt: r.created, Correlation: r.correlation,
			})
			if p.Len() < eventRow && i < f.jobs-1 {
				continue
			}
			n++
			if !yield([]any{n, int64(r.created), int64(p.Len()), p.Bytes()}) {
				return
			}
			p.Reset()
		}
	})
}
