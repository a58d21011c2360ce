package failure

import (
	"math"
	"reflect"
	"slices"
	"time"
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

// readFields reads the fields of one error.
func (e *Evidence) readFields(err error, s *shape) {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	e.readStruct(v, s.fields, s.has)
}

func (e *Evidence) readStruct(v reflect.Value, fields []field, has ability) {
	for i := range fields {
		f, err := v.FieldByIndexErr(fields[i].index)
		if err != nil { // within an embedded pointer that is nil
			continue
		}
		e.readField(fields[i].tells, inner(f), has)
	}
}

// inner follows pointers and interfaces to the value; it is invalid behind nil.
func inner(v reflect.Value) reflect.Value {
	for range 4 {
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
			break
		}
		v = v.Elem()
	}
	return v
}

func (e *Evidence) readField(tells topic, v reflect.Value, has ability) {
	switch tells {
	case tellsStatus:
		if v.CanInt() {
			e.setStatus(int(v.Int()))
		}
	case tellsResponse:
		e.readResponse(v)
	case tellsSQLState:
		e.setSQLState(textOf(v))
	case tellsCode:
		e.readCode(v, has)
	case tellsReason:
		if v.Kind() == reflect.String {
			e.setServiceCode(v.String())
		}
	case tellsItems:
		e.readItems(v)
	case tellsStatusWord:
		if v.CanInt() {
			e.setStatus(int(v.Int()))
		} else if v.Kind() == reflect.String {
			e.setGRPC(v.String())
		}
	case tellsBody:
		e.readBody(textOf(v))
	case tellsDetails:
		e.readDetails(v)
	case tellsWait:
		e.RetryAfter = max(e.RetryAfter, waitOf(v))
	case tellsHeader:
		e.readHeader(v, e.HTTPStatus)
	case tellsStderr:
		if isBytes(v, reflect.Slice) {
			e.setStderr(v.Bytes())
		}
	case tellsNested:
		if v.Kind() == reflect.Struct {
			e.readStruct(v, fieldsOf(v.Type()), has)
		}
	}
}

// readCode reads a code that may be a word, a number with a name, or an HTTP
// status.
func (e *Evidence) readCode(v reflect.Value, has ability) {
	switch {
	case v.Kind() == reflect.String:
		e.setServiceCode(v.String())
	case v.CanInt() || v.CanUint():
		n := numberOf(v)
		if name := nameOf(v); rpcName(name) != "" {
			e.setGRPC(rpcName(name))
			return
		} else if name != "" {
			e.setServiceCode(name)
			return
		}
		if has&notHTTP == 0 && n >= 400 {
			e.setStatus(int(n))
		}
		e.setServiceNumber(n)
	}
}

// nameOf is what a number with a String method calls itself.
func nameOf(v reflect.Value) string {
	if s, ok := assert[interface{ String() string }](v); ok {
		return s.String()
	}
	return ""
}

// assert is a type assertion on the value itself, or on what an interface
// holds. It does not count what came from a field that is not exported.
func assert[T any](v reflect.Value) (t T, ok bool) {
	if !v.CanInterface() {
		return t, false
	}
	return reflect.TypeAssert[T](v)
}

func numberOf(v reflect.Value) int64 {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(min(v.Uint(), math.MaxInt64))
	}
	return 0
}

// isBytes reports whether v is an array or a slice of bytes.
func isBytes(v reflect.Value, kind reflect.Kind) bool {
	return v.Kind() == kind && v.Type().Elem().Kind() == reflect.Uint8
}

// textOf is a text, whether it is a string, a slice or an array of bytes.
func textOf(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case isBytes(v, reflect.Slice):
		return string(v.Bytes())
	case isBytes(v, reflect.Array) && v.Len() <= CodeMax:
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		return string(b)
	}
	return ""
}

// waitOf is a wait: a duration, or a number of seconds.
func waitOf(v reflect.Value) time.Duration {
	switch {
	case !v.IsValid():
		return 0
	case v.Type() == reflect.TypeFor[time.Duration]():
		return max(0, time.Duration(v.Int()))
	case v.CanInt() || v.CanUint():
		return seconds(uint64(max(0, numberOf(v))))
	case v.CanFloat():
		return fraction(v.Float(), time.Second)
	}
	return 0
}

// readResponse reads the status and the headers of a response, as net/http has
// them.
func (e *Evidence) readResponse(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	status := 0
	if f := fieldByName(v, "StatusCode"); f.IsValid() && f.CanInt() {
		status = int(f.Int())
		e.setStatus(status)
	}
	e.readHeader(fieldByName(v, "Header"), status)
}

// fieldByName is the field of that name, promoted ones included; invalid when
// there is no such field, or within an embedded pointer that is nil.
func fieldByName(v reflect.Value, name string) reflect.Value {
	f, ok := v.Type().FieldByName(name)
	if !ok {
		return reflect.Value{}
	}
	value, err := v.FieldByIndexErr(f.Index)
	if err != nil {
		return reflect.Value{}
	}
	return value
}

// readHeader reads the wait that a response asks for.
func (e *Evidence) readHeader(v reflect.Value, status int) {
	if h, ok := headerOf(v); ok {
		e.readHint(status, h.get)
	}
}

// readItems reads the first reason in a list of structs, as APIs of Google give
// it.
func (e *Evidence) readItems(v reflect.Value) {
	if v.Kind() != reflect.Slice || v.Len() == 0 {
		return
	}
	if item := inner(v.Index(0)); item.Kind() == reflect.Struct {
		if f := fieldByName(item, "Reason"); f.IsValid() && f.Kind() == reflect.String {
			e.setServiceCode(f.String())
		}
	}
}
