package failure

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// grpcNames are the canonical names of gRPC statuses by their number.
var grpcNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// setGRPC takes the canonical name of a status that is a failure.
func (e *Evidence) setGRPC(name string) {
	if e.GRPC == "" && isGRPC(name) {
		e.GRPC = name
	}
}

func isGRPC(name string) bool {
	return slices.Contains(grpcNames[1:], name)
}

// rpcName is the canonical name for what a code calls itself: "DeadlineExceeded"
// with gRPC, "deadline_exceeded" with Connect; "" if it is no failure of theirs.
func rpcName(word string) string {
	for _, known := range grpcNames[1:] {
		if sameWords(known, word) {
			return known
		}
	}
	if sameWords("CANCELED", word) {
		return "CANCELLED"
	}
	return ""
}

// sameWords compares without looking at case and underscores.
func sameWords(a, b string) bool {
	for {
		a, b = strings.TrimLeft(a, "_"), strings.TrimLeft(b, "_")
		if a == "" || b == "" {
			return a == b
		}
		if a[0]|0x20 != b[0]|0x20 {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// readGRPC reads the status of a gRPC error: its code, and of its details the
// reason and the wait.
func (e *Evidence) readGRPC(err error) {
	status := reflect.ValueOf(err).MethodByName("GRPCStatus").Call(nil)[0]
	if status.IsNil() {
		return
	}
	if code := status.MethodByName("Code"); code.IsValid() && code.Type().NumIn() == 0 && code.Type().NumOut() == 1 {
		if n := numberOf(code.Call(nil)[0]); n > 0 && n < int64(len(grpcNames)) {
			e.setGRPC(grpcNames[n])
		}
	}
	if s, ok := assert[interface{ Details() []any }](status); ok {
		for _, detail := range s.Details() {
			e.readRPCDetail(detail)
		}
	}
}

// readRPCDetail reads a google.rpc.ErrorInfo or RetryInfo.
func (e *Evidence) readRPCDetail(detail any) {
	if info, ok := detail.(interface {
		GetReason() string
		GetDomain() string
	}); ok {
		e.setServiceCode(info.GetReason())
	}
	delay := reflect.ValueOf(detail).MethodByName("GetRetryDelay")
	if !delay.IsValid() || delay.Type().NumIn() != 0 || delay.Type().NumOut() != 1 {
		return
	}
	if d, ok := assert[interface{ AsDuration() time.Duration }](delay.Call(nil)[0]); ok {
		e.RetryAfter = max(e.RetryAfter, d.AsDuration())
	}
}
