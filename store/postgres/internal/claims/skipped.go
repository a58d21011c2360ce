package claims

import (
	"sync/atomic"
	"time"
)

const (
	// SkippedAgain is the first wait before a claim that skipped locked rows is repeated. Other transactions may hold
	// the rows for long, so the wait doubles while nothing comes.
	SkippedAgain  = 5 * time.Millisecond
	skippedDouble = 8 // times at most: to 1.28 s
	// SkippedMost is the number of claimed jobs from which on other claims follow soon anyway.
	SkippedMost = 64
)

// Skipped counts consecutive claims that found only rows locked by others.
type Skipped struct{ claims atomic.Int32 }

// Again returns when to ask again, after a claim that has found skipped rows and taken so many others.
func (s *Skipped) Again(took int) time.Duration {
	if took > 0 {
		s.claims.Store(0)
		return SkippedAgain
	}
	return SkippedAgain << (min(s.claims.Add(1), skippedDouble+1) - 1)
}

// None says that a claim has found no skipped rows.
func (s *Skipped) None() { s.claims.Store(0) }
