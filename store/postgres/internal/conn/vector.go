package conn

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/redrive/redrive/internal/sqlstore"
)

// Vector is an argument of many values, one of each row that a statement writes, in
// the binary form of PostgreSQL: dimensions, whether there are NULLs, the type of
// the elements, their number and the first index; then the elements, each after
// its length, which is -1 for NULL.
type Vector struct {
	oid uint32
	N   int
	buf []byte
}

const vectorHead = 20 // bytes before the elements

func newVector(oid uint32, capacity int) *Vector {
	size := 12
	if oid != pgtype.Int8OID {
		size = 40
	}
	return &Vector{oid: oid, buf: make([]byte, vectorHead, vectorHead+size*capacity)}
}

// Ints returns a vector for so many numbers.
func Ints(capacity int) *Vector { return newVector(pgtype.Int8OID, capacity) }

// Texts returns a vector for so many texts.
func Texts(capacity int) *Vector { return newVector(pgtype.TextOID, capacity) }

// Blobs returns a vector for so many values of bytes.
func Blobs(capacity int) *Vector { return newVector(pgtype.ByteaOID, capacity) }

// Null adds NULL.
func (a *Vector) Null() {
	a.N++
	a.buf = append(a.buf, 0xff, 0xff, 0xff, 0xff)
}

// Int adds a number.
func (a *Vector) Int(v int64) {
	a.N++
	a.buf = append(a.buf, 0, 0, 0, 8)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v))
}

// SetInt adds NULL for 0.
func (a *Vector) SetInt(v int64) {
	if v == 0 {
		a.Null()
		return
	}
	a.Int(v)
}

// Text adds a text.
func (a *Vector) Text(s string) {
	s = escape(s)
	a.N++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(s)))
	a.buf = append(a.buf, s...)
}

// SetText adds NULL for an empty text.
func (a *Vector) SetText(s string) {
	if s == "" {
		a.Null()
		return
	}
	a.Text(s)
}

// Blob adds NULL for nil.
func (a *Vector) Blob(b []byte) {
	if b == nil {
		a.Null()
		return
	}
	a.N++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(b)))
	a.buf = append(a.buf, b...)
}

// value adds a shared argument.
func (a *Vector) value(v *sqlstore.Value) {
	switch v.Kind {
	case sqlstore.IsInt:
		a.Int(v.N)
	case sqlstore.IsText:
		a.Text(v.S)
	case sqlstore.IsBlob:
		a.Blob(Present(v.B))
	case sqlstore.IsNull:
		a.Null()
	}
}

// encode returns the argument.
func (a *Vector) encode() []byte {
	dimensions := uint32(1)
	binary.BigEndian.PutUint32(a.buf, dimensions)
	binary.BigEndian.PutUint32(a.buf[4:], 1) // there may be NULLs
	binary.BigEndian.PutUint32(a.buf[8:], a.oid)
	binary.BigEndian.PutUint32(a.buf[12:], uint32(a.N))
	binary.BigEndian.PutUint32(a.buf[16:], 1)
	return a.buf
}

// Table is the rows that a statement writes: a vector for each column.
type Table struct{ columns []*Vector }

// NewTable returns a table for so many rows. Types names its columns: i are
// numbers, t texts, b bytes.
func NewTable(types string, capacity int) *Table {
	t := &Table{columns: make([]*Vector, len(types))}
	for c := range t.columns {
		switch types[c] {
		case 'i':
			t.columns[c] = Ints(capacity)
		case 't':
			t.columns[c] = Texts(capacity)
		default:
			t.columns[c] = Blobs(capacity)
		}
	}
	return t
}

// Add adds a row, which is not kept.
func (t *Table) Add(row []sqlstore.Value) {
	for c, v := range t.columns {
		v.value(&row[c])
	}
}

// Args returns the columns as arguments.
func (t *Table) Args() []any {
	out := make([]any, len(t.columns))
	for c, v := range t.columns {
		out[c] = v
	}
	return out
}

// Columns are the arguments of a shared statement for many rows: an array for each column, in
// PostgreSQL's text form, which a caller's transaction of database/sql takes, too. It implements
// sqlstore.Columns.
type Columns struct{ arrays [][]byte }

// Add implements sqlstore.Columns.
func (c *Columns) Add(row ...sqlstore.Value) {
	if c.arrays == nil {
		c.arrays = make([][]byte, len(row))
	}
	for i := range row {
		a, v := c.arrays[i], &row[i]
		if a == nil {
			a = append(make([]byte, 0, 1<<10), '{')
		} else {
			a = append(a, ',')
		}
		switch v.Kind {
		case sqlstore.IsInt:
			a = strconv.AppendInt(a, v.N, 10)
		case sqlstore.IsText:
			a = append(a, '"')
			for _, b := range []byte(escape(v.S)) {
				if b == '"' || b == '\\' {
					a = append(a, '\\')
				}
				a = append(a, b)
			}
			a = append(a, '"')
		case sqlstore.IsBlob:
			a = append(a, `"\\x`...)
			a = append(hex.AppendEncode(a, v.B), '"')
		case sqlstore.IsNull:
			a = append(a, "NULL"...)
		}
		c.arrays[i] = a
	}
}

// Args implements sqlstore.Columns.
func (c *Columns) Args() []sqlstore.Value {
	out := make([]sqlstore.Value, len(c.arrays))
	for i, a := range c.arrays {
		out[i] = sqlstore.Value{Kind: sqlstore.IsText, S: string(a) + "}"}
	}
	return out
}
