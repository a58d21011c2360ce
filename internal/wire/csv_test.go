package wire

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// part of: D3
func TestD3_NoCellIsAFormula(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"}, {"", ""}, {"17", "17"}, {"-5", "-5"}, {"-1.5e-3", "-1.5e-3"}, {"a=b", "a=b"},
		{"=1+1", "'=1+1"}, {"+5", "'+5"}, {"-5+cmd", "'-5+cmd"}, {"-", "'-"}, {"@SUM(A1)", "'@SUM(A1)"},
		{"\t=1", "'\t'=1"}, {"\r=1", "'\r'=1"}, {"\n=1", "'\n'=1"}, {"＝1", "'＝1"}, {"-1\n=2", "'-1\n'=2"},
		{"a;=1+1", "a;'=1+1"}, {"a; +1;b", "a; '+1;b"}, {"a;b=1", "a;b=1"}, {"a;\"=1", "a;\"'=1"},
	} {
		if got := harmless(tt.in); got != tt.want {
			t.Errorf("harmless(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("=1", "a,b;c", "x\"y\r\n")
	f.Add("-5", " lead", "@\xff")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		cells := []string{a, b, c}
		var out bytes.Buffer
		appendCSV(&out, cells)
		r := csv.NewReader(&out)
		got, err := r.Read()
		if err != nil {
			t.Fatalf("reading the record of the cells %q returned the error %v, want no error", cells, err)
		}
		for i, cell := range cells {
			// The CSV reader of the standard library turns \r\n into \n, so the expected cell has
			// \n, too.
			want := strings.ReplaceAll(harmless(cell), "\r\n", "\n")
			if got[i] != want {
				t.Fatalf("the cell %q was read as %q, want %q", cell, got[i], want)
			}
			if got[i] != "" && strings.ContainsRune("=+-@\t\r\n", rune(got[i][0])) && !json.Valid([]byte(got[i])) && !plainNumber.MatchString(got[i]) {
				t.Fatalf("the cell %q begins with a character of a formula, want an apostrophe before it", got[i])
			}
		}
		if rest, err := r.Read(); err == nil {
			t.Fatalf("the reader found a second record %q, want only one record", rest)
		}
	})
}

// Some spreadsheets split a line at semicolons, even inside a quoted cell. Even then, no part
// of a cell may begin a formula.
//
// part of: D3
func TestD3_NoPartOfACellIsAFormula(t *testing.T) {
	t.Parallel()
	d := deadEntry(`{"a":";=HYPERLINK(\"http://evil\");x","b":"\t=1"}`)
	d.Job.Attrs, d.Note, d.ActedBy, d.Message = []byte(`{"k;=1+1":";+1"}`), "=1+1;=2+2", "x;@y", ";-1"
	var out bytes.Buffer
	if err := NewExporter(&out, true, nil).Add(d); err != nil {
		t.Fatal(err)
	}
	for _, comma := range ",;\t|" {
		for _, cell := range strings.FieldsFunc(out.String(), func(r rune) bool { return r == comma || r == '\n' || r == '\r' }) {
			cell = strings.Trim(cell, "\" ")
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) && !plainNumber.MatchString(cell) {
				t.Errorf("a line that is split at %q has the cell %q, which begins a formula, want an apostrophe before it", comma, cell)
			}
		}
	}
}

// deadEntry returns a dead letter with a secret in every field that can contain one.
func deadEntry(payload string) *store.DeadEntry {
	return &store.DeadEntry{
		DeadLetter: job.DeadLetter{
			Job: 17, Life: 2, Status: job.Resolved, Reason: job.MaxRetries, Class: "NetworkTimeout", Fingerprint: "1:00ff", Kind: "mail",
			Queue: "q", DiedAt: 1_800_000_000_000_000, Action: job.ActionResolved, ActedAt: 1_800_000_001_000_000,
			ActedBy: "=tess", Message: "=reset", Owner: "@acme", Note: "by hand, see /home/tess/notes",
		},
		Job: &job.Job{ID: 17, Priority: 2, Token: 3, Attrs: []byte(`{"token":"s3cr3t"}`), Payload: []byte(payload)},
	}
}

// part of: F11
func TestF11_AnExportHasNoSecrets(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{`{"password":"hunter2","file":"/etc/passwd"}`, `password=hunter2 in /etc/passwd`} {
		for _, format := range []string{"csv", "jsonl"} {
			var clean, raw bytes.Buffer
			if err := NewExporter(&clean, format == "csv", &failure.SanitizeOptions{}).Add(deadEntry(payload)); err != nil {
				t.Fatal(err)
			}
			if err := NewExporter(&raw, format == "csv", nil).Add(deadEntry(payload)); err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"hunter2", "/etc/passwd", "s3cr3t", "/home/tess"} {
				if strings.Contains(clean.String(), secret) {
					t.Errorf("the %s export contains the secret %s, want it removed: %s", format, secret, clean.String())
				}
				if !strings.Contains(raw.String(), secret) {
					t.Errorf("the %s export without removal of secrets does not contain the text %s: %s", format, secret, raw.String())
				}
			}
		}
	}
}

// part of: D3
func TestD3_BothFormatsHaveAllFields(t *testing.T) {
	t.Parallel()
	var lines, table bytes.Buffer
	for _, payload := range []string{`{"n":-5}`, "=cmd", "\xff\x00", "", "-5", "\u009b2J"} {
		if err := NewExporter(&lines, false, nil).Add(deadEntry(payload)); err != nil {
			t.Fatal(err)
		}
	}
	e := NewExporter(&table, true, nil)
	if err := e.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{`{"n":-5}`, "=cmd", "\xff\x00", "", "-5", "\u009b2J"} {
		if err := e.Add(deadEntry(payload)); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{lines.String(), table.String()} {
		if strings.ContainsRune(text, '\u009b') {
			t.Errorf("the export has an unescaped control character: %q", text)
		}
	}
	var payloads []string
	for i, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(rows[0][:10])), slices.Sorted(maps.Keys(fields))); diff != "" {
			t.Error(diff)
		}
		payloads = append(payloads, string(fields["payload"]))
		if cell := rows[i+1][2]; cell != payloads[i] && (cell != "" || payloads[i] != "null") {
			t.Errorf("the payload is %s in JSON and %s in CSV, want the same text", payloads[i], cell)
		}
		if rows[i+1][0] != "17" || rows[i+1][9] != "'=tess" {
			t.Errorf("got the cells %q, want job_id 17 and resolved_by '=tess", rows[i+1])
		}
		if diff := cmp.Diff([]string{"NetworkTimeout", "'=reset", "'@acme"}, rows[i+1][10:]); diff != "" {
			t.Error(diff)
		}
	}
	want := []string{`{"n":-5}`, `"=cmd"`, `{"base64":"/wA="}`, "null", "-5", `"\u009b2J"`}
	if diff := cmp.Diff(want, payloads); diff != "" {
		t.Error(diff)
	}
}
