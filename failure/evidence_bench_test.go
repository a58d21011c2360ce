package failure_test

import (
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/typed"
)

func BenchmarkOf(b *testing.B) {
	for _, t := range typed.Errors {
		b.Run(t.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = failure.Of(t.Err)
			}
		})
	}
}

// The common path is that of every failed attempt.
func TestOf_DoesNotAllocate(t *testing.T) { // and not in parallel: what other tests allocate would count
	for _, tt := range typed.Errors {
		if n := testing.AllocsPerRun(100, func() { _ = failure.Of(tt.Err) }); n > 0 {
			t.Errorf("%s: %v allocations", tt.Name, n)
		}
	}
}
