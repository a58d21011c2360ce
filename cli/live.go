package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/redrive/redrive/internal/words"
)

// live keeps one line at the bottom of a terminal, and other output scrolls above it. It is
// safe for concurrent use.
type live struct {
	mu    sync.Mutex
	w     io.Writer
	style style
	text  string // the line that is shown now
}

// clearLine moves the cursor to the beginning of the line and clears the line.
const clearLine = "\r\x1b[K"

// set replaces the line; "" removes it. If the output is not a terminal, set does nothing.
func (l *live) set(text string) {
	if !l.style.terminal {
		return
	}
	if l.style.columns > 1 {
		text = words.Shorten(text, l.style.columns-1) // a line of the full width would continue on the next line
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if text == l.text {
		return
	}
	l.text = text
	fmt.Fprint(l.w, clearLine+text)
}

// Write writes other output, in whole lines, above the line at the bottom.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		return l.w.Write(p)
	}
	var b bytes.Buffer
	b.WriteString(clearLine)
	b.Write(p)
	b.WriteString(l.text)
	if _, err := l.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
