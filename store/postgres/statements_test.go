package postgres

import (
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/internal/sqlstore"
)

// Every statement that the stores share is one that a server understands, with as
// many parameters as in SQLite's words, and as many columns for whoever reads it.
//
// part of: Q10
func TestEveryStatementIsUnderstood(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	err := s.transact(t.Context(), &s.begins.read, func(c *session) error {
		for name, q := range sqlstore.Statements() {
			text := s.dialect.text(q)
			if strings.Contains(text, "?") || strings.Contains(text, "INDEXED") {
				t.Errorf("%s: not all is translated: %s", name, text)
			}
			if _, err := c.conn.Exec(t.Context(), "SAVEPOINT one").ReadAll(); err != nil {
				return err
			}
			d, err := c.conn.Prepare(t.Context(), "", text, nil)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				if _, err := c.conn.Exec(t.Context(), "ROLLBACK TO one").ReadAll(); err != nil {
					return err
				}
				continue
			}
			if ownText(name) == "" {
				checkParams(t, q, d)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	shared := maps.Collect(sqlstore.Statements())
	for name := range overrides {
		if shared[name] == nil && !sqlstore.HasOwn(name) {
			t.Errorf("there is no shared statement %q", name)
		}
	}
	for name, a := range amended {
		if q := shared[name]; q == nil || strings.Count(q.Text, a.from) != 1 {
			t.Errorf("the shared statement %q does not have %q once", name, a.from)
		}
	}
}

// checkParams compares the parameters of a statement with what the shared text
// asks for.
func checkParams(t *testing.T, q *sqlstore.Query, d *pgconn.StatementDescription) {
	t.Helper()
	most, bare := 0, 0
	for _, k := range tokenize(q.Text) {
		if k.kind != param {
			continue
		}
		n := 0
		for _, digit := range k.text[1:] {
			n = 10*n + int(digit-'0')
		}
		if n == 0 {
			bare++
		}
		most = max(most, n)
	}
	if want := max(most, bare); len(d.ParamOIDs) != want {
		t.Errorf("%s: %d parameters, want %d", q.Name, len(d.ParamOIDs), want)
	}
}
