package suggest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/suggest"
)

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	names := []string{"lease", "temp_dir", "max_attempts", "ocr", "a"}
	for _, tt := range []struct{ word, want string }{
		{"leese", "lease"},
		{"lesae", "lease"},
		{"LEASE", "lease"},
		{"Temp-Dir", "temp_dir"},
		{"max_atempts", "max_attempts"},
		{"mx_atempts", "max_attempts"},
		{"mx_atempt", ""},
		{"orc", "ocr"},
		{"ocean", ""},
		{"b", ""},
		{"", ""},
		{"A", "a"},
	} {
		want := ""
		if tt.want != "" {
			want = fmt.Sprintf(", did you mean %q?", tt.want)
		}
		if got := suggest.DidYouMean(tt.word, names); got != want {
			t.Errorf("the suggestion for %q is %q, want %q", tt.word, got, want)
		}
	}
}

func TestDidYouMean_TakesTheNearest(t *testing.T) {
	t.Parallel()
	if got, want := suggest.DidYouMean("workerz", []string{"worker", "workers"}), `, did you mean "worker"?`; got != want {
		t.Errorf("with two equally similar candidates the suggestion is %q, want the first candidate: %q", got, want)
	}
	if got, want := suggest.DidYouMean("wrkers", []string{"worker", "workers"}), `, did you mean "workers"?`; got != want {
		t.Errorf("the suggestion for a left-out letter is %q, want %q", got, want)
	}
}

func TestList_IsBounded(t *testing.T) {
	t.Parallel()
	if got := suggest.List([]string{"a", "b"}); got != "a, b" {
		t.Errorf("the list of two names is %q, want both names with a comma", got)
	}
	names := strings.Split(strings.Repeat("x", 23), "")
	if got, want := suggest.List(names), strings.Repeat("x, ", 19)+"x and 3 more"; got != want {
		t.Errorf("the list of 23 names is %q, want %q", got, want)
	}
}

func FuzzDidYouMean(f *testing.F) {
	f.Add("leese", "lease")
	f.Add("\xff", "é")
	f.Fuzz(func(t *testing.T, word, name string) {
		if got, back := suggest.DidYouMean(word, []string{name}), suggest.DidYouMean(name, []string{word}); (got == "") != (back == "") &&
			word != "" && name != "" {
			t.Errorf("DidYouMean depends on the order of the words %q and %q, want the same result for both orders", word, name)
		}
	})
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	known := []string{"thumbnail", "mail", "ocr"}
	for _, tt := range []struct{ name, want string }{
		{"thumnail", `unknown kind "thumnail", did you mean "thumbnail"?`},
		{"Mail", `unknown kind "Mail", did you mean "mail"?`},
		{"mial", `unknown kind "mial", did you mean "mail"?`},
		{"video", `unknown kind "video"; known are thumbnail, mail, ocr`},
		{"x", `unknown kind "x"; known are thumbnail, mail, ocr`},
		{"\x1b[2J", `unknown kind "\x1b[2J"; known are thumbnail, mail, ocr`},
	} {
		if got := suggest.Unknown("kind", tt.name, known); got != tt.want {
			t.Errorf("wrong text for an unknown name:\ngot  %s\nwant %s", got, tt.want)
		}
	}
	if got := suggest.Unknown("kind", "x", nil); got != `unknown kind "x"` {
		t.Errorf("without known names the text is %s, want no suggestion and no list", got)
	}
}
