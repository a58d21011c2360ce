package mail

import (
	"strings"

	"github.com/redrive/redrive/notify"
)

// Limits of a mail.
const (
	AddressMax = notify.AddressMax // maximum length of an address, in bytes
	SubjectMax = 200               // maximum length of a subject, in characters
	TextMax    = 256 << 10         // maximum size of the text, and of the HTML, in bytes
)

// Address checks an e-mail address and returns it: one address without a name.
func Address(text string) (string, error) { return notify.Address(text) }

// line makes a text one line for a header: no control characters, and none that change the direction
// of writing.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(visible(text)), " ")
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit-1]) + "…"
	}
	return text
}

// visible removes control characters except line breaks and tabs, and characters that change the
// direction of writing. Invalid UTF-8 becomes U+FFFD.
func visible(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r':
			return ' '
		case c < ' ', c >= 0x7f && c < 0xa0, c == '\u200e', c == '\u200f', c == '\u061c', c >= '\u202a' && c <= '\u202e',
			c >= '\u2066' && c <= '\u2069', c == '\ufeff':
			return -1
		}
		return c
	}, text)
}
