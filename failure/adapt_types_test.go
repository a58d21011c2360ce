package failure_test

import (
	"net/http"
	"strings"
	"time"
)

// The types of this file have the methods and fields of those that the clients
// of well-known services return, as of 2026.

type text string

func (t text) Error() string { return string(t) }

// grpcError has what google.golang.org/grpc/status has.
type grpcError struct {
	text
	status *grpcStatus
}

func (e grpcError) GRPCStatus() *grpcStatus { return e.status }

type grpcStatus struct {
	code    grpcCode
	details []any
}

func (s *grpcStatus) Code() grpcCode { return s.code }

func (s *grpcStatus) Details() []any { return s.details }

type grpcCode uint32

type errorInfo struct{ reason string }

func (i *errorInfo) GetReason() string { return i.reason }

func (i *errorInfo) GetDomain() string { return "googleapis.com" }

type retryInfo struct{ delay protoDuration }

func (i *retryInfo) GetRetryDelay() *protoDuration { return &i.delay }

type protoDuration time.Duration

func (d *protoDuration) AsDuration() time.Duration { return time.Duration(*d) }

// connectError has what connectrpc.com/connect has.
type connectError struct {
	text
	code connectCode
	meta http.Header
}

func (e *connectError) Code() connectCode { return e.code }

func (e *connectError) Meta() http.Header { return e.meta }

type connectCode uint32

func (c connectCode) String() string {
	return [...]string{14: "unavailable", 4: "deadline_exceeded", 1: "canceled"}[c]
}

// smithyError has what github.com/aws/smithy-go has.
type smithyError struct {
	text
	code  string
	fault fault
}

type fault int

func (e *smithyError) ErrorCode() string { return e.code }

func (e *smithyError) ErrorMessage() string { return string(e.text) }

func (e *smithyError) ErrorFault() fault { return e.fault }

type smithyResponseError struct {
	Response *smithyResponse
	Err      error
}

type smithyResponse struct{ *reply } // as *http.Response is there

func (e *smithyResponseError) Error() string { return "http response error" }

func (e *smithyResponseError) Unwrap() error { return e.Err }

func (e *smithyResponseError) HTTPStatusCode() int { return e.Response.StatusCode }

// googleError has what google.golang.org/api/googleapi has.
type googleError struct {
	text
	Code    int
	Message string
	Details []any
	Body    string
	Header  http.Header
	Errors  []googleItem
}

type googleItem struct{ Reason, Message string }

// llmError has what the clients of OpenAI have, and llmRawError those of
// Anthropic.
type llmError struct {
	text
	Code, Message, Param, Type string
	StatusCode                 int
	Request                    *http.Request
	Response                   *reply
}

type llmRawError struct {
	text
	StatusCode int
	Response   *reply
	raw        string
}

func (e *llmRawError) RawJSON() string { return e.raw }

// MySQLError has what github.com/go-sql-driver/mysql has.
type MySQLError struct {
	text
	Number   uint16
	SQLState [5]byte
}

// mongoError has what go.mongodb.org/mongo-driver has.
type mongoError struct {
	text
	Code   int32
	Name   string
	labels []string
}

func (e mongoError) HasErrorCode(int) bool { return false }

func (e mongoError) HasErrorLabel(l string) bool {
	return strings.Contains(strings.Join(e.labels, " "), l)
}

type mongoWriteError struct {
	text
	WriteConcernError *struct {
		Name string
		Code int
	}
	WriteErrors []struct {
		Index, Code int
		Message     string
	}
}

func (e mongoWriteError) HasErrorLabel(string) bool { return false }

// kubernetesError has what k8s.io/apimachinery has.
type kubernetesError struct {
	text
	ErrStatus struct {
		Status, Reason string
		Code           int32
		Details        *struct{ RetryAfterSeconds int32 }
	}
}

// postgresError has what github.com/jackc/pgx and github.com/lib/pq have.
type postgresError struct {
	text
	Severity, Code, Detail string
}

func (e *postgresError) SQLState() string { return e.Code }

type minioError struct {
	text
	Code, BucketName string
	StatusCode       int
}

type azureError struct {
	text
	ErrorCode   string
	StatusCode  int
	RawResponse *reply
}

type slackError struct {
	text
	RetryAfter time.Duration
}

type telegramError struct {
	text
	Code int
	parameters
}

type parameters struct{ RetryAfter int }

type unsentError struct{ text }

func (unsentError) SafeToRetry() bool { return true }

type sshError struct {
	text
	status int
	signal string
}

func (e *sshError) ExitStatus() int { return e.status }

func (e *sshError) Signal() string { return e.signal }

type typedError struct{ text }

func (typedError) ErrorType() string { return "KafkaError" }
