// Package canonical writes JSON in one form, so that equal values have equal bytes.
package canonical

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// JSON returns the text with sorted fields and without white space. It returns the text
// unchanged if the text is not JSON, is not valid UTF-8, or contains the replacement character.
// The decoder puts this character in place of everything that it cannot represent, such as half
// of a surrogate pair, so different texts would become equal.
func JSON(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if !utf8.Valid(text) || !json.Valid(text) || d.Decode(&value) != nil {
		return text
	}
	sorted, err := json.Marshal(value)
	if err != nil || bytes.ContainsRune(sorted, utf8.RuneError) {
		return text
	}
	return sorted
}
