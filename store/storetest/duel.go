package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// duel runs the same operations on several stores with the same clock.
type duel struct {
	t      *rapid.T
	clock  *Clock
	stores []contender
	seen   *coverage

	// These fields hold answers to earlier operations. All stores have given the same answers.
	ids     []job.ID
	news    []job.New // jobs that were enqueued; the run enqueues some of them again to test repeats
	runs    []store.Run
	settled []job.Outcome // outcomes that were written; the run writes some of them again to test repeats
	last    *store.Dump
	removed bool         // whether a purge or a sweep has removed data
	cursor  event.Cursor // the transitions are counted up to the event with this cursor
	apart   bool         // whether any store may commit the outcomes and the claims of an exchange separately
	asked   []string     // the operations since the contents of the stores were last compared
}

func newDuel(t *rapid.T, seen *coverage, open func(*Clock) []contender) *duel {
	clock := NewClock()
	d := &duel{t: t, clock: clock, stores: open(clock), seen: seen, last: &store.Dump{}}
	d.apart = slices.ContainsFunc(d.stores, func(c contender) bool { return c.numbers != nil })
	return d
}

func (d *duel) close() {
	for _, s := range d.stores {
		if err := s.Close(); err != nil {
			d.t.Errorf("close the store %s: got error %v, want none", s.name, err)
		}
	}
}

// finish compares the stores a last time. It also checks the invariants of their content.
func (d *duel) finish() {
	d.compare(false)
	if err := soundDump(d.last, d.removed); err != nil {
		d.t.Fatal(err)
	}
}

// answer is the answer of a store to an operation, in a form that can be compared.
type answer struct {
	Value    any
	Err      string
	Conflict *store.KeyConflict
}

func answerOf(value any, err error) answer {
	if err != nil {
		value = nil
	}
	conflict, _ := errors.AsType[*store.KeyConflict](err)
	return answer{value, sentinel(err), conflict}
}

// sentinel returns the text of the sentinel error that err wraps. Callers test for sentinel
// errors with errors.Is.
func sentinel(err error) string {
	if err == nil {
		return ""
	}
	for _, s := range []error{
		store.ErrLeaseLost, store.ErrMoved, store.ErrConflict, store.ErrNotFound, store.ErrFull, store.ErrReadOnly,
		store.ErrUnavailable, store.ErrUnknown, store.ErrDraining, store.ErrTooLarge, store.ErrInvalid,
	} {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	return "an error that callers cannot test for: " + err.Error()
}

func sentinels(errs []error) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, sentinel(err))
	}
	return texts
}

// each carries out one operation on every store. It fails the test unless the answers and the
// contents of all stores are equal. It returns the answer.
func (d *duel) each(op string, do func(store.Store) (any, error)) answer {
	return d.eachOf(op, func(c *contender) (any, error) { return do(c.Store) })
}

func (d *duel) eachOf(op string, do func(*contender) (any, error)) answer {
	first := d.askOf(op, do)
	d.compare(op == "Exchange")
	return first
}

// ask does the same as the method each, but for operations that do not change the dump. It does not
// compare the contents of the stores; the next call of the method each or the end of the sequence
// compares them.
func (d *duel) ask(op string, do func(store.Store) (any, error)) answer {
	return d.askOf(op, func(c *contender) (any, error) { return do(c.Store) })
}

func (d *duel) askOf(op string, do func(*contender) (any, error)) answer {
	answers := make([]answer, len(d.stores))
	d.atOnce(func(i int) { answers[i] = answerOf(do(&d.stores[i])) })
	first := answers[0]
	for i := range answers[1:] {
		if other := answers[1+i]; !reflect.DeepEqual(first, other) && !cmp.Equal(first, other, equal) {
			d.t.Fatalf("%s: the stores gave different answers (-%s +%s):\n%s", op, d.stores[0].name, d.stores[1+i].name,
				cmp.Diff(first, other, equal))
		}
	}
	if first.Err == "" {
		d.seen.ops[op]++
	}
	d.asked = append(d.asked, op)
	return first
}

// reserve reserves ids and returns the first. A store that may number its commits differently may also
// have used ids for itself. Then the other stores reserve those, too, so that all go on with the same.
func (d *duel) reserve(n int) (first job.ID) {
	got := make([]job.ID, len(d.stores))
	d.atOnce(func(i int) { got[i] = d.reserved(&d.stores[i], n) })
	first = slices.Max(got)
	for i := range got {
		if d.stores[i].numbers == nil && got[i] != got[0] {
			d.t.Fatalf("ReserveIDs(%d): the store %s answered %d and the store %s %d", n, d.stores[0].name, got[0], d.stores[i].name, got[i])
		}
	}
	d.atOnce(func(i int) {
		if behind := first - got[i]; behind > 0 {
			d.reserved(&d.stores[i], int(behind))
		}
	})
	d.did("ReserveIDs", 1)
	return first
}

func (d *duel) reserved(c *contender, n int) job.ID {
	first, err := c.ReserveIDs(ctx(), n)
	if err != nil {
		panic(fmt.Sprintf("ReserveIDs(%d): %v", n, err))
	}
	return first
}

// atOnce carries out the same operation on all stores concurrently. This saves time, because the
// processor is free while a store waits for its server. It is safe, because the stores share
// nothing.
func (d *duel) atOnce(do func(i int)) {
	var wg sync.WaitGroup
	panics := make([]any, len(d.stores))
	for i := range d.stores {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			do(i)
		})
	}
	wg.Wait()
	for i, why := range panics {
		if why != nil {
			d.t.Fatalf("the store %s panicked, want no panic: %v", d.stores[i].name, why)
		}
	}
}

// compare checks that the contents of all stores are equal. The argument says whether the last
// operation was an exchange; in this case, a store may have committed its outcomes and its claims
// in any order.
func (d *duel) compare(exchange bool) {
	after := strings.Join(d.asked, ", ")
	d.asked = d.asked[:0]
	dumps, errs := make([]*store.Dump, len(d.stores)), make([]error, len(d.stores))
	if dumps[0], errs[0] = d.stores[0].Dump(ctx()); errs[0] != nil {
		d.t.Fatalf("after %s: reading the dump of store %s failed: %v", after, d.stores[0].name, errs[0])
	}
	d.atOnce(func(i int) {
		if i > 0 && len(dumps[0].Batches) > 0 {
			errs[i] = evaluate(d.stores[i].Store)
		}
		if i > 0 && errs[i] == nil {
			dumps[i], errs[i] = d.stores[i].Dump(ctx())
		}
		if errs[i] == nil {
			dumps[i].Audit = d.audited(dumps[i].Audit)
		}
	})
	d.noteCauses(d.last, dumps[0])
	d.last = dumps[0]
	for i := range d.stores {
		s := &d.stores[i]
		if errs[i] != nil {
			d.t.Fatalf("after %s: reading the dump of store %s failed: %v", after, s.name, errs[i])
		}
		if s.numbers != nil {
			if err := s.numbers.follow(d.last.Events, dumps[i], exchange); err != nil {
				d.t.Fatalf("after %s: the events of store %s cannot be compared: %v", after, s.name, err)
			}
		}
		if i > 0 && !equalDumps(d.last, dumps[i]) {
			d.t.Fatalf("after %s: the contents of the stores differ (-%s +%s):\n%s", after, d.stores[0].name, s.name, cmp.Diff(d.last, dumps[i], equal))
		}
	}
	for _, e := range d.last.Events {
		if d.cursor.Before(e.Cursor) {
			d.cursor = e.Cursor
			d.seen.edges[job.Transition{From: e.From, To: e.To, Cause: job.Cause(e.Type)}]++
			if e.Type == event.GroupChanged && e.Reason == "regressed" {
				d.did("cause that regresses", 1)
			}
			d.sawBatch(&e)
			if e.Type == event.JobEnqueued && notify.Sends(e.Kind) {
				d.did("notice that is made", 1)
			}
		}
	}
}

// equalDumps returns the same result as cmp.Equal, but is much faster when the dumps are
// equal. The differential test calls it thousands of times a second.
func equalDumps(a, b *store.Dump) bool {
	return a.Now == b.Now && slices.Equal(a.Events, b.Events) && slices.Equal(a.Dead, b.Dead) && slices.Equal(a.Keys, b.Keys) &&
		slices.Equal(a.Counts, b.Counts) && equalRows(a.Groups, b.Groups) && slices.Equal(a.Queues, b.Queues) &&
		slices.Equal(a.Audit, b.Audit) && equalRows(a.Jobs, b.Jobs) && equalRows(a.Failures, b.Failures) &&
		slices.Equal(a.DeadCounts, b.DeadCounts) && equalRows(a.Originals, b.Originals) && equalRows(a.Redrives, b.Redrives) &&
		slices.Equal(a.Schedules, b.Schedules) && equalRows(a.Figures, b.Figures) && equalRows(a.Policies, b.Policies) &&
		equalRows(a.Processes, b.Processes) && slices.Equal(a.Notes, b.Notes) && equalRows(a.Requests, b.Requests) &&
		equalRows(a.Batches, b.Batches) && (reflect.DeepEqual(a.Outcomes, b.Outcomes) || cmp.Equal(a.Outcomes, b.Outcomes, equal)) && equalRows(a.Drafts, b.Drafts) &&
		equalRows(a.Access, b.Access) && equalRows(a.Endpoints, b.Endpoints) && slices.Equal(a.Secrets, b.Secrets) && slices.Equal(a.Streams, b.Streams) && slices.Equal(a.Positions, b.Positions) &&
		slices.Equal(a.Sinks, b.Sinks) && slices.Equal(a.Marks, b.Marks) && equalRows(a.Reports, b.Reports) && equalRows(a.Notify, b.Notify) && slices.Equal(a.Windows, b.Windows)
}

func equalRows[T any](a, b []T) bool { return reflect.DeepEqual(a, b) || cmp.Equal(a, b, equal) }

func (d *duel) now() job.Micros { return job.At(d.clock.Now()) }

// pick draws one of the values. When rapid shrinks a failure, it prefers the first
// values.
func pick[T any](t *rapid.T, label string, values ...T) T {
	t.Helper()
	return rapid.SampledFrom(values).Draw(t, label)
}

// chance returns true once in n draws, on average.
func chance(t *rapid.T, label string, n int) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

// some draws a list. The list has at most the given number of values.
func some[T any](t *rapid.T, label string, most int, draw func(i int) T) []T {
	t.Helper()
	n := rapid.IntRange(0, most).Draw(t, "number of "+label)
	values := make([]T, n)
	for i := range values {
		values[i] = draw(i)
	}
	return values
}

// tick draws a duration by which the clock can move. The drawn durations end just before or exactly
// at times at which something can happen in the stores, for example at the end of a lease.
func (d *duel) tick(label string) time.Duration {
	return pick(d.t, label, 0, time.Microsecond, time.Second, 10*time.Second, lease-time.Microsecond, lease, time.Minute, time.Hour)
}
