package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// readyForQuery is the message that ends the answer to a query outside of a transaction.
var readyForQuery = []byte("Z\x00\x00\x00\x05I")

// confused is a pooler that loses track: when it is armed, it sends the end of an answer twice.
type confused struct {
	listener net.Listener
	server   string
	armed    atomic.Bool
	fired    atomic.Int64
	links    sync.WaitGroup
}

// confuse starts such a pooler in front of the server at a DSN, and returns its own DSN.
func confuse(t *testing.T, dsn string) (c *confused, through string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = &confused{listener: l, server: u.Host}
	c.links.Go(c.accept)
	t.Cleanup(func() {
		_ = l.Close() // no error check: the test is over
		c.links.Wait()
	})
	u.Host = l.Addr().String()
	return c, u.String()
}

func (c *confused) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			_ = client.Close() // no error check: the client sees the end
			continue
		}
		c.links.Go(func() { c.answers(client, server) })
		c.links.Go(func() {
			_, _ = io.Copy(server, client) // no error check: the end of a connection ends the other one
			_ = server.Close()             // no error check: as above
		})
	}
}

// answers passes on what the server says.
func (c *confused) answers(client, server net.Conn) {
	defer client.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		text := buffer[:n]
		if bytes.HasSuffix(text, readyForQuery) && c.armed.CompareAndSwap(true, false) {
			c.fired.Add(1)
			text = append(bytes.Clone(text), readyForQuery...)
		}
		if _, err := client.Write(text); err != nil {
			return
		}
	}
}

// PgBouncer 1.18 in session mode has given a connection an answer that was not its own. The store
// closes such a connection and uses another one.
//
// part of: Q10
func TestAnAnswerOfAnotherStatementIsNotBelieved(t *testing.T) {
	t.Parallel()
	server, schema := pgtest.Schema(t)
	pooler, dsn := confuse(t, server)
	s := opened(t, dsn, &Options{Schema: schema})
	for n := range 20 {
		pooler.armed.Store(true)
		if _, err := s.Counts(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("read %d: %v, want an answer or %v", n, err, store.ErrUnavailable)
		}
		pooler.armed.Store(false)
		if _, err := s.Counts(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("the next read %d: %v, want an answer or %v", n, err, store.ErrUnavailable)
		}
	}
	if pooler.fired.Load() == 0 {
		t.Fatal("no answer was doubled")
	}
	made := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{made}); err != nil {
		t.Errorf("an enqueue afterwards: %v", err)
	}
}

func TestOnlyTheAnswerOfACommitIsOne(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]error{"COMMIT": nil, "ROLLBACK": pg.ErrAborted, "SELECT 1": pg.ErrAnswer, "": pg.ErrAnswer} {
		err := pg.Committed(tag)
		if !errors.Is(err, want) {
			t.Errorf("a COMMIT that is answered with %q: %v, want %v", tag, err, want)
		}
		if errors.Is(err, pg.ErrAnswer) && !errors.Is(pg.CommitError(err), store.ErrUnknown) {
			t.Errorf("a COMMIT that is answered with %q: %v, want %v", tag, pg.CommitError(err), store.ErrUnknown)
		}
	}
}
