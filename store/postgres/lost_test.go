package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// firewall stands before a server. It can forget the connections that there are:
// nothing passes any more, and nobody learns of it; new ones pass.
type firewall struct {
	listener net.Listener
	to       string
	work     sync.WaitGroup

	mu   sync.Mutex
	age  int
	all  []net.Conn
	gone map[string]bool // addresses of clients that have closed forgotten connections
	lost chan struct{}   // something was sent on a forgotten connection
}

// walled returns a firewall before the server at a DSN, and the DSN through it.
func walled(t *testing.T, dsn string) (*firewall, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Skipf("the DSN of the tests' server is no URL")
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &firewall{listener: listener, to: u.Host, gone: make(map[string]bool), lost: make(chan struct{}, 1)}
	f.work.Go(f.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		f.mu.Lock()
		for _, c := range f.all {
			_ = c.Close()
		}
		f.mu.Unlock()
		f.work.Wait()
	})
	u.Host = listener.Addr().String()
	return f, u.String()
}

func (f *firewall) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", f.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		f.mu.Lock()
		f.all = append(f.all, client, server)
		age := f.age
		f.mu.Unlock()
		f.work.Go(func() { f.pass(client, server, age) })
		f.work.Go(func() { f.pass(server, client, age) })
	}
}

func (f *firewall) pass(from, to net.Conn, age int) {
	part := make([]byte, 1<<16)
	for {
		n, err := from.Read(part)
		f.mu.Lock()
		forgotten := f.age != age
		f.mu.Unlock()
		if forgotten {
			select {
			case f.lost <- struct{}{}:
			default:
			}
			_, _ = io.Copy(io.Discard, from)
			f.mu.Lock()
			f.gone[from.RemoteAddr().String()] = true
			f.mu.Unlock()
			return
		}
		_, _ = to.Write(part[:n])
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

func (f *firewall) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.age++
}

// used returns a store behind a firewall, of which some connections were used, and
// ids for jobs.
func used(t *testing.T, o *Options) (s *Store, f *firewall, next func() []job.New) {
	t.Helper()
	dsn, schema := pgtest.Schema(t)
	f, through := walled(t, dsn)
	o.Schema = schema
	s = opened(t, through, o)
	last, err := s.ReserveIDs(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	next = func() []job.New {
		last++
		return []job.New{{ID: last, Kind: "mail", Queue: "default", Priority: 2, Payload: []byte(`{}`)}}
	}
	for range 3 {
		if _, err := s.Enqueue(t.Context(), next()); err != nil {
			t.Fatal(err)
		}
	}
	return s, f, next
}

// A server that forgets its connections, but takes new ones, is used again after the
// limit of a statement, whether callers say how long they wait or not.
//
// part of: Q10
func TestQ10_ForgottenConnections(t *testing.T) {
	t.Parallel()
	s, f, next := used(t, &Options{StatementTimeout: 5 * time.Second, ReadLimit: 5 * time.Second})
	f.forget()
	good := make(chan struct{})
	go func() {
		defer close(good)
		for {
			_, err := s.Enqueue(t.Context(), next())
			if err == nil || t.Context().Err() != nil {
				return
			}
			if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
				t.Error(err)
			}
		}
	}()
	within(t, good)
	if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
		t.Errorf("another call: %v", err)
	}
}

// Nothing goes on for callers who have all gone.
//
// part of: Q10
func TestQ10_ForgottenByItsCallers(t *testing.T) {
	t.Parallel()
	s, f, next := used(t, &Options{StatementTimeout: time.Hour, ReadLimit: 5 * time.Second})
	f.forget()
	ctx, leave := context.WithCancel(t.Context())
	answers := make(chan error, 2)
	for range 2 {
		jobs := next()
		go func() {
			_, err := s.Enqueue(ctx, jobs)
			answers <- err
		}()
	}
	eventually(t, "a call to be under way", func() bool { return inUse(s.fastPool) > 0 })
	within(t, f.lost)
	leave()
	for range 2 {
		if err := within(t, answers); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	eventually(t, "the calls to end", func() bool { return inUse(s.fastPool) == 0 })
	if _, err := s.Enqueue(t.Context(), next()); err != nil {
		t.Errorf("on a new connection: %v", err)
	}
}

// The pool of a server that was not used for a while is looked at as a whole: one
// connection that does not answer is enough.
//
// part of: Q10
func TestQ10_ForgottenWhileIdle(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	f, through := walled(t, dsn)
	s := opened(t, through, &Options{Schema: schema, StatementTimeout: time.Hour, ReadLimit: time.Hour})
	var conns []*pgxpool.Conn
	var addresses []string
	for range 4 {
		conn, err := s.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns, addresses = append(conns, conn), append(addresses, conn.Conn().PgConn().Conn().LocalAddr().String())
	}
	for _, conn := range conns[1:] {
		conn.Release()
	}
	defer conns[0].Release()
	look := s.pool.Config().ShouldPing
	lain := pgxpool.ShouldPingParams{Conn: conns[0].Conn(), IdleDuration: pingIdle}
	if look(t.Context(), lain) || lain.Conn.IsClosed() {
		t.Error("a connection that answers is given up")
	}
	f.forget()
	if !look(t.Context(), lain) || !lain.Conn.IsClosed() {
		t.Error("a connection that does not answer is used")
	}
	eventually(t, "the others to be given up", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		gone := 0
		for _, a := range addresses[1:] {
			if f.gone[a] {
				gone++
			}
		}
		return gone >= len(addresses)-2 // one may be in use, to fold the counters
	})
	if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
		t.Error(err)
	}
}
