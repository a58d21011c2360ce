// Package pgtest gives tests a PostgreSQL server.
//
// Most tests share one: [DSN], [Schema] and [Database]. It is the server that
// REDRIVE_TEST_POSTGRES names, a DSN; scripts/test.sh sets that to a private one
// for its whole run. Without it a test binary starts its own, once, with the
// programs that are installed. A test that stops, kills or fills its server gets
// one for itself from [New].
//
// Where there is no server, the tests that need one are skipped, and say why. With
// -short no server is started: only the one of REDRIVE_TEST_POSTGRES is used.
//
// REDRIVE_TEST_POSTGRES_FSYNC=off makes servers that do not wait for the disk,
// and REDRIVE_TEST_POSTGRES_BIN names the directory of the programs to use.
package pgtest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/servers"
)

// Names of environment variables.
const (
	EnvDSN   = "REDRIVE_TEST_POSTGRES"       // the DSN of the server that tests share
	EnvFsync = "REDRIVE_TEST_POSTGRES_FSYNC" // off: no server waits for the disk
	EnvBin   = "REDRIVE_TEST_POSTGRES_BIN"   // the directory of initdb and postgres
)

// shared is the server of this test binary, if it had to start one. There is
// no other place for what all tests of a binary share.
var shared struct {
	sync.Mutex
	server *servers.Postgres
	err    error
}

// DSN returns the address of the server that tests share, as a superuser of it
// unless REDRIVE_TEST_POSTGRES says otherwise. Nothing in it is the caller's:
// what a test makes there goes into a schema of its own, see [Schema].
func DSN(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv(EnvDSN); dsn != "" {
		return dsn
	}
	notShort(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = servers.StartPostgres(context.Background(), Options())
	}
	if shared.err != nil {
		lacks(t, shared.err)
	}
	return shared.server.DSN()
}

// Connect opens a connection for the time of a test. A test may cut or close it
// before.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// lacks ends a test that has no server: it is skipped where none is installed,
// and fails where one does not start.
func lacks(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, servers.ErrMissing) {
		t.Skipf("no server: %v, or set %s", err, EnvDSN)
	} else {
		t.Fatal(err)
	}
}

// notShort skips a test that would start a server where only quick tests are wanted.
func notShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no PostgreSQL")
	}
}

// Options returns what the environment says about private servers.
func Options() *servers.PostgresOptions {
	return &servers.PostgresOptions{NoSync: os.Getenv(EnvFsync) == "off", Bin: os.Getenv(EnvBin)}
}

// Runner runs the tests of a package, as *testing.M does.
type Runner interface{ Run() int }

// Main runs the tests of a package, stops the server if they started one, and
// exits. It is the body of a TestMain:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// With goleak it is goleak.VerifyTestMain(pgtest.Stopping(m)).
func Main(m Runner) { os.Exit(Stopping(m).Run()) }

// Stopping returns a runner that stops the server of the tests after them, and
// drops the schemas of [Schemas] where the server was there before. Without it the
// server is stopped when the process is gone.
func Stopping(m Runner) Runner { return stopping{m} }

type stopping struct{ Runner }

func (s stopping) Run() int {
	code := s.Runner.Run()
	shared.Lock()
	defer shared.Unlock()
	what, err := "drop the schemas of the tests: ", error(nil)
	if shared.server == nil {
		err = drop.all()
	} else {
		what, err = "stop the server of the tests: ", shared.server.Close()
		shared.server = nil
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(what + err.Error() + "\n")
		return max(code, 1)
	}
	return code
}
