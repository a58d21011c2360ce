package demo_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/demo"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// TestMain runs the function Tool if a job of the demo has started this test binary as its
// subprocess.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "demo-tool" {
		os.Exit(demo.Tool(context.Background(), os.Args[2:], os.Stderr))
	}
	os.Exit(m.Run())
}

func options(t *testing.T, out *bytes.Buffer) demo.Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return demo.Options{
		Path: filepath.Join(t.TempDir(), "demo.db"), Jobs: 150, Seed: 1, Fast: true,
		Tool: []string{exe, "demo-tool"}, Command: "redrive", Now: time.Now, Out: out,
	}
}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path, &sqlite.Options{KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// part of: F1, F10, R4, D6, D7
func TestD7_DemoRunsAsExpected_F1_F10_R4_D6(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: the demo takes seconds")
	}
	var out bytes.Buffer
	o := options(t, &out)
	if err := demo.Run(t.Context(), o); err != nil {
		t.Fatalf("the demo returned the error %v, want none; its output is\n%s", err, out.String())
	}
	st := open(t, o.Path)
	t.Run("redrives", func(t *testing.T) { oneStoppedOneCompleted(t, st) })
	t.Run("failures", func(t *testing.T) { eachFailureIsARecord(t, st) })
	t.Run("output", func(t *testing.T) {
		for _, want := range []string{
			`(?m)^150 jobs of five systems`, `(?m)^  ocr +5m, … +by 1200 +250ms, …$`,
			`retry 1 of 3 in \d+\.\d s; users see: .*Your video will be retried automatically`,
			`transcribe \d+ is dead \(manual_review\): ManualReview; users see: Please contact support`,
			`transcribe \d+ is dead \(hint_too_long\): RateLimitExceeded`,
			`(?m)^ +redrive 1: stopped$`, `(?m)^ +redrive 2: canary$`, `(?m)^ +redrive 2: completed$`,
			`(?m)^150 jobs in \d+ s, none lost$`, `(?m)^  redrive explain \d+ --db .* # `,
		} {
			if !regexp.MustCompile(want).MatchString(out.String()) {
				t.Errorf("the output of the demo does not match the pattern %s", want)
			}
		}
		if strings.ContainsRune(out.String(), '\x1b') {
			t.Error("the output contains an escape sequence, although it is not written to a terminal")
		}
		if t.Failed() {
			t.Log(out.String())
		}
	})
}

// oneStoppedOneCompleted checks that the first redrive stopped, that the second completed,
// and that the dead letters show this.
func oneStoppedOneCompleted(t *testing.T, st store.Store) {
	list, err := st.RedriveList(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("got %d redrives and the error %v, want 2 redrives", len(list), err)
	}
	late, early := list[0], list[1]
	if early.State != store.RedriveStopped || early.Released != 5 || early.Completed != 0 {
		t.Errorf("got the first redrive %+v, want it stopped after 5 jobs without a success", early)
	}
	if late.State != store.RedriveCompleted || late.Completed != late.Total || late.Total != early.Total {
		t.Errorf("got the second redrive %+v, want all jobs of the first redrive completed", late)
	}
	filter := store.DeadFilter{Group: late.Filter.Group}
	page, err := st.DeadLetters(t.Context(), filter, store.DeadPaging{Limit: job.PageMax})
	if err != nil || int64(len(page.Entries)) != late.Total {
		t.Fatalf("got %d dead letters of the repaired cause (error %v), want %d", len(page.Entries), err, late.Total)
	}
	for _, e := range page.Entries {
		if e.Status != job.Resolved || e.Action != job.ActionCompleted || e.Redrive != late.ID {
			t.Errorf("job %d: its dead letter has status %s and action %s by redrive %d, want resolved and completed by redrive %d", e.DeadLetter.Job, e.Status, e.Action, e.Redrive, late.ID)
		}
	}
}

// eachFailureIsARecord checks that each failure of a job has a class, a text for users and
// a decision, and that the store has the policy that made the decision.
func eachFailureIsARecord(t *testing.T, st store.Store) {
	dump, err := st.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(dump.Jobs) != 150 || len(dump.Failures) < 100 {
		t.Fatalf("got %d jobs and %d failures, want 150 jobs and at least 100 failures", len(dump.Jobs), len(dump.Failures))
	}
	for what, seen := range map[string]func(*job.Failure) bool{
		"a body that ended early":         func(f *job.Failure) bool { return strings.Contains(f.Message, "unexpected EOF") },
		"a reset connection":              func(f *job.Failure) bool { return strings.Contains(f.Message, "reset by peer") },
		"a timeout":                       func(f *job.Failure) bool { return f.How == job.ByTimeout },
		"a panic with its stack":          func(f *job.Failure) bool { return f.How == job.ByPanic && f.Stack != "" },
		"the exit code of a program":      func(f *job.Failure) bool { return f.Exit != nil && *f.Exit == 137 },
		"the standard error of a program": func(f *job.Failure) bool { return strings.Contains(string(f.Stderr), "moov atom not found") },
		"a 429 and a wait that follows its Retry-After": func(f *job.Failure) bool {
			r, err := policy.ParseRecord(f.Decision)
			return err == nil && f.HTTPStatus == 429 && r.Action == "retry" && r.Hint > 0 && r.Wait >= r.Hint
		},
	} {
		if !slices.ContainsFunc(dump.Failures, func(f job.Failure) bool { return seen(&f) }) {
			t.Errorf("no failure record has %s, want at least one", what)
		}
	}
	for _, f := range dump.Failures {
		if f.Class == "ManualReview" && f.UserMessage != "" {
			continue // a rule held this job before its first run, so there is no decision about a failure
		}
		r, err := policy.ParseRecord(f.Decision)
		if err != nil || f.Class == "" || f.UserMessage == "" || f.Message == "" {
			t.Errorf("job %d, run %d: a field of the failure is missing: class %q, message %q, text for users %q, error of the decision: %v", f.Job, f.Token, f.Class, f.Message, f.UserMessage, err)
			continue
		}
		if !slices.ContainsFunc(dump.Policies, func(p store.StoredPolicy) bool { return p.Hash == r.Hash }) {
			t.Errorf("job %d, run %d: policy %s made the decision, but the store does not have this policy", f.Job, f.Token, r.Hash)
		}
		if promises := strings.Contains(f.UserMessage, " will be retried") || strings.Contains(f.UserMessage, "is scheduled"); promises != (r.Action == "retry") {
			t.Errorf("job %d, run %d: the text for users does not fit the decision %s: %q", f.Job, f.Token, r.Action, f.UserMessage)
		}
		if strings.Contains(f.UserMessage, "127.0.0.1") || strings.Contains(f.UserMessage, "redrive-demo-") {
			t.Errorf("job %d, run %d: the text for users %q contains an address or a path; only operators see them", f.Job, f.Token, f.UserMessage)
		}
	}
}

// stopper is a writer that ends a context when a given text is written to it.
type stopper struct {
	bytes.Buffer
	when string
	stop context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.when) {
		s.stop()
	}
	return s.Buffer.Write(p)
}

func TestInterruptedDemoKeepsItsJobs(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &stopper{when: "1 of 3", stop: stop}
	o := options(t, nil)
	o.Out = out
	if err := demo.Run(ctx, o); !errors.Is(err, demo.ErrInterrupted) {
		t.Fatalf("got the error %v, want ErrInterrupted", err)
	}
	if !strings.Contains(out.String(), "Interrupted.") {
		t.Errorf("the output does not say that the demo was interrupted:\n%s", out.String())
	}
	counts, err := open(t, o.Path).Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all int64
	for _, c := range counts {
		if all += c.N; c.State == job.Running && c.N > 0 {
			t.Errorf("%d jobs of kind %s are still running, want none", c.N, c.Kind)
		}
	}
	if all != 150 {
		t.Errorf("the file contains %d jobs, want 150", all)
	}
}

func TestExistingFileIsNotChanged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := options(t, &out)
	if err := os.WriteFile(o.Path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := demo.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("got the error %v, want an error that says that the file exists", err)
	}
	if data, err := os.ReadFile(o.Path); err != nil || string(data) != "mine" {
		t.Errorf("the existing file now has the content %q (error %v), want it unchanged", data, err)
	}
}

func TestJobsAreBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 99, 20_001} {
		var out bytes.Buffer
		o := options(t, &out)
		o.Jobs = n
		if err := demo.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "must be 100 to 20000") {
			t.Errorf("%d jobs: got the error %v, want an error with the allowed numbers, 100 to 20000", n, err)
		}
	}
}
