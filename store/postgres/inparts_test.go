package postgres

import (
	"slices"
	"testing"
)

// A batch is divided as long as a part of it cannot be written, and each element is written or left alone once.
func TestABatchIsDivided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		n       int
		wrong   []int // elements that cannot be written with others
		written int   // parts
	}{
		{"whole", 8, nil, 1},
		{"one element", 1, []int{0}, 1},
		{"one wrong element", 8, []int{5}, 4},
		{"odd number", 7, []int{0}, 3},
		{"all are wrong", 4, []int{0, 1, 2, 3}, 4},
	} {
		all := make([]int, c.n)
		for i := range all {
			all[i] = i
		}
		var seen []int
		written := 0
		inParts(all, func(part []int) []int {
			if len(part) > 1 && slices.ContainsFunc(part, func(i int) bool { return slices.Contains(c.wrong, i) }) {
				return part
			}
			written++
			seen = append(seen, part...)
			return nil
		})
		if !slices.Equal(seen, all) || written != c.written {
			t.Errorf("%s: %v in %d parts, want %v in %d", c.name, seen, written, all, c.written)
		}
	}
}
