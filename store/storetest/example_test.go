package storetest_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/storetest"
)

// The test of a store hands the suite a function that opens an empty store.
func ExampleRun() {
	testConformance := func(t *testing.T) {
		storetest.Run(t, func(_ *testing.T, clock func() time.Time) store.Store {
			return memory.New(memory.Options{Clock: clock})
		})
	}
	_ = testConformance // in a test file: func TestConformance(t *testing.T)
}
