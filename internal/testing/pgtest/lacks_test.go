package pgtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/servers"
)

// outcome takes down how a test was ended.
type outcome struct {
	testing.TB
	skipped, failed string
}

func (*outcome) Helper()                            {}
func (o *outcome) Skipf(format string, args ...any) { o.skipped = fmt.Sprintf(format, args...) }
func (o *outcome) Fatal(args ...any)                { o.failed = fmt.Sprint(args...) }

// Where no server is installed a test says so and how to get one; where one
// does not start, nobody may take that for a skip.
func TestWithoutAServerTestsSayWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err          error
		skips, fails bool
		mustBeTold   string
		alsoToBeTold string
	}{
		{fmt.Errorf("PostgreSQL: %w (on Debian: apt-get install postgresql)", servers.ErrMissing), true, false, "apt-get install", EnvDSN},
		{errors.New("initdb: no space left"), false, true, "no space left", ""},
	} {
		o := &outcome{TB: t}
		lacks(o, tt.err)
		told := o.skipped + o.failed
		if (o.skipped != "") != tt.skips || (o.failed != "") != tt.fails {
			t.Errorf("%v: skipped %q, failed %q", tt.err, o.skipped, o.failed)
		}
		if !strings.Contains(told, tt.mustBeTold) || !strings.Contains(told, tt.alsoToBeTold) {
			t.Errorf("%v: told %q", tt.err, told)
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
			t.Errorf("%s: %s, %v; want %s", dsn, got, err, want)
		}
	}
}
