package storetest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// duel drives several stores in lockstep, on one clock.
type duel struct {
	t      *rapid.T
	clock  *Clock
	stores []contender
	seen   *coverage

	// What the stores, which agree, have said so far.
	ids     []job.ID
	news    []job.New // taken in, to be asked again
	runs    []store.Run
	settled []job.Outcome // written, to be written again
	last    *store.Dump
	removed bool         // something was purged or swept
	cursor  event.Cursor // up to which the transitions have been counted
	apart   bool         // a store may commit the halves of an exchange apart
	asked   []string     // operations after which the content has not been compared yet
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
			d.t.Errorf("%s: close: %v", s.name, err)
		}
	}
}

// finish compares what has not been compared, and judges what the sequence has left
// by the invariants.
func (d *duel) finish() {
	d.compare(false)
	if err := soundDump(d.last, d.removed); err != nil {
		d.t.Fatal(err)
	}
}

// answer is what a store said, in a form that can be compared.
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

// sentinel names an error by what callers test for.
func sentinel(err error) string {
	if err == nil {
		return ""
	}
	for _, s := range []error{
		store.ErrLeaseLost, store.ErrConflict, store.ErrNotFound, store.ErrFull, store.ErrReadOnly,
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

// each does one operation on every store, demands equal answers and equal
// content, and returns the answer.
func (d *duel) each(op string, do func(store.Store) (any, error)) answer {
	return d.eachOf(op, func(c *contender) (any, error) { return do(c.Store) })
}

func (d *duel) eachOf(op string, do func(*contender) (any, error)) answer {
	first := d.askOf(op, do)
	d.compare(op == "Exchange")
	return first
}

// ask is each for what changes nothing that a dump shows. That it has not is seen
// by the next each, or at the end.
func (d *duel) ask(op string, do func(store.Store) (any, error)) answer {
	return d.askOf(op, func(c *contender) (any, error) { return do(c.Store) })
}

func (d *duel) askOf(op string, do func(*contender) (any, error)) answer {
	answers := make([]answer, len(d.stores))
	d.atOnce(func(i int) { answers[i] = answerOf(do(&d.stores[i])) })
	first := answers[0]
	for i := range answers[1:] {
		if other := answers[1+i]; !reflect.DeepEqual(first, other) && !cmp.Equal(first, other, equal) {
			d.t.Fatalf("%s: the stores answer differently (-%s +%s):\n%s", op, d.stores[0].name, d.stores[1+i].name,
				cmp.Diff(first, other, equal))
		}
	}
	if first.Err == "" {
		d.seen.ops[op]++
	}
	d.asked = append(d.asked, op)
	return first
}

// atOnce does the same with every store, with all at a time: they share nothing, and
// one waits for its server while another computes.
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
			d.t.Fatalf("%s panics: %v", d.stores[i].name, why)
		}
	}
}

// compare demands that the content of all the stores is equal. After an exchange
// the halves of that may have been committed in any order.
func (d *duel) compare(exchange bool) {
	after := strings.Join(d.asked, ", ")
	d.asked = d.asked[:0]
	dumps, errs := make([]*store.Dump, len(d.stores)), make([]error, len(d.stores))
	d.atOnce(func(i int) { dumps[i], errs[i] = d.stores[i].Dump(ctx()) })
	d.last = dumps[0]
	for i := range d.stores {
		s := &d.stores[i]
		if errs[i] != nil {
			d.t.Fatalf("%s: dump of %s: %v", after, s.name, errs[i])
		}
		if s.numbers != nil {
			if err := s.numbers.follow(d.last.Events, dumps[i], exchange); err != nil {
				d.t.Fatalf("after %s, events of %s: %v", after, s.name, err)
			}
		}
		if !equalDumps(d.last, dumps[i]) {
			d.t.Fatalf("after %s the stores differ (-%s +%s):\n%s", after, d.stores[0].name, s.name, cmp.Diff(d.last, dumps[i], equal))
		}
	}
	for _, e := range d.last.Events {
		if d.cursor.Before(e.Cursor) {
			d.cursor = e.Cursor
			d.seen.edges[job.Transition{From: e.From, To: e.To, Cause: job.Cause(e.Type)}]++
		}
	}
}

// equalDumps is cmp.Equal for almost nothing when the dumps are alike, which
// they are thousands of times a second.
func equalDumps(a, b *store.Dump) bool {
	return a.Now == b.Now && slices.Equal(a.Events, b.Events) && slices.Equal(a.Dead, b.Dead) && slices.Equal(a.Keys, b.Keys) &&
		slices.Equal(a.Counts, b.Counts) && equalRows(a.Groups, b.Groups) && slices.Equal(a.Queues, b.Queues) &&
		slices.Equal(a.Audit, b.Audit) && equalRows(a.Jobs, b.Jobs) && equalRows(a.Failures, b.Failures) &&
		slices.Equal(a.DeadCounts, b.DeadCounts) && equalRows(a.Originals, b.Originals) && equalRows(a.Redrives, b.Redrives) &&
		slices.Equal(a.Schedules, b.Schedules) && slices.Equal(a.Hours, b.Hours) && equalRows(a.Policies, b.Policies)
}

func equalRows[T any](a, b []T) bool { return reflect.DeepEqual(a, b) || cmp.Equal(a, b, equal) }

func (d *duel) now() job.Micros { return job.At(d.clock.Now()) }

// pick draws one of the values; the first is the simplest.
func pick[T any](t *rapid.T, label string, values ...T) T {
	t.Helper()
	return rapid.SampledFrom(values).Draw(t, label)
}

// chance draws true once in n.
func chance(t *rapid.T, label string, n int) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

// some draws up to most values.
func some[T any](t *rapid.T, label string, most int, draw func(i int) T) []T {
	t.Helper()
	n := rapid.IntRange(0, most).Draw(t, "number of "+label)
	values := make([]T, n)
	for i := range values {
		values[i] = draw(i)
	}
	return values
}

// tick is a duration at which something may happen, or just not yet.
func (d *duel) tick(label string) time.Duration {
	return pick(d.t, label, 0, time.Microsecond, time.Second, 10*time.Second, lease-time.Microsecond, lease, time.Minute, time.Hour)
}
