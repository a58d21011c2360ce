package store

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Streams takes in what was read from logs such as Kafka topics, and keeps how far readers have
// come. A stream is a named reader of a log. A log has partitions, whose records have ascending
// offsets; there may be offsets without a record.
type Streams interface {
	// BeginPositions stores a position for each partition of a stream that has none yet, and
	// returns the positions of the stream. Only the fields Place, Topic and Next of the arguments
	// are used. A reader calls it before it reads a partition for the first time. The first call
	// for a stream also creates the stream. ErrTooLarge means that the store has StreamsMax streams
	// or the stream PositionsMax positions.
	BeginPositions(ctx context.Context, stream string, first []Position) ([]Position, error)
	// Take enqueues the jobs of records and moves the positions of their partitions, in one
	// transaction. It drops the records below the position of their partition: an earlier call has
	// taken them. So each record is taken once, also when two processes read the same partition, or
	// when a call is repeated. The answer has one Taken for each record, in the order of the parts.
	//
	// Errors write nothing. A part that begins above the position of its partition is a *Gap: the
	// reader must go back to the position. Records whose keys are held by jobs with another payload
	// are a *TakeConflict, which has all of them: the caller replaces these records and calls
	// again. A partition without a position is an ErrNotFound. Other errors are those of Enqueue.
	Take(ctx context.Context, t Taking) ([]Taken, error)
	// Positions returns the positions of a stream, sorted by topic, cluster, topic id and
	// partition. "" means all streams, sorted by name.
	Positions(ctx context.Context, stream string) ([]Position, error)
	// MovePosition sets a position, as a person orders it. It writes one audit row. If the position
	// is not at m.From any more, the call fails with an ErrMoved. ErrNotFound means that the
	// partition has no position.
	MovePosition(ctx context.Context, by By, m PositionMove) (Position, error)
	// Streams returns all streams, sorted by name.
	Streams(ctx context.Context) ([]Stream, error)
	// SetStream pauses or resumes a stream, and writes one audit row, or none if it changes
	// nothing. Readers obey within a second. ErrNotFound means that no reader has begun the stream.
	SetStream(ctx context.Context, by By, c StreamChange) (Stream, error)
	// ReportStream stores what a process says about its part of a stream, instead of its last
	// report. A process calls it every ReportEvery. Reports that are older than ReportKept are
	// removed. A call with Left removes the report of the process.
	ReportStream(ctx context.Context, r StreamReport) error
	// StreamReports returns the reports about a stream, sorted by process. "" means all streams,
	// sorted by name.
	StreamReports(ctx context.Context, stream string) ([]StreamReport, error)
	// LeaseSink gives a sink to a process, or extends its lease. A sink is a reader of the events
	// that writes something elsewhere; its cursor is the last event that it has written. The first
	// call creates the sink, with the zero cursor. A process that did not hold the sink gets a new
	// token. While another process holds it, the call fails with a *SinkHeld.
	LeaseSink(ctx context.Context, stream, sink, holder string, lease time.Duration) (Sink, error)
	// SaveSink moves the cursor of a sink and stores its last error. The call fails with
	// ErrLeaseLost unless Holder and Token are those of the last lease, and with an ErrInvalid if
	// the cursor would move back. A process whose lease is over can save while no other process
	// has taken the sink.
	SaveSink(ctx context.Context, s SinkSave) error
	// Sinks returns the sinks of a stream, sorted by name. "" means all streams, sorted by name.
	Sinks(ctx context.Context, stream string) ([]Sink, error)
}

// Limits and times of streams.
const (
	StreamsMax   = 1_000            // maximum number of streams in a store
	PositionsMax = 10_000           // maximum number of positions of one stream
	SinksMax     = 100              // maximum number of sinks of one stream
	TakePartsMax = 1_000            // maximum number of partitions in one call of Take
	ReportEvery  = 5 * time.Second  // time between two reports of a process
	ReportKept   = 24 * time.Hour   // a report is removed after this time
	ReportMax    = 256 << 10        // maximum size of the partitions of a report as JSON, in bytes
	SinkLeaseMax = 10 * time.Minute // longest lease of a sink
)

// Place names a partition of a log.
type Place struct {
	Cluster   string `json:"cluster"`  // the id of the cluster; at most job.TextMax bytes
	TopicID   string `json:"topic_id"` // the id of the topic, which a topic that is made anew does not have; at most job.TextMax bytes
	Partition int32  `json:"partition"`
}

// Position is how far a stream has taken a partition.
type Position struct {
	Stream string `json:"stream"`
	Place
	Topic string `json:"topic"` // the name of the topic; at most job.TextMax bytes
	Next  int64  `json:"next"`  // the offset of the first record that is not taken yet
	First int64  `json:"first"` // the first value of Next
	// Reached is the highest value that Next has had. Offsets up to it are known to the reader's
	// group without the store being older than the group.
	Reached int64      `json:"reached"`
	Counts  FateCounts `json:"counts"`
	MovedAt job.Micros `json:"moved_at"` // when Next was changed last
}

// Fate is what becomes of a record. The numbers are stored.
type Fate uint8

// The fates.
const (
	FateReplayed  Fate = 0 // the record is below the position: an earlier call has taken it
	FateTaken     Fate = 1 // the record became a job
	FateExisting  Fate = 2 // a job has the key of the record
	FateRevived   Fate = 3 // the dead job with the key of the record was retried
	FateDead      Fate = 4 // the record cannot be a task; it became a job that dies at once
	FateOwn       Fate = 5 // redrive has written the record; nothing was done
	FateForeign   Fate = 6 // another store of redrive has written the record; nothing was done
	FateProcessed Fate = 7 // a mark outside the store says that the task was done; nothing was done
	FateEmpty     Fate = 8 // the record has no value, and the stream skips such records
)

var fateNames = [...]string{"replayed", "taken", "existing", "revived", "dead", "own", "foreign", "processed", "empty"}

// String returns the word for the fate.
func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return "unknown"
}

// MarshalText implements encoding.TextMarshaler.
func (f Fate) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// FateCounts are the numbers of records by their fate. A record that was read again after its
// position was moved back is counted again.
type FateCounts struct {
	Read      int64 `json:"read"` // the sum of the others but Replayed
	Taken     int64 `json:"taken"`
	Existing  int64 `json:"existing"`
	Revived   int64 `json:"revived"`
	Dead      int64 `json:"dead"`
	Own       int64 `json:"own"`
	Foreign   int64 `json:"foreign"`
	Processed int64 `json:"processed"`
	Empty     int64 `json:"empty"`
	Replayed  int64 `json:"replayed"` // records that were dropped because they had been taken
}

// Count adds one record.
func (c *FateCounts) Count(f Fate) {
	if f == FateReplayed {
		c.Replayed++
		return
	}
	c.Read++
	*c.fields()[f]++
}

func (c *FateCounts) fields() [FateEmpty + 1]*int64 {
	return [...]*int64{&c.Replayed, &c.Taken, &c.Existing, &c.Revived, &c.Dead, &c.Own, &c.Foreign, &c.Processed, &c.Empty}
}

// ByFate returns the numbers by fate.
func (c *FateCounts) ByFate() iter.Seq2[Fate, int64] {
	return func(yield func(Fate, int64) bool) {
		for f, n := range c.fields() {
			if !yield(Fate(f), *n) {
				return
			}
		}
	}
}

// Add adds the counts of another partition.
func (c *FateCounts) Add(o *FateCounts) {
	c.Read += o.Read
	mine, others := c.fields(), o.fields()
	for f := range mine {
		*mine[f] += *others[f]
	}
}

// Sum returns the sum of the counts of which Read is the total.
func (c *FateCounts) Sum() int64 {
	return c.Taken + c.Existing + c.Revived + c.Dead + c.Own + c.Foreign + c.Processed + c.Empty
}

// Taking is what a reader has read of the partitions of a stream, at most job.EnqueueMax records in
// all.
type Taking struct {
	Stream string
	Parts  []TakingPart // each partition once; at most TakePartsMax
}

// TakingPart is what was read of one partition.
type TakingPart struct {
	Place
	From    int64    // where reading began: the end of the last part, or the offset from which it was fetched
	Next    int64    // the offset after the last one that was read
	Records []Record // in the order of their offsets, which are from From to below Next
}

// Record is one record with the job that it becomes.
type Record struct {
	Offset int64
	// Fate is FateTaken, or FateDead for a job that stands for a record that cannot be a task.
	// With FateOwn, FateForeign, FateProcessed or FateEmpty the record becomes no job and is only
	// counted; Job is not used.
	Fate Fate
	Job  job.New
	// Death, with FateDead, ends the first run of the job, in the same transaction. It is as if a process named
	// as the stream had claimed the job. Its ID is that of Job, its Token 1, its To job.Dead, and
	// the RunAt of Job is 0. Without it the job waits
	// for a worker.
	Death *job.Outcome
	// Revive retries the job that holds the key if it is dead. The actor of the retry is the
	// stream. If the job that holds the key was cancelled, the record becomes a job that takes the key.
	Revive bool
}

// validDeath returns an error if the outcome with which the job dies is not that of its first run.
func (r *Record) validDeath() error {
	o := r.Death
	switch {
	case o == nil:
		return nil
	case r.Fate != FateDead || o.ID != r.Job.ID || o.Token != 1 || o.To != job.Dead:
		return fmt.Errorf("the job of a record with the fate %s has the outcome of job %d, run %d, which ends as %s: only a dead record has one, "+
			"with its own id, the run 1, and dead: %w", r.Fate, o.ID, o.Token, o.To, ErrInvalid)
	case r.Job.RunAt != 0:
		return fmt.Errorf("the job of a record that dies at once is due at %d: it must be due at once, with RunAt 0: %w", r.Job.RunAt, ErrInvalid)
	}
	if err := o.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	return nil
}

// Taken is what became of one record.
type Taken struct {
	Fate  Fate
	Job   job.ID    // the job of the record, or the one that has its key; 0 without a job
	State job.State // the state of an existing job before the call
}

// PositionMove moves a position.
type PositionMove struct {
	Stream string
	Place
	From int64  // where the position is
	To   int64  // where it shall be
	What string // "rewind" or "accept-gap"; becomes part of the action in the audit log
	// Reached raises Position.Reached: the group has been at this offset, and the person knows.
	Reached int64
}

// Stream is a stream with the settings that people have made for it.
type Stream struct {
	Name   string     `json:"name"`
	Mode   Mode       `json:"mode"` // Open or Paused
	Reason string     `json:"reason,omitempty"`
	By     string     `json:"by,omitempty"` // who has changed the mode last
	At     job.Micros `json:"at,omitempty"` // when
}

// StreamChange pauses or resumes a stream.
type StreamChange struct {
	Name string
	Mode Mode // Open or Paused
}

// StreamReport is what a process says about its part of a stream.
type StreamReport struct {
	Stream     string            `json:"stream"`
	Process    string            `json:"process"`    // the name of the process; 1 to job.TextMax bytes
	Partitions []PartitionReport `json:"partitions"` // those that the process reads
	Left       bool              `json:"-"`          // the process ends, or does not read the stream any more
	At         job.Micros        `json:"at"`         // when the store got the report
}

// PartitionReport is what a process says about a partition.
type PartitionReport struct {
	Place
	Topic      string     `json:"topic"`
	State      string     `json:"state"`                 // one of PartitionStates
	Reason     string     `json:"reason,omitempty"`      // in words
	Since      job.Micros `json:"since,omitempty"`       // since when the partition has the state
	Next       int64      `json:"next"`                  // the offset from which the process reads on
	Start      int64      `json:"start"`                 // the first offset of the partition that still exists, as the process has seen it last
	Group      int64      `json:"group,omitempty"`       // the offset of the group, if the partition is stopped because it is ahead
	End        int64      `json:"end"`                   // the end of the partition, as the process has seen it last
	LagSeconds int64      `json:"lag_seconds,omitempty"` // age of the oldest record that is not read
}

// PartitionStates are the states of a partition in a report.
func PartitionStates() []string {
	return []string{"running", "backlogged", "paused", "store-away", "broker-away", "ahead", "behind", "beyond", "revoked"}
}

// Sink is a reader of the events of a stream that writes something elsewhere.
type Sink struct {
	Stream   string       `json:"stream"`
	Name     string       `json:"name"`
	Cursor   event.Cursor `json:"cursor"` // the last event that was written, or needed no writing
	Holder   string       `json:"holder,omitempty"`
	Token    int64        `json:"token"` // counts the holders
	Until    job.Micros   `json:"until,omitempty"`
	FailedAt job.Micros   `json:"failed_at,omitempty"` // since when each attempt has failed; 0 without an error
	Error    string       `json:"error,omitempty"`     // the last error; "" after a write
}

// SinkSave is what a sink stores after a write, or after a failed one.
type SinkSave struct {
	Stream, Sink, Holder string
	Token                int64
	Cursor               event.Cursor
	Error                string // cut to job.MessageMax bytes by the caller; "" after a write
}
