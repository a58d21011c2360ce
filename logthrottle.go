package redrive

import (
	"sync"
	"time"
)

const (
	// throttleInterval is how often the same line is logged at most.
	throttleInterval = time.Minute
	// throttleTextsMax bounds the different lines that are counted apart. All further
	// ones share one count.
	throttleTextsMax = 200
)

// logThrottle keeps a line that would be logged for every job from filling the log. It
// is safe for concurrent use.
type logThrottle struct {
	mu   sync.Mutex
	hash string // of the policy that the lines are about
	last map[string]*throttled
}

// throttled is when a line was logged last, and how often it was left out since then.
type throttled struct {
	at         time.Time
	suppressed int
}

// allow reports whether a line about a policy may be logged now, and how often it was
// left out since the last time.
func (t *logThrottle) allow(now time.Time, hash, line string) (suppressed int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hash != hash || t.last == nil {
		t.hash, t.last = hash, map[string]*throttled{}
	}
	last, known := t.last[line]
	if !known && len(t.last) >= throttleTextsMax {
		line = "" // no line has this text
		last, known = t.last[line]
	}
	switch {
	case !known:
		t.last[line] = &throttled{at: now}
		return 0, true
	case now.Sub(last.at) < throttleInterval:
		last.suppressed++
		return 0, false
	}
	suppressed = last.suppressed
	last.at, last.suppressed = now, 0
	return suppressed, true
}
