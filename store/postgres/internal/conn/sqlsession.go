package conn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/sqlstore"
)

// SQLSession runs statements in a transaction of database/sql, whatever its
// driver. Arguments are whole numbers, texts and bytes, which all take.
type SQLSession struct {
	ctx     context.Context //nolint:containedctx // lives as long as the one call it serves
	tx      *sql.Tx
	texts   sqlstore.Texts
	cursors int
	others  *pgxpool.Pool
	Backend atomic.Int64 // process of the server that the transaction is in; 0 is not known yet
}

func sqlArgs(args []sqlstore.Value) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a.Kind {
		case sqlstore.IsInt:
			out[i] = a.N
		case sqlstore.IsText:
			out[i] = escape(a.S)
		case sqlstore.IsBlob:
			out[i] = Present(a.B)
		case sqlstore.IsNull:
		}
	}
	return out
}

// Exec implements sqlstore.Session.
func (s *SQLSession) Exec(q *sqlstore.Query, args ...sqlstore.Value) (int, error) {
	done, err := s.tx.ExecContext(s.ctx, s.texts.Of(q), sqlArgs(args)...)
	if err != nil {
		return 0, &Failed{q.Name, err}
	}
	n, err := done.RowsAffected()
	return int(n), err
}

// Rows implements sqlstore.Session.
func (s *SQLSession) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, args ...sqlstore.Value) error {
	if q.Walk {
		return s.walk(q, each, args)
	}
	_, err := s.whole(q.Name, s.texts.Of(q), each, sqlArgs(args))
	return err
}

// whole reads all rows before the first is used: each may run statements.
func (s *SQLSession) whole(name, text string, each func(sqlstore.Row) error, args []any) (n int, err error) {
	all, err := s.query(text, args)
	if err != nil {
		return 0, &Failed{name, err}
	}
	for _, r := range all {
		if err := each(r); err != nil {
			return n, err
		}
	}
	return len(all), nil
}

func (s *SQLSession) query(text string, args []any) (all []sqlRow, err error) {
	rows, err := s.tx.QueryContext(s.ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	into := make([]any, len(columns))
	for rows.Next() {
		values := make(sqlRow, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, values)
	}
	return all, rows.Err()
}

func (s *SQLSession) walk(q *sqlstore.Query, each func(sqlstore.Row) error, args []sqlstore.Value) error {
	s.cursors++
	cursor := "redrive_walk_" + strconv.Itoa(s.cursors)
	if _, err := s.tx.ExecContext(s.ctx, "DECLARE "+cursor+" NO SCROLL CURSOR FOR "+s.texts.Of(q), sqlArgs(args)...); err != nil {
		return &Failed{q.Name, err}
	}
	for part := 0; ; part++ {
		size := walkParts[min(part, len(walkParts)-1)]
		n, err := s.whole(q.Name, fetchText(cursor, size), each, nil)
		if err == nil && n == size {
			continue
		}
		if SQLState(err) == "" { // else the cursor is gone with the statement that failed
			err = errors.Join(err, s.Plain("CLOSE "+cursor))
		}
		return err
	}
}

// Plain implements Joined.
func (s *SQLSession) Plain(text string) error {
	if _, err := s.tx.ExecContext(s.ctx, text); err != nil {
		return &Failed{text, err}
	}
	return nil
}

// sqlRow is a row as drivers of database/sql give it.
type sqlRow []any

// Null reports whether a column is NULL.
func (r sqlRow) Null(col int) bool { return r[col] == nil }

// Int reads a number or a truth value; NULL is 0.
func (r sqlRow) Int(col int) int64 {
	switch v := r[col].(type) {
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case nil:
		return 0
	default: // a sum, which is numeric
		n, _ := parseInt(r.Text(col)) // 0 where it is no number: no statement asks for that
		return n
	}
}

// Text reads a text; NULL is empty.
func (r sqlRow) Text(col int) string {
	switch v := r[col].(type) {
	case nil:
		return ""
	case string:
		return unescape(v)
	case []byte:
		return unescape(string(v))
	default:
		return fmt.Sprint(v)
	}
}

// Blob reads bytes; NULL is nil.
func (r sqlRow) Blob(col int) []byte {
	switch v := r[col].(type) {
	case []byte:
		return v
	case string:
		return []byte(unescape(v))
	default:
		return nil
	}
}
