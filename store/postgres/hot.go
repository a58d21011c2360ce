package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// hotPath is what the statements for many jobs keep between transactions.
type hotPath struct {
	begin   beginning
	known   atomic.Pointer[knownLanes]
	reading chan struct{} // one reads the lanes, the others wait for it

	runs        *claims.Runs
	cursors     *claims.Cursors
	scans       chan []claims.Place // a full scan that is to be made
	skipped     claims.Skipped
	unconfirmed *claims.UnconfirmedClaims
	// claiming reports claims that failed beside outcomes that were written: the answer has no error then.
	claiming trouble
	scanning trouble // reports full scans
}

// knownLanes are the lanes and queues at a version of the settings, and the numbers of
// terms that were read at this version.
type knownLanes struct {
	version int64
	catalog *sqlstore.Catalog
	terms   *termNumbers
}

// pinned are the settings under which the statements for many jobs are planned:
// each looks a few rows up by an index, whatever the statistics say. They may have
// been made when the tables were empty.
var pinned = [...][2]string{
	{"enable_seqscan", "off"}, {"enable_hashjoin", "off"}, {"enable_mergejoin", "off"}, {"enable_bitmapscan", "off"},
	{"plan_cache_mode", "force_generic_plan"}, {"jit", "off"},
}

// withPins returns the beginning of a transaction with the settings of statements
// for many jobs.
func withPins(begin string) string {
	var b strings.Builder
	for _, p := range pinned {
		b.WriteString("set_config('" + p[0] + "', '" + p[1] + "', true), ")
	}
	return strings.Replace(begin, "SELECT ", "SELECT "+b.String(), 1)
}

// fastConns is how many connections the statements for many jobs have at most: for
// new jobs, for outcomes, for heartbeats, for claims and for looks.
const fastConns = enqueuers + 4

// openFast opens the connections of fast transactions. Behind a pooler a setting
// holds for a transaction only; there they are begun like any other.
func (s *Store) openFast(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	c := config.Copy()
	c.MaxConns = int32(max(1, s.options.shares(s.unnamed.Load()).fast))
	if !s.unnamed.Load() {
		c.AfterConnect = s.pin
	}
	s.trust(c, &s.fastPool)
	return pgxpool.NewWithConfig(context.WithoutCancel(ctx), c)
}

func (s *Store) pin(ctx context.Context, conn *pgx.Conn) error {
	var b strings.Builder
	for _, p := range pinned {
		b.WriteString("SET " + p[0] + " = '" + p[1] + "'; ")
	}
	b.WriteString(setAll(own(s.options.StatementTimeout)) +
		"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	if err := conn.PgConn().Exec(ctx, b.String()).Close(); err != nil {
		return err
	}
	return s.raise(ctx, conn)
}

func newHotPath(s *Store) *hotPath {
	h := &hotPath{begin: beginning{fast: true}, reading: make(chan struct{}, 1), runs: claims.NewRuns(),
		cursors: claims.NewCursors(), scans: make(chan []claims.Place, 1), unconfirmed: claims.NewUnconfirmedClaims(),
		claiming: trouble{s: s, what: "claims fail, and no new jobs begin"},
		scanning: trouble{s: s, what: "to look for all ready jobs takes longer than a statement may, most likely because of a snapshot " +
			"that is held: what is ready for more than some seconds may be found late"}}
	if s.unnamed.Load() {
		h.begin = s.begins.write
		h.begin.text = withPins(h.begin.text)
	}
	return h
}

// selSettings returns the version of lanes and queues, the server's time, and
// whether commits wait for standbys. It needs the row that events need, too: these
// are written with the commit, which is too late to find that they are not.
var selSettings = &sqlstore.Query{Name: "selSettings"}

// fastBegin begins a fast transaction.
var fastBegin = &sqlstore.Query{Name: "begin"}

var (
	// errStale says that lanes or queues have changed since they were read.
	errStale = errors.New("lanes or queues have changed")
	// errBehind says that the time of the transaction is not the server's: this
	// machine has slept, or the server's clock has jumped.
	errBehind = errors.New("the clock is behind the server's")
)

// fastTxn is a transaction for many jobs.
type fastTxn struct {
	*pg.Session
	*sqlstore.Txn
	s     *Store
	known *knownLanes
	begun bool
}

// send sends steps, and with the first of the transaction looks whether the lanes
// are known as they are and the time is the server's.
func (t *fastTxn) send(steps ...pg.Step) error {
	if t.begun {
		return t.Send(steps...)
	}
	version, server := int64(0), job.Micros(0)
	look := pg.Step{Q: selSettings, Each: func(r sqlstore.Row) error {
		version, server = r.Int(0), job.Micros(r.Int(1))
		t.Standby = r.Int(2) != 0
		return nil
	}}
	first := []pg.Step{look}
	if t.s.hot.begin.fast {
		first = []pg.Step{{Q: fastBegin}, look}
	}
	sent := t.s.clock.local()
	if err := t.Send(append(first, steps...)...); err != nil {
		return err
	}
	t.Begun = true
	if version == 0 {
		return sqlstore.ErrNoMeta
	}
	if t.s.clock.sample(sent, t.s.clock.local(), server) {
		return errBehind
	}
	if version != t.known.version {
		return errStale
	}
	t.begun = true
	return nil
}

// fast runs do in a transaction for many jobs.
func (s *Store) fast(ctx context.Context, do func(*fastTxn) error) error {
	for {
		known, err := s.lanesKnown(ctx)
		if err != nil {
			return err
		}
		err = s.transact(ctx, &s.hot.begin, func(c *pg.Session) error {
			t := &fastTxn{Session: c, s: s, known: known}
			t.Txn = sqlstore.NewTxn(c, false, s.fastHooks(c, known.terms))
			t.Reset(s.clock.Now(), known.catalog.Borrow())
			if err := do(t); err != nil {
				return err
			}
			return t.Flush()
		})
		switch {
		case errors.Is(err, errStale):
			s.hot.known.CompareAndSwap(known, nil)
		case !errors.Is(err, errBehind):
			return err
		}
	}
}

// fastHooks are those of a fast transaction: its events go with the COMMIT.
func (s *Store) fastHooks(c *pg.Session, terms *termNumbers) sqlstore.Hooks {
	h := s.hooks(c, terms)
	if s.hot.begin.fast {
		h.Record = func(t *sqlstore.Txn) error {
			s.memberEnds(t)
			c.Last = recordStep(t)
			if c.Standby && t.ReliesOnEarlier() {
				c.Last = append(c.Last, pg.Step{Q: followAlways})
			}
			return nil
		}
	}
	return h
}

// lanesKnown returns the lanes, which it reads when they have changed.
func (s *Store) lanesKnown(ctx context.Context) (*knownLanes, error) {
	if known := s.hot.known.Load(); known != nil {
		return known, nil
	}
	select {
	case s.hot.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: the lanes are being read: %w", store.ErrUnavailable, context.Cause(ctx))
	}
	defer func() { <-s.hot.reading }()
	if known := s.hot.known.Load(); known != nil {
		return known, nil
	}
	known := &knownLanes{terms: newTermNumbers()}
	err := s.read(ctx, func(c sqlstore.Session) (err error) {
		err = c.(*pg.Session).Send(pg.Step{Q: selSettings, Each: func(r sqlstore.Row) error {
			known.version = r.Int(0)
			return nil
		}})
		if err == nil && known.version == 0 {
			err = sqlstore.ErrNoMeta
		}
		if err == nil {
			known.catalog, err = sqlstore.NewCatalog(c)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.hot.known.Store(known)
	return known, nil
}
