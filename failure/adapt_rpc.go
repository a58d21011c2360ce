package failure

import (
	"reflect"
	"time"
)

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
