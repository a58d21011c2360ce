package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The columns of a job in each of the three tables, in the same order. If a table does not
// have a column, NULL stands in its place. scanJob reads these columns.
const (
	columns = 26 // number of columns in each of the lists above; some statements add further columns

)

var (
	getLive = ask("getLive")
	getDone = ask("getDone")
	getDead = ask("getDead")

	selProgress = ask("selProgress")
	sumCost     = ask("sumCost")
)

func scanJob(r Row) job.Job {
	batch, aside := unsigned(r.Int(24))
	return job.Job{
		ID: job.ID(r.Int(0)), Kind: r.Text(1), Queue: r.Text(2), State: job.State(r.Int(3)), Priority: int8(r.Int(4)),
		Life: int32(r.Int(5)), Token: job.Token(r.Int(6)),
		Counters: job.Counters{Attempts: int32(r.Int(7)), Crashes: int32(r.Int(8)), Deferrals: int32(r.Int(9)),
			Snoozes: int32(r.Int(10)), Interrupts: int32(r.Int(11))},
		CreatedAt: job.Micros(r.Int(12)), LifeAt: job.Micros(r.Int(13)), RunAt: job.Micros(r.Int(14)),
		ClaimedAt: job.Micros(r.Int(15)), FinishedAt: job.Micros(r.Int(16)), Deadline: job.Micros(r.Int(17)),
		LeaseUntil: job.Micros(r.Int(18)), CancelAt: job.Micros(r.Int(19)), Holder: r.Text(20), Owner: r.Text(21),
		Correlation: r.Text(22), Key: r.Text(23), Batch: batch, Aside: aside, Reason: job.Reason(r.Text(25)),
	}
}

// scanDone reads the columns that only ended jobs have.
func scanDone(r Row, j *job.Job) {
	j.Result, j.Cost, j.Sends = r.Blob(columns), r.Int(columns+1), r.Int(columns+2)
	j.Attrs, j.Payload = r.Blob(columns+3), r.Blob(columns+4)
}

// Get implements store.Reader.
func (s *Core) Get(ctx context.Context, id job.ID) (j job.Job, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		j, err = getJob(c, id)
		return err
	})
	return j, err
}

// GetTx implements store.TxReader.
func (s *Core) GetTx(ctx context.Context, tx store.Tx, id job.ID) (j job.Job, err error) {
	err = s.db.Join(ctx, tx, func(t *Txn) error {
		j, err = getJob(t.s, id)
		return err
	})
	return j, err
}

func getJob(c Session, id job.ID) (j job.Job, err error) {
	found, long := false, false
	err = c.Rows(getLive, func(r Row) error {
		j, found, long = scanJob(r), true, r.Int(columns+2) != 0
		j.Attrs, j.Override, j.Payload = r.Blob(columns), r.Blob(columns+1), r.Blob(columns+3)
		return nil
	}, num(id))
	if err == nil && !found {
		err = c.Rows(getDone, func(r Row) error {
			j, found = scanJob(r), true
			scanDone(r, &j)
			return nil
		}, num(id))
	}
	if err == nil && !found {
		err = c.Rows(getDead, func(r Row) error {
			j, found, long = scanJob(r), true, r.Int(columns+2) != 0
			j.Attrs, j.Override, j.Payload = r.Blob(columns), r.Blob(columns+1), r.Blob(columns+3)
			return nil
		}, num(id))
	}
	switch {
	case err != nil:
		return j, err
	case !found:
		return j, fmt.Errorf("job %d: %w", id, store.ErrNotFound)
	}
	if long {
		if err := c.Rows(selBody, func(r Row) error { j.Payload = r.Blob(0); return nil }, num(id)); err != nil {
			return j, err
		}
	}
	if j.State == job.Running {
		if err := readProgress(c, &j); err != nil {
			return j, err
		}
	}
	err = addSpent(c, &j)
	return j, err
}

// addSpent adds the cost of a job's failed runs, and the number of bytes that they sent.
func addSpent(c Session, j *job.Job) error {
	return c.Rows(sumCost, func(r Row) error {
		j.Cost += r.Int(0)
		j.Sends += r.Int(1)
		return nil
	}, num(j.ID))
}

func readProgress(c Session, j *job.Job) error {
	return c.Rows(selProgress, func(r Row) error {
		if p := scanProgress(r); p.Token == j.Token {
			j.Progress = p
		}
		return nil
	}, num(j.ID))
}

func scanProgress(r Row) job.Progress {
	return job.Progress{ID: job.ID(r.Int(0)), Token: job.Token(r.Int(1)), At: job.Micros(r.Int(2)), Done: r.Int(3),
		Total: r.Int(4), Note: r.Text(5)}
}

var selFailures = ask("selFailures")

func scanFailure(r Row) (f job.Failure, err error) {
	f = job.Failure{
		Job: job.ID(r.Int(0)), Token: job.Token(r.Int(1)), Life: int32(r.Int(2)), Attempt: int32(r.Int(3)),
		StartedAt: job.Micros(r.Int(4)), EndedAt: job.Micros(r.Int(5)), How: job.How(r.Text(6)), Class: r.Text(7),
		Code: r.Text(8), Permanent: r.Int(9) != 0, HTTPStatus: int(r.Int(10)), Signal: r.Text(12), Holder: r.Text(13),
		Correlation: r.Text(14), Fingerprint: r.Text(15), Cost: r.Int(16), Message: r.Text(17),
		UserMessage: r.Text(18), Details: r.Blob(20), Stack: r.Text(21), Stderr: r.Blob(22), Sends: int32(r.Int(23)), Build: r.Text(24),
		Stdout: r.Blob(25),
	}
	if !r.Null(11) {
		exit := int(r.Int(11))
		f.Exit = &exit
	}
	f.Decision, err = unpackRecord(r.Blob(19))
	if err != nil {
		err = fmt.Errorf("job %d, run %d: %w", f.Job, f.Token, err)
	}
	return f, err
}

// Failures implements store.Reader.
func (s *Core) Failures(ctx context.Context, id job.ID) (all []job.Failure, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		all = nil
		return c.Rows(selFailures, func(r Row) error {
			f, err := scanFailure(r)
			all = append(all, f)
			return err
		}, num(id))
	})
	return all, err
}

var selCounts = ask("selCounts")

// Counts implements store.Reader.
func (s *Core) Counts(ctx context.Context) (counts []store.Count, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		counts, err = readCounts(c)
		return err
	})
	return counts, err
}

func readCounts(c Session) (counts []store.Count, err error) {
	err = c.Rows(selCounts, func(r Row) error {
		counts = append(counts, store.Count{Queue: r.Text(0), Kind: r.Text(1), State: job.State(r.Int(2)), N: r.Int(3)})
		return nil
	})
	return counts, err
}

// Queues implements store.Reader.
func (s *Core) Queues(ctx context.Context) (queues []store.Queue, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		queues, err = readQueues(c)
		return err
	})
	return queues, err
}

func readQueues(c Session) (queues []store.Queue, err error) {
	err = c.Rows(selQueues, func(r Row) error { queues = append(queues, scanQueue(r)); return nil })
	return queues, err
}

var selCancels = ask("selCancels")

// Signals implements store.Worker.
func (s *Core) Signals(ctx context.Context, holder string) (out store.Signals, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		out.Cancel = nil
		if out.Queues, err = readQueues(c); err != nil {
			return err
		}
		return c.Rows(selCancels, func(r Row) error {
			out.Cancel = append(out.Cancel, store.Run{ID: job.ID(r.Int(0)), Token: job.Token(r.Int(1))})
			return nil
		}, text(holder))
	})
	return out, err
}

var selEvents = askWalk("selEvents")

// eventPageMax is the maximum number of events of one call.
const eventPageMax = 10_000

// Events implements store.Reader.
func (s *Core) Events(ctx context.Context, after event.Cursor, limit int) (events []event.Event, err error) {
	if limit < 1 || limit > eventPageMax {
		return nil, fmt.Errorf("%d events in one call: the limit must be 1 to %d: %w", limit, eventPageMax, store.ErrInvalid)
	}
	err = s.db.Read(ctx, func(c Session) error {
		events, err = readEvents(c, after, limit)
		return err
	})
	return events, err
}

func readEvents(c Session, after event.Cursor, limit int) (events []event.Event, err error) {
	err = c.Rows(selEvents, func(r Row) error {
		row, err := event.Unpack(r.Int(0), 1, job.Micros(r.Int(1)), r.Blob(2))
		if err != nil {
			return err
		}
		for _, e := range row {
			if after.Before(e.Cursor) {
				events = append(events, e)
			}
		}
		if len(events) >= limit {
			return errEnough
		}
		return nil
	}, num(after.Seq), num(limit+1))
	if errors.Is(err, errEnough) {
		err, events = nil, events[:limit]
	}
	return events, err
}

var (
	selRemovedEvents = ask("selRemovedEvents")
	selLastEvent     = ask("selLastEvent")
)

// EventSpan implements store.Reader.
func (s *Core) EventSpan(ctx context.Context) (first, last event.Cursor, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		first, last = event.Cursor{}, event.Cursor{}
		into := func(at *event.Cursor) func(Row) error {
			return func(r Row) error {
				*at = event.Cursor{Seq: r.Int(0), Index: int(r.Int(1))}
				return nil
			}
		}
		if err := c.Rows(selRemovedEvents, into(&first)); err != nil {
			return err
		}
		return c.Rows(selLastEvent, into(&last))
	})
	return first, last, err
}
