package pgproxy_test

import (
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"

	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Stopping(m)) }

// patience is the time limit of a wait that should end at once.
const patience = time.Minute

// fake is a server that accepts every statement and records the messages that it received. Like
// PostgreSQL, it buffers its replies until a client's message asks for them.
type fake struct {
	listener net.Listener
	running  sync.WaitGroup
	ends     chan struct{} // a channel that receives a value for each connection that has ended

	mu  sync.Mutex
	got []string
}

func newFake(t *testing.T) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{listener: l, ends: make(chan struct{}, 100)}
	f.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.running.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // no error check: the listener has written no data
		f.running.Wait()
	})
	return f
}

// serve handles one client until the client has ended.
func (f *fake) serve(c net.Conn) {
	defer func() { f.ends <- struct{}{} }()
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if b.Flush() != nil {
		return
	}
	prepared, skips := map[string]string{}, false
	bound := ""
	for {
		m, err := b.Receive()
		if err != nil {
			return
		}
		f.note(m)
		if _, sync := m.(*pgproto3.Sync); skips && !sync {
			continue
		}
		switch m := m.(type) {
		case *pgproto3.Parse:
			prepared[m.Name] = m.Query
			b.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Bind:
			bound = prepared[m.PreparedStatement]
			b.Send(&pgproto3.BindComplete{})
		case *pgproto3.Execute:
			if skips = strings.Contains(bound, "wrong"); skips {
				b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42601", Message: "wrong"})
				if b.Flush() != nil { // like PostgreSQL, the server sends an error at once and does not buffer it
					return
				}
			} else {
				b.Send(&pgproto3.CommandComplete{CommandTag: []byte(strings.ToUpper(bound))})
			}
		case *pgproto3.Query:
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte(strings.ToUpper(m.String))})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Sync:
			skips = false
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Flush:
		case *pgproto3.Terminate:
			return
		}
		switch m.(type) {
		case *pgproto3.Query, *pgproto3.Sync, *pgproto3.Flush:
			if b.Flush() != nil {
				return
			}
		}
	}
}

func (f *fake) note(m pgproto3.FrontendMessage) {
	word := strings.TrimPrefix(strings.TrimPrefix(typeName(m), "*pgproto3."), "pgproto3.")
	switch m := m.(type) {
	case *pgproto3.Query:
		word += " " + m.String
	case *pgproto3.Parse:
		word += " " + m.Query
	case *pgproto3.Bind:
		word += " " + m.PreparedStatement
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, word)
}

// heard waits until n connections have ended. Then it returns the names of the messages that all
// clients have sent.
func (f *fake) heard(t *testing.T, n int) []string {
	t.Helper()
	for range n {
		await(t, f.ends, "the end of a connection to the server")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}

func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("after %v the test is still waiting for %s", patience, what)
	}
}

// client sends and reads single messages of the protocol.
type client struct {
	*pgproto3.Frontend
	t    *testing.T
	conn net.Conn
	raw  *record
}

// record stores all bytes that were read.
type record struct {
	io.Reader
	bytes []byte
}

func (r *record) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.bytes = append(r.bytes, p[:n]...)
	return n, err
}

// dial connects through a proxy and finishes the start of the connection.
func dial(t *testing.T, p *pgproxy.Proxy) *client {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	raw := &record{Reader: conn}
	c := &client{pgproto3.NewFrontend(raw, conn), t, conn, raw}
	c.say(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": "u"}})
	for {
		if _, ready := c.hear().(*pgproto3.ReadyForQuery); ready {
			raw.bytes = nil
			return c
		}
	}
}

// say sends several messages in one write.
func (c *client) say(messages ...pgproto3.FrontendMessage) {
	c.t.Helper()
	for _, m := range messages {
		c.Send(m)
	}
	if err := c.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) hear() pgproto3.BackendMessage {
	c.t.Helper()
	m, err := c.Receive()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// rest reads until the connection ends. It returns all bytes that the client has received since the
// connection was set up.
func (c *client) rest() string {
	c.t.Helper()
	for {
		if _, err := c.Receive(); err != nil {
			return string(c.raw.bytes)
		}
	}
}

// through starts a proxy that is closed at the end of the test.
func through(t *testing.T, target string) *pgproxy.Proxy {
	t.Helper()
	p, err := pgproxy.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
