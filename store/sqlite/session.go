package sqlite

import (
	"context"
	"database/sql"

	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
)

// native is a session on one of the store's connections.
type native struct {
	conn  *sqlite.Conn
	stmts map[*sqlstore.Query]*sqlite.Stmt
}

func newNative(conn *sqlite.Conn) *native {
	return &native{conn: conn, stmts: make(map[*sqlstore.Query]*sqlite.Stmt)}
}

func (s *native) stmt(q *sqlstore.Query) (*sqlite.Stmt, error) {
	if stmt := s.stmts[q]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.conn.Prepare(q.Text)
	if err != nil {
		return nil, err
	}
	s.stmts[q] = stmt
	return stmt, nil
}

func bind(stmt *sqlite.Stmt, args []sqlstore.Value) {
	for i := range args {
		a := &args[i]
		switch a.Kind {
		case sqlstore.IsInt:
			stmt.BindInt64(i+1, a.N)
		case sqlstore.IsText:
			stmt.BindText(i+1, a.S)
		case sqlstore.IsBlob:
			stmt.BindBytes(i+1, a.B)
		case sqlstore.IsNull:
			stmt.BindNull(i + 1)
		}
	}
}

func (s *native) Exec(q *sqlstore.Query, args ...sqlstore.Value) (int, error) {
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

func (s *native) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, args ...sqlstore.Value) error {
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
	result, err := s.tx.ExecContext(s.ctx, q.Text, s.args(args)...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

func (s *foreign) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, args ...sqlstore.Value) (err error) {
	rows, err := s.tx.QueryContext(s.ctx, q.Text, s.args(args)...)
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
