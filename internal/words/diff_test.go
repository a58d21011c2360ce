package words

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// part of: D5
func TestD5_DiffShowsWhatARetryChanged(t *testing.T) {
	t.Parallel()
	got := Diff([]byte(`{"a":1,"b":[1,2],"c":"x"}`), []byte(`{"a":1,"b":[1,3],"c":"x"}`))
	want := "  {\n    \"a\": 1,\n    \"b\": [\n      1,\n-     2\n+     3\n    ],\n    \"c\": \"x\"\n  }"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Diff([]byte("\xff"), []byte("ab")); got != "no text: 1 byte before, 2 bytes now" {
		t.Error(got)
	}
	long := []byte(strings.Repeat("x\n", diffLinesMax+1))
	if got := Diff(long, []byte("y")); !strings.HasPrefix(got, "too long to compare") {
		t.Error(got)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\nd")
	f.Fuzz(func(t *testing.T, was, is string) {
		if len(was)+len(is) > 500 {
			return
		}
		var old, now []string
		for _, line := range diff(strings.Split(was, "\n"), strings.Split(is, "\n")) {
			if line[:2] != "+ " {
				old = append(old, line[2:])
			}
			if line[:2] != "- " {
				now = append(now, line[2:])
			}
		}
		if strings.Join(old, "\n") != was || strings.Join(now, "\n") != is {
			t.Fatalf("the diff of %q and %q was made from the texts %q and %q, want the two inputs", was, is, old, now)
		}
	})
}
