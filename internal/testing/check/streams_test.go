package check_test

import (
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/store"
)

// streamMutants are histories with a stream whose counts or moves do not agree.
func streamMutants() []mutant {
	position := func(p store.Position) func(*check.History) {
		return func(h *check.History) { h.Dump.Positions = []store.Position{p} }
	}
	return []mutant{
		{"a record that was read is not counted", breaks(check.PositionCounts), position(store.Position{Next: 5, Counts: store.FateCounts{Read: 2, Taken: 1}})},
		{"a position is below the start of its partition", breaks(check.PositionCounts), position(store.Position{Next: -1})},
	}
}
