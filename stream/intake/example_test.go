package intake_test

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/stream/intake"
)

// A stream with a full queue waits before it reads records.
func ExampleCore_Step() {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	core := intake.New(now, 1_000)
	fmt.Printf("%T\n", core.Step(now, intake.Begun{}))
	fmt.Printf("%T\n", core.Step(now, intake.Counted{Waiting: 5_000}))
	// Output:
	// intake.Count
	// intake.Sleep
}
