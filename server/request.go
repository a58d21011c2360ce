package server

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
)

// stackMax is the largest number of bytes of a stack in the log.
const stackMax = 8 << 10

func stack() string {
	text := debug.Stack()
	return string(text[:min(len(text), stackMax)])
}

// requestID returns the id of a request: the one that the client has sent if it is printable ASCII
// and not too long, otherwise a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= api.RequestIDMax && isPrintable(id) {
		return id
	}
	return rand.Text()[:16]
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// correlation returns the correlation id of a request: X-Correlation-Id, otherwise the trace id of
// traceparent, otherwise "".
func correlation(r *http.Request) string {
	if id := r.Header.Get("X-Correlation-Id"); id != "" && len(id) <= job.TextMax && isPrintable(id) {
		return id
	}
	parts := strings.Split(r.Header.Get("Traceparent"), "-")
	if len(parts) >= 4 && len(parts[1]) == 32 && strings.Trim(parts[1], "0123456789abcdef") == "" && strings.Trim(parts[1], "0") != "" {
		return parts[1]
	}
	return ""
}

// recorder notes the status and the size of an answer for the log.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	sent := 0
	if crashpoint.Enabled { // tests kill the process when a half of the bytes is sent
		var err error
		sent, err = w.ResponseWriter.Write(b[:len(b)/2])
		if err == nil {
			err = http.NewResponseController(w.ResponseWriter).Flush()
		}
		if err != nil {
			return sent, err
		}
		crashpoint.Hit(crashpoint.InAnswer)
	}
	n, err := w.ResponseWriter.Write(b[sent:])
	w.bytes += int64(sent + n)
	return sent + n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// logRequest writes one line per request. It names the pattern of the route, never the URL, and no
// header: both may have secrets.
func (s *Server) logRequest(r *http.Request, st *state, w *recorder, took time.Duration) {
	route, stream := "-", false
	if st.route != nil {
		route, stream = st.route.Path, st.route.Stream
	}
	s.metrics.Request(route, method(r.Method), w.status, took, stream)
	attrs := []any{"request", st.id, "method", method(r.Method), "route", route, "status", w.status, "bytes", w.bytes,
		"ms", float64(took.Microseconds()) / 1000, "actor", st.caller.Actor}
	if st.caller.Key != "" {
		attrs = append(attrs, "key", st.caller.Key)
	}
	if st.caller.Owner != "" {
		attrs = append(attrs, "owner", st.caller.Owner)
	}
	if id := correlation(r); id != "" {
		attrs = append(attrs, "correlation", id)
	}
	if st.problem == nil {
		level := slog.LevelInfo
		if st.route != nil && aboutItself(st.route) {
			level = slog.LevelDebug // a load balancer asks every few seconds
		}
		s.o.Logger.Log(r.Context(), level, "request", attrs...)
		return
	}
	attrs = append(attrs, "problem", st.problem.Kind().Name)
	if cause := st.problem.Unwrap(); cause != nil && st.problem.Status >= http.StatusInternalServerError {
		s.o.Logger.ErrorContext(r.Context(), "request failed", append(attrs, "error", cause)...)
		return
	}
	s.o.Logger.InfoContext(r.Context(), "request refused", attrs...)
}

// method returns a method for the log: methods that HTTP does not have are not repeated.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}
