package plaintext_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
)

// utf16Of returns a text in UTF-16. The low argument is the position of the low byte in a pair.
func utf16Of(s string, low int) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		pair := [2]byte{}
		pair[low], pair[1-low] = byte(unit), byte(unit>>8)
		b = append(b, pair[:]...)
	}
	return string(b)
}

// part of: F1
func TestClean(t *testing.T) {
	t.Parallel()
	const german = "Fehler: Übersicht fehlt\n"
	for _, tt := range []struct{ name, in, want string }{
		{"plain text", "disk full\nat once\n", "disk full\nat once\n"},
		{"nothing", "", ""},
		{"a colour", "\x1b[31;1mERROR\x1b[0m disk full", "ERROR disk full"},
		{"a colour inside a word", "pass\x1b[1mword=hunter2", "password=hunter2"},
		{"a colour of 24 bits", "\x1b[38;2;255;0;0mred\x1b[m", "red"},
		{"the title of a window", "\x1b]0;building\aERROR", "ERROR"},
		{"a link", "see \x1b]8;;https://example.com\x1b\\the page\x1b]8;;\x1b\\", "see the page"},
		{"a title without an end", "\x1b]0;building\nERROR", "\nERROR"},
		{"a character set", "\x1b(B\x1b)0text", "text"},
		{"a saved cursor", "\x1b7text\x1b8\x1b=", "text"},
		{"a sequence that the end cuts", "text\x1b[31", "text"},
		{"an escape at the end", "text\x1b", "text"},
		{"the one-character form", "\u009b31mred\u009b0m", "red"},
		{"a progress bar", "10%\r 50%\r100%\ndone\n", "100%\ndone\n"},
		{"a progress bar with an error", "10%\r 50%\rerror: disk full\r 51%\n", "error: disk full\n 51%\n"},
		{"a line of Windows", "one\r\ntwo\r\n", "one\ntwo\n"},
		{"a spinner", "working |\b/\b-\b\\\n", "working \\\n"},
		{"a spinner of long characters", "é\b\bx", "x"},
		{"a bold word of a manual", "E\bEr\br", "Er"},
		{"NUL", "a\x00b", "ab"},
		{"UTF-8 with a mark", "\xef\xbb\xbfdisk full", "disk full"},
		{"UTF-16, little-endian, with a mark", "\xff\xfe" + utf16Of(german, 0), german},
		{"UTF-16, big-endian, with a mark", "\xfe\xff" + utf16Of(german, 1), german},
		{"UTF-16, little-endian", utf16Of(german, 0), german},
		{"UTF-16, big-endian", utf16Of(german, 1), german},
		{"UTF-16 that a cut has moved", utf16Of(german, 0)[1:], german[1:]},
		{"UTF-16 with a pair", "\xff\xfe" + utf16Of("x😀y", 0), "x😀y"},
		{"half a pair", "\xff\xfe\x00\xd8", "\ufffd"},
		{"not UTF-8", "caf\xe9", "caf\xe9"},
	} {
		got := string(plaintext.Clean([]byte(tt.in)))
		if tt.name == "UTF-16 that a cut has moved" {
			got, tt.want = got[strings.Index(got, "hler"):], tt.want[strings.Index(tt.want, "hler"):] // the first character is lost
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFromLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct{ in, want string }{
		{"451 of shard 7\nerror: full\n", "error: full\n"},
		{"51 of shard 7", "of shard 7"},
		{"half\n", "half\n"},
		{long + "\nrest", long + "\nrest"},
		{long + " " + "rest", long + " rest"},
		{"f secret word " + long + "\nrest", "secret word " + long + "\nrest"},
		{"nothing", "nothing"},
		{"", ""},
	} {
		if got := string(plaintext.FromLine([]byte(tt.in))); got != tt.want {
			t.Errorf("%.40q: got %.40q, want %.40q", tt.in, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add([]byte("\x1b[31mERROR\x1b]0;title\a\r50%\r\n\xff\xfe\x00"))
	f.Add([]byte("e\x00r\x00r\x00o\x00r\x00s\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		clean := plaintext.Clean(b)
		if !bytes.Equal(b, before) {
			t.Fatal("Clean changed its argument")
		}
		dirty := bytes.ContainsAny(b, "\x00\a\b\r\x1b\u009b") || bytes.HasPrefix(b, []byte("\ufeff"))
		if utf8.Valid(b) && !dirty && !bytes.Equal(clean, b) {
			t.Fatalf("%q has nothing to remove, but Clean made %q of it", b, clean)
		}
		if bytes.IndexByte(clean, 0x1b) >= 0 && utf8.Valid(b) || bytes.IndexByte(clean, '\r') >= 0 {
			t.Fatalf("got %q, which has escapes or carriage returns", clean)
		}
	})
}

// BenchmarkClean measures megabytes of colours.
func BenchmarkClean(b *testing.B) {
	text := bytes.Repeat([]byte("\x1b[31;1mERROR\x1b[0m disk \r"), 1<<20/24)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		plaintext.Clean(text)
	}
}
