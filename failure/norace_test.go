//go:build !race

package failure_test

const poolDrops = 0.5
