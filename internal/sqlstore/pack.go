package sqlstore

import (
	"encoding/binary"
	"errors"

	"github.com/redrive/redrive/job"
)

// The record of a decision consists mostly of the names of its JSON members. So it is
// stored in a packed form that refers to a dictionary, a fixed text in this program.
// The packed form takes a quarter of the space. It consists of a byte with the version
// and then of pieces. Each piece begins with a byte that gives its type:
//
//	00nnnnnn  n+1 bytes as they are
//	01nnnnnn  n+hexMin/2 bytes that stand for twice as many hexadecimal digits
//	1nnnnnnn  n+sameMin bytes of the dictionary, from the place in the next two bytes
//
// A record that begins with '{' is not packed.
const (
	packVersion = 1

	asIsMax = 64
	hexMin  = 12
	hexMax  = hexMin + 2*63
	sameMin = 4
	sameMax = sameMin + 127

	hexBit, sameBit = 0x40, 0x80
)

// dictionary is a text with an index. The method find searches the text for the longest piece
// that equals the first bytes of its argument.
type dictionary struct {
	text string
	// For each hash of sameMin bytes, first has the first position in text that has this hash,
	// plus 1. The hash is the index into the array.
	first [1 << 10]uint16
	next  []uint16 // the next position in text that has the same hash, plus 1
}

func newDictionary(text string) *dictionary {
	d := &dictionary{text: text, next: make([]uint16, len(text)+1)}
	for i := len(text) - sameMin; i >= 0; i-- {
		h := packHash([]byte(text[i : i+sameMin]))
		d.first[h], d.next[i+1] = uint16(i+1), d.first[h]
	}
	return d
}

// packHash returns the hash of the first four bytes of b, an index into dictionary.first.
func packHash(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 0x9E3779B1 >> 22 // the method is multiplicative hashing: Knuth, TAOCP 3, § 6.4
}

// find searches the text for the longest piece that equals the first bytes of b. It returns
// the position and the length of that piece. The length is 0 when there is no piece of at
// least sameMin bytes.
func (d *dictionary) find(b []byte) (at, n int) {
	if len(b) < sameMin {
		return 0, 0
	}
	for p := d.first[packHash(b)]; p != 0; p = d.next[p] {
		place := int(p) - 1
		if n > 0 && (place+n >= len(d.text) || n >= len(b) || d.text[place+n] != b[n]) {
			continue // this piece cannot be longer than the longest piece so far
		}
		if m := inCommon(d.text[place:], b); m >= sameMin && m > n {
			at, n = place, m
		}
	}
	return at, min(n, sameMax)
}

func inCommon(a string, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// packRecord appends the packed form of a record to dst. It accepts any bytes.
func packRecord(dst, record []byte) []byte {
	dst = append(dst, packVersion)
	asIs, edge := 0, true
	for i := 0; i < len(record); {
		c := record[i]
		edge = edge || c == '"' || c == ',' || c == ':' || c == '{' || c == '}' || c == ' '
		if edge { // a search at every position would take twice as long and save little space
			edge = false
			if at, n := records.find(record[i:]); n > 0 {
				dst = append(appendAsIs(dst, record[asIs:i]), sameBit|byte(n-sameMin))
				dst = binary.LittleEndian.AppendUint16(dst, uint16(at))
				i += n
				asIs, edge = i, true
				continue
			}
		}
		if n := hexDigits(record[i:]); n > 0 {
			dst = append(appendAsIs(dst, record[asIs:i]), hexBit|byte((n-hexMin)/2))
			for k := i; k < i+n; k += 2 {
				dst = append(dst, nibble(record[k])<<4|nibble(record[k+1]))
			}
			i += n
			asIs, edge = i, true
			continue
		}
		i++
	}
	return appendAsIs(dst, record[asIs:])
}

func appendAsIs(dst, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), asIsMax)
		dst = append(append(dst, byte(n-1)), b[:n]...)
		b = b[n:]
	}
	return dst
}

// hexDigits counts the hexadecimal digits at the beginning of b. It returns an even number
// from hexMin to hexMax, or 0.
func hexDigits(b []byte) int {
	if len(b) < hexMin || !isHex(b[hexMin-1]) {
		return 0
	}
	n := 0
	for n < len(b) && n < hexMax && isHex(b[n]) {
		n++
	}
	if n < hexMin {
		return 0
	}
	return n &^ 1
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

func nibble(digit byte) byte {
	if digit <= '9' {
		return digit - '0'
	}
	return digit - 'a' + 10
}

var errPacked = errors.New("the stored record of a decision cannot be unpacked: it is damaged, or a newer version of the program wrote it")

// unpackRecord returns the record that a packed form contains.
func unpackRecord(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] == '{' {
		return b, nil
	}
	if b[0] != packVersion {
		return nil, errPacked
	}
	record := make([]byte, 0, 4*len(b))
	for b = b[1:]; len(b) > 0; {
		kind := b[0]
		b = b[1:]
		used := 0
		switch {
		case kind&sameBit != 0:
			used = 2
			if len(b) < used {
				return nil, errPacked
			}
			at, n := int(binary.LittleEndian.Uint16(b)), int(kind&^sameBit)+sameMin
			if at+n > len(records.text) {
				return nil, errPacked
			}
			record = append(record, records.text[at:at+n]...)
		case kind&hexBit != 0:
			used = int(kind&^hexBit) + hexMin/2
			if len(b) < used {
				return nil, errPacked
			}
			for _, c := range b[:used] {
				const digits = "0123456789abcdef"
				record = append(record, digits[c>>4], digits[c&15])
			}
		default:
			used = int(kind) + 1
			if len(b) < used {
				return nil, errPacked
			}
			record = append(record, b[:used]...)
		}
		b = b[used:]
		if len(record) > job.EvidenceMax {
			return nil, errPacked
		}
	}
	return record, nil
}
