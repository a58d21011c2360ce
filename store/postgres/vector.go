package postgres

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/redrive/redrive/internal/sqlstore"
)

// vector is an argument of many values, one of each row that a statement writes, in
// the binary form of PostgreSQL: dimensions, whether there are NULLs, the type of
// the elements, their number and the first index; then the elements, each after
// its length, which is -1 for NULL.
type vector struct {
	oid uint32
	n   int
	buf []byte
}

const vectorHead = 20 // bytes before the elements

func newVector(oid uint32, capacity int) *vector {
	size := 12
	if oid != pgtype.Int8OID {
		size = 40
	}
	return &vector{oid: oid, buf: make([]byte, vectorHead, vectorHead+size*capacity)}
}

// ints returns an vector for so many numbers, texts and blobs for the others.
func ints(capacity int) *vector  { return newVector(pgtype.Int8OID, capacity) }
func texts(capacity int) *vector { return newVector(pgtype.TextOID, capacity) }
func blobs(capacity int) *vector { return newVector(pgtype.ByteaOID, capacity) }

func (a *vector) null() {
	a.n++
	a.buf = append(a.buf, 0xff, 0xff, 0xff, 0xff)
}

func (a *vector) int(v int64) {
	a.n++
	a.buf = append(a.buf, 0, 0, 0, 8)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v))
}

// setInt adds NULL for 0.
func (a *vector) setInt(v int64) {
	if v == 0 {
		a.null()
		return
	}
	a.int(v)
}

func (a *vector) text(s string) {
	s = escape(s)
	a.n++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(s)))
	a.buf = append(a.buf, s...)
}

func (a *vector) setText(s string) {
	if s == "" {
		a.null()
		return
	}
	a.text(s)
}

// blob adds NULL for nil.
func (a *vector) blob(b []byte) {
	if b == nil {
		a.null()
		return
	}
	a.n++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(b)))
	a.buf = append(a.buf, b...)
}

// value adds a shared argument.
func (a *vector) value(v *sqlstore.Value) {
	switch v.Kind {
	case sqlstore.IsInt:
		a.int(v.N)
	case sqlstore.IsText:
		a.text(v.S)
	case sqlstore.IsBlob:
		a.blob(present(v.B))
	case sqlstore.IsNull:
		a.null()
	}
}

// encode returns the argument.
func (a *vector) encode() []byte {
	dimensions := uint32(1)
	binary.BigEndian.PutUint32(a.buf, dimensions)
	binary.BigEndian.PutUint32(a.buf[4:], 1) // there may be NULLs
	binary.BigEndian.PutUint32(a.buf[8:], a.oid)
	binary.BigEndian.PutUint32(a.buf[12:], uint32(a.n))
	binary.BigEndian.PutUint32(a.buf[16:], 1)
	return a.buf
}

// table is the rows that a statement writes: a vector for each column.
type table struct{ columns []*vector }

// newTable returns a table for so many rows. Types names its columns: i are
// numbers, t texts, b bytes.
func newTable(types string, capacity int) *table {
	t := &table{columns: make([]*vector, len(types))}
	for c := range t.columns {
		switch types[c] {
		case 'i':
			t.columns[c] = ints(capacity)
		case 't':
			t.columns[c] = texts(capacity)
		default:
			t.columns[c] = blobs(capacity)
		}
	}
	return t
}

// add adds a row, which is not kept.
func (t *table) add(row []sqlstore.Value) {
	for c, v := range t.columns {
		v.value(&row[c])
	}
}

// args returns the columns as arguments.
func (t *table) args() []any {
	out := make([]any, len(t.columns))
	for c, v := range t.columns {
		out[c] = v
	}
	return out
}
