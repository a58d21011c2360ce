// Package seed fills an empty database with many jobs, for measurements. It writes the rows
// that the store would have written, but with bare statements, which is much faster. The
// content depends only on the shape and the time, so each store gets the same jobs.
package seed

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Shape is the size of a seeded database.
type Shape struct {
	Completed, Dead, Waiting, Retrying int // number of jobs in each state
	Owners                             int
	Groups                             int // number of groups of dead letters; a group belongs to one kind
	Kinds                              int // number of kinds, and of queues. Each kind is in two queues
	Audit                              int // number of audit rows
}

// Large is the shape of the database beside which the published figures are measured.
var Large = Shape{
	Completed: 5_000_000, Dead: 1_000_000, Waiting: 1_000_000, Retrying: 1_000_000,
	Owners: 20_000, Groups: 10_000, Kinds: 500, Audit: 100_000,
}

// Over returns the shape divided by n. No number is less than 1.
func (s Shape) Over(n int) Shape {
	for _, p := range []*int{&s.Completed, &s.Dead, &s.Waiting, &s.Retrying, &s.Owners, &s.Groups, &s.Kinds, &s.Audit} {
		*p = max(1, *p/n)
	}
	return s
}

// Jobs returns the number of jobs.
func (s Shape) Jobs() int { return s.Completed + s.Dead + s.Waiting + s.Retrying }

// contentVersion is part of Name. It is increased when a change of this package changes the
// rows.
const contentVersion = 1

// Name returns a short name that differs for each shape, each schema and each version of
// this package. The argument is any text that changes with the schema.
func (s Shape) Name(schema string) string {
	text, _ := json.Marshal(s) // the type has only integers, so there is no error
	sum := sha256.Sum256(fmt.Appendf(text, "%d%s", contentVersion, schema))
	return fmt.Sprintf("seed-%d-%x", s.Jobs(), sum[:6])
}

const (
	span    = 23 * time.Hour // time in which the jobs were enqueued
	quiet   = time.Hour      // time from the last enqueue to the end of the history
	runTime = 2 * time.Second
	dieMin  = 10 * time.Second // shortest time from the enqueue of a job to its death
	dieMax  = 30 * time.Minute // longest time from the enqueue of a job to its death
)

// layout computes the rows of a database.
type layout struct {
	Shape
	now    job.Micros // the end of the history
	jobs   int
	stride int // has no common divisor with the number of jobs
}

func newLayout(s Shape, now time.Time) *layout {
	l := &layout{Shape: s, now: job.At(now), jobs: s.Jobs()}
	// A step of the golden ratio spreads the states evenly over neighbouring jobs.
	l.stride = int(0.618034 * float64(l.jobs))
	for gcd(l.stride, l.jobs) != 1 {
		l.stride++
	}
	return l
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mix returns a number that looks random and depends only on the arguments.
func mix(i int, salt uint64) uint64 {
	x := (uint64(i) + 1 + salt<<40) * 0x9E3779B97F4A7C15 // SplitMix64
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// skewed returns a number from 0 to n-1. Low numbers are more frequent than high ones.
func skewed(i int, salt uint64, n int) int {
	u := float64(mix(i, salt)>>11) / (1 << 53)
	return int(u * u * float64(n))
}

func (l *layout) kind(k int) string  { return fmt.Sprintf("kind-%03d", k) }
func (l *layout) queue(q int) string { return fmt.Sprintf("queue-%03d", q) }

// lanes calls the given function for every lane. Kind k is in the queues k and k+1.
func (l *layout) lanes(each func(id int, queue, kind string)) {
	for k := range l.Kinds {
		each(1+k, l.queue(k), l.kind(k))
		if l.Kinds > 1 {
			each(1+l.Kinds+k, l.queue((k+1)%l.Kinds), l.kind(k))
		}
	}
}

func (l *layout) owner(i int) string { return fmt.Sprintf("tenant-%05d", i) }

// Names of things in a seeded database, for queries of a measurement.
func (s Shape) names() *layout { return &layout{Shape: s} }

// Kind returns the name of kind k, from 0 on.
func (s Shape) Kind(k int) string { return s.names().kind(k) }

// Queue returns the name of queue q, from 0 on.
func (s Shape) Queue(q int) string { return s.names().queue(q) }

// Owner returns the name of an owner, from 0 on. Owners with low numbers have more jobs.
func (s Shape) Owner(i int) string { return s.names().owner(i) }

// Correlation returns the correlation id that job id has, or "".
func (s Shape) Correlation(id job.ID) string { return correlationOf(int(id) - 1) }

// Key returns the idempotency key that job id has, with its owner and its kind, or "".
func (s Shape) Key(id job.ID) (owner, kind, key string) {
	l := newLayout(s, time.Time{})
	r := l.job(int(id) - 1)
	return r.owner, l.kind(r.kind), r.key
}

// Group returns the fingerprint and the class of group g, from 0 on.
func (s Shape) Group(g int) (fingerprint, class string) {
	return fingerprintOf(g), classOf(g)
}

// End returns the end of the history of a seeded database, which was given as now.
func End(ctx context.Context, s store.Reader) (job.Micros, error) {
	page, err := s.AuditPage(ctx, store.AuditFilter{Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(page.Entries) == 0 {
		return 0, errors.New("the database was not made by this package: it has no audit rows")
	}
	return page.Entries[0].At.Add(quiet), nil
}
