// Package plaintext makes plain text of what programs write. In come bytes and texts as they were; out goes UTF-8 without
// the escape sequences of terminals, earlier states of progress bars and the rest of a line whose beginning is lost, cut at
// characters where it is too long. It must never know what a text means: it goes by bytes and characters alone.
package plaintext

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean returns the text that a person would read on a terminal. It decodes UTF-16 and removes
// byte-order marks, escape sequences, and NUL characters. Of a line that a program has written
// over, by carriage returns or backspaces, the last state is kept, and earlier ones that report
// an error. Line ends become "\n". Bytes that are not UTF-8 are kept as they are.
//
// Clean returns b itself if there is nothing to remove. Its time is linear in the length of b.
func Clean(b []byte) []byte {
	b = decode(b)
	if !dirty(b) {
		return b
	}
	return overwritten(strip(b))
}

var isDirt = [' ']bool{0: true, '\a': true, '\b': true, '\r': true, esc: true}

func dirty(b []byte) bool {
	for c := range isDirt {
		if isDirt[c] && bytes.IndexByte(b, byte(c)) >= 0 {
			return true
		}
	}
	return bytes.Contains(b, []byte("\u009b"))
}

const (
	bomUTF8 = "\xef\xbb\xbf"
	bomLE   = "\xff\xfe"
	bomBE   = "\xfe\xff"
	esc     = '\x1b'
)

// decode returns a text as UTF-8, if it is UTF-16, and without its byte-order mark.
func decode(b []byte) []byte {
	switch {
	case bytes.HasPrefix(b, []byte(bomUTF8)):
		return b[len(bomUTF8):]
	case bytes.HasPrefix(b, []byte(bomLE)):
		return fromUTF16(b[len(bomLE):], 0)
	case bytes.HasPrefix(b, []byte(bomBE)):
		return fromUTF16(b[len(bomBE):], 1)
	}
	switch high := highNULs(b); high {
	case 0, 1:
		return fromUTF16(b, 1-high)
	}
	return b
}

// The bytes by which UTF-16 without a byte-order mark is recognised, and how many are needed.
const (
	probeMax = 512
	probeMin = 8
)

// highNULs returns 0 or 1 if the bytes at even or at odd positions are nearly all NUL and the
// others are not: this is UTF-16 of Latin letters. Otherwise it returns -1.
func highNULs(b []byte) int {
	b = b[:min(len(b), probeMax)&^1]
	if len(b) < probeMin {
		return -1
	}
	var zeros [2]int
	for i, c := range b {
		if c == 0 {
			zeros[i&1]++
		}
	}
	half := len(b) / 2
	for at := range zeros {
		if zeros[at]*5 >= half*4 && zeros[1-at]*10 <= half {
			return at
		}
	}
	return -1
}

// fromUTF16 converts UTF-16 to UTF-8. The low argument is the position of the low byte in each
// pair; 0 is little-endian. An odd byte at the end is dropped.
func fromUTF16(b []byte, low int) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i+low]) | uint16(b[2*i+1-low])<<8
	}
	out := make([]byte, 0, len(units)+len(units)/8)
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			r = utf8.RuneError
			if i+1 < len(units) {
				if pair := utf16.DecodeRune(rune(units[i]), rune(units[i+1])); pair != utf8.RuneError {
					r = pair
					i++
				}
			}
		}
		if r != '\ufeff' {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// strip returns a copy without escape sequences, NUL and BEL characters.
func strip(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		n := bytes.IndexFunc(b, isStripped)
		if n < 0 {
			return append(out, b...)
		}
		out = append(out, b[:n]...)
		b = b[n:]
		switch b[0] {
		case esc:
			b = b[escape(b):]
		case 0xC2: // U+009B, the one-character form of "ESC ["
			b = b[2+control(b[2:]):]
		default:
			b = b[1:]
		}
	}
	return out
}

func isStripped(r rune) bool { return r == esc || r == 0 || r == '\a' || r == '\u009b' }

// escape returns the length of the escape sequence at the beginning of b.
func escape(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch c := b[1]; {
	case c == '[':
		return 2 + control(b[2:])
	case c == ']', c == 'P', c == 'X', c == '^', c == '_':
		return 2 + command(b[2:])
	case ' ' <= c && c <= '/': // a character set: intermediate bytes and a final byte
		n := 2
		for n < len(b) && ' ' <= b[n] && b[n] <= '/' {
			n++
		}
		if n < len(b) && b[n] >= '0' && b[n] <= '~' {
			n++
		}
		return n
	case '0' <= c && c <= '~':
		return 2
	}
	return 1
}

// control returns the length of a control sequence after "ESC [": parameters, intermediate bytes
// and the final byte.
func control(b []byte) int {
	n := 0
	for n < len(b) && '0' <= b[n] && b[n] <= '?' {
		n++
	}
	for n < len(b) && ' ' <= b[n] && b[n] <= '/' {
		n++
	}
	if n < len(b) && '@' <= b[n] && b[n] <= '~' {
		n++
	}
	return n
}

// command returns the length of an operating system command, such as the title of a window,
// after "ESC ]". It ends at BEL, at "ESC \", or before the end of the line.
func command(b []byte) int {
	for n, c := range b {
		switch {
		case c == '\a':
			return n + 1
		case c == esc && n+1 < len(b) && b[n+1] == '\\':
			return n + 2
		case c == '\n', c == esc:
			return n
		}
	}
	return len(b)
}

// overwritten applies carriage returns and backspaces. It changes b.
func overwritten(b []byte) []byte {
	out := b[:0]
	for len(b) > 0 {
		line, end := b, len(b)
		if n := bytes.IndexByte(b, '\n'); n >= 0 {
			line, end = b[:n], n+1
		}
		ends := end > len(line)
		b = b[end:]
		out = appendState(out, line)
		if ends {
			out = append(out, '\n')
		}
	}
	return out
}

// appendState appends the last state of a line that was written over, and the earlier states
// that report an error, each as a line.
func appendState(out, line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	for {
		n := bytes.IndexByte(line, '\r')
		if n < 0 {
			return appendBack(out, line)
		}
		if state := line[:n]; reportsError(state) {
			out = append(appendBack(out, state), '\n')
		}
		line = line[n+1:]
	}
}

// appendBack appends a line without the characters that backspaces delete.
func appendBack(out, line []byte) []byte {
	if bytes.IndexByte(line, '\b') < 0 {
		return append(out, line...)
	}
	start := len(out)
	for _, c := range line {
		if c != '\b' {
			out = append(out, c)
			continue
		}
		for n := len(out); n > start; {
			n--
			first := utf8.RuneStart(out[n])
			out = out[:n]
			if first {
				break
			}
		}
	}
	return out
}

// errorWords are the words by which a state of a line counts as the report of an error.
var errorWords = [...]string{"error", "fail", "fatal", "panic", "exception", "denied", "refused", "cannot", "unable"}

func reportsError(state []byte) bool {
	lower := bytes.ToLower(state)
	return slices.ContainsFunc(errorWords[:], func(w string) bool { return bytes.Contains(lower, []byte(w)) })
}

// lineMax is how many bytes FromLine drops at most.
const lineMax = 4 << 10

// FromLine drops the rest of the first line of a text whose beginning is lost: half a number
// would be read as another number, and half a secret would not be recognised. If the rest of the
// line is longer than 4 KiB, only the rest of its first word is dropped. If that is longer, too,
// nothing is dropped.
func FromLine(b []byte) []byte {
	first := b[:min(len(b), lineMax)]
	if n := bytes.IndexByte(first, '\n'); n >= 0 && n+1 < len(b) {
		return b[n+1:]
	}
	if n := bytes.IndexAny(first, " \t\r"); n >= 0 && n+1 < len(b) {
		return b[n+1:]
	}
	return b
}

// Strip returns a text without escape sequences of terminals, NUL and BEL characters. Other than
// Clean, it keeps carriage returns, backspaces and what was written over.
func Strip(b []byte) []byte { return strip(b) }
