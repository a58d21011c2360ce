package conn

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Result is the rows of one answer, copied out of the connection's buffer: what
// is done with a row may run other statements on the same connection.
type Result struct {
	fields []pgconn.FieldDescription
	cells  []cell // rows × fields
	data   []byte
	Err    error // the first column that could not be read
}

type cell struct{ from, to int } // to < from is NULL

func (r *Result) reset() {
	r.fields, r.cells, r.data, r.Err = r.fields[:0], r.cells[:0], r.data[:0], nil
}

// add copies one row.
func (r *Result) add(fields []pgconn.FieldDescription, values [][]byte) {
	if len(r.fields) == 0 {
		r.fields = append(r.fields, fields...) // the connection uses their memory again
	}
	for _, v := range values {
		if v == nil {
			r.cells = append(r.cells, cell{0, -1})
			continue
		}
		from := len(r.data)
		r.data = append(r.data, v...)
		r.cells = append(r.cells, cell{from, len(r.data)})
	}
}

// Len returns the number of rows.
func (r *Result) Len() int {
	if len(r.fields) == 0 {
		return 0
	}
	return len(r.cells) / len(r.fields)
}

// Row is one row of a result. It implements sqlstore.Row.
type Row struct {
	*Result
	first int // of its cells
}

// Row returns a row, which is valid as long as the result is not used again.
func (r *Result) Row(i int) Row { return Row{r, i * len(r.fields)} }

func (r Row) raw(col int) []byte {
	c := r.cells[r.first+col]
	if c.to < c.from {
		return nil
	}
	return r.data[c.from:c.to:c.to]
}

// Null reports whether a column is NULL.
func (r Row) Null(col int) bool { return r.raw(col) == nil }

// Int reads a number or a truth value; NULL is 0.
func (r Row) Int(col int) int64 {
	raw := r.raw(col)
	if raw == nil {
		return 0
	}
	n, err := decodeInt(r.fields[col].DataTypeOID, r.fields[col].Format, raw)
	if err != nil && r.Err == nil {
		r.Err = fmt.Errorf("column %q: %w", r.fields[col].Name, err)
	}
	return n
}

// Text reads a text; NULL is empty.
func (r Row) Text(col int) string {
	raw := r.raw(col)
	if r.fields[col].DataTypeOID == pgtype.ByteaOID {
		return string(r.Blob(col))
	}
	return unescape(string(raw))
}

// Blob reads bytes, copied; NULL is nil.
func (r Row) Blob(col int) []byte {
	raw := r.raw(col)
	if raw == nil {
		return nil
	}
	f := &r.fields[col]
	if f.DataTypeOID != pgtype.ByteaOID {
		return []byte(unescape(string(raw)))
	}
	if f.Format == pgtype.BinaryFormatCode {
		return append([]byte{}, raw...)
	}
	b, err := decodeBytea(raw)
	if err != nil && r.Err == nil {
		r.Err = fmt.Errorf("column %q: %w", f.Name, err)
	}
	return b
}

// decodeBytea reads the text form of bytes, \x and hexadecimal digits.
func decodeBytea(raw []byte) ([]byte, error) {
	if len(raw) < 2 || raw[0] != '\\' || raw[1] != 'x' {
		return nil, fmt.Errorf("bytes in an unknown form: set bytea_output to hex")
	}
	out := make([]byte, hex.DecodedLen(len(raw)-2))
	_, err := hex.Decode(out, raw[2:])
	return out, err
}

// decodeInt reads a number from either of the two forms in which a server sends
// it. Sums come as numeric; what they have behind the point is cut.
func decodeInt(oid uint32, format int16, raw []byte) (int64, error) {
	if format == pgtype.TextFormatCode {
		return parseInt(string(raw))
	}
	switch {
	case oid == pgtype.Int8OID && len(raw) == 8, oid == pgtype.XID8OID && len(raw) == 8:
		return int64(binary.BigEndian.Uint64(raw)), nil
	case oid == pgtype.Int4OID && len(raw) == 4:
		return int64(int32(binary.BigEndian.Uint32(raw))), nil
	case oid == pgtype.Int2OID && len(raw) == 2:
		return int64(int16(binary.BigEndian.Uint16(raw))), nil
	case oid == pgtype.OIDOID && len(raw) == 4:
		return int64(binary.BigEndian.Uint32(raw)), nil
	case oid == pgtype.BoolOID && len(raw) == 1:
		return int64(raw[0]), nil
	case oid == pgtype.NumericOID:
		return decodeNumeric(raw)
	case oid == pgtype.TextOID:
		return parseInt(string(raw))
	}
	return 0, fmt.Errorf("%d bytes of the type with oid %d are not a whole number", len(raw), oid)
}

func parseInt(s string) (int64, error) {
	switch s {
	case "t", "true":
		return 1, nil
	case "f", "false":
		return 0, nil
	}
	for i := range len(s) {
		if s[i] == '.' {
			s = s[:i]
			break
		}
	}
	return strconv.ParseInt(s, 10, 64)
}

// decodeNumeric reads the binary form of a numeric: number of digits, weight of
// the first, sign, scale; then digits of base 10,000.
func decodeNumeric(raw []byte) (int64, error) {
	if len(raw) < 8 {
		return 0, fmt.Errorf("%d bytes are not a numeric", len(raw))
	}
	digits, weight := int(binary.BigEndian.Uint16(raw)), int(int16(binary.BigEndian.Uint16(raw[2:])))
	sign := binary.BigEndian.Uint16(raw[4:])
	const negative = 0x4000
	if sign != 0 && sign != negative || len(raw) != 8+2*digits {
		return 0, fmt.Errorf("numeric %x is not a whole number", raw)
	}
	var n uint64
	for i := 0; i <= weight; i++ {
		digit := uint64(0)
		if i < digits {
			digit = uint64(binary.BigEndian.Uint16(raw[8+2*i:]))
		}
		if n > (math.MaxInt64-digit)/10_000 {
			return 0, fmt.Errorf("numeric %x is beyond 64 bits", raw)
		}
		n = n*10_000 + digit
	}
	if sign == negative {
		return -int64(n), nil
	}
	return int64(n), nil
}
