package failure_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/textproto"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/typed"
)

// seenEvidence is evidence without what the test of a row does not look at.
type seenEvidence struct {
	Status                              int
	GRPC, SQLState, Errno, Code, Signal string
	Extra                               string // types beside that of the error
	Wait                                time.Duration
	Sent                                failure.Sent
	Timeout                             bool
}

func evidenceOf(err error) seenEvidence {
	e := failure.Of(typed.Wrap(err))
	var extra []string
	for _, name := range e.Types {
		if !strings.HasPrefix(name, "failure_test.") {
			extra = append(extra, name)
		}
	}
	return seenEvidence{e.HTTPStatus, e.GRPC, e.SQLState, e.Errno, e.ServiceCode, e.Signal, strings.Join(extra, " "),
		e.RetryAfter, e.Sent, e.Timeout}
}

func kubernetes(code int32, reason string, after int32) error {
	e := &kubernetesError{}
	e.ErrStatus.Code, e.ErrStatus.Reason, e.ErrStatus.Status = code, reason, "Failure"
	e.ErrStatus.Details = &struct{ RetryAfterSeconds int32 }{after}
	return e
}

// reply is what is looked at of an *http.Response.
type reply struct {
	Status     string
	StatusCode int
	Header     http.Header
}

func response(status int, pairs ...string) *reply {
	r := &reply{StatusCode: status, Header: http.Header{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	return r
}

// part of: F2
func TestF2_CodesOfTheOtherSide(t *testing.T) {
	t.Parallel()
	limited := response(429, "Retry-After", "20")
	duplicate := mongoWriteError{}
	duplicate.WriteErrors = append(duplicate.WriteErrors, struct {
		Index, Code int
		Message     string
	}{Code: 11000})
	tests := []struct {
		name string
		err  error
		want seenEvidence
	}{
		{"gRPC", grpcError{"", &grpcStatus{code: 14}}, seenEvidence{GRPC: "UNAVAILABLE"}},
		{"gRPC, details", grpcError{"", &grpcStatus{8, []any{&errorInfo{"RATE_LIMIT_EXCEEDED"}, &retryInfo{protoDuration(53 * time.Second)}, 7, nil}}},
			seenEvidence{GRPC: "RESOURCE_EXHAUSTED", Code: "RATE_LIMIT_EXCEEDED", Wait: 53 * time.Second}},
		{"gRPC, OK", grpcError{"", &grpcStatus{code: 0}}, seenEvidence{}},
		{"gRPC, a code of the future", grpcError{"", &grpcStatus{code: 99}}, seenEvidence{}},
		{"gRPC, no status", grpcError{}, seenEvidence{}},
		{"Connect", &connectError{code: 14, meta: http.Header{"Retry-After": {"7"}}}, seenEvidence{GRPC: "UNAVAILABLE", Wait: 7 * time.Second}},
		{"Connect, two words", &connectError{code: 4}, seenEvidence{GRPC: "DEADLINE_EXCEEDED"}},
		{"Connect, spelt with one l", &connectError{code: 1}, seenEvidence{GRPC: "CANCELLED"}},
		{"AWS", &smithyResponseError{&smithyResponse{response(503, "Retry-After", "3")}, &smithyError{code: "SlowDown", fault: 1}},
			seenEvidence{Status: 503, Code: "SlowDown", Extra: "fault.server", Wait: 3 * time.Second}},
		{"AWS, the caller's fault", &smithyError{code: "NoSuchKey", fault: 2}, seenEvidence{Code: "NoSuchKey", Extra: "fault.client"}},
		{"AWS, no response", &smithyResponseError{&smithyResponse{}, &smithyError{code: "SlowDown"}}, seenEvidence{Code: "SlowDown"}},
		{"Google", &googleError{Code: 403, Errors: []googleItem{{Reason: "userRateLimitExceeded"}}}, seenEvidence{Status: 403, Code: "userRateLimitExceeded"}},
		{"Google, a body", &googleError{Code: 429, Body: `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"53.5s"}]}}`},
			seenEvidence{Status: 429, GRPC: "RESOURCE_EXHAUSTED", Code: "RATE_LIMIT_EXCEEDED", Wait: 53500 * time.Millisecond}},
		{"Google, details", &googleError{Code: 429, Details: []any{map[string]any{"@type": "x/google.rpc.RetryInfo", "retryDelay": "2s"}}},
			seenEvidence{Status: 429, Wait: 2 * time.Second}},
		{"OpenAI", &llmError{StatusCode: 429, Code: "insufficient_quota", Type: "x", Response: limited},
			seenEvidence{Status: 429, Code: "insufficient_quota", Wait: 20 * time.Second}},
		{"OpenAI, no code", &llmError{StatusCode: 400, Type: "invalid_request_error"}, seenEvidence{Status: 400, Code: "invalid_request_error"}},
		{"Anthropic", &llmRawError{StatusCode: 529, raw: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			seenEvidence{Status: 529, Code: "overloaded_error"}},
		{"Anthropic, HTML", &llmRawError{StatusCode: 502, raw: `<html>`}, seenEvidence{Status: 502}},
		{"Postgres", &postgresError{Code: "40001"}, seenEvidence{SQLState: "40001"}},
		{"Postgres, a warning", &postgresError{Code: "01000"}, seenEvidence{Code: "01000"}},
		{"MySQL", &MySQLError{Number: 1213, SQLState: [5]byte([]byte("40001"))}, seenEvidence{SQLState: "40001", Code: "ER_LOCK_DEADLOCK"}},
		{"MySQL, a rare number", &MySQLError{Number: 1999}, seenEvidence{Code: "1999"}},
		{"MongoDB", mongoError{Code: 112, Name: "WriteConflict", labels: []string{"TransientTransactionError"}},
			seenEvidence{Code: "WriteConflict", Extra: "TransientTransactionError"}},
		{"MongoDB, a name of the server", mongoError{Code: 189, Name: "PrimarySteppedDown"}, seenEvidence{Code: "PrimarySteppedDown"}},
		{"MongoDB, a code that looks like a status", mongoError{Code: 503}, seenEvidence{}},
		{"MongoDB, writes", duplicate, seenEvidence{Code: "DuplicateKey"}},
		{"Kubernetes", kubernetes(429, "TooManyRequests", 4), seenEvidence{Status: 429, Code: "TooManyRequests", Wait: 4 * time.Second}},
		{"MinIO", minioError{Code: "SlowDown", StatusCode: 503}, seenEvidence{Status: 503, Code: "SlowDown"}},
		{"Azure", &azureError{ErrorCode: "ServerBusy", RawResponse: response(503)}, seenEvidence{Status: 503, Code: "ServerBusy"}},
		{"Slack", &slackError{RetryAfter: 30 * time.Second}, seenEvidence{Wait: 30 * time.Second}},
		{"Telegram", telegramError{Code: 429, parameters: parameters{5}}, seenEvidence{Status: 429, Wait: 5 * time.Second}},
		{"SMTP", &textproto.Error{Code: 454, Msg: "temporary authentication failure"}, seenEvidence{Extra: "textproto.Error"}},
		{"a driver that sent nothing", unsentError{}, seenEvidence{Sent: failure.NotSent}},
		{"SSH", &sshError{status: 3}, seenEvidence{}},
		{"SSH, killed", &sshError{signal: "TERM"}, seenEvidence{Signal: "SIGTERM"}},
		{"a type by its own word", typedError{}, seenEvidence{Extra: "KafkaError"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, evidenceOf(tt.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// part of: F2
func TestF2_ErrorsOfTheSystem(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]seenEvidence{
		0:                    {},
		syscall.ECONNREFUSED: {Errno: "ECONNREFUSED", Sent: failure.NotSent},
		syscall.ETIMEDOUT:    {Errno: "ETIMEDOUT", Timeout: true},
		syscall.EAGAIN:       {Errno: "EAGAIN"}, // whose Timeout method says true
		syscall.ENOSPC:       {Errno: "ENOSPC"},
		syscall.EMFILE:       {Errno: "EMFILE"},
		syscall.ENOMEM:       {Errno: "ENOMEM"},
		syscall.EPIPE:        {Errno: "EPIPE"},
		12345:                {},
	} {
		if got := evidenceOf(errno); got != want {
			t.Errorf("%d: %+v, want %+v", int(errno), got, want)
		}
	}
}

// part of: F2
func TestF2_SQLiteByItsDriver(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1), (1)")
	if got := evidenceOf(err); got != (seenEvidence{Code: "SQLITE_CONSTRAINT", Extra: "sqlite.Error"}) {
		t.Errorf("%v: %+v", err, got)
	}
}

// part of: F2
func TestF2_ErrorsOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	_, numErr := strconv.Atoi("x")
	_, timeErr := time.Parse(time.RFC3339, "x")
	_, urlErr := url.Parse("http://[" + strings.Repeat(":", 2) + "1")
	_, escapeErr := url.QueryUnescape("%zz")
	tests := map[string]error{
		"json.SyntaxError":                 json.Unmarshal([]byte("{"), new(int)),
		"json.UnmarshalTypeError":          json.Unmarshal([]byte(`"x"`), new(int)),
		"strconv.NumError":                 numErr,
		"time.ParseError":                  timeErr,
		"url.Error":                        urlErr,
		"url.EscapeError":                  escapeErr,
		"fs.ErrPermission":                 fs.ErrPermission,
		"runtime.boundsError":              panicked(func() { _ = []int{}[len(t.Name())] }),
		"runtime.errorString":              panicked(func() { *nothing() = 1 }),
		"":                                 errors.Join(errors.New("a"), errors.New("b")),
		"failure_test.gone fs.ErrNotExist": gone{},
	}
	for want, err := range tests {
		if got := strings.Join(failure.Of(typed.Wrap(err)).Types, " "); got != want {
			t.Errorf("%v: types %q, want %q", err, got, want)
		}
	}
}

func nothing() *int { return nil }

type gone struct{}

func (gone) Error() string        { return "gone" }
func (gone) Is(target error) bool { return target == fs.ErrNotExist }

// panicked is the error that f panics with.
func panicked(f func()) (err error) {
	defer func() { err, _ = recover().(runtime.Error) }()
	f()
	return nil
}
