package httpretry

import (
	"context"
	"errors"
	"io"
	"time"
)

// attempt is the context of one attempt, which lasts until the body of its response
// has been read or closed.
type attempt struct {
	ctx    context.Context //nolint:containedctx // it is what an attempt is
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil: without a limit
}

// errLimit is the cause with which an attempt ends at its limit.
var errLimit = errors.New("the time limit of the attempt")

// begin begins an attempt. A limit of 0 is none.
func begin(ctx context.Context, limit time.Duration) *attempt {
	a := &attempt{}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.limit(limit)
	return a
}

// limit ends the attempt after d, if it is not stopped before.
func (a *attempt) limit(d time.Duration) {
	if d > 0 {
		a.timer = time.AfterFunc(d, func() { a.cancel(errLimit) })
	}
}

// stop lifts the limit, and reports whether it has been reached.
func (a *attempt) stop() bool {
	if a.timer == nil {
		return false
	}
	a.timer.Stop()
	a.timer = nil
	return context.Cause(a.ctx) == errLimit //nolint:errorlint // ours, by identity
}

// end releases the attempt.
func (a *attempt) end(err error) { a.cancel(err) }

// own ties the attempt to the body of its response.
func (a *attempt) own(body io.ReadCloser) io.ReadCloser {
	if both, ok := body.(io.ReadWriteCloser); ok { // 101: it is the connection
		return &stream{both, a}
	}
	return &owned{body, a}
}

// owned is a body that ends its attempt.
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
