package pgtest

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive/redrive/internal/testing/servers"
)

// Bouncer puts PgBouncer in transaction mode before the server at a DSN, a URL
// such as those of [DSN] and [Server.DSN], and returns its address. Settings, as
// in pgbouncer.ini, are names and values in turn. It is gone when the test ends.
// The test is skipped where PgBouncer is not installed.
func Bouncer(t testing.TB, dsn string, settings ...string) string {
	t.Helper()
	o := &servers.BouncerOptions{Settings: make(map[string]string)}
	for i := 0; i+1 < len(settings); i += 2 {
		o.Settings[settings[i]] = settings[i+1]
	}
	b, err := servers.StartBouncer(context.Background(), dsn, o)
	if errors.Is(err, servers.ErrMissing) {
		t.Skipf("no PgBouncer: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last lines of PgBouncer:\n%s", b.Log())
		}
		if err := b.Close(); err != nil {
			t.Errorf("stop PgBouncer: %v", err)
		}
	})
	return b.DSN()
}
