package conn

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// part of: Q10
func TestEscapeLeavesOrdinaryTextsAlone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "thumbnail", `C:\temp\x00`, "größer 你好 🙂", "\uFFFD", "a" + EscapeMark} {
		if got := escape(s); got != s {
			t.Errorf("escape(%q) = %q", s, got)
		}
	}
}

func TestEscapeKeepsWhatPostgreSQLRefuses(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"a\x00b":             EscapeMark + `a\00b`,
		"\xff\\":             EscapeMark + `\ff\\`,
		EscapeMark + "x":     EscapeMark + EscapeMark + "x",
		"half \xe4\xbd of 你": EscapeMark + `half \e4\bd of 你`,
	} {
		if got := escape(s); got != want {
			t.Errorf("escape(%q) = %q, want %q", s, got, want)
		}
		if back := unescape(want); back != s {
			t.Errorf("unescape(%q) = %q, want %q", want, back, s)
		}
	}
	// Nothing that another program has written is made unreadable.
	for _, s := range []string{EscapeMark + `\`, EscapeMark + `\0`, EscapeMark + `\zz`} {
		if got := unescape(s); got != s {
			t.Errorf("unescape(%q) = %q", s, got)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "\x00", "\xff\xfe", EscapeMark, EscapeMark + `\00`, `\`, "\xf0\x9f\x99", "你\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		stored := escape(s)
		if !utf8.ValidString(stored) || strings.IndexByte(stored, 0) >= 0 {
			t.Fatalf("escape(%q) = %q, which PostgreSQL refuses", s, stored)
		}
		if back := unescape(stored); back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
		if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, EscapeMark) && stored != s {
			t.Fatalf("%q was changed to %q", s, stored)
		}
	})
}
