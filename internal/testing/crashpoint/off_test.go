//go:build !crashpoint

package crashpoint_test

import (
	"testing"

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

func TestNothingHappensInNormalBuilds(t *testing.T) {
	t.Setenv(crashpoint.Variable, string(crashpoint.HandlerStart))
	n := testing.AllocsPerRun(100, func() {
		crashpoint.Hit(crashpoint.HandlerStart)
		crashpoint.Span(crashpoint.HandlerStart)()
	})
	if n != 0 || crashpoint.Enabled {
		t.Errorf("got %v allocations per call of Hit and Span, and Enabled = %v; want 0 allocations, and Enabled = false", n, crashpoint.Enabled)
	}
}
