package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The columns of a job in its three places, in one order; what a place does not
// have is NULL. scanJob reads them.
const (
	liveColumns = `j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
		j.snoozes, j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until,
		j.cancel_at, j.holder, j.owner, j.correlation, j.key, j.batch, NULL`
	doneColumns = `j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
		j.snoozes, j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL,
		NULL, j.holder, j.owner, j.correlation, j.key, j.batch, NULL`
	deadColumns = `j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
		j.snoozes, j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL,
		NULL, j.holder, j.owner, j.correlation, j.key, j.batch, j.reason`
	columns = 26 // the place's own follow

	fromLive = ` FROM redrive_jobs j JOIN redrive_lanes l ON l.id = j.lane `
	fromDone = ` FROM redrive_done j JOIN redrive_lanes l ON l.id = j.lane `
	fromDead = ` FROM redrive_dead j JOIN redrive_lanes l ON l.id = j.lane `
)

const progressColumns = `job, token, at, done, total, note`

var (
	getLive = &query{`SELECT ` + liveColumns + `, j.attrs, j.policy, j.long, j.payload` + fromLive + `WHERE j.id = ?`}
	getDone = &query{`SELECT ` + doneColumns + `, j.result, j.cost, j.sends` + fromDone + `WHERE j.job = ? ORDER BY j.seq DESC LIMIT 1`}
	getDead = &query{`SELECT ` + deadColumns + `, j.attrs, j.policy, j.long, j.payload` + fromDead + `WHERE j.job = ? AND j.revived = 0`}

	selProgress = &query{`SELECT ` + progressColumns + ` FROM redrive_progress WHERE job = ?`}
	sumCost     = &query{`SELECT coalesce(sum(cost), 0), coalesce(sum(sends), 0) FROM redrive_failures INDEXED BY sqlite_autoindex_redrive_failures_1
		WHERE job = ?`}
)

func scanJob(r row) job.Job {
	return job.Job{
		ID: job.ID(r.int(0)), Kind: r.text(1), Queue: r.text(2), State: job.State(r.int(3)), Priority: int8(r.int(4)),
		Life: int32(r.int(5)), Token: job.Token(r.int(6)),
		Counters: job.Counters{Attempts: int32(r.int(7)), Crashes: int32(r.int(8)), Deferrals: int32(r.int(9)),
			Snoozes: int32(r.int(10)), Interrupts: int32(r.int(11))},
		CreatedAt: job.Micros(r.int(12)), LifeAt: job.Micros(r.int(13)), RunAt: job.Micros(r.int(14)),
		ClaimedAt: job.Micros(r.int(15)), FinishedAt: job.Micros(r.int(16)), Deadline: job.Micros(r.int(17)),
		LeaseUntil: job.Micros(r.int(18)), CancelAt: job.Micros(r.int(19)), Holder: r.text(20), Owner: r.text(21),
		Correlation: r.text(22), Key: r.text(23), Batch: r.int(24), Reason: job.Reason(r.text(25)),
	}
}

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, id job.ID) (j job.Job, err error) {
	err = s.read(ctx, func(c session) error {
		j, err = getJob(c, id)
		return err
	})
	return j, err
}

func getJob(c session, id job.ID) (j job.Job, err error) {
	found, long := false, false
	err = c.rows(getLive, func(r row) error {
		j, found, long = scanJob(r), true, r.int(columns+2) != 0
		j.Attrs, j.Policy, j.Payload = r.blob(columns), r.blob(columns+1), r.blob(columns+3)
		return nil
	}, num(id))
	if err == nil && !found {
		err = c.rows(getDone, func(r row) error {
			j, found = scanJob(r), true
			j.Result, j.Cost, j.Sends = r.blob(columns), r.int(columns+1), r.int(columns+2)
			return nil
		}, num(id))
	}
	if err == nil && !found {
		err = c.rows(getDead, func(r row) error {
			j, found, long = scanJob(r), true, r.int(columns+2) != 0
			j.Attrs, j.Policy, j.Payload = r.blob(columns), r.blob(columns+1), r.blob(columns+3)
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
		if err := c.rows(selBody, func(r row) error { j.Payload = r.blob(0); return nil }, num(id)); err != nil {
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

// addSpent adds what the failed runs of a job have cost and sent.
func addSpent(c session, j *job.Job) error {
	return c.rows(sumCost, func(r row) error {
		j.Cost += r.int(0)
		j.Sends += r.int(1)
		return nil
	}, num(j.ID))
}

func readProgress(c session, j *job.Job) error {
	return c.rows(selProgress, func(r row) error {
		if p := scanProgress(r); p.Token == j.Token {
			j.Progress = p
		}
		return nil
	}, num(j.ID))
}

func scanProgress(r row) job.Progress {
	return job.Progress{ID: job.ID(r.int(0)), Token: job.Token(r.int(1)), At: job.Micros(r.int(2)), Done: r.int(3),
		Total: r.int(4), Note: r.text(5)}
}

// failureColumns are the columns of a failure, as scanFailure and insertFailure
// have them.
const failureColumns = `job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit,
	signal, holder, correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends`

var selFailures = &query{`SELECT ` + failureColumns + ` FROM redrive_failures WHERE job = ? ORDER BY token`}

func scanFailure(r row) (f job.Failure, err error) {
	f = job.Failure{
		Job: job.ID(r.int(0)), Token: job.Token(r.int(1)), Life: int32(r.int(2)), Attempt: int32(r.int(3)),
		StartedAt: job.Micros(r.int(4)), EndedAt: job.Micros(r.int(5)), How: job.How(r.text(6)), Class: r.text(7),
		Code: r.text(8), Permanent: r.int(9) != 0, HTTPStatus: int(r.int(10)), Signal: r.text(12), Holder: r.text(13),
		Correlation: r.text(14), Fingerprint: r.text(15), Cost: r.int(16), Message: r.text(17),
		UserMessage: r.text(18), Details: r.blob(20), Stack: r.text(21), Stderr: r.blob(22), Sends: int32(r.int(23)),
	}
	if !r.null(11) {
		exit := int(r.int(11))
		f.Exit = &exit
	}
	f.Decision, err = unpackRecord(r.blob(19))
	if err != nil {
		err = fmt.Errorf("job %d, run %d: %w", f.Job, f.Token, err)
	}
	return f, err
}

// Failures implements store.Reader.
func (s *Store) Failures(ctx context.Context, id job.ID) (all []job.Failure, err error) {
	err = s.read(ctx, func(c session) error {
		return c.rows(selFailures, func(r row) error {
			f, err := scanFailure(r)
			all = append(all, f)
			return err
		}, num(id))
	})
	return all, err
}

var selCounts = &query{`SELECT l.queue, l.kind, c.state, sum(c.n) FROM redrive_counters c
	JOIN redrive_lanes l ON l.id = c.lane GROUP BY l.queue, l.kind, c.state HAVING sum(c.n) <> 0
	ORDER BY l.queue, l.kind, c.state`}

// Counts implements store.Reader.
func (s *Store) Counts(ctx context.Context) (counts []store.Count, err error) {
	err = s.read(ctx, func(c session) error {
		counts, err = readCounts(c)
		return err
	})
	return counts, err
}

func readCounts(c session) (counts []store.Count, err error) {
	err = c.rows(selCounts, func(r row) error {
		counts = append(counts, store.Count{Queue: r.text(0), Kind: r.text(1), State: job.State(r.int(2)), N: r.int(3)})
		return nil
	})
	return counts, err
}

// Queues implements store.Reader.
func (s *Store) Queues(ctx context.Context) (queues []store.Queue, err error) {
	err = s.read(ctx, func(c session) error {
		queues, err = readQueues(c)
		return err
	})
	return queues, err
}

func readQueues(c session) (queues []store.Queue, err error) {
	err = c.rows(selQueues, func(r row) error { queues = append(queues, scanQueue(r)); return nil })
	return queues, err
}

var selCancels = &query{`SELECT id, token FROM redrive_jobs INDEXED BY redrive_cancel
	WHERE cancel_at IS NOT NULL AND state = 3 AND holder = ? ORDER BY id`}

// Signals implements store.Worker.
func (s *Store) Signals(ctx context.Context, holder string) (out store.Signals, err error) {
	err = s.read(ctx, func(c session) error {
		if out.Queues, err = readQueues(c); err != nil {
			return err
		}
		return c.rows(selCancels, func(r row) error {
			out.Cancel = append(out.Cancel, store.Run{ID: job.ID(r.int(0)), Token: job.Token(r.int(1))})
			return nil
		}, text(holder))
	})
	return out, err
}

var selEvents = &query{`SELECT seq, at, body FROM redrive_events WHERE seq >= ? ORDER BY seq LIMIT ?`}

// eventPageMax bounds the events of one call.
const eventPageMax = 10_000

// Events implements store.Reader.
func (s *Store) Events(ctx context.Context, after event.Cursor, limit int) (events []event.Event, err error) {
	if limit < 1 || limit > eventPageMax {
		return nil, fmt.Errorf("%d events: must be 1 to %d: %w", limit, eventPageMax, store.ErrInvalid)
	}
	err = s.read(ctx, func(c session) error {
		events, err = readEvents(c, after, limit)
		return err
	})
	return events, err
}

func readEvents(c session, after event.Cursor, limit int) (events []event.Event, err error) {
	err = c.rows(selEvents, func(r row) error {
		row, err := event.Unpack(r.int(0), 1, job.Micros(r.int(1)), r.blob(2))
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

const auditColumns = `seq, at, actor, action, target, reason, before, after`

var selAudit = &query{`SELECT ` + auditColumns + ` FROM redrive_audit WHERE seq > ? ORDER BY seq LIMIT ?`}

// Audit implements store.Reader.
func (s *Store) Audit(ctx context.Context, after int64, limit int) (all []store.Audit, err error) {
	if limit < 1 || limit > job.PageMax {
		return nil, fmt.Errorf("%d audit rows: must be 1 to %d: %w", limit, job.PageMax, store.ErrInvalid)
	}
	err = s.read(ctx, func(c session) error {
		return c.rows(selAudit, func(r row) error { all = append(all, scanAudit(r)); return nil }, num(after), num(limit))
	})
	return all, err
}

func scanAudit(r row) store.Audit {
	return store.Audit{Seq: r.int(0), At: job.Micros(r.int(1)), Actor: r.text(2), Action: r.text(3),
		Target: r.text(4), Reason: r.text(5), Before: r.text(6), After: r.text(7)}
}
