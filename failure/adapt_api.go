package failure

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// bodyMax is the longest body of a response that is looked at.
const bodyMax = 64 << 10

// apiError is how most HTTP APIs tell of an error in JSON, at the top or in an
// object "error".
type apiError struct {
	Code    any        `json:"code"`
	Type    string     `json:"type"`
	Status  string     `json:"status"`
	Errors  []reasoned `json:"errors"`
	Details []any      `json:"details"`
}

type reasoned struct {
	Reason string `json:"reason"`
}

// readBody reads the code in the body of a response.
func (e *Evidence) readBody(body string) {
	body = strings.TrimLeft(body, " \t\r\n")
	if len(body) > bodyMax || !strings.HasPrefix(body, "{") {
		return
	}
	var top struct {
		apiError
		Error json.RawMessage `json:"error"`
	}
	// What has another form than expected is left as it is; the rest is read.
	_ = json.Unmarshal([]byte(body), &top)
	var in apiError
	if json.Unmarshal(top.Error, &in) == nil {
		e.readAPIError(&in)
		return
	}
	e.readAPIError(&top.apiError)
}

func (e *Evidence) readAPIError(a *apiError) {
	if code, ok := a.Code.(string); ok {
		e.setServiceCode(code)
	}
	for _, item := range a.Errors {
		e.setServiceCode(item.Reason)
	}
	e.readDetails(reflect.ValueOf(a.Details))
	e.setServiceCode(a.Type)
	e.setGRPC(a.Status)
}

// readDetails reads the details of an error of a Google API, which are JSON
// objects: the reason in an ErrorInfo, the wait in a RetryInfo. Of Kubernetes
// it reads the wait.
func (e *Evidence) readDetails(v reflect.Value) {
	if v.Kind() == reflect.Struct {
		e.RetryAfter = max(e.RetryAfter, seconds(uint64(max(0, fieldNumber(v, "RetryAfterSeconds")))))
	}
	if v.Kind() != reflect.Slice {
		return
	}
	for i := range min(v.Len(), attrsMax) {
		if detail, ok := assert[map[string]any](v.Index(i)); ok {
			e.readDetail(detail)
		}
	}
}

func (e *Evidence) readDetail(detail map[string]any) {
	kind, _ := detail["@type"].(string)
	switch {
	case strings.HasSuffix(kind, "google.rpc.ErrorInfo"):
		if reason, ok := detail["reason"].(string); ok {
			e.setServiceCode(reason)
		}
	case strings.HasSuffix(kind, "google.rpc.RetryInfo"):
		if delay, ok := detail["retryDelay"].(string); ok && strings.HasSuffix(delay, "s") {
			wait, _ := decimal(strings.TrimSuffix(delay, "s"), time.Second)
			e.RetryAfter = max(e.RetryAfter, wait)
		}
	}
}
