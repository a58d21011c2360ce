package pgtest

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/redrive/redrive/internal/testing/servers"
)

// Server is a PostgreSQL server that belongs to one test, which fails when a
// step does. It is gone, with its data, when the test ends.
type Server struct {
	t testing.TB
	p *servers.Postgres
}

// Option changes what server [New] starts.
type Option func(*servers.PostgresOptions)

// Setting sets a setting of postgresql.conf.
func Setting(name, value string) Option {
	return func(o *servers.PostgresOptions) {
		if o.Settings == nil {
			o.Settings = make(map[string]string)
		}
		o.Settings[name] = value
	}
}

// Disk puts the server on a disk of its own, of a size such as 160m, which
// [Server.FillDisk] fills. The test is skipped without root or Linux.
func Disk(size string) Option {
	return func(o *servers.PostgresOptions) { o.Disk = size }
}

// New starts a server for a test. If the test fails, it tells the last lines
// of the server's log.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	notShort(t)
	o := Options()
	for _, option := range options {
		option(o)
	}
	if o.Disk != "" && (runtime.GOOS != "linux" || os.Geteuid() != 0) {
		t.Skip("no disk of its own to fill: that needs root on Linux")
	}
	p, err := servers.StartPostgres(context.Background(), o)
	if err != nil {
		lacks(t, err)
	}
	t.Cleanup(func() {
		if log := p.Log(); t.Failed() && log != "" {
			t.Logf("the last lines of the server:\n%s", log)
		}
		if err := p.Close(); err != nil {
			t.Errorf("stop the server of the test: %v", err)
		}
	})
	return &Server{t, p}
}

// Process returns the server as a value whose steps return errors, for
// goroutines that must not end the test.
func (s *Server) Process() *servers.Postgres { return s.p }

// DSN returns the address over TCP. It stays the same over restarts.
func (s *Server) DSN() string { return s.p.DSN() }

// SocketDSN returns the address over the unix socket.
func (s *Server) SocketDSN() string { return s.p.SocketDSN() }

// Start starts the server after a stop.
func (s *Server) Start() { s.t.Helper(); s.must(s.p.Start(context.Background())) }

// Stop stops the server and waits for its end.
func (s *Server) Stop(mode servers.Mode) { s.t.Helper(); s.must(s.p.Stop(mode)) }

// Restart stops the server and starts it again.
func (s *Server) Restart(mode servers.Mode) {
	s.t.Helper()
	s.must(s.p.Restart(context.Background(), mode))
}

// Kill kills all processes of the server with SIGKILL.
func (s *Server) Kill() { s.t.Helper(); s.must(s.p.Kill()) }

// Pause stops all processes of the server with SIGSTOP.
func (s *Server) Pause() { s.t.Helper(); s.must(s.p.Pause()) }

// Resume lets a paused server go on.
func (s *Server) Resume() { s.p.Resume() }

// FillDisk fills the disk of the server, which it must have: see [Disk].
func (s *Server) FillDisk() { s.t.Helper(); s.must(s.p.FillDisk()) }

// FreeDisk takes back what FillDisk did.
func (s *Server) FreeDisk() { s.t.Helper(); s.must(s.p.FreeDisk()) }

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
