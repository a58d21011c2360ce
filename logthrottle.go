package redrive

import (
	"sync"
	"time"
)

const (
	// throttleInterval is the shortest time between two log entries with the same line.
	throttleInterval = time.Minute
	// throttleTextsMax is the maximum number of different lines that are counted
	// separately. All further lines share one counter.
	throttleTextsMax = 200
)

// logThrottle limits how often a line is logged that each of many jobs would log. It is safe for concurrent use.
type logThrottle struct {
	mu   sync.Mutex
	hash string // the hash of the policy that caused the lines; "" for lines that no policy has caused
	last map[string]*throttled
}

// throttled records when a line was last logged, and how often it has been suppressed since
// then.
type throttled struct {
	at         time.Time
	suppressed int
}

// allow reports whether a line about a policy may be logged now, and how often it was
// suppressed since it was last logged.
func (t *logThrottle) allow(now time.Time, hash, line string) (suppressed int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hash != hash || t.last == nil {
		t.hash, t.last = hash, map[string]*throttled{}
	}
	last, known := t.last[line]
	if !known && len(t.last) >= throttleTextsMax {
		line = "" // "" is the shared counter of all further lines; a real line is never empty
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

// rest returns how often a line was suppressed since it was last logged, and sets this
// number to 0.
func (t *logThrottle) rest(line string) (suppressed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := t.last[line]; last != nil {
		suppressed, last.suppressed = last.suppressed, 0
	}
	return suppressed
}
