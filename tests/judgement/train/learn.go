package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/redrive/redrive/internal/weigh"
)

const classes = len(weigh.Classes)

// settings of one learning.
type settings struct {
	epochs   int
	rate     float64
	decay    float64
	families int // a feature is from at least so many
	verdict  float64
	sorts    uint64 // features that are left out, a bit a sort
	tunedW   float64
	retry    float64 // how much more a text counts that waiting can mend
	// The share of features that is left out of each step, by chance, of rules and of words: what is said in one way must be
	// learned from all words that say it.
	dropRule, dropWord float64
}

// model has the weights of features.
type model struct {
	id   map[uint64]int32
	w    [][classes]float64
	bias [classes]float64
	set  settings
}

// index gives features numbers: those that are in samples of enough families.
func index(samples []*sample, set settings) *model {
	m := &model{id: map[uint64]int32{}, set: set}
	type seen struct {
		families int
		last     []string
	}
	support := map[uint64]*seen{}
	for _, s := range samples {
		for i := range s.features {
			f := &s.features[i]
			if set.sorts>>f.Sort&1 != 0 || s.tuned && f.OfRule() {
				continue
			}
			n := support[f.Hash]
			if n == nil {
				n = &seen{}
				support[f.Hash] = n
			}
			if n.families < set.families && !contains(n.last, s.family) {
				n.families++
				n.last = append(n.last, s.family)
			}
		}
	}
	for _, s := range samples {
		for i := range s.features {
			f := &s.features[i]
			if n := support[f.Hash]; n == nil || n.families < set.families {
				continue
			}
			if _, ok := m.id[f.Hash]; !ok {
				m.id[f.Hash] = int32(len(m.w))
				m.w = append(m.w, [classes]float64{})
			}
		}
	}
	return m
}

func contains(all []string, s string) bool {
	return slices.Contains(all, s)
}

// active returns the numbers of the features of a sample that have weights, rules first.
func (m *model) active(s *sample) (ids []int32, rules int) {
	for pass := range 2 {
		for i := range s.features {
			f := &s.features[i]
			if f.OfRule() != (pass == 0) || s.tuned && f.OfRule() {
				continue
			}
			if id, ok := m.id[f.Hash]; ok {
				ids = append(ids, id)
			}
		}
		if pass == 0 {
			rules = len(ids)
		}
	}
	return ids, rules
}

func scale(words int) float64 { return float64(weigh.Scale(words)) / weigh.ScaleOne }

func (m *model) scores(ids []int32, rules int) (z [classes]float64) {
	z = m.bias
	k := scale(len(ids) - rules)
	for i, id := range ids {
		f := 1.0
		if i >= rules {
			f = k
		}
		w := &m.w[id]
		for c := range z {
			z[c] += f * w[c]
		}
	}
	return z
}

func softmax(z [classes]float64) (p [classes]float64) {
	most := z[0]
	for _, x := range z {
		most = max(most, x)
	}
	sum := 0.0
	for c, x := range z {
		p[c] = math.Exp(x - most)
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
	return p
}

// learn finds weights by steps along the gradient, sample by sample, in an order that is always the same.
func learn(samples []*sample, set settings) *model {
	m := index(samples, set)
	m.steps(samples)
	return m
}

// steps learns from samples.
func (m *model) steps(samples []*sample) {
	set := m.set
	type row struct {
		ids   []int32
		rules int
	}
	rows := make([]row, len(samples))
	for i, s := range samples {
		rows[i].ids, rows[i].rules = m.active(s)
	}
	past := make([][classes]float64, len(m.w))
	var pastBias [classes]float64
	rnd := rand.New(rand.NewPCG(1, 2))
	var kept []int32
	order := make([]int, len(samples))
	for i := range order {
		order[i] = i
	}
	for epoch := range set.epochs {
		rnd.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		rate := set.rate * (1 - 0.8*float64(epoch)/float64(set.epochs))
		for _, n := range order {
			s, r := samples[n], &rows[n]
			weight := s.weight
			if s.tuned {
				weight *= set.tunedW
			}
			if s.verdict == 1 {
				weight *= set.retry
			}
			kept = kept[:0]
			rules := 0
			for i, id := range r.ids {
				if i < r.rules {
					if rnd.Float64() >= set.dropRule {
						kept = append(kept, id)
						rules++
					}
				} else if rnd.Float64() >= set.dropWord {
					kept = append(kept, id)
				}
			}
			g := gradient(softmax(m.scores(kept, rules)), s, set.verdict)
			k := scale(len(kept) - rules)
			for i, id := range kept {
				f := weight
				if i >= rules {
					f *= k
				}
				w, h := &m.w[id], &past[id]
				for c := range g {
					d := f*g[c] + set.decay*w[c]
					h[c] += d * d
					w[c] -= rate * d / math.Sqrt(h[c]+1e-6)
				}
			}
			for c := range g {
				d := weight * g[c]
				pastBias[c] += d * d
				m.bias[c] -= rate * 0.3 * d / math.Sqrt(pastBias[c]+1e-6)
			}
		}
	}
}

// gradient of the loss: that one of the right classes is found, and the right verdict.
func gradient(p [classes]float64, s *sample, verdict float64) (g [classes]float64) {
	toward := func(in func(c int) bool, by float64) {
		sum := 1e-9
		for c := range p {
			if in(c) {
				sum += p[c]
			}
		}
		for c := range p {
			g[c] += by * p[c]
			if in(c) {
				g[c] -= by * p[c] / sum
			}
		}
	}
	toward(func(c int) bool { return slices.Contains(s.right, c) }, 1)
	if s.verdict >= 0 && verdict > 0 {
		toward(func(c int) bool { return weigh.Retriable[c] == (s.verdict == 1) }, verdict)
	}
	return g
}
