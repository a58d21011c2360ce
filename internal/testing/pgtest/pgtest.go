// Package pgtest gives tests a PostgreSQL server.
//
// Most tests share one server: see [DSN], [Schema] and [Database]. The environment variable
// REDRIVE_TEST_POSTGRES holds the DSN of this server. For a whole test run, scripts/test.sh starts
// a private server and sets the variable. Without the variable, each test binary starts a server
// from the installed programs. A test that stops, kills or fills its server starts a separate one
// with [New].
//
// If no server can be started, the tests are skipped, and the reason is logged. With -short, no
// server is started, and tests use only the server in REDRIVE_TEST_POSTGRES.
//
// REDRIVE_TEST_POSTGRES_FSYNC=off makes servers that do not wait for the disk.
// REDRIVE_TEST_POSTGRES_BIN is the directory of the programs.
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
	EnvFsync = "REDRIVE_TEST_POSTGRES_FSYNC" // with the value "off", servers do not wait for the disk
	EnvBin   = "REDRIVE_TEST_POSTGRES_BIN"   // the directory with the programs initdb and postgres
)

// shared is the server of this test binary, if it had to start one. It is a variable of the package
// because all tests of the binary share it.
var shared struct {
	sync.Mutex
	server *servers.Postgres
	err    error
}

// DSN returns the DSN of the shared server. The role in the DSN is a superuser, unless
// REDRIVE_TEST_POSTGRES names another role. A test must only use its own schema there, see
// [Schema].
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

// Connect opens a connection that is closed at the end of the test. The test may cut or close it
// earlier.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// lacks ends a test that has no server. The test is skipped if no server is installed, and fails if
// a server is installed but does not start.
func lacks(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, servers.ErrMissing) {
		t.Skipf("no PostgreSQL server: %v, or set the environment variable %s", err, EnvDSN)
	} else {
		t.Fatal(err)
	}
}

// notShort skips a test under -short that would start a server.
func notShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no PostgreSQL server")
	}
}

// Options returns the options of private servers that the environment sets.
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

// Stopping returns a runner that stops the server after the tests. If the tests did not start the
// server, it drops the schemas of [Schemas] instead. Without Stopping the server is stopped after
// the end of the process.
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
