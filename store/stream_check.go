package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Gap says that a reader has not read what is at the position of a partition. It matches
// ErrConflict.
type Gap struct {
	Stream string
	Place
	Position int64 // where the partition must be read
	From     int64 // where the reader began
}

func (e *Gap) Error() string {
	return fmt.Sprintf("stream %q, partition %d: the records from %d to %d were not read; read from the position",
		e.Stream, e.Partition, e.Position, e.From)
}

// Is reports that a Gap matches ErrConflict.
func (e *Gap) Is(target error) bool { return target == ErrConflict }

// TakeConflict says that the keys of records are held by jobs with other payloads. The field Index of
// each is the number of the record in the call. It matches ErrConflict.
type TakeConflict struct{ Conflicts []KeyConflict }

func (e *TakeConflict) Error() string {
	if len(e.Conflicts) == 1 {
		return e.Conflicts[0].Error()
	}
	return fmt.Sprintf("%d records have keys of other jobs: %s", len(e.Conflicts), e.Conflicts[0].Error())
}

// Is reports that a TakeConflict matches ErrConflict.
func (e *TakeConflict) Is(target error) bool { return target == ErrConflict }

// SinkHeld says that another process holds a sink. It matches ErrConflict.
type SinkHeld struct {
	Stream, Sink, Holder string
	Until                job.Micros // the end of the lease
}

func (e *SinkHeld) Error() string {
	return fmt.Sprintf("sink %q of the stream %q: %q holds it until %s", e.Sink, e.Stream, e.Holder, e.Until.Time().Format(time.RFC3339))
}

// Is reports that a SinkHeld matches ErrConflict.
func (e *SinkHeld) Is(target error) bool { return target == ErrConflict }

// validate checks a place and the name of its topic.
func (p *Place) validate(topic string) error {
	for _, t := range [...]struct{ field, value string }{{"cluster", p.Cluster}, {"topic id", p.TopicID}, {"topic", topic}} {
		if len(t.value) > job.TextMax {
			return fmt.Errorf("%s of %d bytes: at most %d bytes are allowed: %w", t.field, len(t.value), job.TextMax, ErrTooLarge)
		}
	}
	if p.Partition < 0 {
		return fmt.Errorf("partition %d: must not be below 0: %w", p.Partition, ErrInvalid)
	}
	return nil
}

// Compare returns the order of two places: by cluster, topic id and partition.
func (p Place) Compare(q Place) int {
	if c := strings.Compare(p.Cluster, q.Cluster); c != 0 {
		return c
	}
	if c := strings.Compare(p.TopicID, q.TopicID); c != 0 {
		return c
	}
	return int(p.Partition) - int(q.Partition)
}

// ValidStream checks the name of a stream, and that of a sink unless it is "".
func ValidStream(name, sink string) error {
	err := ValidName("stream", name)
	if err == nil && sink != "" {
		err = ValidName("sink", sink)
	}
	return err
}

// ValidPositions checks the arguments of BeginPositions.
func ValidPositions(stream string, first []Position) error {
	if err := ValidStream(stream, ""); err != nil {
		return err
	}
	if len(first) > PositionsMax {
		return fmt.Errorf("stream %q: %d positions: at most %d are allowed: %w", stream, len(first), PositionsMax, ErrTooLarge)
	}
	for i := range first {
		p := &first[i]
		if err := p.validate(p.Topic); err != nil {
			return fmt.Errorf("stream %q: %w", stream, err)
		}
		if p.Next < 0 {
			return fmt.Errorf("stream %q, partition %d: the position %d must not be below 0: %w", stream, p.Partition, p.Next, ErrInvalid)
		}
	}
	return nil
}

// TooManyPositions returns the error for a stream that would have too many positions.
func TooManyPositions(stream string, n int) error {
	return fmt.Errorf("stream %q: %d positions: at most %d are allowed: %w", stream, n, PositionsMax, ErrTooLarge)
}

// TooManyStreams returns the error for a new stream in a store that has the maximum.
func TooManyStreams(stream string) error {
	return fmt.Errorf("stream %q: the store already has %d streams, which is the maximum: %w", stream, StreamsMax, ErrTooLarge)
}

// TooManySinks returns the error for a new sink of a stream that has the maximum.
func TooManySinks(stream, sink string) error {
	return fmt.Errorf("sink %q: the stream %q already has %d sinks, which is the maximum: %w", sink, stream, SinksMax, ErrTooLarge)
}

// NoStream returns the error for a stream that does not exist.
func NoStream(name string) error {
	return fmt.Errorf("stream %.80q: no process has begun it; see the names with `redrive stream list`: %w", name, ErrNotFound)
}

// NoPosition returns the error for a partition without a position.
func NoPosition(stream string, p Place) error {
	return fmt.Errorf("stream %.80q, topic id %.80q, partition %d: has no position: %w", stream, p.TopicID, p.Partition, ErrNotFound)
}

// Validate returns an ErrInvalid or ErrTooLarge that names what is wrong, or nil.
func (t *Taking) Validate() error {
	if err := ValidStream(t.Stream, ""); err != nil {
		return err
	}
	if len(t.Parts) > TakePartsMax {
		return fmt.Errorf("stream %q: %d partitions in one call: at most %d are allowed: %w", t.Stream, len(t.Parts), TakePartsMax, ErrTooLarge)
	}
	places := make(map[Place]bool, len(t.Parts))
	n := 0
	for i := range t.Parts {
		p := &t.Parts[i]
		if err := p.validate(""); err != nil {
			return fmt.Errorf("stream %q: %w", t.Stream, err)
		}
		if places[p.Place] {
			return fmt.Errorf("stream %q: partition %d is given twice: %w", t.Stream, p.Partition, ErrInvalid)
		}
		places[p.Place] = true
		if n += len(p.Records); n > job.EnqueueMax {
			return fmt.Errorf("stream %q: more than %d records in one call: %w", t.Stream, job.EnqueueMax, ErrTooLarge)
		}
		if err := p.valid(); err != nil {
			return fmt.Errorf("stream %q, partition %d: %w", t.Stream, p.Partition, err)
		}
	}
	return nil
}

func (p *TakingPart) valid() error {
	if p.From < 0 || p.Next < p.From {
		return fmt.Errorf("from %d to %d: must be ascending and not below 0: %w", p.From, p.Next, ErrInvalid)
	}
	last := p.From - 1
	for i := range p.Records {
		r := &p.Records[i]
		if r.Offset <= last || r.Offset >= p.Next {
			return fmt.Errorf("offset %d: must be above %d and below %d: %w", r.Offset, last, p.Next, ErrInvalid)
		}
		last = r.Offset
		switch r.Fate {
		case FateTaken, FateDead:
			if r.Job.Repeat || r.Job.Batch != 0 {
				return fmt.Errorf("offset %d: the job of a record has neither Repeat nor a batch: %w", r.Offset, ErrInvalid)
			}
			if err := cmp.Or(Validate(&r.Job), r.validDeath()); err != nil {
				return fmt.Errorf("offset %d: %w", r.Offset, err)
			}
		case FateOwn, FateForeign, FateProcessed, FateEmpty:
		case FateReplayed, FateExisting, FateRevived:
			return fmt.Errorf("offset %d: the store decides whether a record is %s: %w", r.Offset, r.Fate, ErrInvalid)
		default:
			return fmt.Errorf("offset %d: fate %d is unknown: %w", r.Offset, r.Fate, ErrInvalid)
		}
	}
	return nil
}

// TakenBy returns the name of the holder of a run that ends when its record is taken.
func TakenBy(stream string) string { return "stream:" + stream }

// InOrder returns the parts in the order in which a store locks their positions.
func (t *Taking) InOrder() []*TakingPart {
	list := make([]*TakingPart, len(t.Parts))
	for i := range t.Parts {
		list[i] = &t.Parts[i]
	}
	slices.SortFunc(list, func(a, b *TakingPart) int { return a.Compare(b.Place) })
	return list
}

// TakenOf returns what became of a record whose job got a receipt.
func TakenOf(r *Record, receipt *job.Receipt) Taken {
	if receipt.Existing {
		return Taken{Fate: FateExisting, Job: receipt.ID, State: receipt.State}
	}
	return Taken{Fate: r.Fate, Job: receipt.ID}
}

// Skips reports whether the record becomes no job.
func (r *Record) Skips() bool { return r.Fate != FateTaken && r.Fate != FateDead }

// Reviver returns who retries a dead job when its record is published again.
func Reviver(stream string) By {
	return By{Actor: TakenBy(stream), Reason: "its record was published again"}
}

// Validate returns an ErrInvalid or ErrTooLarge that names what is wrong, or nil.
func (m *PositionMove) Validate() error {
	if err := ValidStream(m.Stream, ""); err != nil {
		return err
	}
	if err := m.validate(""); err != nil {
		return fmt.Errorf("stream %q: %w", m.Stream, err)
	}
	switch {
	case m.What != "rewind" && m.What != "accept-gap":
		return fmt.Errorf("move %.40q: must be rewind or accept-gap: %w", m.What, ErrInvalid)
	case m.From < 0 || m.To < 0 || m.Reached < 0:
		return fmt.Errorf("stream %q, partition %d: from %d to %d: must not be below 0: %w", m.Stream, m.Partition, m.From, m.To, ErrInvalid)
	case m.What == "accept-gap" && m.To < m.From:
		return fmt.Errorf("stream %q, partition %d: a gap ends above the position %d, not at %d: %w", m.Stream, m.Partition, m.From, m.To, ErrInvalid)
	}
	return nil
}

// Apply moves the position.
func (m *PositionMove) Apply(p *Position, now job.Micros) {
	p.Next, p.Reached, p.MovedAt = m.To, max(p.Reached, m.To, m.Reached), now
}

// Moved returns the event and the audit row of a move; the position is that after the move.
func (m *PositionMove) Moved(p *Position) (e event.Event, action, target, before, after string) {
	target = fmt.Sprintf("%s/%s/%d", m.Stream, p.Topic, m.Partition)
	shown := func(at int64) string {
		return auditJSON(struct {
			Cluster string `json:"cluster,omitempty"`
			TopicID string `json:"topic_id,omitempty"`
			Next    int64  `json:"next"`
		}{m.Cluster, m.TopicID, at})
	}
	e = event.Event{Type: event.PositionMoved, Note: target, Reason: m.What, Done: m.From, Total: m.To}
	return e, "stream." + m.What, target, shown(m.From), shown(m.To)
}

// ErrNotAt returns the error for a position that has moved since it was read.
func (m *PositionMove) ErrNotAt(next int64) error {
	return fmt.Errorf("stream %q, partition %d: the position is %d, not %d any more; look again and repeat the command: %w",
		m.Stream, m.Partition, next, m.From, ErrMoved)
}

// Validate returns an ErrInvalid that names what is wrong, or nil.
func (c *StreamChange) Validate() error {
	if err := ValidStream(c.Name, ""); err != nil {
		return err
	}
	if c.Mode != Open && c.Mode != Paused {
		return fmt.Errorf("stream %q: mode %s: must be open or paused: %w", c.Name, c.Mode, ErrInvalid)
	}
	return nil
}

// Changed returns the event and the action of the audit row of a change.
func (c *StreamChange) Changed() (event.Event, string) {
	action := "stream.pause"
	if c.Mode == Open {
		action = "stream.resume"
	}
	return event.Event{Type: event.StreamChanged, Note: c.Name, Reason: c.Mode.String()}, action
}

// Encode checks a report and returns its partitions as the stores keep them.
func (r *StreamReport) Encode() ([]byte, error) {
	if err := ValidStream(r.Stream, ""); err != nil {
		return nil, err
	}
	if err := ValidProcess(r.Process); err != nil {
		return nil, err
	}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if err := p.validate(p.Topic); err != nil {
			return nil, fmt.Errorf("stream %q: %w", r.Stream, err)
		}
		if !slices.Contains(PartitionStates(), p.State) {
			return nil, fmt.Errorf("stream %q, partition %d: state %.40q is unknown: %w", r.Stream, p.Partition, p.State, ErrInvalid)
		}
	}
	stored := make([]storedReport, len(r.Partitions))
	for i, p := range r.Partitions {
		stored[i] = storedReport{p, int64(p.Since)}
	}
	text, err := json.Marshal(stored)
	if err == nil && len(text) > ReportMax {
		err = fmt.Errorf("stream %q: report of %d bytes: at most %d bytes are allowed: %w", r.Stream, len(text), ReportMax, ErrTooLarge)
	}
	return text, err
}

// storedReport is a PartitionReport with its time as a number.
type storedReport struct {
	PartitionReport
	Since int64 `json:"since"`
}

// Decode reads what Encode has written.
func (r *StreamReport) Decode(text []byte) error {
	var stored []storedReport
	if err := json.Unmarshal(text, &stored); err != nil {
		return fmt.Errorf("report of %q about the stream %q: %w", r.Process, r.Stream, err)
	}
	r.Partitions = nil
	for i := range stored {
		p := stored[i].PartitionReport
		p.Since = job.Micros(stored[i].Since)
		r.Partitions = append(r.Partitions, p)
	}
	return nil
}

// ValidLease checks the arguments of LeaseSink.
func ValidLease(stream, sink, holder string, lease time.Duration) error {
	if err := ValidStream(stream, ""); err != nil {
		return err
	}
	if err := ValidName("sink", sink); err != nil {
		return err
	}
	if err := ValidProcess(holder); err != nil {
		return err
	}
	if lease <= 0 || lease > SinkLeaseMax {
		return fmt.Errorf("lease of %s of the sink %q: must be above 0 and at most %s: %w", lease, sink, SinkLeaseMax, ErrInvalid)
	}
	return nil
}

// Validate returns an ErrInvalid or ErrTooLarge that names what is wrong, or nil.
func (s *SinkSave) Validate() error {
	if err := ValidLease(s.Stream, s.Sink, s.Holder, time.Second); err != nil {
		return err
	}
	if s.Cursor.Seq < 0 || s.Cursor.Index < 0 {
		return fmt.Errorf("sink %q: cursor %s: must not be below 0: %w", s.Sink, s.Cursor, ErrInvalid)
	}
	if len(s.Error) > job.MessageMax {
		return fmt.Errorf("sink %q: error of %d bytes: at most %d bytes are allowed: %w", s.Sink, len(s.Error), job.MessageMax, ErrTooLarge)
	}
	return nil
}

// Save returns the sink after a save, or why it cannot be saved. now is the store's time.
func (s *Sink) Save(c *SinkSave, now job.Micros) (Sink, error) {
	switch {
	case s.Holder != c.Holder || s.Token != c.Token:
		return *s, fmt.Errorf("sink %q of the stream %q: %w", s.Name, s.Stream, ErrLeaseLost)
	case c.Cursor.Before(s.Cursor):
		return *s, fmt.Errorf("sink %q: the cursor %s is before the stored one, %s: %w", s.Name, c.Cursor, s.Cursor, ErrInvalid)
	}
	saved := *s
	saved.Cursor, saved.Error = c.Cursor, c.Error
	switch {
	case c.Error == "":
		saved.FailedAt = 0
	case s.FailedAt == 0:
		saved.FailedAt = now
	}
	return saved, nil
}

// Lease returns the sink after a lease, or a *SinkHeld.
func (s *Sink) Lease(holder string, lease time.Duration, now job.Micros) (Sink, error) {
	leased := *s
	switch {
	case s.Holder == holder && s.Token > 0:
	case s.Until > now:
		return leased, &SinkHeld{Stream: s.Stream, Sink: s.Name, Holder: s.Holder, Until: s.Until}
	default:
		leased.Token++
		leased.Holder = holder
	}
	leased.Until = now.Add(lease)
	return leased, nil
}
