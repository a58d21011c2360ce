package redrive

import (
	"sync"
	"time"
)

// How often the same is told, and of how many things it is known when they were: what
// is beyond is told together.
const (
	toldEvery = time.Minute
	toldMax   = 200
)

// told knows what was told lately. It is safe for concurrent use.
type told struct {
	mu   sync.Mutex
	hash string // of the policy that it is about
	last map[string]*telling
}

// telling is when something was told last, and how often it was not since then.
type telling struct {
	at   time.Time
	more int
}

// again reports whether what happens now under a policy is to be told, and how often
// it was not since the last time.
func (t *told) again(now time.Time, hash, what string) (since int, tell bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hash != hash || t.last == nil {
		t.hash, t.last = hash, map[string]*telling{}
	}
	last, known := t.last[what]
	if !known && len(t.last) >= toldMax {
		what = "" // no text of a problem
		last, known = t.last[what]
	}
	switch {
	case !known:
		t.last[what] = &telling{at: now}
		return 0, true
	case now.Sub(last.at) < toldEvery:
		last.more++
		return 0, false
	}
	since = last.more
	last.at, last.more = now, 0
	return since, true
}
