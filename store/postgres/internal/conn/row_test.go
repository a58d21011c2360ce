package conn

import (
	"encoding/binary"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// numeric returns the binary form that a server sends.
func numeric(sign uint16, weight int16, digits ...uint16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(digits)))
	b = binary.BigEndian.AppendUint16(b, uint16(weight))
	b = binary.BigEndian.AppendUint16(b, sign)
	b = binary.BigEndian.AppendUint16(b, 0)
	for _, d := range digits {
		b = binary.BigEndian.AppendUint16(b, d)
	}
	return b
}

func TestDecodeInt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		oid    uint32
		format int16
		raw    []byte
		want   int64
		fails  bool
	}{
		{pgtype.Int8OID, 1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, -2, false},
		{pgtype.Int4OID, 1, []byte{0xff, 0xff, 0xff, 0xfe}, -2, false},
		{pgtype.Int2OID, 1, []byte{1, 0}, 256, false},
		{pgtype.BoolOID, 1, []byte{1}, 1, false},
		{pgtype.NumericOID, 1, numeric(0, 0), 0, false},
		{pgtype.NumericOID, 1, numeric(0, 1, 12, 3456), 123_456, false},
		{pgtype.NumericOID, 1, numeric(0, 2, 5), 500_000_000, false},
		{pgtype.NumericOID, 1, numeric(0x4000, 0, 7, 5_000), -7, false}, // -7.5
		{pgtype.NumericOID, 1, numeric(0, -1, 5_000), 0, false},         // 0.5
		{pgtype.NumericOID, 1, numeric(0, 9, 1), 0, true},               // 1e36
		{pgtype.NumericOID, 1, numeric(0xc000, 0), 0, true},             // NaN
		{pgtype.NumericOID, 1, []byte{0, 1}, 0, true},
		{pgtype.Int8OID, 0, []byte("-12"), -12, false},
		{pgtype.NumericOID, 0, []byte("12.75"), 12, false},
		{pgtype.BoolOID, 0, []byte("t"), 1, false},
		{pgtype.BoolOID, 0, []byte("f"), 0, false},
		{pgtype.TextOID, 1, []byte("12"), 12, false},
		{pgtype.TextOID, 1, []byte("twelve"), 0, true},
		{pgtype.Float8OID, 1, make([]byte, 8), 0, true},
		{pgtype.Int8OID, 1, []byte{1}, 0, true},
	} {
		got, err := decodeInt(c.oid, c.format, c.raw)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("oid %d, format %d, %x: %d, %v, want %d", c.oid, c.format, c.raw, got, err, c.want)
		}
	}
}

func FuzzDecodeNumeric(f *testing.F) {
	f.Add(numeric(0, 1, 12, 3456))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, raw []byte) {
		_, _ = decodeNumeric(raw) // must not panic
	})
}
