package words_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/words"
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
		if got := words.Clean(tt.in); got != tt.line {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.line)
		}
		if got := words.CleanBlock(tt.in); got != tt.block {
			t.Errorf("CleanBlock(%q) = %q, want %q", tt.in, got, tt.block)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2J\xff\u009b\u202e\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range words.Clean(s) {
			if !strconv.IsPrint(r) {
				t.Fatalf("Clean(%q) does not escape the character %U, want it escaped", s, r)
			}
		}
		for _, r := range words.CleanBlock(s) {
			if !strconv.IsPrint(r) && r != '\n' && r != '\t' {
				t.Fatalf("CleanBlock(%q) does not escape the character %U, want it escaped", s, r)
			}
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
		if got := words.Shorten(tt.in, tt.columns); got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.in, tt.columns, got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{words.Count(0, "job"), "0 jobs"},
		{words.Count(1, "job"), "1 job"},
		{words.Count(1234567, "job"), "1,234,567 jobs"},
		{words.Count(-1234, "job"), "-1,234 jobs"},
		{words.Count(2, "crash"), "2 crashes"},
		{words.Count(2, "life"), "2 lives"},
		{words.Size(1), "1 byte"},
		{words.Size(1536), "1.5 KiB"},
		{words.Size(3 << 20), "3.0 MiB"},
		{words.Size(5 << 30), "5.0 GiB"},
		{words.FirstLine("\n one\ntwo"), "one"},
	} {
		if tt.got != tt.want {
			t.Errorf("got the text %q for a number, a size or a line; want %q", tt.got, tt.want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	const now = job.Micros(1_800_000_000_000_000)
	for _, tt := range []struct{ got, want string }{
		{words.Away(now.Add(90*time.Second), now), "in 1m30s"},
		{words.Away(now.Add(-3*time.Hour), now), "3h ago"},
		{words.Away(now.Add(400*time.Millisecond), now), "now"},
		{words.Span(1234 * time.Nanosecond), "1µs"},
		{words.Span(31384 * time.Microsecond), "31ms"},
		{words.Span(1234 * time.Millisecond), "1.2s"},
		{words.Span(61500 * time.Millisecond), "1m2s"},
		{words.Span(5 * time.Minute), "5m"},
		{words.Span(60 * time.Hour), "3 days"},
		{words.Span(math.MaxInt64), "106,752 days"},
		{words.Span(26 * time.Hour), "26h"},
		{words.Span(26*time.Hour + 10*time.Minute), "26h10m"},
		{words.Span(100 * 24 * time.Hour), "100 days"},
		{words.Time(0), "-"},
		{strings.ReplaceAll(words.Time(now), " ", "")[:10], "2027-01-15"},
	} {
		if tt.got != tt.want {
			t.Errorf("got the text %q for a time or a duration, want %q", tt.got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", []string{""}},
		{"more than the share", []string{"more than", "the share"}},
		{"ab cdefghijklmno p", []string{"ab", "cdefghijklmno", "p"}},
		{"abcdefghijklmnop", []string{"abcdefghijklmnop"}},
		{"äöü äöü äöü", []string{"äöü äöü", "äöü"}},
		{"ten columns", []string{"ten", "columns"}},
	} {
		if got := words.Wrap(tt.in, 10); !slices.Equal(got, tt.want) {
			t.Errorf("Wrap(%q, 10) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
