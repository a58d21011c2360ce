//go:build !race

package retry_test

const poolDrops = 0.5
