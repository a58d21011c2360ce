// Package golden records how redrive decides about failures, and compares that with
// an earlier recording.
//
// testdata/golden.jsonl.gz holds one JSON object per line. TestGolden makes the same lines again
// and fails when a byte differs. A change of the code that must not change a decision must leave
// the file as it is. The lines are of four kinds:
//
//   - "policy …" is a policy: its hash, its stored text, and for each class
//     the message to users while a job is retried and when it is dead.
//   - "says.txt:31" (file and line) is an input: a labelled text of
//     classify/testdata, or a status, an SQLSTATE or a code with a text that says nothing.
//   - "says.txt:31 transcribe run 1" is a run of a job whose handler has failed with that
//     input, under that policy: its outcome, the stored failure record and the stored
//     decision. Runs 1 and 2 and the last one are kept. "… end" is the job and
//     its dead letter after the last run.
//   - "outcome …" are the runs and the ends of all other ways in which a run can
//     end: marks, panics, time limits, stops, crashes, holds, exit codes and so on.
//
// All rows are made with a real client on the store in memory, in a bubble of testing/synctest. The
// store's clock starts at a fixed time and moves by fixed steps, and job ids start at 1, so that
// the same waits are drawn each time. Values that depend on the machine or on the speed of the
// engine are left out: the stack of a panic is recorded as "present", and the age of a job in whole
// seconds.
//
// After a change that is meant to change decisions, check the differences that the test prints and
// record the file again:
//
//	go test ./tests/golden -update
package golden_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	goldenFile = "testdata/golden.jsonl.gz"
	// shownRows is how many different rows a failing test prints in full.
	shownRows = 12
)

var update = flag.Bool("update", false, "write "+goldenFile+" anew")

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		subprocess(os.Getenv(roleVar))
	}
	os.Exit(m.Run())
}

func TestGolden(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the golden file contains signals and exit codes that only Unix systems have")
	}
	var b bytes.Buffer
	r := &recording{t: t, enc: json.NewEncoder(&b)}
	r.enc.SetEscapeHTML(false)
	recordInputs(r)
	recordOutcomes(r)
	if *update {
		writeGolden(t, b.Bytes())
		return
	}
	want := readGolden(t)
	if bytes.Equal(want, b.Bytes()) {
		return
	}
	t.Errorf("%s\nIf every difference is intended, record again: go test ./tests/golden -update", compare(lines(want), lines(b.Bytes())))
}

// recording collects the rows of the golden file.
type recording struct {
	t   *testing.T
	enc *json.Encoder
}

func (r *recording) add(row any) {
	r.t.Helper()
	if err := r.enc.Encode(row); err != nil {
		r.t.Fatal(err)
	}
}

// writeGolden compresses the rows without a name or a time, so that the same rows give the same
// file.
func writeGolden(t *testing.T, rows []byte) {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(goldenFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("recorded %s: %d rows with %d bytes, %d bytes compressed", goldenFile, bytes.Count(rows, []byte("\n")), len(rows), b.Len())
}

func readGolden(t *testing.T) []byte {
	t.Helper()
	f, err := os.Open(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("open the golden file %s: %v", goldenFile, err)
	}
	rows, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("read the golden file %s: %v", goldenFile, err)
	}
	return rows
}

// line is one row: its key and its JSON.
type line struct{ key, json string }

func lines(rows []byte) (all []line) {
	for text := range strings.Lines(string(rows)) {
		rest := strings.TrimPrefix(text, `{"key":"`)
		key, _, _ := strings.Cut(rest, `"`)
		all = append(all, line{key, strings.TrimSuffix(text, "\n")})
	}
	return all
}

// compare describes the differences: how many rows differ, how often each field does, and the first
// rows field by field.
func compare(want, got []line) string {
	was, is := byKey(want), byKey(got)
	changed, fields := 0, map[string]int{}
	var shown, b strings.Builder
	show := func(l line, what string) {
		if changed++; changed <= shownRows {
			fmt.Fprintf(&shown, "\n%s%s\n%s", l.key, inputOf(is, l.key), what)
		}
	}
	for _, l := range got {
		switch before, known := was[l.key]; {
		case !known:
			fields["(new row)"]++
			show(l, "    is new: "+l.json+"\n")
		case before != l.json:
			show(l, fieldwise(before, l.json, fields))
		}
	}
	for _, l := range want {
		if is[l.key] == "" {
			fields["(row is missing)"]++
			show(l, "    is gone: "+l.json+"\n")
		}
	}
	if changed == 0 {
		return "the rows are in a different order than recorded"
	}
	fmt.Fprintf(&b, "%d of %d rows differ from the recording. Number of rows in which each field has changed:\n", changed, len(want))
	byCount := func(x, y string) int { return cmp.Or(fields[y]-fields[x], cmp.Compare(x, y)) }
	for _, name := range slices.SortedFunc(maps.Keys(fields), byCount) {
		fmt.Fprintf(&b, "  %6d %s\n", fields[name], name)
	}
	fmt.Fprintf(&b, "The first %d rows:\n", min(changed, shownRows))
	return b.String() + shown.String()
}

func byKey(all []line) map[string]string {
	rows := make(map[string]string, len(all))
	for _, l := range all {
		rows[l.key] = l.json
	}
	return rows
}

// inputOf returns the error text that the handler of a row's job has returned. The test prints it
// to explain a difference.
func inputOf(rows map[string]string, key string) string {
	name, _, of := strings.Cut(key, " ")
	if !of {
		return ""
	}
	var input struct{ Text string }
	if json.Unmarshal([]byte(rows[name]), &input) != nil || input.Text == "" {
		return ""
	}
	return fmt.Sprintf(" (%.160q)", input.Text)
}

// fieldwise returns the fields that differ between two rows, and counts them.
func fieldwise(before, after string, counts map[string]int) string {
	was, is := map[string]string{}, map[string]string{}
	flatten(was, "", before)
	flatten(is, "", after)
	all := maps.Clone(was)
	maps.Copy(all, is)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if was[name] != is[name] {
			counts[name]++
			fmt.Fprintf(&b, "    %s: was %s, is %s\n", name, cmp.Or(was[name], "missing"), cmp.Or(is[name], "missing"))
		}
	}
	return cmp.Or(b.String(), "    the fields are in a different order or format\n")
}

// flatten adds each field of a JSON object to fields, by its path.
func flatten(fields map[string]string, path, text string) {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil {
		fields[path] = text
		return
	}
	for name, v := range object {
		if path != "" {
			name = path + "." + name
		}
		flatten(fields, name, string(v))
	}
}
