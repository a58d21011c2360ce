package failure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

var compareEvidence = cmpopts.IgnoreUnexported(failure.Evidence{})

type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("status %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }

type limitError struct{}

func (limitError) Error() string        { return "limit reached" }
func (limitError) Is(target error) bool { return target == context.DeadlineExceeded }

type processError struct {
	code   int
	signal string
	stderr string
}

func (processError) Error() string        { return "command failed" }
func (e processError) ExitCode() int      { return e.code }
func (e processError) SignalName() string { return e.signal }
func (e processError) StderrTail() []byte { return []byte(e.stderr) }

// part of: F1, F2
func TestF1_EvidenceOfTypedErrors(t *testing.T) {
	t.Parallel()
	deadline, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	tests := []struct {
		name string
		err  error
		want failure.Evidence
	}{
		{"nil", nil, failure.Evidence{}},
		{"no text", errors.New(""), failure.Evidence{}},
		{"plain", errors.New("broken"), failure.Evidence{Message: "broken"}},
		{"deadline", fmt.Errorf("call: %w", deadline.Err()),
			failure.Evidence{Message: "call: context deadline exceeded", Timeout: true}},
		{"cancelled", fmt.Errorf("call: %w", context.Canceled),
			failure.Evidence{Message: "call: context canceled", Canceled: true}},
		{"an error that stands for a deadline", fmt.Errorf("call: %w", limitError{}),
			failure.Evidence{Message: "call: limit reached", Timeout: true, Types: []string{"failure_test.limitError"}}},
		{"HTTP status", fmt.Errorf("call: %w", statusError(503)),
			failure.Evidence{Message: "call: status 503", HTTPStatus: 503, Types: []string{"failure_test.statusError"}}},
		{"no HTTP status", statusError(1503), failure.Evidence{Message: "status 1503", Types: []string{"failure_test.statusError"}}},
		{"exit code", processError{code: 65, signal: "", stderr: "bad input"},
			failure.Evidence{Message: "command failed", Exit: new(65), Stderr: []byte("bad input"), Types: []string{"failure_test.processError"}}},
		{"signal", processError{code: -1, signal: "SIGKILL"},
			failure.Evidence{Message: "command failed", Signal: "SIGKILL", Types: []string{"failure_test.processError"}}},
	}
	for _, tt := range tests {
		got := failure.Of(tt.err)
		if diff := cmp.Diff(tt.want, got, compareEvidence, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

type panics struct{}

func (panics) Error() string { panic("no text") }
func (panics) Unwrap() error { panic("no cause") }
func (panics) ExitCode() int { panic("no code") }

type cyclic struct{ to error }

func (c *cyclic) Error() string { return "cyclic" }
func (c *cyclic) Unwrap() error { return c.to }

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func TestOf_IsTotal(t *testing.T) {
	t.Parallel()
	loop := &cyclic{}
	loop.to = failure.Permanent(errors.Join(errors.New("a"), loop, loop))
	wide := make([]error, 100_000)
	for i := range wide {
		wide[i] = statusError(500)
	}
	deep := error(statusError(500))
	for range 100_000 {
		deep = failure.RetryAfter(time.Second, deep)
	}
	tests := map[string]error{
		"cycle":      loop,
		"panics":     errors.Join(panics{}, failure.Permanent(panics{})),
		"typed nil":  (*nilError)(nil),
		"10 MiB":     errors.New(strings.Repeat("é", 5<<20)),
		"no UTF-8":   errors.New(strings.Repeat("\xff\xfea", 5000)),
		"all broken": errors.New(strings.Repeat("a\xff", failure.MessageMax/2)),
		"wide":       errors.Join(wide...),
		"deep":       deep,
		"long code":  failure.Code(strings.Repeat("€", 1000), errors.New("x")),
		"many details": failure.Code("X", errors.New("x"),
			slicesRepeat(100_000, strings.Repeat("\x01", 1000), strings.Repeat("\x02", 100_000))...),
	}
	for name, err := range tests {
		checkEvidence(t, name, failure.Of(err))
	}
	if !failure.Of(loop).Permanent || !failure.Of(tests["panics"]).Permanent {
		t.Error("a mark beside an error that misbehaves is not found")
	}
}

// slicesRepeat gives n details with different keys.
func slicesRepeat(n int, key, value string) (args []any) {
	for i := range n {
		args = append(args, fmt.Sprint(i, key), value)
	}
	return args
}

func checkEvidence(t *testing.T, name string, e failure.Evidence) {
	t.Helper()
	for _, text := range []struct {
		field, value string
		limit        int
	}{
		{"message", e.Message, failure.MessageMax},
		{"code", e.Code, failure.CodeMax},
		{"class", string(e.Class), failure.CodeMax},
		{"dependency", e.Dependency, failure.CodeMax},
		{"signal", e.Signal, failure.CodeMax},
		{"service code", e.ServiceCode, failure.CodeMax},
		{"errno", e.Errno, failure.CodeMax},
		{"SQLSTATE", e.SQLState, 5},
		{"gRPC status", e.GRPC, failure.CodeMax},
		{"stderr", string(e.Stderr), failure.StderrMax},
		{"details", string(e.Details), failure.DetailsMax},
	} {
		if !utf8.ValidString(text.value) {
			t.Errorf("%s: the %s is not UTF-8", name, text.field)
		}
		if len(text.value) > text.limit {
			t.Errorf("%s: a %s of %d bytes, want at most %d", name, text.field, len(text.value), text.limit)
		}
	}
	if len(e.Details) > 0 && !json.Valid(e.Details) {
		t.Errorf("%s: the details are not JSON: %.200s", name, e.Details)
	}
	if e.RetryAfter < 0 || e.Snooze < 0 {
		t.Errorf("%s: a negative wait: %+v", name, e)
	}
	if len(e.Types) > failure.TypesMax {
		t.Errorf("%s: %d types", name, len(e.Types))
	}
	for _, typ := range e.Types {
		if typ == "" || len(typ) > failure.CodeMax || !utf8.ValidString(typ) {
			t.Errorf("%s: type %q", name, typ)
		}
	}
	if e.HTTPStatus != 0 && (e.HTTPStatus < 100 || e.HTTPStatus > 599) {
		t.Errorf("%s: status %d", name, e.HTTPStatus)
	}
	if b, err := json.Marshal(e); err != nil {
		t.Errorf("%s: cannot be written: %v", name, err)
	} else if err := json.Unmarshal(b, new(failure.Evidence)); err != nil {
		t.Errorf("%s: cannot be read again: %v", name, err)
	}
}

func TestMessage_KeepsBothEndsOfALongText(t *testing.T) {
	t.Parallel()
	for _, pad := range []string{"", "x"} { // cuts between characters and within one
		got := failure.Message("upload: " + strings.Repeat("é", 1<<20) + pad + ": connection refused")
		size := fmt.Sprintf("%d bytes in all", 2097180+len(pad))
		for _, want := range []string{"upload: é", size, "é" + pad + ": connection refused"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in %.40s…%s", want, got, got[len(got)-40:])
			}
		}
		if !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("a character was cut in %.40s…%s", got, got[len(got)-40:])
		}
	}
	exact := strings.Repeat("x", failure.MessageMax)
	if failure.Message(exact) != exact {
		t.Error("a text of exactly the limit was changed")
	}
}

func TestLimits_FitWhatAStoreTakes(t *testing.T) {
	t.Parallel()
	if failure.MessageMax > job.MessageMax || failure.DetailsMax > job.EvidenceMax || failure.StderrMax > job.EvidenceMax {
		t.Error("evidence may be larger than a failure record")
	}
}

func FuzzOf(f *testing.F) {
	f.Add("broken", "CODE", "key", "value", int64(time.Second), uint8(3))
	f.Add("\xff\xfe", "\xff", "", strings.Repeat("€", 9000), int64(-1), uint8(255))
	f.Fuzz(func(t *testing.T, text, code, key, value string, d int64, shape uint8) {
		err := errors.New(text)
		if shape&1 != 0 {
			err = failure.Code(code, err, key, value, value)
		}
		if shape&2 != 0 {
			err = failure.WithClass(failure.Class(value), err)
		}
		if shape&4 != 0 {
			err = errors.Join(panics{}, failure.RetryAfter(time.Duration(d), err))
		}
		if shape&8 != 0 {
			err = fmt.Errorf("%w%s%w", failure.Snooze(time.Duration(d)), value, err)
		}
		if shape&16 != 0 {
			err = failure.DependencyDown(key, err)
		}
		got := failure.Of(err)
		checkEvidence(t, "fuzz", got)
		if diff := cmp.Diff(got, failure.Of(err), compareEvidence); diff != "" {
			t.Errorf("not the same twice:\n%s", diff)
		}
	})
}
