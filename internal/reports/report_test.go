package reports_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/reports"
)

// run records what takes effect at once.
type run struct {
	progress []string
	cost     float64
	feedback []string
	refuse   error
}

func (r *run) Progress(done, total int64, note string) {
	r.progress = append(r.progress, fmt.Sprintf("%d/%d %s", done, total, note))
}
func (r *run) AddCost(usd float64) { r.cost += usd }
func (r *run) Feedback(text string) error {
	r.feedback = append(r.feedback, text)
	return r.refuse
}

// read returns what a command has said with a text, in parts of the given size.
func read(text string, part int) (*run, *reports.Reader) {
	got := &run{}
	r := reports.New(got)
	for b := []byte(text); len(b) > 0; {
		n := min(part, len(b))
		_, _ = r.Write(b[:n])
		b = b[n:]
	}
	r.Close()
	return got, r
}

// proves: Q11
func TestQ11_CommandsReport(t *testing.T) {
	t.Parallel()
	text := "progress 1/4\nprogress 3/4 writing pages\r\ncost 0.25\ncost .5\nfeedback The picture is blurred\n\n" +
		"code A\ncode FFMPEG_ERROR\ndetail url https://example.org/a b.png\ndetail clip 3\ndetail clip {\"n\":4}\n" +
		"class NetworkTimeout\nmessage  no lines \nretry-after 90\nretry-after 2m\ndependency billing\npermanent\n" +
		"result {\"pages\": 3}\ncancel no more\nsnooze 1h30m\n"
	want := reports.Said{
		Code: "FFMPEG_ERROR", Class: "NetworkTimeout", Message: "no lines", Permanent: true, RetryAfter: 2 * time.Minute, Dependency: "billing",
		Details: []any{"url", "https://example.org/a b.png", "clip", json.RawMessage(`{"n":4}`)},
		Result:  []byte(`{"pages": 3}`), Snooze: 90 * time.Minute, Reason: "no more",
	}
	for _, part := range []int{1, 7, 1 << 20} {
		got, r := read(text, part)
		if r.Mistake() != "" {
			t.Errorf("parts of %d bytes: got the mistake %q, want none", part, r.Mistake())
		}
		if diff := cmp.Diff(want, r.Said); diff != "" {
			t.Errorf("parts of %d bytes (-want +got):\n%s", part, diff)
		}
		if got.cost != 0.75 || len(got.feedback) != 1 || got.progress[len(got.progress)-1] != "3/4 writing pages" {
			t.Errorf("parts of %d bytes: got %+v, want a cost of 0.75, one feedback and progress 3/4", part, got)
		}
	}
}

// proves: Q11
func TestQ11_ReportsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"progres 3\n", `line 1: it begins with the unknown word "progres", did you mean "progress"?`},
		{"Code: X\n", `line 1: it begins with the unknown word "Code:", did you mean "code"?`},
		{"code A\n{\"code\":1}\n", `line 2: it begins with the unknown word "{\"code\":1}"; the words are progress, cost, code, detail, class, message, permanent, retry-after, dependency, result, feedback, snooze, cancel`},
		{"cost 0.0", "line 1: it has no line end, so it may be incomplete"},
		{"cost -1\ncost NaN\ncost 1e9\n", `line 1: cost "-1": it must be an amount in US dollars from 0 to 1000000000, such as 0.25 (and 2 more lines)`},
		{"progress -1\n", `line 1: progress "-1": write how much is done, such as 3, 3/10 or 30%, and a note if you like`},
		{"progress 101%\n", `line 1: progress "101%": write how much is done, such as 3, 3/10 or 30%, and a note if you like`},
		{"code TWO WORDS\n", `line 1: code "TWO WORDS": it must be one word`},
		{"code " + strings.Repeat("x", 65) + "\n", "line 1: code: it has 65 bytes; at most 64 are allowed"},
		{"retry-after soon\n", `line 1: retry-after "soon": it must be a number of seconds above 0, or a duration such as 90s or 1h30m`},
		{"snooze 0\n", `line 1: snooze "0": it must be a number of seconds above 0, or a duration such as 90s or 1h30m`},
		{"permanent yes\n", `line 1: permanent "yes": nothing may follow the word`},
		{"detail\n", "line 1: detail needs a key and a value, such as: detail url https://example.org/a.png"},
		{"code \xff\n", "line 1: it is not a text in UTF-8"},
		{"code a\x00b\n", "line 1: it is not a text in UTF-8"},
		{strings.Repeat("x", reports.LineMax+1) + "\ncode A\n", "line 1: it has more than 65600 bytes"},
		{strings.Repeat("x", reports.LineMax+1), "line 1: it has more than 65600 bytes, and no line end"},
		{"result " + strings.Repeat("x", 65535) + "\n", "line 1: result: it has 65537 bytes as JSON; at most 65536 are allowed"},
	} {
		for _, part := range []int{1000, 1 << 20} {
			got, r := read(tt.text, part)
			if r.Mistake() != tt.want {
				t.Errorf("%.40q: got the mistake %q, want %q", tt.text, r.Mistake(), tt.want)
			}
			if got.cost != 0 || r.Said.Snooze != 0 || r.Said.Result != nil {
				t.Errorf("%.40q has changed something: %+v, %+v", tt.text, got, r.Said)
			}
		}
	}
}

// part of: Q11
func TestQ11_ReportsHaveLimits(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range reports.DetailsMax + 5 {
		fmt.Fprintf(&text, "detail k%d v\nfeedback f\nfeedback f\n", i)
	}
	got, r := read(text.String(), 1<<20)
	if n := len(r.Said.Details) / 2; n != reports.DetailsMax {
		t.Errorf("kept %d details, want %d", n, reports.DetailsMax)
	}
	if len(got.feedback) != reports.FeedbackMax {
		t.Errorf("passed %d feedbacks on, want %d", len(got.feedback), reports.FeedbackMax)
	}
	large := strings.Repeat("x", 40<<10)
	_, r = read("detail a "+large+"\ndetail b "+large+"\ndetail a 1\ndetail b "+large+"\n", 1<<20)
	if len(r.Said.Details) != 4 || r.Mistake() != "line 2: detail b: all details have 81922 bytes; at most 65536 are allowed" {
		t.Errorf("got %d details and the mistake %q, want a and the second b", len(r.Said.Details)/2, r.Mistake())
	}
	refusing := &run{refuse: errors.New("the store is closed")}
	r = reports.New(refusing)
	_, _ = r.Write([]byte("feedback x\n"))
	if want := "line 1: feedback: the store is closed"; r.Mistake() != want {
		t.Errorf("got the mistake %q, want %q", r.Mistake(), want)
	}
}

// A gigabyte takes a second, and no memory to speak of: one endless line, lines of progress, and
// lines of nothing.
//
// proves: Q11
func TestQ11_AGigabyteOfReports(t *testing.T) {
	size := 1 << 30
	if testing.Short() {
		size = 1 << 24
	}
	for _, line := range []string{"progress 1/2\n", "x", "\n", "detail a b\n", "cost x\n"} {
		part := bytes.Repeat([]byte(line), 16<<10/len(line))
		got := &run{}
		r := reports.New(got)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for n := 0; n < size; n += len(part) {
			_, _ = r.Write(part)
		}
		r.Close()
		got.progress = nil
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
			t.Errorf("%d bytes of %q: the heap has grown by %d bytes, want at most 8 MiB", size, line, grown)
		}
		if size == 1<<30 && r.Mistake() == "" {
			t.Errorf("%d bytes of %q: got no mistake, want one", size, line)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("progress 1/2 x\ncost 1\ncode A\n"), 3)
	f.Add([]byte("detail a {\"b\":1}\nresult x\nsnooze 5\ncancel\n"), 100)
	f.Add([]byte("retry-after 99999999999999999999\ncost 99999999999999\nprogress 9223372036854775808\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, part int) {
		_, whole := read(string(text), 1<<20)
		_, parts := read(string(text), max(1, part))
		if diff := cmp.Diff(whole.Said, parts.Said); diff != "" || whole.Mistake() != parts.Mistake() {
			t.Errorf("parts of %d bytes give another result:\n%s\n%q, %q", part, diff, whole.Mistake(), parts.Mistake())
		}
		said := &whole.Said
		if said.Snooze < 0 || said.RetryAfter < 0 || said.Result != nil && !json.Valid(said.Result) || len(said.Details) > 2*reports.DetailsMax {
			t.Errorf("got %+v, want no negative waits, a result of JSON and few details", said)
		}
	})
}
