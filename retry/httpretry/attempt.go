package httpretry

import (
	"context"
	"errors"
	"io"
	"time"
)

// attempt is the context of one attempt. It ends when the body of the response has been
// read or closed.
type attempt struct {
	ctx    context.Context //nolint:containedctx // an attempt is a context with its time limit
	cancel context.CancelCauseFunc
	timer  *time.Timer // the timer of the time limit; nil if the attempt has no time limit
}

// errLimit is the cause of the end of an attempt that reached its time limit.
var errLimit = errors.New("the attempt has reached its time limit")

// begin begins an attempt. A limit of 0 means no limit.
func begin(ctx context.Context, limit time.Duration) *attempt {
	a := &attempt{}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.limit(limit)
	return a
}

// limit ends the attempt after d, unless stop is called before.
func (a *attempt) limit(d time.Duration) {
	if d > 0 {
		a.timer = time.AfterFunc(d, func() { a.cancel(errLimit) })
	}
}

// stop removes the time limit, and reports whether it was reached.
func (a *attempt) stop() bool {
	if a.timer == nil {
		return false
	}
	a.timer.Stop()
	a.timer = nil
	return context.Cause(a.ctx) == errLimit //nolint:errorlint // errLimit is never wrapped, so identity is enough
}

// end releases the context of the attempt.
func (a *attempt) end(err error) { a.cancel(err) }

// own returns the body of the attempt's response in a form that ends the attempt when the
// body has been read or closed.
func (a *attempt) own(body io.ReadCloser) io.ReadCloser {
	if both, ok := body.(io.ReadWriteCloser); ok { // the body of a response with status 101 is the connection
		return &stream{both, a}
	}
	return &owned{body, a}
}

// owned is a response body that ends its attempt when it has been read or closed.
type owned struct {
	io.ReadCloser
	attempt *attempt
}

// Read implements io.Reader.
func (b *owned) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.attempt.end(nil)
	}
	return n, err
}

// Close implements io.Closer.
func (b *owned) Close() error {
	err := b.ReadCloser.Close()
	b.attempt.end(nil)
	return err
}

// stream is a connection that ends its attempt when it is closed.
type stream struct {
	io.ReadWriteCloser
	attempt *attempt
}

// Close implements io.Closer.
func (s *stream) Close() error {
	err := s.ReadWriteCloser.Close()
	s.attempt.end(nil)
	return err
}
