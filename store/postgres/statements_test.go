package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	native "zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/sqlite"
)

// session settings and the ends of transactions have no plan.
var withoutPlan = regexp.MustCompile(`^(BEGIN|COMMIT|SET) ?`)

// The server understands every statement and finds a plan for it.
//
// part of: Q10
func TestEveryStatementHasAPlan(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	for name, text := range s.texts {
		if !withoutPlan.MatchString(text.SQL) && s.planOf(t, name, false) == "" {
			t.Errorf("%s: the server has no plan for it", name)
		}
		if strings.Contains(text.SQL, DefaultSchema+".redrive_") {
			t.Errorf("%s: a table has the default schema", name)
		}
		if strings.Contains(text.SQL, "alive:") && !strings.Contains(text.SQL, "'"+job.AliveKey+"'") {
			t.Errorf("%s: keys of live jobs begin with %q", name, job.AliveKey)
		}
	}
}

// described is what a database says of a statement.
type described struct {
	params  int
	columns []string
}

// inSQLite describes the statements of SQLite's file.
func inSQLite(t *testing.T) map[string]described {
	t.Helper()
	file, err := os.ReadFile("../sqlite/statements.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "statements.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := native.OpenConn(path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	all := make(map[string]described)
	for name, text := range sqlstore.MustParseTexts(string(file)) {
		stmt, err := conn.Prepare(text.SQL)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d := described{params: stmt.BindParamCount()}
		for i := range stmt.ColumnCount() {
			d.columns = append(d.columns, stmt.ColumnName(i))
		}
		all[name] = d
	}
	return all
}

// bare is the name of a column that is no expression.
var bare = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// sameColumns reports whether two statements have the same columns. Of expressions the databases make up names.
func sameColumns(ours, theirs []string) bool {
	if len(ours) != len(theirs) {
		return false
	}
	for i := range ours {
		if bare.MatchString(ours[i]) && bare.MatchString(theirs[i]) && ours[i] != theirs[i] {
			return false
		}
	}
	return true
}

// Statements that both SQL stores have take the same arguments and have the same columns. An unused last argument does
// not count.
//
// part of: Q10
func TestStatementsAreThoseOfSQLite(t *testing.T) {
	t.Parallel()
	s, theirs := fresh(t, nil), inSQLite(t)
	err := s.transact(t.Context(), &s.begins.read, func(c *pg.Session) error {
		for name, text := range s.texts {
			if text.Own {
				continue
			}
			d, err := c.Conn.Prepare(t.Context(), "", text.SQL, nil)
			if err != nil {
				return err
			}
			ours := described{params: len(d.ParamOIDs)}
			for _, f := range d.Fields {
				ours.columns = append(ours.columns, f.Name)
			}
			if text.Overtaken {
				ours.columns = ours.columns[:len(ours.columns)-2] // who has written the row, and the mark
			}
			if ours.params != theirs[name].params || !sameColumns(ours.columns, theirs[name].columns) {
				t.Errorf("%s: PostgreSQL has %d arguments and the columns %q, SQLite %d and %q", name,
					ours.params, ours.columns, theirs[name].params, theirs[name].columns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
