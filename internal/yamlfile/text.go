package yamlfile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text checks the size and the characters of data and removes the byte order mark.
func (r *Reader) text(data []byte) (string, bool) {
	if len(data) > MaxBytes {
		r.Addf(start, "the file is larger than 1 MiB; %s never needs that much, is this the right file?", r.about.Noun)
		return "", false
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	at := start
	for rest := text; rest != ""; {
		c, size := utf8.DecodeRuneInString(rest)
		if complaint := unreadable(c, rest[:size], rest[size:]); complaint != "" {
			r.Addf(at, "%s", complaint)
			return "", false
		}
		if rest = rest[size:]; c == '\n' {
			at = Position{at.Line + 1, 1}
		} else {
			at.Col++
		}
	}
	return text, true
}

// unreadable describes why the character c is not allowed in a file. It returns "" if c is
// allowed. The other arguments are the bytes of c and the text after c.
func unreadable(c rune, spelling, after string) string {
	switch {
	case c == utf8.RuneError && len(spelling) == 1:
		return fmt.Sprintf("byte 0x%02X is not UTF-8; save the file as UTF-8", spelling[0])
	case c == '\r' && !strings.HasPrefix(after, "\n"):
		return "carriage return without a line feed; save the file with LF or CRLF line ends"
	case unicode.IsControl(c) && !strings.ContainsRune("\t\r\n\u0085", c):
		return fmt.Sprintf(`control character %U; remove it, or write it as the escape "\x%02x" in double quotes`, c, c)
	}
	return ""
}

// tooBlank reports whether a run of blank lines is too long, and adds a problem.
func (r *Reader) tooBlank(text string) bool {
	run, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		if run++; strings.TrimSpace(line) != "" {
			run = 0
		}
		if run > maxBlankLines {
			r.Addf(Position{n, 1}, "more than %d blank lines in a row; remove some", maxBlankLines)
			return true
		}
	}
	return false
}
