package api

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// OutsideEvent is an event of a job, or of a batch, as users see it. If the policy has names for retries, max_retries
// and next_retry_at (words.error), the events retrying and dead have these fields, too.
type OutsideEvent struct {
	Cursor event.Cursor `json:"cursor"`
	// Event is waiting, running, retrying, completed, dead, cancelled or progress; or batch: a batch was published or
	// has changed its state.
	Event string     `json:"event"`
	At    job.Micros `json:"at"`
	ID    job.ID     `json:"id,omitempty"` // the job; left out for a batch
	Kind  string     `json:"kind,omitempty"`
	// Status is the state of the job in the words of the policy, or the state of the batch.
	Status string `json:"status"`
	// Batch is the number of the batch, also of a job that is its member.
	Batch int64 `json:"batch,omitempty"`
	// Message is the text for users about the last failure.
	Message string `json:"message,omitempty"`
	// Error is the last failure, in the fields that the policy names.
	Error json.RawMessage `json:"error,omitempty"`
	// NextAttemptAt is when the job may start.
	NextAttemptAt job.Micros `json:"next_attempt_at,omitempty"`
	Progress      *Done      `json:"progress,omitempty"`
	// More is true if the job has a message that was left out, because too many jobs fail at once.
	More bool `json:"more,omitempty"`
}

// Done is how far a job is.
type Done struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"`
	Note  string `json:"note,omitempty"`
}

// outsideEvent is an OutsideEvent with the fields that the policy adds.
type outsideEvent struct {
	OutsideEvent
	more []byte // members of a JSON object
}

// MarshalJSON implements json.Marshaler.
func (o outsideEvent) MarshalJSON() ([]byte, error) { return withMembers(o.OutsideEvent, o.more) }

// outsideEventPage is an OutsideEventPage with the fields that the policy adds to its events.
type outsideEventPage struct {
	Items []outsideEvent `json:"items"`
	OutsideEventPage
}

// outsideEvent returns an event as users see it. ok is false for events that are not for them.
func (a *API) outsideEvent(ctx context.Context, e *event.Event) (out outsideEvent, ok bool) {
	if e.Type == event.BatchChanged {
		out.OutsideEvent = OutsideEvent{Cursor: e.Cursor, At: e.At, Event: "batch", Batch: e.Batch, Status: batchStatus(e.Reason), Progress: &Done{Done: e.Done, Total: e.Total}}
		return out, true
	}
	if e.Job == 0 || e.To == 0 && e.Type != event.JobProgressed {
		return out, false
	}
	w := a.words()
	out.OutsideEvent = OutsideEvent{Cursor: e.Cursor, At: e.At, ID: e.Job, Kind: e.Kind, Batch: e.Batch, Event: e.To.String(), Status: w.State(e.To, job.Reason(e.Reason))}
	switch {
	case e.Type == event.JobProgressed:
		out.Event, out.Status, out.Progress = "progress", w.State(job.Running, ""), &Done{e.Done, e.Total, e.Note}
	case e.To.Ready():
		out.NextAttemptAt = e.DueAt
	}
	if e.To != job.Retrying && e.To != job.Dead {
		return out, true
	}
	if !a.streams.mayRead(a.o.Now()) {
		out.More = true
		return out, true
	}
	j, err := a.client.Get(ctx, e.Job)
	failed, ferr := a.client.Latest(ctx, []job.ID{e.Job})
	if err != nil || ferr != nil || len(failed) == 0 || failed[0].Token != e.Token {
		out.More = true // the job has moved on
		return out, true
	}
	last := &failed[0]
	// The state and the time are those of the event: the job may be running again.
	most := words.MaxAttempts(&j, failed, a.o.Kinds[j.Kind].Attempts)
	values := errorValues(last, &retries{e.To, e.DueAt, last.Attempt, most}, job.At(a.o.Now()))
	out.Message, out.Error, out.more = last.UserMessage, w.ErrorObject(values), w.RetryFields(values)
	return out, true
}

// batchStatus returns the state of a batch after an event with this reason.
func batchStatus(reason string) string {
	if reason == "published" {
		return job.BatchProcessing.String()
	}
	return strings.ToUpper(reason)
}
