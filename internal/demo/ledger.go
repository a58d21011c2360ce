package demo

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// ledger holds the state of each job. It is computed from the events of the store.
type ledger struct {
	after event.Cursor
	jobs  map[job.ID]*account
	ids   []job.ID // ids of the jobs in the order of their enqueue
}

// account holds the data about one job in the ledger.
type account struct {
	id       job.ID
	kind     string
	state    job.State
	life     int32
	retries  int        // the number of retries of the job that the policies decided, in all its lives
	due      job.Micros // the time of the job's next retry
	class    string     // the class of the job's last failure that was retried
	run      job.Token  // the number of the run whose failure was retried last
	classes  []string   // the classes of all failures of the job that were retried
	outcomes []outcome  // the results of the job's lives
}

// outcome is the result of one life of a job. A life consists of the attempts between two manual
// retries.
type outcome struct {
	completed bool
	retries   int // the number of retries in the life
}

func newLedger() *ledger { return &ledger{jobs: map[job.ID]*account{}} }

// eventsRead is the number of events that are read at once.
const eventsRead = 1_000

// read applies the events since the last call and returns them.
func (l *ledger) read(ctx context.Context, st store.Reader) ([]event.Event, error) {
	var all []event.Event
	for {
		events, err := st.Events(ctx, l.after, eventsRead)
		if err != nil {
			return nil, err
		}
		for i := range events {
			l.take(&events[i])
			l.after = events[i].Cursor
		}
		all = append(all, events...)
		if len(events) < eventsRead {
			return all, nil
		}
	}
}

func (l *ledger) take(e *event.Event) {
	if e.To == job.None {
		return // this event does not change the state of a job
	}
	a := l.jobs[e.Job]
	if a == nil {
		a = &account{id: e.Job, kind: e.Kind}
		l.jobs[e.Job] = a
		l.ids = append(l.ids, e.Job)
	}
	if e.Life != a.life || len(a.outcomes) == 0 && e.Type == event.JobEnqueued {
		a.life = max(a.life, e.Life)
		a.outcomes = append(a.outcomes, outcome{})
	}
	a.state, a.due = e.To, e.DueAt
	now := &a.outcomes[len(a.outcomes)-1]
	switch e.To {
	case job.Completed:
		now.completed = true
	case job.Retrying:
		now.retries++
		a.retries++
		a.class, a.run = e.Class, e.Token
		a.classes = append(a.classes, e.Class)
	default:
	}
}

// counts returns the number of jobs by kind and state.
func (l *ledger) counts() map[string]map[job.State]int {
	all := map[string]map[job.State]int{}
	for _, kind := range kinds {
		all[kind] = map[job.State]int{}
	}
	for _, a := range l.jobs {
		if byState := all[a.kind]; byState != nil {
			byState[a.state]++
		}
	}
	return all
}

// total returns the number of jobs by state.
func (l *ledger) total() map[job.State]int {
	all := map[job.State]int{}
	for _, a := range l.jobs {
		all[a.state]++
	}
	return all
}

// live returns the number of jobs that have not ended.
func (l *ledger) live() int {
	t := l.total()
	return t[job.Waiting] + t[job.Retrying] + t[job.Running]
}

// retrying returns the jobs whose retry is in the future, ordered by the time of the retry,
// and the number of jobs whose retry is already due.
func (l *ledger) retrying(now job.Micros) (coming []*account, due int) {
	for _, a := range l.jobs {
		switch {
		case a.state != job.Retrying:
		case a.due > now:
			coming = append(coming, a)
		default:
			due++
		}
	}
	slices.SortFunc(coming, func(a, b *account) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id)) })
	return coming, due
}

// pick returns the first job for which the given function returns true, or nil.
func (l *ledger) pick(fits func(*account) bool) *account {
	for _, id := range l.ids {
		if a := l.jobs[id]; fits(a) {
			return a
		}
	}
	return nil
}
