package pgtest_test

import (
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
)

// Two clients that stay connected share one connection to the server. In this mode of PgBouncer,
// transaction mode, a connection belongs to a client only during a transaction.
func TestABouncerSharesConnectionsBetweenTransactions(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	dsn := pgtest.Bouncer(t, s.DSN(), "default_pool_size", "1") + "&default_query_exec_mode=simple_protocol"
	one, two := pgtest.Connect(t, dsn), pgtest.Connect(t, dsn)
	run(t, one, "CREATE TABLE jobs (id int)")
	run(t, two, "INSERT INTO jobs VALUES (1)")
	pid := ask[int](t, one, "SELECT pg_backend_pid()")
	if other := ask[int](t, two, "SELECT pg_backend_pid()"); other != pid {
		t.Errorf("the clients use the server connections %d and %d, want the same one", pid, other)
	}
	if n := ask[int](t, pgtest.Connect(t, s.DSN()), "SELECT count(*) FROM jobs"); n != 1 {
		t.Errorf("got %d rows through PgBouncer, want 1", n)
	}
}
