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

// Clock is a store's clock.
type Clock interface {
	// Now returns the time, which never runs backwards.
	Now() job.Micros
	// SinceJump returns how long ago the clock last jumped forward, and whether it
	// ever did.
	SinceJump() (time.Duration, bool)
}

// DB is how a store gets at its database.
type DB struct {
	Clock Clock
	// Write runs do in a transaction, which is durable when it returns nil. It may
	// run do again.
	Write func(ctx context.Context, do func(*Txn) error) error
	// Person is Write for what a person asks for and others may hold up for long: it
	// waits for the graves for a moment only. Nil is Write.
	Person func(ctx context.Context, do func(*Txn) error) error
	// Brief is the same for work in the background. It may fail with ErrGraves.
	Brief func(ctx context.Context, do func(*Txn) error) error
	// Read runs do in a transaction that only reads and sees one moment. It may run do
	// again, which forgets what it has read before.
	Read func(ctx context.Context, do func(Session) error) error
	// Join runs do in the caller's transaction, whole or not at all.
	Join func(ctx context.Context, tx store.Tx, do func(*Txn) error) error
}

// Core is a store but for its way to the database, its notifications and its
// end.
type Core struct {
	db    DB
	lease atomic.Int64 // the longest that was asked for, a time.Duration
	quiet job.Micros   // when the store was opened, if there were signs of a gap; else 0
}

// NewCore returns the core of a store.
func NewCore(db DB) *Core {
	if db.Person == nil {
		db.Person = db.Write
	}
	if db.Brief == nil {
		db.Brief = db.Write
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
		return fmt.Errorf("reserve %d ids: must be 1 to %d: %w", n, 1<<20, store.ErrInvalid)
	}
	return nil
}

var addNextID = declare("addNextID", `UPDATE redrive_meta SET value = value + ? WHERE key = 'next_id' RETURNING value`)

// ErrNoMeta says that rows are gone without which nothing can be written rightly. A
// backup of that table alone would have numbers given again.
var ErrNoMeta = fmt.Errorf("rows of redrive_meta have been removed by somebody: restore the database from a backup: %w", store.ErrUnavailable)

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
		t.graveless = true
		receipts, err = t.enqueue(jobs)
		crashpoint.Hit(crashpoint.BeforeEnqueueCommit)
		return err
	})
	crashpoint.Hit(crashpoint.AfterEnqueueCommit)
	return receipts, err
}

func checkNew(jobs []job.New) error {
	if len(jobs) > job.EnqueueMax {
		return fmt.Errorf("%d jobs in one call: at most %d: %w", len(jobs), job.EnqueueMax, store.ErrTooLarge)
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
	Leased(s, x.Lease)
	err = s.db.Write(ctx, func(t *Txn) error {
		out, err = t.exchange(&x)
		hitExchange(&x, &out, crashpoint.BeforeSettleCommit, crashpoint.BeforeClaimCommit)
		return err
	})
	hitExchange(&x, &out, crashpoint.AfterSettleCommit, crashpoint.AfterClaimCommit)
	return out, err
}

// hitExchange hits the crash points of what an exchange brought and took.
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
		return nil, fmt.Errorf("lease %s: must be above zero: %w", b.Lease, store.ErrInvalid)
	}
	Leased(s, b.Lease)
	err = s.db.Write(ctx, func(t *Txn) error {
		status, err = t.heartbeat(&b)
		return err
	})
	return status, err
}

const (
	// graceMin is how long, at least, no run is rescued after the clock has jumped, as
	// when a suspended machine wakes up: the leases ended in the gap, and the living
	// have to have the time to say so. They do at a third of a lease; half of the
	// longest one leaves time for a second try.
	graceMin = 15 * time.Second
	// quietMin is how long nothing must have happened before a store is opened to make
	// that look like a gap. A process sees no jump from before its start; but while
	// others commit there was none. It is far above the time in which a worker that
	// was killed is started again, and when it is taken for a gap all the same, only
	// the rescue at the start is put off, not those that follow.
	quietMin = time.Minute
)

// Leased tells a store's core how long a lease somebody has asked for. It is a
// function, as Opened is: methods of a core are methods of the stores that embed it.
func Leased(s *Core, lease time.Duration) {
	for {
		most := s.lease.Load()
		if int64(lease) <= most || s.lease.CompareAndSwap(most, int64(lease)) {
			return
		}
	}
}

// Opened tells a store's core that the store was opened, before anything else is asked of it, and
// when the newest event was then; 0 is none.
func Opened(s *Core, now, newest job.Micros) {
	s.quiet = 0
	if newest != 0 && now.Sub(newest) >= quietMin {
		s.quiet = now
	}
}

// grace returns for how long no run may be rescued.
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
		return out, fmt.Errorf("rescue of %d runs: must be 1 to %d: %w", limit, job.ExchangeMax, store.ErrInvalid)
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

// gravesAgain is when it is worth another try to get the graves.
const gravesAgain = time.Second

// rescueLast ends the runs that rescueFirst has left. What that has done is told all
// the same when it fails.
func (s *Core) rescueLast(ctx context.Context, limit int, out *store.Rescue) error {
	var last store.Rescue
	err := s.db.Brief(ctx, func(t *Txn) (err error) {
		found, err := t.expired(selExpiredLast, limit)
		if err == nil {
			last, err = t.rescue(found)
		}
		return err
	})
	switch {
	case err == nil:
		out.Jobs, out.NextExpiry = append(out.Jobs, last.Jobs...), last.NextExpiry
	case errors.Is(err, ErrGraves) || len(out.Jobs) > 0:
		out.NextExpiry = gravesAgain
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
		t.graveless = true
		for _, name := range queues {
			if err := t.makeQueue(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cancel implements store.Admin.
func (s *Core) Cancel(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	return s.each(ctx, by, ids, (*Txn).alive, (*Txn).cancel)
}

// Retry implements store.Admin.
func (s *Core) Retry(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	return s.each(ctx, by, ids, func(t *Txn, _ []job.ID) error { return t.graves() }, (*Txn).retry)
}

func (s *Core) each(ctx context.Context, by store.By, ids []job.ID, begin func(*Txn, []job.ID) error,
	act func(*Txn, store.By, job.ID) (own, fatal error),
) (answers []error, err error) {
	if err := by.Validate(); err != nil {
		return nil, err
	}
	if len(ids) > job.IDsMax {
		return nil, fmt.Errorf("%d ids in one call: at most %d: %w", len(ids), job.IDsMax, store.ErrTooLarge)
	}
	err = s.db.Person(ctx, func(t *Txn) error {
		if err := begin(t, ids); err != nil {
			return err
		}
		answers = make([]error, len(ids))
		for i, id := range ids {
			own, fatal := act(t, by, id)
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
