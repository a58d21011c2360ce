package main

import (
	"fmt"
	"slices"

	"github.com/redrive/redrive/failure"
)

// tally counts how samples were decided.
type tally struct {
	families map[string]*counts
	all      counts
}

type counts struct{ final, kept, retriable, lost, right int }

// add counts a sample, and reports whether it was decided the wrong way.
func (t *tally) add(s *sample, class failure.Class) bool {
	if s.verdict < 0 {
		return false
	}
	if t.families == nil {
		t.families = map[string]*counts{}
	}
	f := t.families[s.family]
	if f == nil {
		f = &counts{}
		t.families[s.family] = f
	}
	retried := class.Verdict().Retriable()
	for _, c := range []*counts{f, &t.all} {
		if s.verdict == 1 {
			c.retriable++
			c.lost += b2i(!retried)
		} else {
			c.final++
			c.kept += b2i(retried)
		}
		c.right += b2i(class == s.item.Class || slices.Contains(s.item.AlsoOK, class))
	}
	return retried != (s.verdict == 1)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *counts) shares() [3]float64 {
	return [3]float64{float64(c.kept) / float64(max(c.final, 1)), float64(c.lost) / float64(max(c.retriable, 1)), float64(c.right) / float64(max(c.final+c.retriable, 1))}
}

func (t *tally) String() string {
	a := t.all.shares()
	var macro [3]float64
	n := 0.0
	for _, f := range t.families {
		if f.final+f.retriable >= 10 {
			n++
			for i, x := range f.shares() {
				macro[i] += x
			}
		}
	}
	n = max(n, 1)
	return fmt.Sprintf("%5d texts: kept %.1f, given up %.1f, right %.1f; by family %.1f %.1f %.1f",
		t.all.final+t.all.retriable, 100*a[0], 100*a[1], 100*a[2], 100*macro[0]/n, 100*macro[1]/n, 100*macro[2]/n)
}
