package wire_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/wire"
)

func FuzzPlain(f *testing.F) {
	f.Add("a\x1b\u009b\u202e\U000e0041\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("this input is not valid UTF-8, so JSON cannot keep it")
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		plain := wire.Plain(text)
		for _, r := range string(plain) {
			if !strconv.IsPrint(r) {
				t.Fatalf("the JSON %q contains the unescaped character %U", plain, r)
			}
		}
		var back string
		if err := json.Unmarshal(plain, &back); err != nil || back != s {
			t.Fatalf("the JSON of %q was decoded as %q with error %v, want the same text and no error", s, back, err)
		}
	})
}
