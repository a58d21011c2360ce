package pgtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/servers"
)

// outcome records how a test was ended.
type outcome struct {
	testing.TB
	skipped, failed string
}

func (*outcome) Helper()                            {}
func (o *outcome) Skipf(format string, args ...any) { o.skipped = fmt.Sprintf(format, args...) }
func (o *outcome) Fatal(args ...any)                { o.failed = fmt.Sprint(args...) }

// Without an installed server a test is skipped and says how to install it. A server that does not
// start is a failure.
func TestWithoutAServerTestsSayWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err          error
		skips, fails bool
		want         string
		alsoWant     string
	}{
		{fmt.Errorf("PostgreSQL: %w (on Debian: apt-get install postgresql)", servers.ErrMissing), true, false, "apt-get install", EnvDSN},
		{errors.New("initdb: no space left"), false, true, "no space left", ""},
	} {
		o := &outcome{TB: t}
		lacks(o, tt.err)
		text := o.skipped + o.failed
		if (o.skipped != "") != tt.skips || (o.failed != "") != tt.fails {
			t.Errorf("server error %v: got the skip text %q and the failure text %q; want a skip: %v, want a failure: %v", tt.err, o.skipped, o.failed, tt.skips, tt.fails)
		}
		if !strings.Contains(text, tt.want) || !strings.Contains(text, tt.alsoWant) {
			t.Errorf("server error %v: got the message %q; want %q and %q in it", tt.err, text, tt.want, tt.alsoWant)
		}
	}
}

func TestDSNsOfOtherDatabases(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:p@h:1/db?sslmode=disable": "postgres://u:p@h:1/other?sslmode=disable",
		"postgresql:///db?host=/run":            "postgresql:///other?host=/run",
		"host=h dbname=db":                      "host=h dbname=db dbname=other",
	} {
		if got, err := withDatabase(dsn, "other"); got != want || err != nil {
			t.Errorf("withDatabase of %s: got the DSN %s and the error %v, want the DSN %s", dsn, got, err, want)
		}
	}
}
