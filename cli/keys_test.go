package cli

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

func TestKeys_TheListFitsTheTerminal(t *testing.T) {
	t.Parallel()
	at := job.At(now)
	list := []wire.AccessKey{
		wire.AccessKeyOf(&redrive.AccessKey{ID: "abcdefghij", Name: strings.Repeat("long name ", 8), Roles: []string{"submit", "work", "view", "operate", "administer"},
			ExpiresAt: at.Add(time.Hour), UsedAt: at.Add(-23 * time.Hour)}, at),
		wire.AccessKeyOf(&redrive.AccessKey{ID: "klmnopqrst", Name: "\x1b[31mred", Roles: []string{"submit"}, Owner: "ann", Kinds: []string{"thumbnail", "transcode"}}, at),
	}
	var out bytes.Buffer
	a := &app{out: bufio.NewWriter(&out), now: func() time.Time { return now }}
	a.printKeys(list, 2, style{terminal: true, columns: 80})
	if err := a.out.Flush(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for line := range strings.Lines(text) {
		if n := words.Width(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns, want at most 80: %q", n, line)
		}
	}
	for _, want := range []string{"abcdefghij", "klmnopqrst", "until 2026-11-23", "23h ago", `\x1b[31mred`, "2 revoked or expired keys are listed with --all"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list has no %q:\n%s", want, text)
		}
	}
}
