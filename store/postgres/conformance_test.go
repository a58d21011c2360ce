package postgres

import (
	"testing"
	"time"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/storetest"
)

// proves: Q10
func TestQ10_Conformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store {
		return fresh(t, &Options{Clock: clock, ReadLimit: time.Minute, StatementTimeout: time.Minute})
	})
}
