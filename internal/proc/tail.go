package proc

import (
	"slices"
	"sync"

	"github.com/redrive/redrive/internal/plaintext"
)

// TailMax is how many bytes a [Tail] keeps: 64 KiB.
const TailMax = 64 << 10

// Tail is a writer that keeps the last [TailMax] bytes written to it. The zero value is
// ready for use. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	buf  []byte // the kept bytes; the buffer grows up to twice TailMax, so that bytes are moved rarely
	lost bool   // whether earlier bytes were dropped from buf
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := lastBytes(p)
	t.lost = t.lost || len(last) < len(p)
	if len(t.buf)+len(last) > 2*TailMax {
		t.lost = t.lost || len(t.buf) > TailMax
		t.buf = t.buf[:copy(t.buf, lastBytes(t.buf))]
	}
	t.buf = append(t.buf, last...)
	return len(p), nil
}

// Bytes returns a copy of the bytes that are kept. If earlier bytes were lost, the copy begins
// with the first line that is complete, see [plaintext.FromLine].
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.bytes())
}

func (t *Tail) bytes() []byte {
	last := lastBytes(t.buf)
	if t.lost || len(last) < len(t.buf) {
		return plaintext.FromLine(last)
	}
	return last
}

func lastBytes(p []byte) []byte { return p[max(0, len(p)-TailMax):] }

// head is a writer that keeps the first bytes, at most as many as its field max says, and the
// last bytes of what follows them. It never blocks the program that writes.
type head struct {
	max       int
	kept      []byte
	truncated bool
	rest      Tail
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.max-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	if n < len(p) {
		h.truncated = true
		_, _ = h.rest.Write(p[n:])
	}
	return len(p), nil
}

// tail returns the last [TailMax] bytes of all that was written, from the beginning of a line.
func (h *head) tail() []byte {
	if !h.truncated && len(h.kept) <= TailMax {
		return h.kept
	}
	t := Tail{buf: slices.Concat(lastBytes(h.kept), h.rest.buf), lost: true}
	return t.bytes()
}
