package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Clock is the clock that a store uses for all its times.
type Clock interface {
	// Now returns the present time. Later calls never return an earlier time.
	Now() job.Micros
	// SinceJump returns the time since the clock last jumped forward. The bool is false if the
	// clock has never jumped.
	SinceJump() (time.Duration, bool)
}

// DB is how a store reads and writes its database.
type DB struct {
	Clock Clock
	// Write calls the given function in a transaction. When Write returns nil, the transaction is
	// durable. Write may call the function more than once.
	Write func(ctx context.Context, do func(*Txn) error) error
	// AdminWrite is like Write, but for requests of people: it waits only a short time for the
	// lock on dead letters. If the field is nil, Write is used.
	AdminWrite func(ctx context.Context, do func(*Txn) error) error
	// BackgroundWrite is like Write, but for work in the background. It may fail with
	// ErrDeadLettersLocked. If the field is nil, Write is used.
	BackgroundWrite func(ctx context.Context, do func(*Txn) error) error
	// SignWrite is like Write, but for signs of life of processes. These signs may be lost
	// when the database server crashes. If the field is nil, Write is used.
	SignWrite func(ctx context.Context, do func(*Txn) error) error
	// Read calls the given function in a read-only transaction over one snapshot. Read may call the
	// function again; the function must then discard the data of its first call.
	Read func(ctx context.Context, do func(Session) error) error
	// RetryIndex says that the store has an index of retrying jobs by due time, and texts for
	// walkRetries, walkRetriesAt and countDue. Without it, the ready jobs of a lane and priority are indexed
	// by state and due time.
	RetryIndex bool
	// Join calls the given function in the caller's transaction. If the function fails, none of its
	// changes are written.
	Join func(ctx context.Context, tx store.Tx, do func(*Txn) error) error
}

// Core is the part of a store that does not depend on the database: everything except
// the access to the database, the notifications and Close.
type Core struct {
	db    DB
	lease atomic.Int64 // the longest lease that any worker has asked for, as a time.Duration
	quiet job.Micros   // if the store was unused for a while before it was opened: the time at which it was opened; otherwise 0
}

// NewCore returns the core of a store.
func NewCore(db DB) *Core {
	if db.AdminWrite == nil {
		db.AdminWrite = db.Write
	}
	if db.BackgroundWrite == nil {
		db.BackgroundWrite = db.Write
	}
	if db.SignWrite == nil {
		db.SignWrite = db.Write
	}
	return &Core{db: db}
}

// ReserveIDs implements store.Producer.
func (s *Core) ReserveIDs(ctx context.Context, n int) (first job.ID, err error) {
	if err := checkReserve(n); err != nil {
		return 0, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		first, err = t.reserve(n)
		return err
	})
	return first, err
}

func checkReserve(n int) error {
	if n < 1 || n > 1<<20 {
		return fmt.Errorf("cannot reserve %d ids: the number must be 1 to %d: %w", n, 1<<20, store.ErrInvalid)
	}
	return nil
}

var addNextID = ask("addNextID")

// ErrNoMeta says that rows of the table redrive_meta are missing. Without these rows, the store
// would use numbers a second time. Rows can be missing if only this table was restored from a
// backup.
var ErrNoMeta = fmt.Errorf("rows of the table redrive_meta are missing: restore the database from a backup: %w", store.ErrUnavailable)

func (t *Txn) reserve(n int) (first job.ID, err error) {
	t.wrote = true
	err = t.rows(addNextID, func(r Row) error { first = job.ID(r.Int(0) - int64(n)); return nil }, num(n))
	if err == nil && first == 0 {
		err = ErrNoMeta
	}
	return first, err
}

// Enqueue implements store.Producer.
func (s *Core) Enqueue(ctx context.Context, jobs []job.New) (receipts []job.Receipt, err error) {
	if err := checkNew(jobs); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		receipts, err = t.enqueue(jobs)
		crashpoint.Hit(crashpoint.BeforeEnqueueCommit)
		return err
	})
	crashpoint.Hit(crashpoint.AfterEnqueueCommit)
	return receipts, err
}

func checkNew(jobs []job.New) error {
	if len(jobs) > job.EnqueueMax {
		return fmt.Errorf("%d jobs in one call are too many: at most %d are allowed: %w", len(jobs), job.EnqueueMax, store.ErrTooLarge)
	}
	for i := range jobs {
		if err := store.Validate(&jobs[i]); err != nil {
			return fmt.Errorf("job %d of %d: %w", i+1, len(jobs), err)
		}
	}
	return nil
}

// Exchange implements store.Worker.
func (s *Core) Exchange(ctx context.Context, x store.Exchange) (out store.Exchanged, err error) {
	if err := x.Validate(); err != nil {
		return store.Exchanged{}, err
	}
	NoteLease(s, x.Lease)
	err = s.db.Write(ctx, func(t *Txn) error {
		out, err = t.exchange(&x)
		hitExchange(&x, &out, crashpoint.BeforeSettleCommit, crashpoint.BeforeClaimCommit)
		return err
	})
	hitExchange(&x, &out, crashpoint.AfterSettleCommit, crashpoint.AfterClaimCommit)
	return out, err
}

// hitExchange reports to the crash points of tests how many outcomes were written and how many
// jobs were claimed.
func hitExchange(x *store.Exchange, out *store.Exchanged, settle, claim crashpoint.Point) {
	if len(x.Settle) > 0 {
		crashpoint.Hit(settle)
	}
	if len(out.Claims) > 0 {
		crashpoint.Hit(claim)
	}
}

// Heartbeat implements store.Worker.
func (s *Core) Heartbeat(ctx context.Context, b store.Beat) (status []store.RunStatus, err error) {
	if b.Lease <= 0 {
		return nil, fmt.Errorf("lease of %s: a lease must be above zero: %w", b.Lease, store.ErrInvalid)
	}
	NoteLease(s, b.Lease)
	err = s.db.Write(ctx, func(t *Txn) error {
		status, err = t.heartbeat(&b)
		return err
	})
	return status, err
}

const (
	// graceMin is the shortest time during which no run is rescued after the clock has jumped
	// forward, for example when a suspended machine wakes up. Leases expired during the jump, so
	// workers that are alive need time to extend them. A worker extends its lease after a third of
	// the lease; a grace time of half the longest lease leaves time for a second try.
	graceMin = 15 * time.Second
	// quietMin is the shortest time without events before the opening of a store that counts as
	// a gap in its use. A process cannot see a jump of the clock from before its start. But if
	// other processes have committed during that time, the clock did not jump. quietMin is far
	// longer than the restart of a killed worker takes. If a quiet time is wrongly taken for a
	// gap, only the first rescue after the start is delayed.
	quietMin = time.Minute
)

// NoteLease records the length of a lease that a worker has asked for; the store keeps the longest
// length. NoteLease and NoteOpened are functions, because methods of a Core would become methods of
// the stores that embed it.
func NoteLease(s *Core, lease time.Duration) {
	for {
		most := s.lease.Load()
		if int64(lease) <= most || s.lease.CompareAndSwap(most, int64(lease)) {
			return
		}
	}
}

// NoteOpened records that the store was opened. Call it before any other call. The last argument is
// the time of the newest event; 0 means that there is no event.
func NoteOpened(s *Core, now, newest job.Micros) {
	s.quiet = 0
	if newest != 0 && now.Sub(newest) >= quietMin {
		s.quiet = now
	}
}

// grace returns the time from now during which no run may be rescued.
func (s *Core) grace(now job.Micros) time.Duration {
	grace, left := max(graceMin, time.Duration(s.lease.Load())/2), time.Duration(0)
	if ago, jumped := s.db.Clock.SinceJump(); jumped {
		left = grace - ago
	}
	if s.quiet != 0 {
		left = max(left, grace-now.Sub(s.quiet))
	}
	return max(0, left)
}

// Rescue implements store.Worker.
func (s *Core) Rescue(ctx context.Context, limit int) (out store.Rescue, err error) {
	if limit < 1 || limit > job.ExchangeMax {
		return out, fmt.Errorf("rescue of up to %d runs: the number must be 1 to %d: %w", limit, job.ExchangeMax, store.ErrInvalid)
	}
	rest := false
	err = s.db.Write(ctx, func(t *Txn) error {
		rest = false
		if left := s.grace(t.now); left > 0 {
			out = store.Rescue{NextExpiry: left}
			return nil
		}
		out, rest, err = t.rescueFirst(limit)
		return err
	})
	if err != nil {
		return store.Rescue{}, err
	}
	if rest && len(out.Jobs) < limit {
		err = s.rescueLast(ctx, limit-len(out.Jobs), &out)
	}
	return out, err
}

// lockedAgain is the wait before the next attempt to lock dead letters.
const lockedAgain = time.Second

// rescueLast ends the expired runs that rescueFirst has skipped. If rescueLast fails, the runs
// that rescueFirst has ended stay ended.
func (s *Core) rescueLast(ctx context.Context, limit int, out *store.Rescue) error {
	var last store.Rescue
	err := s.db.BackgroundWrite(ctx, func(t *Txn) (err error) {
		found, err := t.expired(selExpiredLast, limit)
		if err == nil {
			last, err = t.rescue(found)
		}
		return err
	})
	switch {
	case err == nil:
		out.Jobs, out.NextExpiry = append(out.Jobs, last.Jobs...), last.NextExpiry
	case errors.Is(err, ErrDeadLettersLocked) || len(out.Jobs) > 0:
		out.NextExpiry = lockedAgain
	default:
		return err
	}
	return nil
}

// Declare implements store.Worker.
func (s *Core) Declare(ctx context.Context, queues []string) error {
	for _, name := range queues {
		if err := store.ValidName("queue", name); err != nil {
			return err
		}
	}
	return s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		for _, name := range queues {
			if err := t.makeQueue(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cancel implements store.Admin.
func (s *Core) Cancel(ctx context.Context, by store.By, ids []job.ID) (answers []error, err error) {
	if err := by.ValidateOn(len(ids)); err != nil {
		return nil, err
	}
	return s.eachJob(ctx, &by, ids, func(t *Txn, id job.ID) (own, fatal error) { return t.cancel(by, id) })
}

// eachJob locks jobs and calls the given function for each of them, in one transaction. The
// function's first error concerns only that job and becomes its answer. Its second error ends the
// transaction.
func (s *Core) eachJob(ctx context.Context, by *store.By, ids []job.ID, do func(t *Txn, id job.ID) (own, fatal error)) (answers []error, err error) {
	if len(ids) > job.IDsMax {
		return nil, fmt.Errorf("%d ids in one call are too many: at most %d are allowed: %w", len(ids), job.IDsMax, store.ErrTooLarge)
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		if err := t.lockJobs(ids); err != nil {
			return err
		}
		answers = make([]error, len(ids))
		for i, id := range ids {
			own, fatal := t.moved(by, id)
			if own == nil && fatal == nil {
				own, fatal = do(t, id)
			}
			if fatal != nil {
				return fatal
			}
			answers[i] = own
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// SetQueue implements store.Admin.
func (s *Core) SetQueue(ctx context.Context, by store.By, c store.QueueChange) (q store.Queue, err error) {
	if err := errors.Join(by.Validate(), c.Validate()); err != nil {
		return q, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		q, err = t.setQueue(by, &c)
		return err
	})
	return q, err
}

// EnqueueTx implements store.Transactor.
func (s *Core) EnqueueTx(ctx context.Context, tx store.Tx, jobs []job.New) (receipts []job.Receipt, err error) {
	if err := checkNew(jobs); err != nil {
		return nil, err
	}
	err = s.db.Join(ctx, tx, func(t *Txn) error {
		receipts, err = t.enqueue(jobs)
		return err
	})
	return receipts, err
}

// ReserveIDsTx implements store.TxReserver.
func (s *Core) ReserveIDsTx(ctx context.Context, tx store.Tx, n int) (first job.ID, err error) {
	if err := checkReserve(n); err != nil {
		return 0, err
	}
	err = s.db.Join(ctx, tx, func(t *Txn) error {
		first, err = t.reserve(n)
		return err
	})
	return first, err
}

// SettleTx implements store.Transactor.
func (s *Core) SettleTx(ctx context.Context, tx store.Tx, o job.Outcome) error {
	return s.db.Join(ctx, tx, func(t *Txn) error {
		own, fatal := t.settle(&o)
		return errors.Join(own, fatal)
	})
}
