package claims

import (
	"sync/atomic"
	"time"
)

const (
	// SkippedAgain is when a claim is repeated that has found skipped rows, at first. Other transactions may hold them
	// for long: the time doubles while nothing comes.
	SkippedAgain  = 5 * time.Millisecond
	skippedDouble = 8 // times at most: to 1.28 s
	// SkippedMost is the number of claimed jobs from which on other claims follow soon anyway.
	SkippedMost = 64
)

// Skipped counts the claims in a row that have found nothing but rows that others have locked.
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
