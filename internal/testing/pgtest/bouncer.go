package pgtest

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive/redrive/internal/testing/servers"
)

// Bouncer starts PgBouncer in transaction mode in front of the server at a DSN. The DSN must be a
// URL, such as the results of [DSN] and [Server.DSN]. It returns the DSN of PgBouncer. Settings of
// pgbouncer.ini are given as name and value in turn. PgBouncer is stopped at the end of the test.
// The test is skipped where it is not installed.
func Bouncer(t testing.TB, dsn string, settings ...string) string {
	t.Helper()
	o := &servers.BouncerOptions{Settings: make(map[string]string)}
	for i := 0; i+1 < len(settings); i += 2 {
		o.Settings[settings[i]] = settings[i+1]
	}
	b, err := servers.StartBouncer(context.Background(), dsn, o)
	if errors.Is(err, servers.ErrMissing) {
		t.Skipf("PgBouncer cannot be started: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last lines of PgBouncer's log:\n%s", b.Log())
		}
		if err := b.Close(); err != nil {
			t.Errorf("stop PgBouncer: %v", err)
		}
	})
	return b.DSN()
}
