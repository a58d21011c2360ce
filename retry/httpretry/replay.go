package httpretry

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// replay is a body whose beginning was read in advance. Read returns that beginning and
// then the rest. It may be closed during a Read.
type replay struct {
	rest io.ReadCloser

	mu     sync.Mutex
	come   sync.Cond // wakes waiting readers when more was read in advance, or when the body was closed
	head   []byte    // bytes that were read in advance and that Read has not returned yet
	err    error     // the read error after the bytes in head; nil means that more bytes follow
	ahead  bool      // whether readAhead is running
	enough bool      // whether readAhead must stop after the current read
	shut   bool
}

// peek reads the beginning of the body in advance. It stops after limit+1 bytes, at the end of
// the body, after the time d, or when ctx ends. It returns what was read by then, limit bytes
// at most. No byte is lost: a reader of the replay gets the whole body.
func peek(ctx context.Context, body io.ReadCloser, limit int, d time.Duration) (*replay, string) {
	r := &replay{rest: body, ahead: true}
	r.come.L = &r.mu
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.readAhead(limit + 1)
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
	return r, string(r.head[:min(len(r.head), limit)])
}

// readAhead reads until it has read limit bytes, or until the field "enough" is set.
func (r *replay) readAhead(limit int) {
	block := make([]byte, min(limit, 4<<10)) //nolint:mnd // as much as net/http has at hand
	for ahead := true; ahead; {
		n, err := r.rest.Read(block[:min(limit, len(block))])
		limit -= n
		r.mu.Lock()
		r.head, r.err = append(r.head, block[:n]...), err
		ahead = err == nil && limit > 0 && !r.enough && !r.shut
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
	r.mu.Unlock() // unlock first, so that the body can be closed during the read
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
