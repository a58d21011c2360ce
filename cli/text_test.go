package cli

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, line, block string }{
		{"plain, ä 世界", "plain, ä 世界", "plain, ä 世界"},
		{"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		{"a\r\nb", `a\r\nb`, "a\nb"},
		{"over\rwritten", `over\rwritten`, `over\rwritten`},
		{"\x1b[31mred", `\x1b[31mred`, `\x1b[31mred`},
		{"\u009b2J", `\u009b2J`, `\u009b2J`},
		{"\u202egnp.exe", `\u202egnp.exe`, `\u202egnp.exe`},
		{"zero\u200bwidth", `zero\u200bwidth`, `zero\u200bwidth`},
		{"bad \xff\xfe", `bad \xff\xfe`, `bad \xff\xfe`},
		{"'quoted'", "'quoted'", "'quoted'"},
	} {
		if got := clean(tt.in); got != tt.line {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.line)
		}
		if got := cleanBlock(tt.in); got != tt.block {
			t.Errorf("cleanBlock(%q) = %q, want %q", tt.in, got, tt.block)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2J\xff\u009b\u202e\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range clean(s) {
			if !strconv.IsPrint(r) {
				t.Fatalf("clean(%q) lets %U through", s, r)
			}
		}
		for _, r := range cleanBlock(s) {
			if !strconv.IsPrint(r) && r != '\n' && r != '\t' {
				t.Fatalf("cleanBlock(%q) lets %U through", s, r)
			}
		}
	})
}

func FuzzPlainJSON(f *testing.F) {
	f.Add("a\x1b\u009b\u202e\U000e0041\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("JSON holds UTF-8")
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		plain := plainJSON(text)
		for _, r := range string(plain) {
			if !strconv.IsPrint(r) {
				t.Fatalf("%q has %U", plain, r)
			}
		}
		var back string
		if err := json.Unmarshal(plain, &back); err != nil || back != s {
			t.Fatalf("%q became %q, %v", s, back, err)
		}
	})
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in      string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"äöüäöü", 4, "äöü…"},
		{"one two", 5, "one…"},
		{"", 3, ""},
	} {
		if got := shorten(tt.in, tt.columns); got != tt.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.in, tt.columns, got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{count(0, "job"), "0 jobs"},
		{count(1, "job"), "1 job"},
		{count(1234567, "job"), "1,234,567 jobs"},
		{count(-1234, "job"), "-1,234 jobs"},
		{count(2, "crash"), "2 crashes"},
		{count(2, "life"), "2 lives"},
		{size(1), "1 byte"},
		{size(1536), "1.5 KiB"},
		{size(3 << 20), "3.0 MiB"},
		{size(5 << 30), "5.0 GiB"},
		{lastLine("one\ntwo \r\n\n"), "two"},
		{lastLine(""), ""},
		{firstLine("\n one\ntwo"), "one"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	const now = job.Micros(1_800_000_000_000_000)
	for _, tt := range []struct{ got, want string }{
		{away(now.Add(90*time.Second), now), "in 1m30s"},
		{away(now.Add(-3*time.Hour), now), "3h ago"},
		{away(now.Add(400*time.Millisecond), now), "now"},
		{span(1234 * time.Nanosecond), "1µs"},
		{span(31384 * time.Microsecond), "31ms"},
		{span(1234 * time.Millisecond), "1.2s"},
		{span(61500 * time.Millisecond), "1m2s"},
		{span(5 * time.Minute), "5m"},
		{span(26 * time.Hour), "26h"},
		{span(26*time.Hour + 10*time.Minute), "26h10m"},
		{span(100 * 24 * time.Hour), "100 days"},
		{clockTime(0), "-"},
		{strings.ReplaceAll(clockTime(now), " ", "")[:10], "2027-01-15"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
