package failure_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/typed"
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

// asked counts how often it is looked at.
type asked struct {
	cyclic
	times int
}

func (a *asked) Timeout() bool {
	a.times++
	return false
}

func TestOf_ACycleIsSoonOver(t *testing.T) {
	t.Parallel()
	a := &asked{}
	a.to = typed.Wrap(a)
	failure.Of(a)
	if a.times == 0 || a.times > 32 {
		t.Errorf("looked at one error %d times", a.times)
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
	f.Add("broken", "CODE", "key", "value", int64(time.Second), []byte{1, 2, 3})
	f.Add("\xff\xfe", "\xff", "", strings.Repeat("€", 300), int64(-1), []byte{0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add("", "404", "Retry-After", "120", int64(1), []byte{12, 13, 6, 6, 20, 21, 1, 15, 5})
	f.Fuzz(func(t *testing.T, text, code, key, value string, d int64, shape []byte) {
		err, permanent := oddTree(text, code, key, value, time.Duration(d), shape[:min(len(shape), 24)])
		got := failure.Of(err)
		checkEvidence(t, "fuzz", got)
		if diff := cmp.Diff(got, failure.Of(err), compareEvidence); diff != "" {
			t.Errorf("not the same twice:\n%s", diff)
		}
		if got.Permanent != permanent {
			t.Errorf("permanent is %v, want %v", got.Permanent, permanent)
		}
	})
}

// oddTree builds a tree of errors from the inside out, a step for each byte, and
// reports whether a mark of permanence is in it.
func oddTree(text, code, key, value string, d time.Duration, shape []byte) (err error, permanent bool) { //nolint:revive // it is no error of this function
	err = errors.New(text)
	for _, step := range shape {
		switch step % 22 {
		case 0:
			err = failure.Code(code, err, key, value, value)
		case 1:
			err = failure.WithClass(failure.Class(value), err)
		case 2:
			err = errors.Join(panics{}, failure.RetryAfter(d, err))
		case 3:
			err = fmt.Errorf("%w%s%w", failure.Snooze(d), value, err)
		case 4:
			err = failure.DependencyDown(key, err)
		case 5:
			err, permanent = failure.Permanent(err), true
		case 6:
			err = &cyclic{errors.Join(err, &cyclic{err})}
		case 7:
			c := &cyclic{}
			c.to = errors.Join(err, c)
			err = c
		case 8:
			err = errors.Join(err, (*headerError)(nil), (*url.Error)(nil), (*fs.PathError)(nil), (*nilError)(nil))
		case 9:
			err = errors.Join((*net.OpError)(nil), (*net.DNSError)(nil), &net.OpError{Op: value}, &url.Error{Op: "parse"}, err)
		case 10:
			err = errors.Join(unhashable{[]byte(text)}, unhashable{nil}, err)
		case 11:
			err = errors.Join(statusError(d), syscall.Errno(d&0xffff), typed.SQLError(code), processError{int(d), key, value}, err)
		case 12:
			err = errors.Join(err, &headerError{int(d & 1023), http.Header{key: {value}, "Retry-After": {value, code}, "Date": {text}}})
		case 13:
			err = errors.Join(err, &googleError{Code: int(d), Body: value, Details: []any{text, map[string]any{"@type": code}}})
		case 14:
			err = errors.Join(err, &llmRawError{StatusCode: int(d), raw: value}, &llmError{Code: code, Type: key})
		case 15:
			err = errors.Join(err, grpcError{"", &grpcStatus{grpcCode(d), []any{nil, text, &errorInfo{value}, &retryInfo{protoDuration(d)}}}})
		case 16:
			err = errors.Join(err, &smithyResponseError{nil, &smithyError{code: code, fault: fault(d)}}, grpcError{})
		case 17:
			err = errors.Join(err, mongoError{Code: int32(d), Name: value}, mongoWriteError{}, &MySQLError{Number: uint16(d)})
		case 18:
			err = errors.Join(err, telegramError{Code: int(d), parameters: parameters{int(d)}}, &slackError{RetryAfter: d}, kubernetes(int32(d), value, int32(d)))
		case 19:
			err = errors.Join(err, &sshError{status: int(d), signal: value}, &connectError{code: 14, meta: http.Header{"Retry-After": {value}}})
		case 20:
			err = fmt.Errorf("%s: %w", value, err)
		case 21:
			err = errors.Join(err, &embedded{}, &embedded{headerError: &headerError{int(d), nil}})
		}
	}
	return err, permanent
}

// unhashable cannot be compared: doing so panics.
type unhashable struct{ b []byte }

func (u unhashable) Error() string { return string(u.b) }

// embedded has fields behind a pointer that may be nil.
type embedded struct{ *headerError }

func (*embedded) Error() string { return "embedded" }
