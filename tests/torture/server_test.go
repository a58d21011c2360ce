//go:build linux

package torture

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/tests/torture/place"
)

// postgresSite gives each round a PostgreSQL server, which the processes reach through a proxy.
type postgresSite struct {
	mu     sync.Mutex
	rounds map[*round]*server
	bag    *bag
}

// needsPostgres skips a test on a machine on which no PostgreSQL server can be started.
func needsPostgres(t *testing.T) {
	t.Helper()
	if pgtest.Options().Bin != "" {
		return
	}
	if _, err := servers.FindPostgres(t.Context()); errors.Is(err, servers.ErrMissing) {
		t.Skipf("no PostgreSQL server: %v", err)
	}
}

func newPostgresSite(tt *torture) *postgresSite {
	s := &postgresSite{rounds: make(map[*round]*server)}
	s.bag = newBag(tt.seed+2, s.faults()...)
	return s
}

// server is the server of a round with the proxy in front of it.
type server struct {
	*servers.Postgres
	proxy *pgproxy.Proxy
	pool  *servers.Bouncer // PgBouncer between the proxy and the server; nil in rounds without it
	disk  bool             // whether the file system of the server can be filled

	release context.CancelFunc
	holding sync.WaitGroup // the goroutine that keeps a snapshot open
	close   func() error   // a function that closes the server and the proxy; a second call does nothing
}

// schema is the schema of the jobs in every round.
const schema = "torture"

// Every second round is on a small file system. The server's log is limited, so that only the fault
// fills the file system.
const (
	smallServerEvery = 2
	smallServer      = "200m"
)

// serverConnections is more than all processes need together, and few enough that one process can
// take them all.
const serverConnections = 120

func (s *postgresSite) of(r *round) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rounds[r]
}

func (s *postgresSite) begin(r *round) {
	o := pgtest.Options()
	o.Settings = map[string]string{"max_wal_size": "64MB", "min_wal_size": "32MB", "shared_buffers": "32MB",
		"max_connections":  strconv.Itoa(serverConnections),
		"wal_writer_delay": "10s"} // the server loses up to 30 s of commits that do not wait for the disk, when it is killed
	if r.n%smallServerEvery == 0 {
		if os.Geteuid() == 0 && runtime.GOOS == "linux" {
			o.Disk = smallServer
		} else {
			r.Log("NO FULL DISK in this round: a small file system cannot be mounted without root")
		}
	}
	p, err := servers.StartPostgres(r.Context(), o)
	if err != nil {
		r.Fatal(err)
	}
	if err := r.careless(p.DSN()); err != nil {
		r.Fatal(errors.Join(err, p.Close()))
	}
	pool, dsn, err := r.pooled(p.DSN())
	if err != nil {
		r.Fatal(errors.Join(err, p.Close()))
	}
	proxy, through, err := pgproxy.Before(dsn)
	if err != nil {
		r.Fatal(errors.Join(err, pool.Close(), p.Close()))
	}
	r.database, r.direct = through+"#"+schema, p.DSN()+"#"+schema
	ctx, release := context.WithCancel(context.Background())
	srv := &server{Postgres: p, proxy: proxy, pool: pool, disk: o.Disk != "", release: release}
	srv.close = sync.OnceValue(func() error {
		release()
		srv.holding.Wait()
		return errors.Join(proxy.Close(), pool.Close(), p.Close())
	})
	r.Cleanup(func() { _ = srv.close() }) // for the case that the test fails before the end of the round
	srv.holding.Go(func() { r.hold(ctx, p.DSN()) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds[r] = srv
}

// carelessEvery says in which rounds the role does not wait for the disk: in the first of so many.
const carelessEvery = 2

// careless sets synchronous_commit = off for the role. The store must wait for the disk nevertheless.
func (r *round) careless(dsn string) error {
	if r.n%carelessEvery != 1 {
		return nil
	}
	if err := execOn(r.Context(), dsn, `ALTER ROLE CURRENT_USER SET synchronous_commit = off`); err != nil {
		return err
	}
	r.faulted("round with synchronous_commit = off for the role")
	return nil
}

// poolModes are the modes of PgBouncer in the rounds, one after the other; "" means a round without it.
var poolModes = [...]string{"transaction", "", "session", ""}

// pooled starts PgBouncer in front of the server at a DSN, in the mode of the round. It returns the DSN
// of PgBouncer. Where PgBouncer is not installed, and in rounds without it, it returns the same DSN.
func (r *round) pooled(dsn string) (pool *servers.Bouncer, through string, err error) {
	mode := poolModes[(r.n-1)%len(poolModes)]
	if _, short := r.program.(*served); mode == "" || short { // rounds of HTTP servers are too short for an outage of PgBouncer
		return nil, dsn, nil
	}
	pool, err = servers.StartBouncer(r.Context(), dsn, &servers.BouncerOptions{Settings: map[string]string{
		"pool_mode": mode,
		// In session mode each connection of a process takes one of the server's.
		"default_pool_size": strconv.Itoa(serverConnections - 20),
		// A server that has just been restarted is tried again at once, not after 15 s.
		"server_login_retry": "1",
	}, Keep: true})
	if errors.Is(err, servers.ErrMissing) {
		r.Logf("NO PGBOUNCER in this round: %v", err)
		return nil, dsn, nil
	}
	if err != nil {
		return nil, "", err
	}
	r.faulted("round behind PgBouncer, pool_mode " + mode)
	return pool, pool.DSN(), nil
}

// hold keeps a snapshot open for the whole round, so that no deleted row can be vacuumed. After a
// restart it opens a new one.
func (r *round) hold(ctx context.Context, dsn string) {
	for ctx.Err() == nil {
		if err := holdOnce(ctx, dsn, func() { r.faulted("snapshot held open") }); err != nil {
			waitOr(ctx.Done(), 20*time.Millisecond)
		}
	}
}

func holdOnce(ctx context.Context, dsn string, held func()) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }() // no error check: the connection may be lost
	if _, err := conn.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1`, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	held()
	_, err = conn.WaitForNotification(ctx) // no notification arrives; the call waits until the context or the connection ends
	return err
}

func (s *postgresSite) again(r *round) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.of(r).exec(ctx, `DROP SCHEMA IF EXISTS `+schema+` CASCADE`)
}

// exec runs a statement on a new connection.
func (s *server) exec(ctx context.Context, text string) error { return execOn(ctx, s.DSN(), text) }

func execOn(ctx context.Context, dsn, text string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
	return errors.Join(err, conn.Close(ctx))
}

// Pauses between the faults of the server.
const (
	serverPauseMin = 100 * time.Millisecond
	serverPauseMax = 500 * time.Millisecond
)

func (s *postgresSite) meanwhile(r *round, c int, over <-chan struct{}) {
	place := &slot{round: r, role: "server", rand: r.random(r.n, c, 6), over: over}
	for !waitOr(over, place.between(serverPauseMin, serverPauseMax)) {
		place.next(s.bag)
	}
}

// integrity returns the findings of redrive doctor. The snapshot is closed before, because doctor
// reports one that is older than a minute.
func (s *postgresSite) integrity(ctx context.Context, r *round) []string {
	srv := s.of(r)
	srv.release()
	srv.holding.Wait()
	dsn, schema, err := place.Split(r.direct)
	if err != nil {
		return []string{err.Error()}
	}
	report, err := postgres.Diagnose(ctx, dsn, schema, time.Now)
	if err != nil {
		return []string{err.Error()}
	}
	return report.Problems
}

func (s *postgresSite) end(r *round) {
	srv := s.of(r)
	if r.Failed() {
		r.Logf("round %d: the last lines of the server's log:\n%s", r.n, srv.Log())
		if srv.pool != nil {
			r.Logf("round %d: PgBouncer was started again %d times; the last lines of its log:\n%s", r.n, srv.pool.Ends(), srv.pool.Log())
		}
	}
	if err := srv.close(); err != nil {
		r.Error(err)
	}
}

// comesTo returns false for InCheckpoint: a PostgreSQL store makes no checkpoint when it is closed.
func (*postgresSite) comesTo(p crashpoint.Point) bool { return p != crashpoint.InCheckpoint }

func (*postgresSite) workerFaults() []fault { return nil }

func (s *postgresSite) wanted() (names []string) {
	for _, f := range s.faults() {
		// PgBouncer may not be installed, and a full disk needs root.
		if f.name != killedPoolFault && (f.name != fullDiskFault || os.Geteuid() == 0) {
			names = append(names, f.name)
		}
	}
	return append(names, "snapshot held open")
}
