package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

func TestParseSpan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want time.Duration
	}{
		{"2h", 2 * time.Hour}, {"3d", 72 * time.Hour}, {"1w", 168 * time.Hour}, {"1d12h30m", 36*time.Hour + 30*time.Minute},
		{"1w2d", 216 * time.Hour}, {"0s", 0}, {"1.5h", 90 * time.Minute},
	} {
		if got, err := parseSpan(tt.in); err != nil || got != tt.want {
			t.Errorf("parseSpan(%q) = %s, %v, want %s", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{
		"", "d", "3", "-2h", "2h3d", "1d-1h", "x", "1dx", // not in the form
		"99999w", "20000w", "15251w", "15250w99999d", "15250w2563h", // longer than a duration can be
	} {
		if got, err := parseSpan(in); err == nil {
			t.Errorf("parseSpan(%q) = %s", in, got)
		}
	}
	if at, err := past("--until", "20000w", time.Unix(1<<31, 0)); err == nil {
		t.Errorf("20000w ago was %s", at.Time())
	}
}

// A span is read as what it says, or refused: it is never less than one of its parts.
func FuzzParseSpan(f *testing.F) {
	for _, in := range []string{"", "2h", "1w2d3h", "20000w", "15250w1d23h", "99999d", "1.5h", "-1h", "1d1ns"} {
		f.Add(in)
	}
	parts := regexp.MustCompile(`^(?:([0-9]{1,5})w)?(?:([0-9]{1,5})d)?(.*)$`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := parseSpan(in)
		if err != nil {
			return
		}
		m := parts.FindStringSubmatch(in)
		if m == nil {
			t.Fatalf("%q was read as %s", in, got)
		}
		want := 0.0
		for i, hours := range []float64{7 * 24, 24} {
			n, _ := strconv.ParseFloat("0"+m[i+1], 64)
			want += n * hours
		}
		if rest, err := time.ParseDuration(m[3]); err == nil {
			want += rest.Hours()
		} else if m[3] != "" {
			t.Fatalf("%q was read as %s", in, got)
		}
		if got < 0 || math.Abs(got.Hours()-want) > 1e-6 {
			t.Errorf("%q is %s, which is %g hours, want %g", in, got, got.Hours(), want)
		}
	})
}

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
			t.Errorf("past(%q) = %s, %v, want %s", tt.in, got.Time(), err, tt.want)
		}
	}
	if got, err := future("--reopen", "2d", now); err != nil || got != job.At(now.Add(48*time.Hour)) {
		t.Errorf("future(2d) = %s, %v", got.Time(), err)
	}
	for _, in := range []string{"yesterday", "3", "2026-13-01", "1969-01-01", "10000w"} {
		if got, err := past("--since", in, now); codeOf(err) != codeUsage {
			t.Errorf("past(%q) = %d, %v", in, got, err)
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
			t.Fatalf("past(%q) = %d", text, back)
		}
	})
}

func TestParseShare(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{"20%": 0.2, "0.2": 0.2, "100%": 1, "1": 1, "0.5%": 0.005} {
		if got, err := parseShare(in); err != nil || got != want {
			t.Errorf("parseShare(%q) = %g, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "%", "0", "101%", "-1", "NaN", "20", "x%"} {
		if got, err := parseShare(in); codeOf(err) != codeUsage {
			t.Errorf("parseShare(%q) = %g, %v", in, got, err)
		}
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   []int64
		want string
	}{
		{nil, ""}, {[]int64{0, 0}, "▁▁"}, {[]int64{0, 1}, "▁▂"}, {[]int64{0, 1, 500, 1000}, "▁▂▅█"}, {[]int64{7, 0, 7}, "█▁█"},
	} {
		if got := sparkline(tt.in); got != tt.want {
			t.Errorf("sparkline(%v) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := trend([]int64{0, 12, 3}, style{}); got != "0,12,3" {
		t.Errorf("without a terminal: %q", got)
	}
}

// part of: D5
func TestD5_WhatARetryChangedIsShown(t *testing.T) {
	t.Parallel()
	got := diffText([]byte(`{"a":1,"b":[1,2],"c":"x"}`), []byte(`{"a":1,"b":[1,3],"c":"x"}`))
	want := "  {\n    \"a\": 1,\n    \"b\": [\n      1,\n-     2\n+     3\n    ],\n    \"c\": \"x\"\n  }"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := diffText([]byte("\xff"), []byte("ab")); got != "no text: 1 byte before, 2 bytes now" {
		t.Error(got)
	}
	long := []byte(strings.Repeat("x\n", diffLinesMax+1))
	if got := diffText(long, []byte("y")); !strings.HasPrefix(got, "too long to compare") {
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
			t.Fatalf("%q to %q: read back as %q and %q", was, is, old, now)
		}
	})
}

// part of: M4
func TestM4_FiguresOverTheirWindow(t *testing.T) {
	t.Parallel()
	hour := job.Micros(time.Hour / time.Microsecond)
	now := 500_000*hour + hour/2
	stats := &store.DeadStats{At: now, Hours: []store.Hour{
		{At: now - hour/2 - 30*hour, Completed: 1, Recovered: 1, Dead: 1000, Exhausted: 1000, Retries: 1, RetryCost: 9e9},
		{At: now - hour/2 - hour, Completed: 70, Recovered: 5, Dead: 1, Exhausted: 1, Retries: 8, RetryCost: 400_000},
		{At: now - hour/2, Completed: 29, Recovered: 2, Dead: 0, Retries: 2, RetryCost: 400_000},
	}}
	got := figures(stats, 24*time.Hour)
	var texts []string
	for _, f := range got {
		if f.Met == nil || f.Formula == "" || f.Window != "the last 24h" || f.Target == "" {
			t.Errorf("%+v is not complete", f)
			continue
		}
		texts = append(texts, f.text+map[bool]string{true: " met", false: " missed"}[*f.Met])
	}
	if diff := cmp.Diff([]string{"87.5 % met", "1.0 % met", "$0.0800 met"}, texts); diff != "" {
		t.Error(diff)
	}
	for _, f := range figures(stats, 48*time.Hour) {
		if *f.Met {
			t.Errorf("over two days %s is met: %s", f.Name, f.text)
		}
	}
	for _, f := range figures(&store.DeadStats{At: now}, time.Hour) {
		if f.Met != nil || f.text != "-" {
			t.Errorf("of nothing: %+v", f)
		}
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	for answer, yes := range map[string]bool{"y\n": true, " YES \n": true, "y": true, "n\n": false, "\n": false, "": false, "yeah\n": false} {
		if err := answered(strings.NewReader(answer)); (err == nil) != yes {
			t.Errorf("the answer %q: %v", answer, err)
		}
	}
}

// graveyard is a store with dead jobs.
func graveyard(t *testing.T, n int) store.Store {
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
	st := graveyard(t, 30)
	client, err := operator(st)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{out: bufio.NewWriter(&out), stderr: &out, now: time.Now, getenv: func(string) string { return "" }}
	c, err := preview(t.Context(), client, store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{Kind: "mail"}})
	if err != nil || c.n != 30 {
		t.Fatalf("counted %d, %v", c.n, err)
	}
	asked, stop := context.WithCancel(t.Context())
	stop()
	c.Limit = 10
	err = a.actByFilter(asked, client, store.By{Actor: "tess"}, &c, false)
	if codeOf(err) != codeReturned || !strings.Contains(err.Error(), "10 of 30 dead letters were resolved, the rest is as it was") {
		t.Errorf("stopped with %v", err)
	}
	if err := a.actByFilter(t.Context(), client, store.By{Actor: "tess"}, &c, false); err != nil {
		t.Fatal(err)
	}
	_ = a.out.Flush()
	if !strings.Contains(out.String(), "20 dead letters resolved\n") {
		t.Errorf("the rest: %s", out.String())
	}
}

// part of: D6
func TestD6_AGroupIsFoundByItsBeginning(t *testing.T) {
	t.Parallel()
	st := graveyard(t, 2)
	page, err := st.Groups(t.Context(), store.GroupFilter{})
	if err != nil || len(page.Groups) != 1 {
		t.Fatalf("groups %v, %v", page, err)
	}
	print := page.Groups[0].Fingerprint
	_, key, _ := strings.Cut(print, ":")
	for _, name := range []string{print, key, print[:6], key[:4], shortGroup(print)} {
		if got, err := findGroup(t.Context(), st, name); err != nil || got != print {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
	if _, err := findGroup(t.Context(), st, "zz"); codeOf(err) != codeNotFound {
		t.Errorf("zz: %v", err)
	}
}

// part of: Q9
func TestQ9_TheEndOfALongAuditLogIsFound(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, auditWindow, auditWindow + 1, 3*auditWindow + 7} {
		st := memory.New(memory.Options{})
		if err := st.Declare(t.Context(), []string{"q"}); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			workers := i%2 + 1
			if _, err := st.SetQueue(t.Context(), store.By{Actor: "tess"}, store.QueueChange{Name: "q", Workers: &workers}); err != nil {
				t.Fatal(err)
			}
		}
		q := &auditQuery{limit: 3, windows: 10, keep: func(r *store.Audit) bool { return r.Seq%2 == 1 }}
		found, err := q.last(t.Context(), st)
		if err != nil || found.end != int64(n) || len(found.rows) != min(3, (n+1)/2) || found.searched != 0 {
			t.Errorf("of %d: %d rows up to %d, %v", n, len(found.rows), found.end, err)
		}
		for i := 1; i < len(found.rows); i++ {
			if found.rows[i].Seq != found.rows[i-1].Seq+2 {
				t.Errorf("of %d: %v", n, found.rows)
			}
		}
	}
	st := memory.New(memory.Options{})
	q := &auditQuery{limit: 3, windows: 2, keep: func(*store.Audit) bool { return false }}
	for i := range 2*auditWindow + 5 {
		workers := i%2 + 1
		_ = st.Declare(t.Context(), []string{"q"})
		if _, err := st.SetQueue(t.Context(), store.By{Actor: "tess"}, store.QueueChange{Name: "q", Workers: &workers}); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := q.last(t.Context(), st); err != nil || found.searched == 0 {
		t.Errorf("a search that was ended does not say so: %+v, %v", found, err)
	}
}
