package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
)

// NewBatch is a batch to be created.
type NewBatch struct {
	Owner     string          `json:"owner,omitempty"`
	Key       string          `json:"key,omitempty"`  // unique for the owner; at most job.TextMax bytes
	Name      string          `json:"name,omitempty"` // what people call the batch; at most job.TextMax bytes
	Attrs     []byte          `json:"-"`              // a JSON object of at most job.AttrsMax bytes; nil means none
	Callbacks []BatchCallback `json:"callbacks,omitempty"`
	// ExpiresAt is when a batch that has ended becomes EXPIRED; 0 means never. A batch in
	// PROCESSING ends first.
	ExpiresAt job.Micros `json:"expires_at,omitempty"`
}

// BatchCallback is a job that the store enqueues when the batch ends.
type BatchCallback struct {
	On       string          `json:"on"` // "ready", "partial", "failed", or "end" for each of them
	Kind     string          `json:"kind"`
	Queue    string          `json:"queue"`
	Priority int8            `json:"priority,omitempty"` // 0 means job.PriorityDefault
	Payload  json.RawMessage `json:"payload,omitempty"`  // becomes the field data of the job's payload
}

// Wants reports whether the callback is enqueued at an end with the given state.
func (c *BatchCallback) Wants(state job.BatchState) bool {
	return c.On == "end" || c.On == strings.ToLower(state.String())
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (n *NewBatch) Validate() error {
	for _, t := range [...]struct{ field, value string }{{"owner", n.Owner}, {"key", n.Key}, {"name", n.Name}} {
		if len(t.value) > job.TextMax {
			return fmt.Errorf("%s of a batch of %d bytes: at most %d bytes are allowed: %w", t.field, len(t.value), job.TextMax, ErrTooLarge)
		}
	}
	switch {
	case len(n.Attrs) > job.AttrsMax:
		return fmt.Errorf("attributes of a batch of %d bytes: at most %d bytes are allowed: %w", len(n.Attrs), job.AttrsMax, ErrTooLarge)
	case n.ExpiresAt < 0 || n.ExpiresAt > UntilMax:
		return fmt.Errorf("expires_at of a batch: must be a time from 1970 to 9999: %w", ErrInvalid)
	case len(n.Callbacks) > CallbacksMax:
		return fmt.Errorf("%d callbacks of a batch: at most %d are allowed: %w", len(n.Callbacks), CallbacksMax, ErrTooLarge)
	}
	for i := range n.Callbacks {
		if err := n.Callbacks[i].validate(); err != nil {
			return fmt.Errorf("callback %d of %d: %w", i+1, len(n.Callbacks), err)
		}
	}
	return nil
}

func (c *BatchCallback) validate() error {
	switch c.On {
	case "ready", "partial", "failed", "end":
	default:
		return fmt.Errorf("on %.40q: must be ready, partial, failed or end: %w", c.On, ErrInvalid)
	}
	if err := cmp.Or(ValidName("kind", c.Kind), ValidName("queue", c.Queue)); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(c.Kind, notify.Prefix):
		return fmt.Errorf("kind %q: kinds that begin with %q are redrive's own; use another name: %w", c.Kind, notify.Prefix, ErrInvalid)
	case c.Priority < 0 || c.Priority > job.PriorityMax:
		return fmt.Errorf("priority %d: must be %d to %d: %w", c.Priority, job.PriorityMin, job.PriorityMax, ErrInvalid)
	case len(c.Payload) > CallbackMax:
		return fmt.Errorf("payload of %d bytes: at most %d bytes are allowed: %w", len(c.Payload), CallbackMax, ErrTooLarge)
	case len(c.Payload) > 0 && !json.Valid(c.Payload):
		return fmt.Errorf("the payload is not valid JSON: %w", ErrInvalid)
	}
	return nil
}

// BatchTask is what is being done to a batch in steps. The numbers are stored.
type BatchTask uint8

// The tasks.
const (
	NoTask     BatchTask = 0
	Publishing BatchTask = 1
	Cancelling BatchTask = 2
	Discarding BatchTask = 3
)

var taskNames = [...]string{"", "publishing", "cancelling", "discarding"}

// String returns the task's word; "" for no task.
func (t BatchTask) String() string {
	if int(t) < len(taskNames) {
		return taskNames[t]
	}
	return fmt.Sprintf("task(%d)", uint8(t))
}

// MarshalText implements encoding.TextMarshaler.
func (t BatchTask) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Batch is a batch as it is now.
type Batch struct {
	ID int64 `json:"id"`
	NewBatch
	State job.BatchState `json:"state"`
	// Task is the task that is under way. A batch does not end while it has one.
	Task BatchTask `json:"task,omitzero"`
	BatchCounts
	Drafts      int64      `json:"drafts"`                 // counted members that are not published
	AsideDrafts int64      `json:"aside_drafts,omitempty"` // members of kinds without retry that are not published
	Outcome     int64      `json:"outcome"`                // the number of the last outcome; 0 if the batch has never ended
	CreatedAt   job.Micros `json:"created_at"`
	PublishedAt job.Micros `json:"published_at,omitempty"` // when it was published first
	EndedAt     job.Micros `json:"ended_at,omitempty"`     // when it ended last; 0 if members are under way
	CreatedBy   string     `json:"created_by,omitempty"`
	// TaskAt and TaskThrough are where a task is: the last death or job that it has reached, and the
	// last death that it covers. They are 0 without a task.
	TaskAt      int64 `json:"-"`
	TaskThrough int64 `json:"-"`
	// Existing is set by CreateBatch alone: the batch was found by its key.
	Existing bool `json:"-"`
}

// BatchCounts are the counted members of a batch by their present lives.
type BatchCounts struct {
	Total     int64 `json:"total"` // published members
	Completed int64 `json:"completed"`
	Dead      int64 `json:"dead"`
	Cancelled int64 `json:"cancelled"`
	Running   int64 `json:"running"`
}

// Waiting returns the number of members that wait to run, for the first time or again.
func (c *BatchCounts) Waiting() int64 {
	return max(0, c.Total-c.Completed-c.Dead-c.Cancelled-c.Running)
}

// AllEnded reports whether there are counted members and all of them have ended.
func (c *BatchCounts) AllEnded() bool {
	return c.Total > 0 && c.Total == c.Completed+c.Dead+c.Cancelled
}

// BatchOutcome is one end of a batch.
type BatchOutcome struct {
	N         int64          `json:"n"` // from 1, without gaps
	State     job.BatchState `json:"state"`
	At        job.Micros     `json:"at"`
	Total     int64          `json:"total"`
	Completed int64          `json:"completed"`
	Dead      int64          `json:"dead"`
	Cancelled int64          `json:"cancelled"`
}

// Expired reports whether the batch counts as EXPIRED at the given time, also if no step has written
// it yet. A batch that is not published does not expire.
func (b *Batch) Expired(now job.Micros) bool {
	return b.State == job.BatchExpired || b.State >= job.BatchProcessing && b.ExpiresAt != 0 && b.ExpiresAt <= now
}

// Due reports whether a step must write that the batch has expired.
func (b *Batch) Due(now job.Micros) bool {
	return b.State.Ended() && b.Task == NoTask && b.ExpiresAt != 0 && b.ExpiresAt <= now
}

// Over reports whether retention removes the batch, if no member is left: it ended at the given time at
// the latest, it has no drafts, and nothing is done to it.
func (b *Batch) Over(until job.Micros) bool {
	at := b.EndedAt
	if b.State == job.BatchExpired {
		at = max(at, b.ExpiresAt)
	}
	return (b.State.Ended() || b.State == job.BatchExpired) && at <= until && b.Task == NoTask && b.Drafts+b.AsideDrafts == 0
}

// Check returns a *BatchRefused unless the state of the batch allows the event at the given time.
func (b *Batch) Check(e job.BatchEvent, now job.Micros) error {
	state := b.State
	if e != job.BatchSet && e != job.BatchAdd && e != job.BatchDiscard && e != job.BatchJoin && e != job.BatchJoinAside && b.Expired(now) {
		state = job.BatchExpired
	}
	if !state.Takes(e) || e == job.BatchPublish && b.ExpiresAt != 0 && b.ExpiresAt <= now {
		return b.refuse(e, state, now)
	}
	switch {
	case b.Task == Discarding && (e == job.BatchAdd || e == job.BatchPublish || e == job.BatchCancel):
		return &BatchRefused{ID: b.ID, Why: BatchBusy, Text: "its drafts are being discarded; wait until that is done"}
	case b.Task == Cancelling && (e == job.BatchPublish || e == job.BatchDiscard):
		return &BatchRefused{ID: b.ID, Why: BatchBusy, Text: "it is being cancelled; wait until that is done"}
	case b.Task == Publishing && e == job.BatchDiscard:
		return &BatchRefused{ID: b.ID, Why: BatchBusy, Text: "it is being published; wait until that is done, or cancel it"}
	}
	return nil
}

func (b *Batch) refuse(e job.BatchEvent, state job.BatchState, now job.Micros) error {
	r := &BatchRefused{ID: b.ID}
	switch {
	case state == job.BatchDraft && b.ExpiresAt != 0 && b.ExpiresAt <= now:
		r.Why, r.Text = BatchIsExpired, "its expires_at is over; set a later time before it is published"
	case state == job.BatchExpired:
		r.Why, r.Text = BatchIsExpired, "it has expired, which is final; create a new batch"
	case state == job.BatchDraft && e == job.BatchCancel:
		r.Why, r.Text = BatchIsDraft, "it is not published; discard it"
	case state == job.BatchDraft:
		r.Why, r.Text = BatchIsDraft, "it is not published; add members as drafts and publish it"
	default:
		r.Why, r.Text = BatchHasEnded, "it has ended as "+state.String()+"; add members as drafts and publish it again"
	}
	return r
}

// The reasons of a BatchRefused.
const (
	BatchIsEmpty   = "batch-empty"
	BatchIsDraft   = "batch-draft"
	BatchHasEnded  = "batch-ended"
	BatchIsExpired = "batch-expired"
	BatchBusy      = "batch-busy"
)

// BatchRefused says that the state of a batch does not allow a call. It matches ErrConflict.
type BatchRefused struct {
	ID   int64
	Why  string // one of the reasons of this package
	Text string // what is the matter, and what to do
}

func (e *BatchRefused) Error() string { return fmt.Sprintf("batch %d: %s", e.ID, e.Text) }

// Is reports that a BatchRefused matches ErrConflict.
func (e *BatchRefused) Is(target error) bool { return target == ErrConflict }

// EmptyBatch returns the error for publishing a batch without counted members.
func EmptyBatch(b *Batch) error {
	text := "it has no members; add some before it is published"
	if b.AsideDrafts > 0 {
		text = fmt.Sprintf("it has %d members of kinds without retry and no others, so it would never end; add members of other kinds", b.AsideDrafts)
	}
	return &BatchRefused{ID: b.ID, Why: BatchIsEmpty, Text: text}
}

// SameBatch returns an ErrConflict unless a batch was created from n.
func SameBatch(b *Batch, n *NewBatch) error {
	field := ""
	callbacks := func(c []BatchCallback) string { text, _ := json.Marshal(c); return string(text) }
	switch {
	case b.Name != n.Name:
		field = "name"
	case !bytes.Equal(b.Attrs, n.Attrs):
		field = "attributes"
	case len(b.Callbacks)+len(n.Callbacks) > 0 && callbacks(b.Callbacks) != callbacks(n.Callbacks):
		field = "callbacks"
	default:
		return nil
	}
	return fmt.Errorf("batch %d was created with the same key and another %s; use another key or the same %s: %w", b.ID, field, field, ErrConflict)
}

// BatchMemberKey returns the owner under which the keys of a batch's members are stored. Their kind
// is empty.
func BatchMemberKey(batch int64) string { return strconv.FormatInt(batch, 10) }

// BatchTarget returns how audit rows name a batch.
func BatchTarget(id int64) string { return "batch " + strconv.FormatInt(id, 10) }

// PublishedReason is the reason in the event of a batch that was published.
const PublishedReason = "published"

// BatchChanged returns the event of a batch whose state has changed, or that was published. When it is
// published, its drafts become jobs only afterwards, in steps; the event counts them already.
func BatchChanged(b *Batch, reason string) event.Event {
	e := event.Event{Type: event.BatchChanged, Batch: b.ID, Owner: b.Owner, Reason: reason, Done: b.Completed, Total: b.Total}
	if reason == PublishedReason {
		e.Total += b.Drafts
	}
	if b.Outcome > 0 {
		e.Note = strconv.FormatInt(b.Outcome, 10)
	}
	return e
}

// StateWord returns the state of a batch as events and audit rows have it.
func StateWord(s job.BatchState) string { return strings.ToLower(s.String()) }

// CallbackJob returns the job of a callback for the last outcome of a batch. The caller sets its id.
func CallbackJob(b *Batch, o *BatchOutcome, c *BatchCallback) job.New {
	data := c.Payload
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	payload, err := json.Marshal(struct {
		Batch any             `json:"batch"`
		Data  json.RawMessage `json:"data"`
	}{struct {
		ID          int64          `json:"id"`
		Key         string         `json:"key"`
		Name        string         `json:"name"`
		Owner       string         `json:"owner"`
		Outcome     int64          `json:"outcome"`
		State       job.BatchState `json:"state"`
		Total       int64          `json:"total"`
		Completed   int64          `json:"completed"`
		Dead        int64          `json:"dead"`
		Cancelled   int64          `json:"cancelled"`
		PublishedAt job.Micros     `json:"published_at"`
		EndedAt     job.Micros     `json:"ended_at"`
	}{b.ID, b.Key, b.Name, b.Owner, o.N, o.State, o.Total, o.Completed, o.Dead, o.Cancelled, b.PublishedAt, o.At}, data})
	if err != nil {
		panic(err) // this cannot happen: Validate has checked the payload
	}
	return job.New{
		Kind: c.Kind, Queue: c.Queue, Priority: cmp.Or(c.Priority, job.PriorityDefault), Owner: b.Owner,
		Correlation: fmt.Sprintf("batch:%d:%d", b.ID, o.N), Payload: payload,
	}
}

// ValidateTime returns an ErrInvalid if ExpiresAt is over.
func (n *NewBatch) ValidateTime(now job.Micros) error {
	if n.ExpiresAt != 0 && n.ExpiresAt <= now {
		return fmt.Errorf("expires_at %s of a batch: it is over; name a later time, or none: %w", n.ExpiresAt.Time().UTC().Format("2006-01-02T15:04:05Z"), ErrInvalid)
	}
	return nil
}

// ValidateMaybe is Validate for a call that a program can make without a person's name.
func (b By) ValidateMaybe() error {
	if b.Actor == "" && b.Reason == "" && b.Seen == nil {
		return nil
	}
	return b.Validate()
}

// ValidDiscard returns an ErrTooLarge if a call names too many drafts.
func ValidDiscard(ids []job.ID) error {
	if len(ids) > job.IDsMax {
		return fmt.Errorf("%d drafts in one call: at most %d are allowed; discard them in several calls, or all at once: %w", len(ids), job.IDsMax, ErrTooLarge)
	}
	return nil
}

// AuditPublish returns what the audit row of a publication says.
func AuditPublish(p *Published) string {
	return fmt.Sprintf(`{"drafts":%d,"dead":%d}`, p.Drafts, p.Dead)
}

// AuditDiscard returns what the audit row of discarded drafts says.
func AuditDiscard(b *Batch, ids []job.ID) string {
	n := int64(len(ids))
	if ids == nil {
		n = b.Drafts + b.AsideDrafts
	}
	return fmt.Sprintf(`{"drafts":%d}`, n)
}

// BatchActor returns the actor of retries that the publication of a batch makes.
func BatchActor(id int64) string { return SweepActor + " " + BatchTarget(id) }
