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

// peek reads the beginning of the body in advance, for at most the time d and until ctx ends.
// It returns the bytes that were read by then; the parameter most limits their number. The body
// stays complete: the next reader gets all bytes, also the bytes of a read in progress.
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

// readAhead reads until it has read as many bytes as the parameter most says, or until the
// field enough is set.
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
