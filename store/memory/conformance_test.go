package memory_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/storetest"
)

// proves: Q10
func TestQ10_Conformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(_ *testing.T, clock func() time.Time) store.Store {
		return memory.New(memory.Options{Clock: clock})
	})
}
