package selfbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgtest"
)

// shortSoak returns a soak that is short enough for a test.
func shortSoak() *Soak {
	s := SoakDefault
	s.For, s.Keep, s.Backlog, s.Workers, s.Producers = 2*time.Second, time.Second, 2_000, 40, 20
	return &s
}

func TestSoakErrorNamesTheBound(t *testing.T) {
	t.Parallel()
	if err := SoakDefault.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, set := range map[string]func(*Soak){
		"soak for 1ms": func(s *Soak) { s.For = time.Millisecond }, "keep for 0s": func(s *Soak) { s.Keep = 0 },
		"backlog of 10 jobs": func(s *Soak) { s.Backlog = 10 }, "3 workers": func(s *Soak) { s.Workers = 3 },
		"0 producers": func(s *Soak) { s.Producers = 0 }, "payload of 2 bytes": func(s *Soak) { s.Payload = 2 },
		"rate of -1": func(s *Soak) { s.Rate = -1 }, "size limit of 7 bytes": func(s *Soak) { s.SizeMax = 7 },
	} {
		s := SoakDefault
		set(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate returned the error %v, want an error that contains %q", err, want)
		}
	}
}

func TestSoakSpansAreTenthsOfAMinuteOrMinutes(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]time.Duration{
		5 * time.Second: 500 * time.Millisecond, 2 * time.Minute: 12 * time.Second, 10 * time.Minute: time.Minute, time.Hour: time.Minute,
	} {
		if s := (Soak{For: length}); s.span() != want {
			t.Errorf("a soak of %s has spans of %s, want %s", length, s.span(), want)
		}
	}
}

// steady returns the spans of a soak that meets all targets.
func steady() []soakSpan {
	spans := make([]soakSpan, 10)
	for i := range spans {
		spans[i] = soakSpan{N: i + 1, Took: time.Minute, Jobs: 600_000, Claims: 1_000, P50: time.Millisecond, P99: 10 * time.Millisecond,
			Size: soakSize{Bytes: 1 << 30}}
	}
	return spans
}

func TestSoakVerdict(t *testing.T) {
	t.Parallel()
	const all = "claim size unended unknown missing counters calls"
	for name, tt := range map[string]struct {
		change  func(s *Soak, spans []soakSpan, end *soakEnd)
		missed  string // names of the figures that miss their targets; the constant all contains all names
		figures int
	}{
		"steady":           {func(*Soak, []soakSpan, *soakEnd) {}, "", 7},
		"1.5 times slower": {func(_ *Soak, spans []soakSpan, _ *soakEnd) { spans[9].P99 = 15 * time.Millisecond }, "", 7},
		"slower":           {func(_ *Soak, spans []soakSpan, _ *soakEnd) { spans[9].P99 = 16 * time.Millisecond }, "claim", 7},
		"no claims":        {func(_ *Soak, spans []soakSpan, _ *soakEnd) { spans[9].Claims, spans[9].P99 = 0, 0 }, "claim", 7},
		"no claims first":  {func(_ *Soak, spans []soakSpan, _ *soakEnd) { spans[0].Claims, spans[0].P99 = 0, 0 }, "claim", 7},
		"grows": {func(_ *Soak, spans []soakSpan, _ *soakEnd) {
			for i := range spans {
				spans[i].Size.Bytes = int64(i+1) << 27
			}
		}, "size", 7},
		"grows until it has its size": {func(_ *Soak, spans []soakSpan, _ *soakEnd) {
			for i := range 5 {
				spans[i].Size.Bytes = int64(i+1) << 27
			}
		}, "", 7},
		"keeps more because it does more": {func(_ *Soak, spans []soakSpan, _ *soakEnd) {
			for i := 7; i < 10; i++ {
				spans[i].Size.Bytes, spans[i].Jobs = 3<<29, 900_000
			}
		}, "", 7},
		"under a snapshot": {func(s *Soak, spans []soakSpan, _ *soakEnd) { s.Snapshot, spans[9].Size.Bytes = true, 1<<40 }, "", 6},
		"too short":        {func(s *Soak, spans []soakSpan, _ *soakEnd) { s.For, spans[9].Size.Bytes = time.Minute, 1<<40 }, "", 6},
		"not ended":        {func(_ *Soak, _ []soakSpan, end *soakEnd) { end.unended = append(end.unended, 7) }, "unended", 7},
		"not enqueued":     {func(_ *Soak, _ []soakSpan, end *soakEnd) { end.unknown = append(end.unknown, 7) }, "unknown", 7},
		"a row too few":    {func(_ *Soak, _ []soakSpan, end *soakEnd) { end.rows-- }, "missing", 7},
		"a row too many":   {func(_ *Soak, _ []soakSpan, end *soakEnd) { end.rows++ }, "missing", 7},
		"wrong counter":    {func(_ *Soak, _ []soakSpan, end *soakEnd) { end.counters = []string{"dead: 1 counted, 0 rows"} }, "counters", 7},
		"a failed call":    {func(_ *Soak, _ []soakSpan, end *soakEnd) { end.failures, end.failed = 1, errors.New("away") }, "calls", 7},
	} {
		s, spans, end := SoakDefault, steady(), soakEnd{enqueued: 6_000_000, rows: 600_000, swept: 5_400_000}
		tt.change(&s, spans, &end)
		figures := s.verdict(spans, &end)
		if _, err := json.Marshal(figures); err != nil {
			t.Errorf("case %q: encode the figures as JSON: %v", name, err)
		}
		if len(figures) != tt.figures {
			t.Errorf("case %q: got %d figures, want %d: %+v", name, len(figures), tt.figures, figures)
			continue
		}
		names := strings.Fields(all)
		if tt.figures < len(names) {
			names = slices.Delete(names, 1, 2)
		}
		var missed []string
		for i, f := range figures {
			if !f.Pass {
				missed = append(missed, names[i])
			}
		}
		if got := strings.Join(missed, " "); got != tt.missed {
			t.Errorf("case %q: the figures %q missed their targets, want %q", name, got, tt.missed)
		}
	}
}

// soaked runs a soak and decodes its JSON lines.
func soaked(t *testing.T, s *Soak) (spans []soakLine, figures []Figure) {
	t.Helper()
	var out bytes.Buffer
	if err := s.Run(t.Context(), &out, true); err != nil && !errors.Is(err, ErrMissed) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out.Bytes()) {
		var kind struct{ Span, Figure, Remark any }
		if err := json.Unmarshal(line, &kind); err != nil {
			t.Fatalf("decode a line of JSON: %v: %s", err, line)
		}
		var err error
		switch {
		case kind.Span != nil:
			var span soakLine
			err = json.Unmarshal(line, &span)
			spans = append(spans, span)
		case kind.Figure != nil:
			var f Figure
			err = json.Unmarshal(line, &f)
			figures = append(figures, f)
		default:
			t.Logf("%s", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return spans, figures
}

// wantSoaked checks that a soak did something and lost nothing. It does not check how long claims
// take: a short soak has few claims, and on a busy machine a span of 200 ms may have no claim at
// all.
func wantSoaked(t *testing.T, spans []soakLine, figures []Figure) {
	t.Helper()
	if len(spans) != soakSpans {
		t.Errorf("got %d spans, want %d", len(spans), soakSpans)
	}
	busy := 0
	for _, s := range spans {
		if s.PerSecond < 0 || (s.Claims > 0) != (s.P50 > 0) || s.P99 < s.P50 || s.Size <= 0 {
			t.Errorf("got the span %+v, want a size above 0, a rate of at least 0, and a p99 that is not below the p50", s)
		}
		if s.PerSecond > 0 && s.Claims > 0 {
			busy++
		}
	}
	if busy == 0 {
		t.Errorf("got the result %+v, want at least one job that ended during the soak", spans)
	}
	if len(figures) != 6 {
		t.Errorf("got %d figures, want 6: %+v", len(figures), figures)
	}
	for _, f := range figures[1:] {
		if !f.Pass {
			t.Errorf("got the figure %+v, which missed its target; want all targets met", f)
		}
	}
}

// part of: Q2
func TestQ2_SoakOnSQLite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test measures for some seconds")
	}
	s := shortSoak()
	s.File = filepath.Join(t.TempDir(), "soak.db")
	spans, figures := soaked(t, s)
	wantSoaked(t, spans, figures)
	if left, err := filepath.Glob(s.File + "*"); err != nil || len(left) > 0 {
		t.Errorf("the soak left the files %v (error %v), want no files", left, err)
	}
}

// part of: Q2
func TestQ2_SoakOnPostgresUnderASnapshot(t *testing.T) {
	t.Parallel()
	s := shortSoak()
	s.DSN, s.Snapshot = pgtest.Database(t), true
	spans, figures := soaked(t, s)
	wantSoaked(t, spans, figures)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var left int
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'redrive%'`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("the soak left %d schemas (error %v), want no schemas", left, err)
	}
}

// part of: Q2
func TestQ2_SoakOnSQLiteUnderASnapshot(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test measures for some seconds")
	}
	s := shortSoak()
	s.Snapshot = true
	spans, figures := soaked(t, s)
	wantSoaked(t, spans, figures)
	for i := range spans[1:] { // while a snapshot is open, the write-ahead log can only grow
		if spans[i+1].WAL < spans[i].WAL {
			t.Errorf("the write-ahead log became smaller during a snapshot: it has %d bytes and had %d bytes before", spans[i+1].WAL, spans[i].WAL)
		}
	}
	if first, last := spans[0].WAL, spans[len(spans)-1].WAL; last <= first {
		t.Errorf("the write-ahead log did not grow during a snapshot: it has %d bytes at the end and had %d bytes at the start", last, first)
	}
}

func TestSoakSnapshotsAreHeld(t *testing.T) {
	t.Parallel()
	file, schema := shortSoak(), shortSoak()
	file.File, schema.DSN = filepath.Join(t.TempDir(), "soak.db"), pgtest.Database(t)
	for _, s := range []*Soak{file, schema} {
		place := s.place("")
		opened, err := place.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		snapshot, err := place.hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := opened.ReserveIDs(t.Context(), 1_000_000); err != nil {
			t.Fatal(err)
		}
		if err := snapshot.check(t.Context()); err != nil {
			t.Errorf("%T: the check of an open snapshot failed: %v", place, err)
		}
		snapshot.release()
	}
}

func TestSoakSeesThatASnapshotIsLost(t *testing.T) {
	t.Parallel()
	seen, released := "10:20:", false
	snapshot, err := held(t.Context(), func(context.Context) (string, error) { return seen, nil }, func() { released = true })
	if err != nil || snapshot.check(t.Context()) != nil {
		t.Fatalf("the check of an open snapshot failed: %v", err)
	}
	seen = "11:20:"
	if err := snapshot.check(t.Context()); err == nil {
		t.Error("the check accepted another snapshot, want an error")
	}
	gone := errors.New("gone")
	if _, err := held(t.Context(), func(context.Context) (string, error) { return "", gone }, func() { released = true }); !errors.Is(err, gone) || !released {
		t.Errorf("a snapshot that cannot be opened gave the error %v, and the connection was released: %v; want an error and true", err, released)
	}
}

func TestSoakLeavesOthersFilesAlone(t *testing.T) {
	t.Parallel()
	s := shortSoak()
	s.File = filepath.Join(t.TempDir(), "jobs.db")
	if err := os.WriteFile(s.File, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), new(bytes.Buffer), false); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("got the error %v, want an error that says that the file exists", err)
	}
	if text, err := os.ReadFile(s.File); err != nil || string(text) != "precious" {
		t.Errorf("the file of another program now has the content %q (error %v), want it unchanged", text, err)
	}
}

func TestSoakGivesUpBeforeItFillsADisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test measures for some seconds")
	}
	s := shortSoak()
	s.For, s.SizeMax = time.Minute, 1<<20
	if err := s.Run(t.Context(), new(bytes.Buffer), false); err == nil || !strings.Contains(err.Error(), "above the limit of 1 MiB") {
		t.Errorf("got the error %v, want an error about the size limit", err)
	}
}
