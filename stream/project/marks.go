package project

import (
	"cmp"
	"context"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Done is a task that was completed.
type Done struct {
	Key     string // its idempotency key
	JobID   string // the job_id of its record; the number of the job without one
	Job     job.ID
	Kind    string
	At      time.Time
	Summary string // the beginning of its result
}

// Marker keeps marks of completed tasks. A mark that is there stays as it is, or is written again.
type Marker interface {
	Mark(ctx context.Context, done []Done) error
}

// Marks is a sink that marks the keys of completed tasks.
type Marks struct {
	Sink   string // the name of the sink in the store
	Stream string // the name of the stream
	Marker Marker
}

// Name implements Sink.
func (m *Marks) Name() string { return m.Sink }

// Wants implements Sink.
func (m *Marks) Wants(e *event.Event) bool { return e.To == job.Completed }

// Write implements Sink.
func (m *Marks) Write(ctx context.Context, items []Item) error {
	done := make([]Done, 0, len(items))
	for i := range items {
		j := &items[i].Job
		if j.Key == "" || originOf(m.Stream, nil, j) == nil {
			continue
		}
		done = append(done, Done{Key: j.Key, JobID: cmp.Or(j.Correlation, j.ID.String()), Job: j.ID, Kind: j.Kind, At: j.FinishedAt.Time(), Summary: job.Summary(j.Result)})
	}
	if len(done) == 0 {
		return nil
	}
	return m.Marker.Mark(ctx, done) //nolint:wrapcheck // it names its server
}
