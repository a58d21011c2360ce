package classify

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/scan"
)

// unescaped returns a text with the characters that JSON has written as \uXXXX, also where JSON stands in JSON and the
// backslash is doubled. Without it the words of most languages would be hidden in the line of a log. Texts that are too
// long to be read as a whole stay as they are.
func unescaped(text string) string {
	at := escapeIn(text)
	if at < 0 || len(text) > scan.Max {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for ; at >= 0; at = escapeIn(text) {
		b.WriteString(strings.TrimRight(text[:at], `\`))
		c := escape(text[at:])
		text = text[at+escapeSize:]
		if utf16.IsSurrogate(c) {
			low := strings.TrimLeft(text, `\`)
			if len(low) < len(text) && len(low) >= escapeSize-1 && low[0] == 'u' {
				if pair := utf16.DecodeRune(c, escape(`\`+low)); pair != utf8.RuneError {
					c, text = pair, low[escapeSize-1:]
				}
			}
		}
		b.WriteRune(c) // half a pair becomes U+FFFD
	}
	b.WriteString(text)
	return b.String()
}

// escapeSize is the length of \uXXXX.
const escapeSize = 6

// escapeIn returns where the first escape begins that is of a character to be read, -1 for none.
func escapeIn(text string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], `\u`)
		if i < 0 {
			return -1
		}
		if from += i; escape(text[from:]) >= ' ' {
			return from
		}
		from += 2
	}
}

// escape reads the escape that a text begins with, -1 for no escape.
func escape(text string) rune {
	if len(text) < escapeSize {
		return -1
	}
	n, err := strconv.ParseUint(text[2:escapeSize], 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}
