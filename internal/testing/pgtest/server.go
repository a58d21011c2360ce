package pgtest

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/redrive/redrive/internal/testing/servers"
)

// Server is a PostgreSQL server for one test. Its methods fail the test on an error. The server and
// its data are removed at the end of the test.
type Server struct {
	t testing.TB
	p *servers.Postgres
}

// Option changes the options of the server that [New] starts.
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

// Disk puts the data of the server on a separate file system with the given size, such as 160m.
// [Server.FillDisk] fills this file system. The test is skipped if it does not run as root on
// Linux.
func Disk(size string) Option {
	return func(o *servers.PostgresOptions) { o.Disk = size }
}

// New starts a server for a test. If the test fails, it logs the last lines of the server's log.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	notShort(t)
	o := Options()
	for _, option := range options {
		option(o)
	}
	if o.Disk != "" && (runtime.GOOS != "linux" || os.Geteuid() != 0) {
		t.Skip("a private file system needs root on Linux")
	}
	p, err := servers.StartPostgres(context.Background(), o)
	if err != nil {
		lacks(t, err)
	}
	t.Cleanup(func() {
		if log := p.Log(); t.Failed() && log != "" {
			t.Logf("the last lines of the server's log:\n%s", log)
		}
		if err := p.Close(); err != nil {
			t.Errorf("stop the server of the test: %v", err)
		}
	})
	return &Server{t, p}
}

// Process returns the same server as a value whose methods return errors. Goroutines that must not
// end the test use it.
func (s *Server) Process() *servers.Postgres { return s.p }

// DSN returns the address over TCP. It stays the same over restarts.
func (s *Server) DSN() string { return s.p.DSN() }

// SocketDSN returns the address over the unix socket.
func (s *Server) SocketDSN() string { return s.p.SocketDSN() }

// Start starts the server after a stop.
func (s *Server) Start() { s.t.Helper(); s.must(s.p.Start(context.Background())) }

// Stop stops the server and waits until it has ended.
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

// Resume resumes a paused server.
func (s *Server) Resume() { s.p.Resume() }

// FillDisk fills the disk of a server that was started with [Disk].
func (s *Server) FillDisk() { s.t.Helper(); s.must(s.p.FillDisk()) }

// FreeDisk frees the space that FillDisk took.
func (s *Server) FreeDisk() { s.t.Helper(); s.must(s.p.FreeDisk()) }

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
