package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
)

//go:embed statements.sql
var statements string

// texts returns the statements of the store.
var texts = sync.OnceValue(func() sqlstore.Texts { return sqlstore.MustParseTexts(statements) })

// native is a session on one of the store's connections. A connection has only one native, because a
// native remembers the values that are bound to the statements of its connection.
type native struct {
	conn  *sqlite.Conn
	stmts map[*sqlstore.Query]*statement
}

func newNative(conn *sqlite.Conn) *native {
	return &native{conn: conn, stmts: make(map[*sqlstore.Query]*statement)}
}

// statement is a prepared statement with the values that are bound to it. SQLite keeps them from one
// run to the next. Most runs of a transaction have many values in common, such as the lane, the time
// and the holder, so only the other values are bound again.
type statement struct {
	*sqlite.Stmt
	bound []sqlstore.Value // a value of kind IsBlob stands for a value that is not remembered
}

// rememberMax is the largest size in bytes of a text that is remembered.
const rememberMax = 64

func (s *native) stmt(q *sqlstore.Query) (*statement, error) {
	if stmt := s.stmts[q]; stmt != nil {
		return stmt, nil
	}
	prepared, err := s.conn.Prepare(texts().Of(q))
	if err != nil {
		return nil, err
	}
	stmt := &statement{prepared, make([]sqlstore.Value, prepared.BindParamCount())}
	for _, other := range s.stmts {
		if other.Stmt == prepared { // a query with the same text; Prepare has set its values to NULL
			clear(other.bound)
			stmt = other
			break
		}
	}
	s.stmts[q] = stmt
	return stmt, nil
}

func (s *statement) bind(args []sqlstore.Value) {
	for len(s.bound) < len(args) { // too many arguments: SQLite returns an error for them
		s.bound = append(s.bound, sqlstore.Value{Kind: sqlstore.IsBlob})
	}
	for i := range args {
		a, b := &args[i], &s.bound[i]
		if a.Kind == b.Kind && a.Kind != sqlstore.IsBlob && a.N == b.N && a.S == b.S {
			continue
		}
		switch a.Kind {
		case sqlstore.IsInt:
			s.BindInt64(i+1, a.N)
		case sqlstore.IsText:
			s.BindText(i+1, a.S)
		case sqlstore.IsBlob:
			s.BindBytes(i+1, a.B)
		case sqlstore.IsNull:
			s.BindNull(i + 1)
		}
		*b = sqlstore.Value{Kind: sqlstore.IsBlob}
		if a.Kind != sqlstore.IsBlob && len(a.S) <= rememberMax {
			b.Kind, b.N, b.S = a.Kind, a.N, a.S
		}
	}
}

// step runs the statement until its next row. After an error it remembers no bound values, because
// the error may be that a value could not be bound.
func (s *statement) step() (more bool, err error) {
	if more, err = s.Step(); err != nil {
		for i := range s.bound {
			s.bound[i] = sqlstore.Value{Kind: sqlstore.IsBlob}
		}
	}
	return more, err
}

func (s *native) Exec(q *sqlstore.Query, args ...sqlstore.Value) (int, error) {
	stmt, err := s.stmt(q)
	if err != nil {
		return 0, err
	}
	stmt.bind(args)
	for {
		more, err := stmt.step()
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
	}
	changed := s.conn.Changes()
	return changed, stmt.Reset()
}

func (s *native) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, args ...sqlstore.Value) error {
	stmt, err := s.stmt(q)
	if err != nil {
		return err
	}
	stmt.bind(args)
	for {
		more, err := stmt.step()
		if err != nil {
			return err
		}
		if !more {
			return stmt.Reset()
		}
		if err := each(nativeRow{stmt.Stmt}); err != nil {
			_ = stmt.Reset() // the error of reading the row matters, so the error of Reset is ignored
			return err
		}
	}
}

type nativeRow struct{ stmt *sqlite.Stmt }

func (r nativeRow) Int(col int) int64 { return r.stmt.ColumnInt64(col) }
func (r nativeRow) Null(col int) bool { return r.stmt.ColumnType(col) == sqlite.TypeNull }

func (r nativeRow) Text(col int) string {
	if r.Null(col) {
		return ""
	}
	return r.stmt.ColumnText(col)
}

func (r nativeRow) Blob(col int) []byte {
	if r.Null(col) {
		return nil
	}
	b := make([]byte, r.stmt.ColumnLen(col))
	r.stmt.ColumnBytes(col, b)
	return b
}

// foreign is a session in a transaction of the caller, with database/sql.
type foreign struct {
	ctx context.Context //nolint:containedctx // lives as long as the one call that uses it
	tx  *sql.Tx
}

func (s *foreign) args(args []sqlstore.Value) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a.Kind {
		case sqlstore.IsInt:
			out[i] = a.N
		case sqlstore.IsText:
			out[i] = a.S
		case sqlstore.IsBlob:
			out[i] = append([]byte{}, a.B...) // otherwise the driver would store an empty blob as NULL
		case sqlstore.IsNull:
		}
	}
	return out
}

func (s *foreign) Exec(q *sqlstore.Query, args ...sqlstore.Value) (int, error) {
	result, err := s.tx.ExecContext(s.ctx, texts().Of(q), s.args(args)...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (s *foreign) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, args ...sqlstore.Value) (err error) {
	rows, err := s.tx.QueryContext(s.ctx, texts().Of(q), s.args(args)...)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	// All rows are read before the given function is called, because it may run statements.
	var all []foreignRow
	for rows.Next() {
		values := make(foreignRow, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		all = append(all, values)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, r := range all {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

type foreignRow []any

func (r foreignRow) Null(col int) bool { return r[col] == nil }

func (r foreignRow) Int(col int) int64 {
	n, _ := r[col].(int64)
	return n
}

func (r foreignRow) Text(col int) string { return sqlstore.TextOf(r[col]) }
func (r foreignRow) Blob(col int) []byte { return sqlstore.BlobOf(r[col]) }
