package conn

import (
	"strings"
	"unicode/utf8"
)

// PostgreSQL stores text as valid UTF-8 without NUL. Errors and names that
// programs hand in may be neither. A text that cannot be stored as it is, and one
// that would be taken for such a one, is stored behind a mark, with what is not
// allowed written in hexadecimal. Any other text is stored as it is, so that
// other programs can read it, and equal texts are equal in the database.

// EscapeMark begins an escaped text. It is of the private use area: no text of
// people begins with it.
const EscapeMark = "\uF1D3"

const hexDigits = "0123456789abcdef"

// escape returns s in a form that PostgreSQL stores.
func escape(s string) string {
	if storable(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/4 + 8)
	b.WriteString(EscapeMark)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1 || r == 0:
			b.WriteByte('\\')
			b.WriteByte(hexDigits[s[i]>>4])
			b.WriteByte(hexDigits[s[i]&15])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func storable(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, EscapeMark)
}

// unescape undoes escape. What escape has not written is returned as it is.
func unescape(s string) string {
	rest, ok := strings.CutPrefix(s, EscapeMark)
	if !ok {
		return s
	}
	var b strings.Builder
	b.Grow(len(rest))
	for i := 0; i < len(rest); i++ {
		if rest[i] != '\\' {
			b.WriteByte(rest[i])
			continue
		}
		if i+1 < len(rest) && rest[i+1] == '\\' {
			b.WriteByte('\\')
			i++
			continue
		}
		if i+2 >= len(rest) {
			return s
		}
		high, low := strings.IndexByte(hexDigits, rest[i+1]), strings.IndexByte(hexDigits, rest[i+2])
		if high < 0 || low < 0 {
			return s
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String()
}

// Quote returns an identifier in quotes.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
