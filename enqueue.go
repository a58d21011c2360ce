package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The limits for repeating an enqueue whose outcome is unknown: the number of tries,
// and the first and the longest wait between them. The wait doubles after each try. The
// tries take about 15 seconds in total.
const (
	askAgainTries   = 12
	askAgainWait    = 20 * time.Millisecond
	askAgainWaitMax = 2 * time.Second
	// renumberTries is how many times jobs get new ids because other jobs already have
	// their ids. Each try takes the ids from a new, larger block. After this number of
	// tries a block has its largest size.
	renumberTries = 8
)

var errInTx = fmt.Errorf("enqueue: the context belongs to an open transaction, and the enqueue would wait for its end: "+
	"use EnqueueTx with the transaction, or enqueue after the commit: %w", store.ErrInvalid)

// UnknownError says that an enqueue may or may not have happened: the store did not
// answer in time. It is a store.ErrUnknown. Get shows for each id whether the job
// exists. With a Key, it is also safe to enqueue again.
type UnknownError struct {
	IDs []JobID
	Err error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("enqueue of %d jobs, the first with id %d, may or may not have happened: %v", len(e.IDs), e.IDs[0], e.Err)
}

// Unwrap returns the last answer of the store.
func (e *UnknownError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, store.ErrUnknown) true for an UnknownError.
func (e *UnknownError) Is(target error) bool { return target == store.ErrUnknown }

// Enqueue adds a job. The job is durable when Enqueue returns without an error. When
// the answer of the commit is lost, Enqueue looks the job up by itself; it returns an
// *UnknownError only when that fails as well.
func (c *Client) Enqueue(ctx context.Context, s Spec) (Receipt, error) {
	if store.InTx(ctx, c.store) {
		return Receipt{}, errInTx
	}
	if !c.enqueueing.installed() { // the common case: without middleware no slice has to be allocated
		return one(c.enqueue(ctx, []Spec{s}))
	}
	return one(c.throughAll(ctx, []Spec{s}, c.enqueueing.write))
}

// EnqueueMany adds jobs of any kinds, at most job.EnqueueMax. Either all jobs are added, or
// no job. The receipts are in the order of the jobs. See Enqueue.
func (c *Client) EnqueueMany(ctx context.Context, specs []Spec) ([]Receipt, error) {
	if store.InTx(ctx, c.store) {
		return nil, errInTx
	}
	return c.through(ctx, specs, c.enqueueing.write)
}

func (c *Client) enqueue(ctx context.Context, specs []Spec) ([]Receipt, error) {
	jobs, err := c.check(ctx, specs)
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	for try := 1; ; try++ {
		first, err := c.ids.take(ctx, len(jobs))
		if err != nil {
			return nil, err
		}
		number(jobs, first)
		receipts, err := c.store.Enqueue(ctx, jobs)
		if errors.Is(err, store.ErrUnknown) {
			receipts, err = c.askAgain(ctx, jobs, err)
		}
		if !c.ids.lost(err) || try == renumberTries {
			c.logEnqueued(ctx, jobs, receipts)
			return receipts, err
		}
		jobs = slices.Clone(jobs) // the store may still be reading the old slice, as in askAgain
	}
}

// one returns the receipt of an enqueue of one job.
func one(receipts []Receipt, err error) (Receipt, error) {
	if err != nil {
		return Receipt{}, err
	}
	return receipts[0], nil
}

// EnqueueTx adds a job inside the caller's own transaction, which the package of the
// store wraps (sqlite.Tx, postgres.Tx or postgres.SQLTx). The job exists if and only if
// the caller commits. See Enqueue.
func (c *Client) EnqueueTx(ctx context.Context, tx store.Tx, s Spec) (Receipt, error) {
	return one(c.EnqueueManyTx(ctx, tx, []Spec{s}))
}

// EnqueueManyTx adds jobs inside the caller's own transaction. If it returns an error, no
// job was added. See EnqueueTx and EnqueueMany.
func (c *Client) EnqueueManyTx(ctx context.Context, tx store.Tx, specs []Spec) ([]Receipt, error) {
	joins, ok := c.store.(store.Transactor)
	if !ok {
		return nil, fmt.Errorf("enqueue: a store of type %T cannot join a caller's own transaction: "+
			"enqueue after its commit: %w", c.store, store.ErrInvalid)
	}
	return c.through(ctx, specs, func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		jobs, err := c.check(ctx, specs)
		if err != nil || len(jobs) == 0 {
			return nil, err
		}
		first, err := c.takeInTx(ctx, tx, len(jobs))
		if err != nil {
			return nil, err
		}
		number(jobs, first)
		receipts, err := joins.EnqueueTx(ctx, tx, jobs)
		c.ids.lost(err)
		c.logEnqueued(ctx, jobs, receipts)
		return receipts, err
	})
}

// takeInTx takes ids while the caller has a transaction open. If the process has no ids
// left, the ids are reserved inside this transaction, because a separate reservation
// might have to wait for it to end. A rollback also removes the jobs, so ids that it
// gives back are not in use.
func (c *Client) takeInTx(ctx context.Context, tx store.Tx, n int) (job.ID, error) {
	if first, ok := c.ids.takeNow(n); ok {
		return first, nil
	}
	if reserver, ok := c.store.(store.TxReserver); ok {
		return reserver.ReserveIDsTx(ctx, tx, n)
	}
	return c.ids.take(ctx, n)
}

// check checks the jobs and returns them as job.New values without ids.
func (c *Client) check(ctx context.Context, specs []Spec) ([]job.New, error) {
	if len(specs) > job.EnqueueMax {
		return nil, fmt.Errorf("enqueue of %d jobs: a call takes at most %d; split them into several calls: %w", len(specs), job.EnqueueMax, store.ErrTooLarge)
	}
	jobs := make([]job.New, len(specs))
	for i := range specs {
		var err error
		if specs[i].checkedBy != c { // jobs that have come through middlewares were checked there
			err = c.checkSpec(ctx, &specs[i])
		}
		if err == nil {
			err = c.checkSize(&specs[i])
		}
		if err == nil {
			err = c.checkContent(i, specs[i].new.Kind, specs[i].new.Payload)
		}
		if err != nil {
			return nil, fmt.Errorf("enqueue, job %d of %d: %w", i+1, len(specs), err)
		}
		jobs[i] = specs[i].new
		if err := c.route(&jobs[i]); err != nil {
			return nil, fmt.Errorf("enqueue, job %d of %d: %w", i+1, len(specs), err)
		}
	}
	return jobs, nil
}

// checkSpec returns the mistakes of a job that can be found without asking a store,
// except the size of its payload, which a middleware may still change.
func (c *Client) checkSpec(ctx context.Context, s *Spec) error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := foreignKind(ctx, s.new.Kind); err != nil {
		return err
	}
	return c.checkType(s.new.Kind, s.args)
}

// checkSize returns an error for a payload that is too large to be stored.
func (c *Client) checkSize(s *Spec) error {
	size := len(s.new.Payload)
	if size <= c.config.PayloadMax {
		return nil
	}
	from := ""
	if s.largeBy != "" {
		from = ", made by enqueue middleware " + s.largeBy
	}
	return fmt.Errorf("payload of kind %q: %d bytes%s: at most %d (Config.PayloadMax); store large data elsewhere and put only its address into the payload: %w",
		s.new.Kind, size, from, c.config.PayloadMax, store.ErrTooLarge)
}

func number(jobs []job.New, first job.ID) {
	for i := range jobs {
		jobs[i].ID = first + job.ID(i)
	}
}

// askAgain repeats an enqueue that may already have happened: it sets Repeat in the
// jobs, so that the store inserts only those that it does not have yet.
func (c *Client) askAgain(ctx context.Context, jobs []job.New, unknown error) ([]Receipt, error) {
	jobs = slices.Clone(jobs) // the earlier call may still be reading the old slice
	for i := range jobs {
		jobs[i].Repeat = true
	}
	wait := askAgainWait
	for range askAgainTries {
		if err := c.sleep(ctx, wait); err != nil {
			unknown = errors.Join(unknown, err)
			break
		}
		receipts, err := c.store.Enqueue(ctx, jobs)
		if err == nil || refused(err) {
			return receipts, err
		}
		unknown = err
		wait = min(2*wait, askAgainWaitMax)
	}
	ids := make([]JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return nil, &UnknownError{IDs: ids, Err: unknown}
}

// refused reports whether an error of a repeated enqueue proves that the jobs do not
// exist: before a store refuses an enqueue for one of these reasons, it looks for the
// jobs.
func refused(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrDraining) ||
		errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrTooLarge)
}

// sleep waits for the duration d on the client's clock. If the context ends first, sleep
// returns the cause of that end.
func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	timer := c.config.afterFunc(d, func() { close(over) })
	defer timer.Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
