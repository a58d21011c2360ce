package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

func TestWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, tt := range []struct {
		in   string
		want time.Time
	}{
		{"2h", now.Add(-2 * time.Hour)},
		{"1d", now.Add(-24 * time.Hour)},
		{"2026-01-31T18:00:00Z", time.Date(2026, 1, 31, 18, 0, 0, 0, time.UTC)},
		{"2026-01-31T18:00:00.5+01:00", time.Date(2026, 1, 31, 17, 0, 0, 5e8, time.UTC)},
		{"2026-01-31 18:00", time.Date(2026, 1, 31, 18, 0, 0, 0, time.Local)},
		{"2026-01-31", time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local)},
	} {
		if got, err := past("--since", tt.in, now); err != nil || got != job.At(tt.want) {
			t.Errorf("past(%q) = %s with error %v, want %s", tt.in, got.Time(), err, tt.want)
		}
	}
	if got, err := future("--reopen", "2d", now); err != nil || got != job.At(now.Add(48*time.Hour)) {
		t.Errorf("future(2d) = %s with error %v, want two days after now", got.Time(), err)
	}
	for _, in := range []string{"yesterday", "3", "2026-13-01", "1969-01-01", "10000w", "20000w"} {
		if got, err := past("--since", in, now); wire.KindOf(err) != wire.InvalidField {
			t.Errorf("past(%q) = %d with error %v, want an error of the kind invalid field", in, got, err)
		}
	}
}

func FuzzWhen(f *testing.F) {
	f.Add("1w2d3h")
	f.Add("2026-01-31T18:00")
	f.Fuzz(func(t *testing.T, text string) {
		now := time.Unix(1_800_000_000, 0)
		back, err := past("--since", text, now)
		if err == nil && (back < 0 || text != "" && back == 0) {
			t.Fatalf("past(%q) = %d without an error, want a number above 0, or 0 for an empty text", text, back)
		}
	})
}

func TestParseShare(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{"20%": 0.2, "0.2": 0.2, "100%": 1, "1": 1, "0.5%": 0.005} {
		if got, err := parseShare("--stop", in); err != nil || got != want {
			t.Errorf("parseShare(%q) = %g with error %v, want %g", in, got, err, want)
		}
	}
	for _, in := range []string{"", "%", "0", "101%", "-1", "NaN", "20", "x%"} {
		if got, err := parseShare("--stop", in); wire.KindOf(err) != wire.InvalidField {
			t.Errorf("parseShare(%q) = %g with error %v, want an error of the kind invalid field", in, got, err)
		}
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	for answer, yes := range map[string]bool{"y\n": true, " YES \n": true, "y": true, "n\n": false, "\n": false, "": false, "yeah\n": false} {
		if err := answered(strings.NewReader(answer)); (err == nil) != yes {
			t.Errorf("answer %q to the question: got error %v; want no error: %t", answer, err, yes)
		}
	}
}

// clientOn returns a client for the store, made in the same way as in the commands.
func clientOn(t *testing.T, st store.Store) *redrive.Client {
	t.Helper()
	client, err := (&opened{st}).operator(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// withDead returns a store that contains n dead jobs.
func withDead(t *testing.T, n int) store.Store {
	t.Helper()
	st := memory.New(memory.Options{})
	client, err := redrive.New(st, &redrive.Config{Logger: slog.New(slog.DiscardHandler), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	redrive.HandleRaw(client, "mail", func(context.Context, *redrive.Job[[]byte]) error {
		return failure.Permanent(errors.New("no such mailbox"))
	}, nil)
	specs := make([]redrive.Spec, n)
	for i := range specs {
		specs[i] = redrive.NewRaw("mail", []byte("{}"), nil)
	}
	if _, err := client.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	if err := client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return st
}

// part of: D3
func TestD3_AWideActionStopsBetweenSteps(t *testing.T) {
	t.Parallel()
	client := clientOn(t, withDead(t, 30))
	var out bytes.Buffer
	a := &app{out: bufio.NewWriter(&out), stderr: &out, now: time.Now, getenv: func(string) string { return "" }}
	c, err := preview(t.Context(), client, redrive.Action{Do: redrive.ActResolve, Filter: &redrive.DeadFilter{Kind: "mail"}})
	if err != nil || c.N != 30 {
		t.Fatalf("preview counted %d jobs with error %v, want 30", c.N, err)
	}
	asked, stop := context.WithCancel(t.Context())
	stop()
	c.Limit = 10
	err = a.actByFilter(asked, client, redrive.By{Actor: "tess"}, &c, false)
	if wire.KindOf(err) != wire.Stopping || !strings.Contains(err.Error(), "10 of 30 dead letters were resolved, the rest is unchanged") {
		t.Errorf("an interrupted action ended with error %v, want an error that says that 10 of 30 were resolved", err)
	}
	if err := a.actByFilter(t.Context(), client, redrive.By{Actor: "tess"}, &c, false); err != nil {
		t.Fatal(err)
	}
	_ = a.out.Flush()
	if !strings.Contains(out.String(), "20 dead letters resolved\n") {
		t.Errorf("the second action does not say that the other 20 dead letters were resolved, want a sentence about this; the output is:\n%s", out.String())
	}
}

// part of: D6
func TestD6_AGroupIsFoundByItsBeginning(t *testing.T) {
	t.Parallel()
	client := clientOn(t, withDead(t, 2))
	page, err := client.Groups(t.Context(), redrive.GroupFilter{})
	if err != nil || len(page.Groups) != 1 {
		t.Fatalf("got the groups %v with error %v, want one group", page, err)
	}
	print := page.Groups[0].Fingerprint
	_, key, _ := strings.Cut(print, ":")
	for _, name := range []string{print, key, print[:6], key[:4], words.ShortGroup(print)} {
		if got, err := findGroup(t.Context(), client, name); err != nil || got != print {
			t.Errorf("findGroup(%q) returned %q with error %v, want %q", name, got, err, print)
		}
	}
	if _, err := findGroup(t.Context(), client, "zz"); wire.KindOf(err) != wire.NotFound {
		t.Errorf("findGroup(\"zz\"): got error %v, want a NotFound error", err)
	}
}

// part of: Q9
func TestQ9_TheEndOfALongAuditLogIsFound(t *testing.T) {
	t.Parallel()
	for _, rows := range []int64{0, 1, 500, 501, 1507} {
		st := &logged{rows: rows, make: func(seq int64) redrive.AuditEntry {
			return redrive.AuditEntry{Actor: []string{"tess", "ann"}[seq%2]}
		}}
		found, err := auditPages(t.Context(), clientOn(t, st), redrive.AuditFilter{Actor: "ann", Limit: 3}, auditListPages)
		if err != nil || found.Last != rows || int64(len(found.Entries)) != min(3, (rows+1)/2) {
			t.Errorf("in a log of %d entries the search found %d entries up to %d with error %v, want the last three matches", rows, len(found.Entries), found.Last, err)
		}
		for i := 1; i < len(found.Entries); i++ {
			if found.Entries[i].Seq != found.Entries[i-1].Seq-2 {
				t.Errorf("in a log of %d entries the search left a match out or changed the order, want all matches, newest first: %+v", rows, found.Entries)
			}
		}
	}
}
