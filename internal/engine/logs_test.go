package engine_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// logs collects the lines of a log.
type logs struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	await string        // when a line of the log contains this text, seen is closed
	seen  chan struct{} // nil when no test waits for a line
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen != nil && bytes.Contains(p, []byte(l.await)) {
		close(l.seen)
		l.seen = nil
	}
	return l.buf.Write(p)
}

// expect returns a channel that is closed when the next line with the text is logged.
func (l *logs) expect(text string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := make(chan struct{})
	l.await, l.seen = text, seen
	return seen
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *logs) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.buf.String()), "\n")
}

// count returns how many lines contain the text.
func (l *logs) count(text string) (n int) {
	for _, line := range l.lines() {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// want fails the test unless a line of the given level contains the message, the id of the job
// and all further texts.
func (l *logs) want(t *testing.T, level, message, id string, more ...string) {
	t.Helper()
	texts := append(more, fmt.Sprintf("%q:%q", "level", level), message, fmt.Sprintf("%q:%q", "job", id))
	for _, line := range l.lines() {
		found := 0
		for _, text := range texts {
			if strings.Contains(line, text) {
				found++
			}
		}
		if found == len(texts) {
			return
		}
	}
	t.Errorf("want a log line that contains all of the texts %q, got the log:\n%s", texts, strings.Join(l.lines(), "\n"))
}
