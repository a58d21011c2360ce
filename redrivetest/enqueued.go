package redrivetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/canonical"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Enqueued is a job that was found in the store.
type Enqueued[T any] struct {
	Args T
	job.Job
}

// Want is a condition on the jobs that the code under test has enqueued.
type Want func(*wanted)

// wanted holds the conditions of a test on the jobs of one kind.
type wanted struct {
	checks []check
	count  int // the wanted number of jobs; -1 means at least one
}

// check is one condition on a job, with its text.
type check struct {
	text string                  // the condition, as text for the failure message
	miss func(j *job.Job) string // returns the value that the job has instead of the wanted value, or "" if the job meets the condition
}

// Args requires a job with these arguments. They are compared as JSON. The arguments of jobs
// that were completed or cancelled are not stored any more, so these jobs do not match.
func Args(args any) Want {
	return func(w *wanted) {
		want, err := json.Marshal(args)
		if err != nil {
			want = []byte("that cannot be encoded: " + err.Error())
		}
		w.add("args "+string(want), func(j *job.Job) string {
			switch {
			case bytes.Equal(canonical.JSON(j.Payload), canonical.JSON(want)):
				return ""
			case j.Payload == nil && j.State.Terminal():
				return fmt.Sprintf("args are not stored any more, because the job is %s", j.State)
			}
			return "args " + string(j.Payload)
		})
	}
}

// Queue requires a job in this queue.
func Queue(name string) Want { return text("queue", name, func(j *job.Job) string { return j.Queue }) }

// Key requires a job with this idempotency key.
func Key(key string) Want { return text("key", key, func(j *job.Job) string { return j.Key }) }

// Owner requires a job of this owner.
func Owner(owner string) Want {
	return text("owner", owner, func(j *job.Job) string { return j.Owner })
}

// RunAt requires a job that is due at this time. The times are compared in microseconds. The
// time of a job without Options.RunAt is the time of its enqueue.
func RunAt(at time.Time) Want {
	return func(w *wanted) {
		w.add("run at "+job.At(at).Time().Format(time.RFC3339Nano), func(j *job.Job) string {
			if j.RunAt == job.At(at) {
				return ""
			}
			return "run at " + j.RunAt.Time().Format(time.RFC3339Nano)
		})
	}
}

// Count requires exactly n jobs that meet the other conditions. Without Count, the test wants
// at least one such job.
func Count(n int) Want { return func(w *wanted) { w.count = n } }

func text(name, want string, of func(*job.Job) string) Want {
	return func(w *wanted) {
		w.add(fmt.Sprintf("%s %q", name, want), func(j *job.Job) string {
			if got := of(j); got != want {
				return fmt.Sprintf("%s %q", name, got)
			}
			return ""
		})
	}
}

func (w *wanted) add(text string, miss func(*job.Job) string) {
	w.checks = append(w.checks, check{text, miss})
}

// RequireEnqueued ends the test unless the client's store has jobs of the kind that meet
// all conditions, in any state. It returns these jobs, oldest first. Without conditions,
// every job of the kind counts.
func RequireEnqueued[T any](t testing.TB, c *redrive.Client, kind redrive.Kind[T], want ...Want) []Enqueued[T] {
	t.Helper()
	return require(t, reader{c, nil}, kind, want)
}

// RequireEnqueuedTx does the same as RequireEnqueued, but inside the open transaction of the
// code under test, so it also finds jobs that are not committed yet. The package of the
// store makes the argument tx from that transaction (sqlite.Tx, postgres.Tx or
// postgres.SQLTx).
func RequireEnqueuedTx[T any](t testing.TB, c *redrive.Client, tx store.Tx, kind redrive.Kind[T], want ...Want) []Enqueued[T] {
	t.Helper()
	return require(t, reader{c, tx}, kind, want)
}

// RequireNotEnqueued ends the test if the client's store has a job of the kind that meets
// all conditions. Without conditions, every job of the kind counts.
func RequireNotEnqueued[T any](t testing.TB, c *redrive.Client, kind redrive.Kind[T], want ...Want) {
	t.Helper()
	require(t, reader{c, nil}, kind, append(slices.Clip(want), Count(0)))
}

// RequireNotEnqueuedTx does the same as RequireNotEnqueued, but inside an open
// transaction; see RequireEnqueuedTx.
func RequireNotEnqueuedTx[T any](t testing.TB, c *redrive.Client, tx store.Tx, kind redrive.Kind[T], want ...Want) {
	t.Helper()
	require(t, reader{c, tx}, kind, append(slices.Clip(want), Count(0)))
}

func require[T any](t testing.TB, from reader, kind redrive.Kind[T], want []Want) (found []Enqueued[T]) {
	t.Helper()
	w := wanted{count: -1}
	for _, add := range want {
		add(&w)
	}
	jobs, err := from.all(t, string(kind))
	if err != nil {
		t.Fatalf("read the jobs of kind %q: %v", string(kind), err)
	}
	var report strings.Builder
	for i := range jobs {
		j := &jobs[i]
		misses := w.misses(j)
		fmt.Fprintf(&report, "\n  job %d, %s: %s", j.ID, j.State, strings.Join(misses, "; "))
		if len(misses) > 0 {
			continue
		}
		fmt.Fprintf(&report, "meets all conditions, args %s", j.Payload)
		e := Enqueued[T]{Job: *j}
		if len(j.Payload) > 0 {
			if err := json.Unmarshal(j.Payload, &e.Args); err != nil {
				t.Fatalf("job %d of kind %q: the arguments do not fit %T: %v", j.ID, string(kind), e.Args, err)
			}
		}
		found = append(found, e)
	}
	if n := len(found); n == w.count || w.count < 0 && n > 0 {
		return found
	}
	t.Fatalf("want %s; found %d among the %d jobs of this kind in the store%s", w.text(string(kind)), len(found), len(jobs), report.String())
	return nil
}

// misses returns how a job differs from the conditions.
func (w *wanted) misses(j *job.Job) (all []string) {
	for _, c := range w.checks {
		if got := c.miss(j); got != "" {
			all = append(all, got+", want "+c.text)
		}
	}
	return all
}

// text describes the wanted jobs.
func (w *wanted) text(kind string) string {
	number := "at least one job"
	switch {
	case w.count == 0:
		number = "no job"
	case w.count == 1:
		number = "exactly one job"
	case w.count > 1:
		number = fmt.Sprintf("exactly %d jobs", w.count)
	}
	text := fmt.Sprintf("%s of kind %q", number, kind)
	for i, c := range w.checks {
		if text += ", "; i == 0 {
			text = strings.TrimSuffix(text, ", ") + " with "
		}
		text += c.text
	}
	return text
}

// reader reads jobs with a client. If the field tx is not nil, it reads inside that transaction.
type reader struct {
	client *redrive.Client
	tx     store.Tx
}

// all returns the jobs of a kind with their payloads, oldest first.
func (r reader) all(t testing.TB, kind string) (all []job.Job, err error) {
	f := redrive.JobFilter{Kind: kind, Limit: job.PageMax}
	for {
		var page redrive.JobPage
		if r.tx == nil {
			page, err = r.client.List(t.Context(), f)
		} else {
			page, err = r.client.ListTx(t.Context(), r.tx, f)
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Jobs {
			j, err := r.get(t, page.Jobs[i].ID)
			if err != nil {
				return nil, err
			}
			all = append(all, j)
		}
		if f.From = page.Next; f.From.IsZero() {
			break
		}
	}
	slices.Reverse(all)
	return all, nil
}

func (r reader) get(t testing.TB, id redrive.JobID) (job.Job, error) {
	if r.tx == nil {
		return r.client.Get(t.Context(), id)
	}
	return r.client.GetTx(t.Context(), r.tx, id)
}
