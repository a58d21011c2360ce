// Package typed has errors of the kinds that most failures are of, for tests.
package typed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/redrive/redrive/failure"
)

// apiStatus is what an error of an API's client commonly is.
type apiStatus struct {
	Status  int
	Message string
	Request string
}

func (e *apiStatus) Error() string { return e.Message }

func (e *apiStatus) StatusCode() int { return e.Status }

// Wrap gives an error two layers of %w, as errors have on their way through a program.
func Wrap(err error) error {
	return fmt.Errorf("render clip 4: %w", fmt.Errorf("fetch image: %w", err))
}

// Errors are of the kinds that most failures are of.
var Errors = []struct {
	Name string
	Err  error
}{
	{"reset", Wrap(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})},
	{"deadline", Wrap(context.DeadlineExceeded)},
	{"status", Wrap(&apiStatus{Status: 503, Message: "busy"})},
	{"sqlstate", Wrap(SQLError("40001"))},
	{"text", Wrap(errors.New("no such voice"))},
	{"mark", Wrap(failure.Permanent(errors.New("no such voice")))},
}

// SQLError has a SQLSTATE.
type SQLError string

// Error implements error.
func (SQLError) Error() string { return "could not serialize access" }

// SQLState returns the state.
func (e SQLError) SQLState() string { return string(e) }
