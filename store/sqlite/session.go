package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// session runs statements inside one transaction. There are two: the native one
// of the writer, which prepares each statement once and allocates nothing, and
// the one over a caller's own *sql.Tx. The logic above them is written once.
type session interface {
	// exec runs a statement and returns how many rows it changed.
	exec(q *query, args ...value) (int, error)
	// rows calls each for every row. The row is valid only during the call.
	rows(q *query, each func(row) error, args ...value) error
}

// query is a statement's text; its address is its identity.
type query struct{ text string }

// row reads the columns of a result's current row.
type row interface {
	int(col int) int64 // NULL is 0
	text(col int) string
	blob(col int) []byte // a copy; NULL is nil
	null(col int) bool
}

// value is an argument of a statement. The zero value is NULL.
type value struct {
	kind valueKind
	n    int64
	s    string
	b    []byte
}

type valueKind uint8

const (
	isNull valueKind = iota
	isInt
	isText
	isBlob
)

func num[T ~int | ~int8 | ~int32 | ~int64 | ~uint8](n T) value {
	return value{kind: isInt, n: int64(n)}
}

func text[T ~string](s T) value { return value{kind: isText, s: string(s)} }

func blob(b []byte) value { return value{kind: isBlob, b: b} }

func bit(set bool) value {
	if set {
		return num(1)
	}
	return num(0)
}

// The set… forms store the zero value as NULL, which takes no room in a row.

func setNum[T ~int | ~int8 | ~int32 | ~int64](n T) value {
	if n == 0 {
		return value{}
	}
	return num(n)
}

func setText[T ~string](s T) value {
	if s == "" {
		return value{}
	}
	return text(s)
}

func setBlob(b []byte) value {
	if b == nil {
		return value{}
	}
	return blob(b)
}

// native is the session on a connection of ours.
type native struct {
	conn  *sqlite.Conn
	stmts map[*query]*sqlite.Stmt
}

func newNative(conn *sqlite.Conn) *native {
	return &native{conn: conn, stmts: make(map[*query]*sqlite.Stmt)}
}

func (s *native) stmt(q *query) (*sqlite.Stmt, error) {
	if stmt := s.stmts[q]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.Prepare(q.text)
	if err != nil {
		return nil, err
	}
	s.stmts[q] = stmt
	return stmt, nil
}

func bind(stmt *sqlite.Stmt, args []value) {
	for i := range args {
		a := &args[i]
		switch a.kind {
		case isInt:
			stmt.BindInt64(i+1, a.n)
		case isText:
			stmt.BindText(i+1, a.s)
		case isBlob:
			stmt.BindBytes(i+1, a.b)
		case isNull:
			stmt.BindNull(i + 1)
		}
	}
}

func (s *native) exec(q *query, args ...value) (int, error) {
	stmt, err := s.stmt(q)
	if err != nil {
		return 0, err
	}
	bind(stmt, args)
	for {
		more, err := stmt.Step()
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

func (s *native) rows(q *query, each func(row) error, args ...value) error {
	stmt, err := s.stmt(q)
	if err != nil {
		return err
	}
	bind(stmt, args)
	for {
		more, err := stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			return stmt.Reset()
		}
		if err := each(nativeRow{stmt}); err != nil {
			_ = stmt.Reset() // the row's error is the one to tell
			return err
		}
	}
}

type nativeRow struct{ stmt *sqlite.Stmt }

func (r nativeRow) int(col int) int64 { return r.stmt.ColumnInt64(col) }
func (r nativeRow) null(col int) bool { return r.stmt.ColumnType(col) == sqlite.TypeNull }

func (r nativeRow) text(col int) string {
	if r.null(col) {
		return ""
	}
	return r.stmt.ColumnText(col)
}

func (r nativeRow) blob(col int) []byte {
	if r.null(col) {
		return nil
	}
	b := make([]byte, r.stmt.ColumnLen(col))
	r.stmt.ColumnBytes(col, b)
	return b
}

// foreign is the session on a caller's own transaction.
type foreign struct {
	ctx context.Context //nolint:containedctx // lives as long as the one call it serves
	tx  *sql.Tx
}

func (s *foreign) args(args []value) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a.kind {
		case isInt:
			out[i] = a.n
		case isText:
			out[i] = a.s
		case isBlob:
			out[i] = append([]byte{}, a.b...) // an empty blob is not NULL
		case isNull:
		}
	}
	return out
}

func (s *foreign) exec(q *query, args ...value) (int, error) {
	result, err := s.tx.ExecContext(s.ctx, q.text, s.args(args)...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (s *foreign) rows(q *query, each func(row) error, args ...value) (err error) {
	rows, err := s.tx.QueryContext(s.ctx, q.text, s.args(args)...)
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
	// All rows are read before the first is used: each may run statements.
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

func (r foreignRow) null(col int) bool { return r[col] == nil }

func (r foreignRow) int(col int) int64 {
	n, _ := r[col].(int64)
	return n
}

func (r foreignRow) text(col int) string {
	switch v := r[col].(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

func (r foreignRow) blob(col int) []byte {
	switch v := r[col].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	default:
		return nil
	}
}
