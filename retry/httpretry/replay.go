package httpretry

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// replay is a body whose beginning is read ahead, and handed on with the rest. It may
// be closed while it is read.
type replay struct {
	rest io.ReadCloser

	mu     sync.Mutex
	come   sync.Cond // something has been read ahead, or the body was closed
	head   []byte    // read ahead, and not handed on yet
	err    error     // after the head; nil: there is a rest
	ahead  bool      // somebody reads ahead
	enough bool      // nobody wants more to be read ahead
	shut   bool
}

// peek reads ahead until the body ends, or there are more than most bytes, or the
// time is over, or ctx ends. It returns what there is by then, most bytes at most. The
// body is none the worse: a read that is under way goes on, for the one who reads next.
func peek(ctx context.Context, body io.ReadCloser, most int, d time.Duration) (*replay, string) {
	r := &replay{rest: body, ahead: true}
	r.come.L = &r.mu
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.readAhead(most + 1)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enough = true
	return r, string(r.head[:min(len(r.head), most)])
}

// readAhead reads most bytes, or until it is enough.
func (r *replay) readAhead(most int) {
	block := make([]byte, min(most, 4<<10)) //nolint:mnd // as much as net/http has at hand
	for ahead := true; ahead; {
		n, err := r.rest.Read(block[:min(most, len(block))])
		most -= n
		r.mu.Lock()
		r.head, r.err = append(r.head, block[:n]...), err
		ahead = err == nil && most > 0 && !r.enough && !r.shut
		r.ahead = ahead
		r.come.Broadcast()
		r.mu.Unlock()
	}
}

// Read implements io.Reader.
func (r *replay) Read(p []byte) (int, error) {
	r.mu.Lock()
	for r.ahead && !r.shut && len(r.head) == 0 {
		r.come.Wait()
	}
	switch {
	case r.shut:
		r.mu.Unlock()
		return 0, errClosed
	case len(r.head) > 0:
		n := copy(p, r.head)
		r.head = r.head[n:]
		r.mu.Unlock()
		return n, nil
	case r.err != nil:
		defer r.mu.Unlock()
		return 0, r.err
	}
	r.mu.Unlock() // so that it can be closed meanwhile
	return r.rest.Read(p)
}

var errClosed = errors.New("read of a body that is closed")

// Close implements io.Closer.
func (r *replay) Close() error {
	r.mu.Lock()
	r.shut = true
	r.come.Broadcast()
	r.mu.Unlock()
	return r.rest.Close()
}
