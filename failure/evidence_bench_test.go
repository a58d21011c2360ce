package failure_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/redrive/redrive/failure"
)

// apiStatus is what an error of an API's client commonly is.
type apiStatus struct {
	Status  int
	Message string
	Request string
}

func (e *apiStatus) Error() string   { return e.Message }
func (e *apiStatus) StatusCode() int { return e.Status }

// wrapped has two layers of %w, as errors have on their way through a program.
func wrapped(err error) error {
	return fmt.Errorf("render clip 4: %w", fmt.Errorf("fetch image: %w", err))
}

// typedErrors are of the kinds that most failures are of.
var typedErrors = []struct {
	name string
	err  error
}{
	{"reset", wrapped(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})},
	{"deadline", wrapped(context.DeadlineExceeded)},
	{"status", wrapped(&apiStatus{Status: 503, Message: "busy"})},
	{"sqlstate", wrapped(sqlError("40001"))},
	{"text", wrapped(errors.New("no such voice"))},
	{"mark", wrapped(failure.Permanent(errors.New("no such voice")))},
}

type sqlError string

func (sqlError) Error() string      { return "could not serialize access" }
func (e sqlError) SQLState() string { return string(e) }

func BenchmarkOf(b *testing.B) {
	for _, t := range typedErrors {
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = failure.Of(t.err)
			}
		})
	}
}

// The common path is that of every failed attempt.
func TestOf_DoesNotAllocate(t *testing.T) { // and not in parallel: what other tests allocate would count
	for _, tt := range typedErrors {
		if n := testing.AllocsPerRun(100, func() { _ = failure.Of(tt.err) }); n > 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}
