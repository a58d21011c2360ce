// Package canonical writes JSON in one form, so that equal values have equal bytes.
package canonical

import (
	"bytes"
	"encoding/json"
)

// JSON returns the text with sorted fields and without white space. A text that is not JSON
// is returned as it is.
func JSON(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if !json.Valid(text) || d.Decode(&value) != nil {
		return text
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return sorted
}
