package failure

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/plaintext"
	"github.com/redrive/redrive/internal/redact"
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
		if text = plaintext.Mend(text); len(text) <= MessageMax {
			return uncolored(text)
		}
	}
	return uncolored(redact.Message(text, MessageMax))
}

// uncolored returns a text without the escape sequences of terminals, such as the colours of a program
// whose output became the text of an error.
func uncolored(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	return string(plaintext.Strip([]byte(text)))
}
