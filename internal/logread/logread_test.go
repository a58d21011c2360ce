package logread_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/logread"
)

func read(t *testing.T, text string) (entries []logread.Entry, lines int) {
	t.Helper()
	lines, err := logread.Read(bufio.NewReader(strings.NewReader(text)), func(e *logread.Entry) { entries = append(entries, *e) })
	if err != nil {
		t.Fatal(err)
	}
	return entries, lines
}

// part of: F9
func TestReadFindsTheFailuresOfALog(t *testing.T) {
	t.Parallel()
	three := 3
	text := `2026-01-01 12:00:00,000 INFO starting, rate limit 5/s
[warning] deprecated
2026-01-01 12:00:01 ERROR dial tcp: connection refused
Traceback (most recent call last):
  File "a.py", line 3, in <module>

    x()
KeyError: 'id'
java.io.IOException: broken
	at a.B.c(B.java:3)
Caused by: java.net.SocketException: reset
plain text

{"level":"error","msg":"charge failed","error":{"message":"429"},"kind":"charge","status":429}
{"level":"info","msg":"connection refused is no longer seen"}
{"level":"warn","err":"retrying: timeout"}
time=2026 level=ERROR msg="job is dead" kind=node error="exit code 3: \"no\" lines" exit_code=3
time=2026 level=INFO msg="no timeout today" job=2
{"not": json
a=b`
	got, lines := read(t, text)
	want := []logread.Entry{
		{Line: 3, Text: "2026-01-01 12:00:01 ERROR dial tcp: connection refused", Failed: true},
		{Line: 4, Text: "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    x()\nKeyError: 'id'", Failed: true},
		{Line: 9, Text: "java.io.IOException: broken\n\tat a.B.c(B.java:3)\nCaused by: java.net.SocketException: reset"},
		{Line: 12, Text: "plain text"},
		{Line: 14, Text: "429", Kind: "charge", Failed: true, Status: 429},
		{Line: 16, Text: "retrying: timeout", Failed: true},
		{Line: 17, Text: `exit code 3: "no" lines`, Kind: "node", Failed: true, Exit: &three},
		{Line: 19, Text: `{"not": json`},
		{Line: 20, Text: "a=b"},
	}
	if diff := cmp.Diff(want, got); diff != "" || lines != 20 {
		t.Errorf("got %d lines, want 20 (-want +got):\n%s", lines, diff)
	}
}

// part of: F9
func TestReadHasLimits(t *testing.T) {
	t.Parallel()
	got, lines := read(t, strings.Repeat("x", 3*logread.LineMax)+"\n"+"ERROR y\n"+strings.Repeat(" z\n", logread.EntryMax))
	if lines != 2+logread.EntryMax || len(got) != 2 || len(got[0].Text) != logread.EntryMax || len(got[1].Text) > logread.EntryMax {
		t.Errorf("got %d lines and %d entries, want %d lines and 2 entries of at most %d bytes", lines, len(got), 2+logread.EntryMax, logread.EntryMax)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("{\"error\":\"a\"}\nERROR b\n c\na=b c=\"d\"\n")
	f.Add("Traceback (most recent call last):\n\nx\n\x00\xff=\"")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		_, err := logread.Read(bufio.NewReader(strings.NewReader(text)), func(e *logread.Entry) {
			if e.Line <= last || len(e.Text) > logread.EntryMax {
				panic(fmt.Sprintf("entry at line %d of %d bytes after line %d", e.Line, len(e.Text), last))
			}
			last = e.Line
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
