package store

import (
	"cmp"
	"slices"
)

// RedriveCausesMax is the maximum number of causes that a redrive keeps.
const RedriveCausesMax = 20

// RedriveCause counts the failures of a redrive's jobs that have one fingerprint. The counts are parts of
// the counts of the redrive with the same names. If there are more causes than RedriveCausesMax, the rarest are
// in one entry whose Fingerprint and Class are "".
type RedriveCause struct {
	Fingerprint string `json:"group"`
	Class       string `json:"class,omitempty"`
	Message     string `json:"message,omitempty"` // of the first failure with this cause, at most GroupMessageMax bytes
	Again       int64  `json:"again,omitempty"`
	Other       int64  `json:"other,omitempty"`
	Dead        int64  `json:"dead,omitempty"`
}

// CausedN is a cause and the number of failures that one share of a redrive counts with it.
type CausedN struct {
	RedriveCause
	N int64
}

// CausesOf returns the causes that a share of the redrive counts, the most frequent first.
func (r *Redrive) CausesOf(rule RedriveRule) (list []CausedN) {
	for _, c := range r.Causes {
		if n := map[RedriveRule]int64{StopAgain: c.Again, StopOther: c.Other, StopDead: c.Dead}[rule]; n > 0 {
			list = append(list, CausedN{c, n})
		}
	}
	slices.SortStableFunc(list, func(a, b CausedN) int {
		return cmp.Compare(b.N, a.N)
	})
	return list
}
