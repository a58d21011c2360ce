package failure

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
)

// Text returns err's message as it is kept: see Message. It is "" for nil and
// never panics.
func Text(err error) string {
	if err == nil {
		return ""
	}
	text := ""
	if !guard(func() { text = err.Error() }) {
		return fmt.Sprintf("error of type %T, whose Error method panicked", err)
	}
	return Message(text)
}

// Message returns text as valid UTF-8 of at most MessageMax bytes. A longer one keeps its beginning
// and, because errors in Go end with their cause, its end, and says between them how long it was.
// It is not cut within a path, an address or a secret, whose halves Sanitize would not recognise.
// Escape sequences of terminals are removed.
func Message(text string) string {
	if len(text) <= MessageMax {
		if text = mend(text); len(text) <= MessageMax {
			return uncolored(text)
		}
	}
	z := sanitizer{raw: true, max: MessageMax}
	short, _ := z.cut(text, len(text))
	return uncolored(short)
}

// uncolored returns a text without the escape sequences of terminals, such as the colours of a program
// whose output became the text of an error.
func uncolored(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	return string(plaintext.Strip([]byte(text)))
}

// clip cuts s to limit bytes of valid UTF-8, visibly.
func clip(s string, limit int) string {
	const mark = "…"
	valid := mend(s[:min(len(s), limit+1)])
	if len(valid) <= limit {
		return valid
	}
	return cutEnd(valid, limit-len(mark)) + mark
}

// mend replaces what is not UTF-8. It may make the text longer.
func mend(s string) string {
	if utf8.ValidString(s) { // several times as fast as looking for what to replace
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// cutEnd keeps the first limit bytes of valid UTF-8, or less to end at a
// character.
func cutEnd(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:max(limit, 0)]
}

// cutStart keeps the last limit bytes likewise.
func cutStart(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	start := len(s) - limit
	for start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	return s[start:]
}
