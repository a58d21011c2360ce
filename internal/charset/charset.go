// Package charset reads texts that programs write in other encodings than UTF-8.
package charset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
)

// Find returns the encoding with a name of the Encoding Standard of the web, such as shift_jis or
// windows-1252, or of the IANA registry, such as IBM850. Case does not count.
func Find(name string) (encoding.Encoding, error) {
	if e, err := htmlindex.Get(name); err == nil && e != encoding.Replacement {
		return e, nil
	}
	if e, err := ianaindex.IANA.Encoding(name); err == nil && e != nil && e != encoding.Replacement {
		return e, nil
	}
	return nil, fmt.Errorf("no encoding is named %q; write a name such as windows-1252, IBM850, shift_jis, gbk or utf-16le", name)
}

// Decode returns a text as UTF-8. It uses the named encoding if the text is not valid UTF-8, because a
// program may write both, and leaves a text that it cannot read as it is. The name "" means UTF-8.
func Decode(name string, text []byte) []byte {
	if name == "" || utf8.Valid(text) && !wide(name) {
		return text
	}
	e, err := Find(name)
	if err != nil {
		return text
	}
	out, err := e.NewDecoder().Bytes(text)
	if err != nil {
		return text
	}
	return out
}

// wide reports whether texts in an encoding can look like UTF-8, because each character has two
// bytes.
func wide(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "utf-16") || strings.HasPrefix(name, "utf-32")
}
