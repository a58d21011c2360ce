// Package sqlstore is the common part of the stores on SQL databases: the reads and writes of their
// transactions, over a small interface to the database. It does not depend on a database driver.
// The SQLite store uses all of it unchanged. The PostgreSQL store has separate statements for
// writing many jobs at once.
package sqlstore

import "fmt"

// Session runs the statements of one transaction.
type Session interface {
	// Exec runs a statement and returns the number of rows that the statement changed.
	Exec(q *Query, args ...Value) (int, error)
	// Rows runs a query and calls the given function for every row. The row is valid only during
	// that call. The function may run other statements. When it returns an error, Rows stops and
	// returns that error.
	Rows(q *Query, each func(Row) error, args ...Value) error
}

// Row gives access to the columns of the current row of a result.
type Row interface {
	Int(col int) int64 // returns 0 for NULL
	Text(col int) string
	Blob(col int) []byte // returns a copy of the bytes; returns nil for NULL
	Null(col int) bool
}

// TextOf converts the value of a text column that a database/sql driver has returned.
// NULL becomes "".
func TextOf(column any) string {
	switch v := column.(type) {
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

// BlobOf converts the value of a column that contains bytes. NULL becomes nil.
func BlobOf(column any) []byte {
	switch v := column.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	default:
		return nil
	}
}

// Value is an argument of a statement. The zero value is NULL.
type Value struct {
	Kind ValueKind
	N    int64
	S    string
	B    []byte
}

// ValueKind says which field of a Value holds the argument.
type ValueKind uint8

// The kinds of values.
const (
	IsNull ValueKind = iota
	IsInt
	IsText
	IsBlob
)

func num[T ~int | ~int8 | ~int32 | ~int64 | ~uint8](n T) Value {
	return Value{Kind: IsInt, N: int64(n)}
}

func text[T ~string](s T) Value { return Value{Kind: IsText, S: string(s)} }

func blob(b []byte) Value { return Value{Kind: IsBlob, B: b} }

func bit(set bool) Value {
	if set {
		return num(1)
	}
	return num(0)
}

// The functions setNum, setText and setBlob store a zero value as NULL, because NULL takes no
// space in a row.

func setNum[T ~int | ~int8 | ~int32 | ~int64](n T) Value {
	if n == 0 {
		return Value{}
	}
	return num(n)
}

func setText[T ~string](s T) Value {
	if s == "" {
		return Value{}
	}
	return text(s)
}

func setBlob(b []byte) Value {
	if b == nil {
		return Value{}
	}
	return blob(b)
}

// Num returns a statement's argument for a whole number.
func Num[T ~int | ~int8 | ~int32 | ~int64 | ~uint8](n T) Value { return num(n) }

// ReadInt runs a statement and returns the first column of the last row. Without a row it
// returns 0.
func ReadInt(s Session, q *Query, args ...Value) (n int64, err error) {
	err = s.Rows(q, func(r Row) error { n = r.Int(0); return nil }, args...)
	return n, err
}
