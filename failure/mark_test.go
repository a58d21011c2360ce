package failure_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// marks wraps an error in each of the marks that take one.
var marks = map[string]func(error) error{
	"Permanent":      failure.Permanent,
	"RetryAfter":     func(err error) error { return failure.RetryAfter(time.Minute, err) },
	"Code":           func(err error) error { return failure.Code("DISK", err, "path", "/tmp") },
	"WithClass":      func(err error) error { return failure.WithClass("Storage", err) },
	"DependencyDown": func(err error) error { return failure.DependencyDown("s3", err) },
	"HandOver":       func(err error) error { return failure.HandOver(time.Minute, "", err) },
}

func TestMarks_NilStaysNilAndTheCauseIsReached(t *testing.T) {
	t.Parallel()
	for name, mark := range marks {
		if err := mark(nil); err != nil {
			t.Errorf("%s(nil) = %v, want nil", name, err)
		}
		err := mark(fmt.Errorf("read part 3: %w", io.ErrUnexpectedEOF))
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: errors.Is does not reach the cause", name)
		}
		if want := "read part 3: unexpected EOF"; err.Error() != want {
			t.Errorf("%s: text %q, want that of the cause, %q", name, err, want)
		}
	}
}

// part of: F2
func TestF2_MarksAreFoundAnywhereInTheTree(t *testing.T) {
	t.Parallel()
	other := errors.New("and the log could not be written")
	shapes := map[string]func(error) error{
		"outermost": func(err error) error { return err },
		"wrapped":   func(err error) error { return fmt.Errorf("upload: %w", err) },
		"joined":    func(err error) error { return errors.Join(other, err) },
		"deep": func(err error) error {
			return fmt.Errorf("%w; %w", other, errors.Join(other, fmt.Errorf("clip 4: %w", err)))
		},
	}
	want := map[string]failure.Evidence{
		"Permanent":      {Permanent: true},
		"RetryAfter":     {RetryAfter: time.Minute, RetryMark: true},
		"Code":           {Code: "DISK", Details: []byte(`{"path":"/tmp"}`)},
		"WithClass":      {Class: "Storage"},
		"DependencyDown": {Dependency: "s3"},
		"HandOver":       {HandOver: time.Minute},
	}
	for shape, in := range shapes {
		for name, mark := range marks {
			got := failure.Of(in(mark(errors.New("broken"))))
			got.Message = ""
			if diff := cmp.Diff(want[name], got, compareEvidence); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, shape, diff)
			}
		}
		if got := failure.Of(in(failure.Snooze(time.Hour))); got.Snooze != time.Hour {
			t.Errorf("Snooze, %s: %v, want 1h", shape, got.Snooze)
		}
		if got := failure.Of(in(failure.Cancel("obsolete"))); !got.Cancel || !strings.Contains(got.Message, "obsolete") {
			t.Errorf("Cancel, %s: %+v", shape, got)
		}
	}
}

func TestMarks_SeveralOfAKind(t *testing.T) {
	t.Parallel()
	inner := failure.Code("INNER", errors.New("broken"), "clip", 4, "url", "inner")
	inner = failure.WithClass("InnerClass", failure.RetryAfter(2*time.Minute, inner))
	outer := failure.WithClass("OuterClass", failure.Code("OUTER", inner, "url", "outer"))
	got := failure.Of(failure.RetryAfter(time.Second, outer))
	want := failure.Evidence{
		Message: "broken", Code: "OUTER", Class: "OuterClass", RetryAfter: 2 * time.Minute, RetryMark: true,
		Details: []byte(`{"url":"outer","clip":4}`),
	}
	if diff := cmp.Diff(want, got, compareEvidence); diff != "" {
		t.Errorf("the outermost code and class and the longest wait (-want +got):\n%s", diff)
	}
}

func TestMarks_WaitsAreNeverNegative(t *testing.T) {
	t.Parallel()
	if got := failure.Of(failure.RetryAfter(-time.Hour, errors.New("x"))).RetryAfter; got != 0 {
		t.Errorf("RetryAfter(-1h) = %v, want 0", got)
	}
	for _, d := range []time.Duration{-time.Hour, 0} {
		if got := failure.Of(failure.Snooze(d)).Snooze; got != failure.SnoozeMin {
			t.Errorf("Snooze(%v) = %v, want %v", d, got, failure.SnoozeMin)
		}
	}
}

func TestHandOver_TheReasonComesFirst(t *testing.T) {
	t.Parallel()
	err := failure.HandOver(5*time.Minute, "ocr retries exhausted", failure.HandOver(time.Hour, "", errors.New("broken")))
	if got := failure.Of(err); got.Message != "ocr retries exhausted: broken" || got.HandOver != time.Hour {
		t.Errorf("%+v", got)
	}
	if got := failure.Of(failure.HandOver(-1, "", errors.New("broken"))).HandOver; got != failure.SnoozeMin {
		t.Errorf("HandOver(-1) = %v, want %v", got, failure.SnoozeMin)
	}
}

type secret string

func (secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

type badValue struct{}

func (badValue) MarshalJSON() ([]byte, error) { panic("no") }

func TestCode_Details(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		details []any
		want    string
	}{
		{"none", nil, ``},
		{"pairs", []any{"url", "https://a/b", "clip", 3}, `{"url":"https://a/b","clip":3}`},
		{"attributes and groups", []any{slog.Int("n", 1), slog.Group("g", "a", true, "b", nil)}, `{"n":1,"g":{"a":true,"b":null}}`},
		{"durations and times read well", []any{"d", 90 * time.Second, "t", time.Unix(0, 0).UTC()},
			`{"d":"1m30s","t":"1970-01-01T00:00:00Z"}`},
		{"errors are texts", []any{"cause", io.EOF}, `{"cause":"EOF"}`},
		{"what a log hides is hidden", []any{"key", secret("s3cr3t")}, `{"key":"[secret]"}`},
		{"whole numbers above 2^53 stay whole", []any{"id", int64(9007199254740993)}, `{"id":9007199254740993}`},
		{"a missing value", []any{"url"}, `{"!BADKEY":"url"}`},
		{"a value that cannot be encoded", []any{"f", badValue{}}, `{"f":"(failure_test.badValue: its encoding panicked)"}`},
		{"a value that is too long", []any{"b", make([]byte, 1<<20), "n", 1},
			`{"b":"(1398106 bytes, too long to be kept)","n":1}`},
	}
	for _, tt := range tests {
		got := failure.Of(failure.Code("X", io.EOF, tt.details...)).Details
		if string(got) != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// The mark RetryAfter is looked at before the words of the text, as all marks are. A wait in the header of
// a response is no mark: a status that must not be retried stays so.
//
// proves: F2
func TestF2_TheMarkRetryAfterOutranksWords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"invalid api key", "not found yet", "file too large", "quota exceeded for this month", "insufficient_quota", "HTTP 404"} {
		e := failure.Of(fmt.Errorf("upload: %w", failure.RetryAfter(time.Minute, errors.New(text))))
		c := classify.Builtin().Classify(&e, "k")
		if !c.Verdict.Retriable() {
			t.Errorf("%q: got %+v, want a class that is retried", text, c)
		}
	}
	busy := failure.Of(failure.RetryAfter(time.Minute, errors.New("503 service unavailable")))
	if c := classify.Builtin().Classify(&busy, "k"); c.Class != failure.TemporaryServiceError {
		t.Errorf("got the class %s, want that of the words, because it is retried", c.Class)
	}
	for name, err := range map[string]error{
		"Permanent":  failure.Permanent(failure.RetryAfter(time.Minute, errors.New("not found"))),
		"WithClass":  failure.WithClass(failure.NotFound, failure.RetryAfter(time.Minute, errors.New("busy"))),
		"no wait":    failure.RetryAfter(0, errors.New("invalid api key")),
		"a response": &waitingResponse{},
	} {
		e := failure.Of(err)
		if c := classify.Builtin().Classify(&e, "k"); c.Verdict.Retriable() {
			t.Errorf("%s: got %+v, want a class that is not retried", name, c)
		}
	}
}

// waitingResponse is a response that names a wait and says that a later attempt fails, too.
type waitingResponse struct{}

func (*waitingResponse) Error() string             { return "not found" }
func (*waitingResponse) StatusCode() int           { return 404 }
func (*waitingResponse) RetryAfter() time.Duration { return time.Minute }
