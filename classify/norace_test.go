//go:build !race

package classify_test

const poolDrops = 0.5
