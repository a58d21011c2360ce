//go:build race

package classify_test

// poolDrops is how many allocations a pooled buffer may cost on average: under the
// race detector a sync.Pool drops some of what it is given.
const poolDrops = 8
