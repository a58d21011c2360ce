package canonical_test

import (
	"testing"

	"github.com/redrive/redrive/internal/canonical"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"b\": 1.0,\n \"a\":[true, 9223372036854775808]}": `{"a":[true,9223372036854775808],"b":1.0}`,
		"not JSON":        "not JSON",
		`{"a":1} {"b":2}`: `{"a":1} {"b":2}`,
		// The decoder would replace all characters that it cannot represent by the same replacement
		// character.
		"\"\xff\"":             "\"\xff\"",
		`"\ud800"`:             `"\ud800"`,
		`{"b":"\ud801","a":1}`: `{"b":"\ud801","a":1}`,
	} {
		if got := string(canonical.JSON([]byte(text))); got != want {
			t.Errorf("JSON of %q: got %q, want %q", text, got, want)
		}
	}
}
