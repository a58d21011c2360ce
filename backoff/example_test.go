package backoff_test

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/backoff"
)

func ExampleBackoff() {
	b := backoff.Backoff{
		Formula: backoff.Exponential, First: 30 * time.Second, Cap: 2 * time.Minute,
		Jitter: backoff.Percent, Percent: 0.2,
	}
	for retry := 1; retry <= 4; retry++ {
		low, high := b.Bounds(retry)
		fmt.Println(b.Nominal(retry), "between", low, "and", high)
	}
	// Output:
	// 30s between 24s and 36s
	// 1m0s between 48s and 1m12s
	// 2m0s between 1m36s and 2m0s
	// 2m0s between 1m36s and 2m0s
}
