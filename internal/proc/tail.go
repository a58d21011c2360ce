package proc

import (
	"slices"
	"sync"
)

// TailMax is how many bytes a [Tail] keeps: 64 KiB.
const TailMax = 64 << 10

// Tail is a writer that keeps the last [TailMax] bytes written to it. The zero value is
// ready for use. It is safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte // the kept bytes; the buffer grows up to twice TailMax, so that bytes are moved rarely
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := lastBytes(p)
	if len(t.buf)+len(last) > 2*TailMax {
		t.buf = t.buf[:copy(t.buf, lastBytes(t.buf))]
	}
	t.buf = append(t.buf, last...)
	return len(p), nil
}

// Bytes returns a copy of the bytes that are kept.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(lastBytes(t.buf))
}

func lastBytes(p []byte) []byte { return p[max(0, len(p)-TailMax):] }

// head is a writer that keeps the first bytes, up to its field max. It accepts and drops
// later bytes, so that the program that writes never blocks.
type head struct {
	max       int
	kept      []byte
	truncated bool
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.max-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.truncated = h.truncated || n < len(p)
	return len(p), nil
}
