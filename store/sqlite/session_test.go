package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/sqlstore"
)

// A statement remembers which values are bound to it. Whatever was bound before, it must write the
// values of the present call: also after an error, and if two queries have the same text.
func TestAStatementWritesTheValuesOfEachCall(t *testing.T) {
	t.Parallel()
	conn, err := connect(filepath.Join(t.TempDir(), "values.db"), roleWriter)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := newNative(conn)
	for _, table := range []string{`CREATE TABLE notes (a, b)`, `CREATE TABLE numbered (n INTEGER PRIMARY KEY, a)`} {
		if _, err := s.Exec(&sqlstore.Query{Text: table}); err != nil {
			t.Fatal(err)
		}
	}
	const insert = `INSERT INTO notes VALUES (?1, ?2)`
	twins := []*sqlstore.Query{{Text: insert}, {Text: insert}}
	buffer := []byte("first")
	values := []sqlstore.Value{
		{}, sqlstore.Num(7), sqlstore.Num(7), sqlstore.Num(0), {}, {Kind: sqlstore.IsText}, {Kind: sqlstore.IsText, S: "a"},
		{Kind: sqlstore.IsText, S: "a"}, {Kind: sqlstore.IsBlob, B: buffer}, {Kind: sqlstore.IsBlob}, {},
		{Kind: sqlstore.IsText, S: strings.Repeat("x", 2*rememberMax)}, {Kind: sqlstore.IsText, S: strings.Repeat("x", 2*rememberMax)}, sqlstore.Num(7),
	}
	var want []string
	write := func(q *sqlstore.Query, a, b sqlstore.Value) {
		t.Helper()
		if _, err := s.Exec(q, a, b); err != nil {
			t.Fatal(err)
		}
		want = append(want, show(a)+" "+show(b))
	}
	for i, v := range values {
		write(twins[0], v, values[len(values)-1-i])
		write(twins[i%2], v, sqlstore.Num(1))
	}
	copy(buffer, "other")
	write(twins[0], sqlstore.Value{Kind: sqlstore.IsBlob, B: buffer}, sqlstore.Num(1))

	numbered := &sqlstore.Query{Text: `INSERT INTO numbered VALUES (?1, ?2)`}
	for _, twice := range []bool{false, true} {
		if _, err := s.Exec(numbered, sqlstore.Num(1), sqlstore.Num(1)); (err != nil) != twice {
			t.Errorf("insert of row 1, a second time %v: got error %v", twice, err)
		}
	}
	if _, err := s.Exec(numbered, sqlstore.Num(2), sqlstore.Num(1)); err != nil {
		t.Errorf("insert of row 2: %v", err)
	}
	for range 2 {
		if _, err := s.Exec(numbered, sqlstore.Num(3), sqlstore.Num(1), sqlstore.Num(1)); err == nil {
			t.Error("a statement took more values than it has parameters, want an error")
		}
	}

	var got []string
	err = s.Rows(&sqlstore.Query{Text: `SELECT quote(a) || ' ' || quote(b) FROM notes ORDER BY rowid`}, func(r sqlstore.Row) error {
		got = append(got, r.Text(0))
		return nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("rows after writing (error %v):\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// show returns the form in which the function quote of SQLite writes a value.
func show(v sqlstore.Value) string {
	switch v.Kind {
	case sqlstore.IsInt:
		return fmt.Sprint(v.N)
	case sqlstore.IsText:
		return "'" + v.S + "'"
	case sqlstore.IsBlob:
		return fmt.Sprintf("X'%X'", v.B)
	case sqlstore.IsNull:
	}
	return "NULL"
}
