package failure

import (
	"reflect"
	"slices"
)

// field is an exported field that tells something, promoted ones included.
type field struct {
	tells topic
	index []int
}

// topic is what a field tells of. The order is that of reading: a wait counts
// or not by the status, and the vaguer of two codes comes second.
type topic uint8

const (
	tellsStatus topic = iota + 1
	tellsResponse
	tellsSQLState
	tellsCode
	tellsReason
	tellsItems
	tellsStatusWord
	tellsBody
	tellsDetails
	tellsWait
	tellsHeader
	tellsStderr
	tellsNested
)

// topics are the names that libraries in Go give to such fields.
var topics = map[string]topic{
	"StatusCode": tellsStatus, "HTTPStatusCode": tellsStatus, "HTTPStatus": tellsStatus, "HTTPCode": tellsStatus,
	"HttpStatusCode": tellsStatus,
	"Response":       tellsResponse, "RawResponse": tellsResponse, "HTTPResponse": tellsResponse, "Resp": tellsResponse,
	"SQLState": tellsSQLState,
	"Code":     tellsCode, "ErrorCode": tellsCode, "ErrCode": tellsCode,
	"Reason": tellsReason, "Type": tellsReason,
	"Errors":     tellsItems,
	"Status":     tellsStatusWord,
	"Body":       tellsBody,
	"Details":    tellsDetails,
	"RetryAfter": tellsWait, "RetryAfterSeconds": tellsWait,
	"Header": tellsHeader, "Headers": tellsHeader, "ResponseHeader": tellsHeader, "ResponseHeaders": tellsHeader,
	"Stderr":    tellsStderr,
	"ErrStatus": tellsNested,
}

// fieldsOf returns the fields of a struct, or of what a pointer points to, that
// tell something, in the order of reading.
func fieldsOf(t reflect.Type) (fields []field) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if tells := topics[f.Name]; tells != 0 && f.IsExported() {
			fields = append(fields, field{tells, f.Index})
		}
	}
	slices.SortStableFunc(fields, func(a, b field) int { return int(a.tells) - int(b.tells) })
	return fields
}
