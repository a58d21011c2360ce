package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reported returns the printed report about some events, and the number of failures.
func reported(t *testing.T, note string, passed bool, events ...event) (text string, failed int) {
	t.Helper()
	var in, out strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	r := newReport(&out)
	if err := r.read(strings.NewReader(in.String())); err != nil {
		t.Fatal(err)
	}
	r.end(note, passed)
	return out.String(), r.failed
}

func said(pack, test, output string) event {
	return event{Action: "output", Package: pack, Test: test, Output: output}
}

func ended(action, pack, test string) event { return event{Action: action, Package: pack, Test: test} }

func TestOnlyWhatFailedIsShown(t *testing.T) {
	t.Parallel()
	got, failed := reported(t, "SKIPPED: the race detector", false,
		ended("start", "a", ""),
		ended("run", "a", "TestGood"), said("a", "TestGood", "=== RUN   TestGood\n"),
		said("a", "TestGood", "    good_test.go:1: the inner test failed, as it should\n"),
		ended("run", "a", "TestBad"), said("a", "TestBad", "=== RUN   TestBad\n"),
		ended("run", "a", "TestBad/one"), said("a", "TestBad/one", "=== RUN   TestBad/one\n"),
		said("a", "TestBad/one", "    bad_test.go:2: the reason\n"),
		said("a", "TestGood", "--- PASS: TestGood (0.00s)\n"), ended("pass", "a", "TestGood"),
		said("a", "TestBad/one", "    --- FAIL: TestBad/one (0.00s)\n"), ended("fail", "a", "TestBad/one"),
		said("a", "TestBad", "--- FAIL: TestBad (0.00s)\n"), ended("fail", "a", "TestBad"),
		ended("run", "b", "TestNotHere"), said("b", "TestNotHere", "    b_test.go:3: needs root\n"),
		said("b", "TestNotHere", "--- SKIP: TestNotHere (0.00s)\n"), ended("skip", "b", "TestNotHere"),
		said("b", "", "PASS\n"), said("b", "", "ok  \tb\t0.1s\n"), ended("pass", "b", ""),
		said("a", "", "FAIL\n"), said("a", "", "FAIL\ta\t0.1s\n"),
		event{Action: "fail", Package: "a", Elapsed: 0.1},
	)
	want := `ok  	b	0.1s
FAIL	a	0.100s
--- FAIL: TestBad/one
    bad_test.go:2: the reason
SKIPPED tests:
--- SKIP: TestNotHere
    b_test.go:3: needs root
FAILED:
    a TestBad/one
    a TestBad
SKIPPED: the race detector
1 passed, 2 failed, 1 skipped
`
	if diff := cmp.Diff(want, got); diff != "" || failed != 2 {
		t.Errorf("got %d failed tests, want 2; the report differs (-want +got):\n%s", failed, diff)
	}
}

func TestALongOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	var events []event
	for _, word := range []string{"first", "middle", "last"} {
		for range 250 {
			events = append(events, said("a", "TestBad", word+"\n"))
		}
	}
	got, _ := reported(t, "", false, append(events, ended("fail", "a", "TestBad"), ended("fail", "a", ""))...)
	if n := strings.Count(got, "\n"); strings.Count(got, "first") != 250 || strings.Count(got, "last") != 250 ||
		!strings.Contains(got, "… 150 lines left out …") || n > 620 {
		t.Errorf("the report has %d lines, want the first 250 lines, the last 250 lines and a note between them:\n%s", n, got)
	}
}

func TestWhatFailsWithoutATestCountsAsOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		passed bool
		events []event
		want   []string
	}{
		{"a race that was noticed during another test", false, []event{
			said("a", "TestGood", "WARNING: DATA RACE\n"), ended("pass", "a", "TestGood"), ended("fail", "a", ""),
		}, []string{"TestGood, which passed\nWARNING: DATA RACE\n", "1 passed, 1 failed, 0 skipped\n"}},
		{"a test that was killed", false, []event{ended("run", "a", "TestSlow"), said("a", "TestSlow", "so far so good\n")},
			[]string{"--- NO END: TestSlow\nso far so good\n", "a TestSlow (did not end)\n", "0 passed, 1 failed, 0 skipped\n"}},
		{"the command alone failed", false, nil, []string{"the command that runs the tests", "0 passed, 1 failed, 0 skipped\n"}},
		{"nothing failed", true, nil, []string{"0 passed, 0 failed, 0 skipped\n"}},
	} {
		got, failed := reported(t, "", tt.passed, tt.events...)
		for _, want := range tt.want {
			if !strings.Contains(got, want) || (failed == 0) != tt.passed {
				t.Errorf("case %s: got %d failures; the report should contain %q:\n%s", tt.name, failed, want, got)
			}
		}
	}
}

// The real go command reports every way in which a package can fail.
func TestTheReportOfARealRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test builds packages")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module example.test/m\n\ngo 1.26\n",
		"good/a_test.go":  "package good\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) { t.Log(\"not to be shown\") }\n",
		"bad/a_test.go":   "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"the reason\") }\n",
		"panic/a_test.go": "package panics\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(\"on purpose\") }\n",
		"exit/a_test.go": "package exits\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" +
			"func TestMain(m *testing.M) { m.Run(); println(\"last words\"); os.Exit(3) }\n",
		"build/a_test.go": "package builds\n\nvar wrong = missing\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	events, err := cmd.Output()
	if err == nil {
		t.Fatal("go test succeeded in a module with failing tests, want an error")
	}
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(string(events))); err != nil {
		t.Fatal(err)
	}
	r.end("", false)
	got := out.String()
	for _, want := range []string{
		"ok  \texample.test/m/good\t", "--- FAIL: TestBad\n    a_test.go:5: the reason\n", "--- FAIL: TestPanics\n",
		"panic: on purpose", "last words", "undefined: missing", "    example.test/m/build\n", "    example.test/m/exit\n",
		"\n1 passed, 4 failed, 0 skipped\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report does not contain %q", want)
		}
	}
	if strings.Contains(got, "not to be shown") {
		t.Error("the report contains the log of a passed test, want only the output of failed tests")
	}
	if t.Failed() {
		t.Log(got)
	}
}
