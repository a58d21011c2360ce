package redrive

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Streams, which make jobs of the records of a log.
type (
	// Stream is a stream of the store, and whether a person has paused it.
	Stream = store.Stream
	// StreamChange pauses or resumes a stream; its Mode is QueueOpen or QueuePaused.
	StreamChange = store.StreamChange
	// StreamPosition is how far a stream has taken one partition.
	StreamPosition = store.Position
	// StreamMove sets a position, as a person orders it.
	StreamMove = store.PositionMove
	// StreamReport is what a process says about its part of a stream.
	StreamReport = store.StreamReport
	// PartitionReport is the part of a StreamReport about one partition.
	PartitionReport = store.PartitionReport
	// StreamSink is a reader of the event log that writes records, and how far it has come.
	StreamSink = store.Sink
	// StreamCounts says how many records had which fate.
	StreamCounts = store.FateCounts
)

// StreamReportEvery is the time between two reports of a process.
const StreamReportEvery = store.ReportEvery

// NoStream returns the error for a stream that does not exist. It is an ErrNotFound.
func NoStream(name string) error { return store.NoStream(name) }

// Record is a record of a log, such as a Kafka topic, with the job that it becomes. See Client.Take.
type Record struct {
	Offset int64
	Spec   Spec // not used for a Fate with which the record becomes no job
	// Fate is store.FateTaken; store.FateDead if the job stands for a record that cannot be a task; or
	// a fate without a job, such as store.FateOwn.
	Fate store.Fate
	// Err, with store.FateDead, is why the record cannot be a task: the job dies in the same transaction, as
	// after a run that failed with this error. If the policy does not let it die of the error, or without one, it waits for a worker.
	Err    error
	Revive bool // retry the job that has the key if it is dead; take its key if it was cancelled
}

// RecordPart is what was read of one partition: from which offset, up to which, and what was there.
type RecordPart struct {
	store.Place
	From, Next int64
	Records    []Record
}

// Take enqueues the jobs of records that were read from a log, and stores how far the log has been
// read, in one transaction. So each record is taken once, also if it is read again. The partitions
// must have positions: see Client.BeginPositions. The answer has one store.Taken for each record.
//
// A *store.Gap says that the reader must go back, a *store.TakeConflict that other jobs with other
// payloads have keys of the records. After any error nothing was taken, but for a store.ErrUnknown:
// then the same call shows, as records that were taken already have store.FateReplayed.
func (c *Client) Take(ctx context.Context, stream string, parts []RecordPart) ([]store.Taken, error) {
	if store.InTx(ctx, c.store) {
		return nil, errInTx
	}
	x := store.Taking{Stream: stream, Parts: make([]store.TakingPart, len(parts))}
	var specs []Spec
	var records []*store.Record // of the specs
	var errs []error            // likewise
	for i := range parts {
		part := &x.Parts[i]
		*part = store.TakingPart{Place: parts[i].Place, From: parts[i].From, Next: parts[i].Next, Records: make([]store.Record, len(parts[i].Records))}
		for k := range parts[i].Records {
			from, r := &parts[i].Records[k], &part.Records[k]
			r.Offset, r.Fate, r.Revive = from.Offset, from.Fate, from.Revive
			if !r.Skips() {
				specs, records, errs = append(specs, from.Spec), append(records, r), append(errs, from.Err)
			}
		}
	}
	var answer []store.Taken
	_, err := c.through(ctx, specs, func(ctx context.Context, specs []Spec) (receipts []Receipt, err error) {
		if len(specs) != len(records) {
			return nil, fmt.Errorf("take: a middleware has made %d jobs of %d; it must not add or remove jobs: %w", len(specs), len(records), store.ErrInvalid)
		}
		answer, err = c.takeAll(ctx, &x, specs, records, errs)
		return receiptsOf(&x, answer), err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (c *Client) takeAll(ctx context.Context, x *store.Taking, specs []Spec, records []*store.Record, errs []error) ([]store.Taken, error) {
	jobs, err := c.check(ctx, specs)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		var first job.ID
		if len(jobs) > 0 {
			if first, err = c.ids.take(ctx, len(jobs)); err != nil {
				return nil, err
			}
		}
		number(jobs, first)
		for i := range jobs {
			records[i].Job = jobs[i]
			if errs[i] != nil && records[i].Fate == store.FateDead {
				if records[i].Death = c.deathOf(&jobs[i], errs[i]); records[i].Death != nil {
					records[i].Job.RunAt = 0 // it dies now, whatever the record says
				}
			}
		}
		answer, err := c.store.Take(ctx, *x)
		if !c.ids.lost(err) || try == renumberTries {
			return answer, err
		}
	}
}

// deathOf returns the outcome with which a job dies when its record is taken: that of a run that failed with
// the error. It is nil if the job does not die of it.
func (c *Client) deathOf(n *job.New, err error) *job.Outcome {
	now := job.At(c.config.now())
	claim := &job.Claim{ID: n.ID, Token: 1, Kind: n.Kind, Queue: n.Queue, Priority: n.Priority, Life: 1, CreatedAt: now, LifeAt: now, RunAt: now, ClaimedAt: now,
		Owner: n.Owner, Correlation: n.Correlation, Attrs: n.Attrs, Override: n.Override, Payload: n.Payload}
	end := &job.Ending{Err: err, How: job.ByError, Holder: c.config.Name, Build: c.config.Build}
	o := c.decide(claim, end)
	if invalid := o.Validate(); invalid != nil {
		o = job.Unwritable(claim, end, invalid)
	}
	if o.To != job.Dead {
		return nil
	}
	return &o
}

// receiptsOf returns the receipts of the records that become jobs, for middlewares.
func receiptsOf(x *store.Taking, answer []store.Taken) (receipts []Receipt) {
	i := 0
	for k := range x.Parts {
		for m := range x.Parts[k].Records {
			if i == len(answer) {
				return receipts // after an error there is no answer
			}
			if a := answer[i]; !x.Parts[k].Records[m].Skips() {
				existing := a.Fate != store.FateTaken && a.Fate != store.FateDead
				r := Receipt{ID: a.Job, Existing: existing, State: a.State}
				if !existing {
					r.State = job.Waiting
				}
				receipts = append(receipts, r)
			}
			i++
		}
	}
	return receipts
}

// BeginPositions stores where partitions are read first, unless they have positions. See
// store.Streams.
func (c *Client) BeginPositions(ctx context.Context, stream string, first []store.Position) ([]store.Position, error) {
	return c.store.BeginPositions(ctx, stream, first)
}

// Positions returns how far streams have taken partitions; "" means all streams.
func (c *Client) Positions(ctx context.Context, stream string) ([]store.Position, error) {
	return c.store.Positions(ctx, stream)
}

// MovePosition sets the position of a stream, as a person orders it. See store.Streams.
func (c *Client) MovePosition(ctx context.Context, by By, m store.PositionMove) (store.Position, error) {
	return c.store.MovePosition(ctx, by, m)
}

// Streams returns the streams of the store, sorted by name.
func (c *Client) Streams(ctx context.Context) ([]store.Stream, error) { return c.store.Streams(ctx) }

// SetStream pauses or resumes a stream. Its readers obey within a second; jobs that it has made run on.
func (c *Client) SetStream(ctx context.Context, by By, change store.StreamChange) (store.Stream, error) {
	return c.store.SetStream(ctx, by, change)
}

// ReportStream stores what this process says about its part of a stream. See store.Streams.
func (c *Client) ReportStream(ctx context.Context, r store.StreamReport) error {
	return c.store.ReportStream(ctx, r)
}

// StreamReports returns what processes say about streams; "" means all streams.
func (c *Client) StreamReports(ctx context.Context, stream string) ([]store.StreamReport, error) {
	return c.store.StreamReports(ctx, stream)
}

// Sinks returns the sinks of a stream, and how far they have come; "" means all streams.
func (c *Client) Sinks(ctx context.Context, stream string) ([]store.Sink, error) {
	return c.store.Sinks(ctx, stream)
}
