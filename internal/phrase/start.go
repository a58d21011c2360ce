package phrase

import (
	"slices"

	"github.com/redrive/redrive/internal/scan"
)

// Most words of a text begin some phrases, and most of these do not go on with
// the word that follows. So phrases are looked up by their first two words; what
// has a gap or a placeholder behind its first word is asked by its bits.

// pairsMax limits the number of word pairs by which phrases are looked up. Phrases
// beyond this limit are looked up by their first word alone.
const pairsMax = 1 << 18

// pair is a second word, and the state behind it.
type pair struct {
	word int32
	second
}

// freezeStarts writes down what begins with each word. It splits states, so they
// are frozen after it, and empties the root, which is not needed any more.
func (b *Builder) freezeStarts(m *Machine) {
	m.starts = make([]start, len(b.words)+1)
	pairs := make([][]pair, len(m.starts))
	total := 0
	for order, s := range b.states[0].steps {
		if s.word == 0 {
			b.freezeHolding(m, s)
			continue
		}
		words := b.taken(s)
		more, at := b.split(s.to, len(words), &total)
		var e entry
		if at > 0 {
			e = b.entry(at)
			e.order = int32(order)
		}
		for _, w := range words {
			for _, p := range more {
				p.order = int32(order)
				pairs[w] = append(pairs[w], p)
			}
			if at > 0 {
				m.starts[w].entries = append(m.starts[w].entries, e)
			}
		}
	}
	b.states[0].steps = nil
	m.pairs = newTable(total)
	for w := range pairs {
		b.freezePairs(m, int32(w), pairs[w])
	}
}

// freezeHolding writes down a placeholder that phrases begin with.
func (b *Builder) freezeHolding(m *Machine, s step) {
	e := b.entry(s.to)
	e.ends = e.ends || s.hold == aDuration || s.hold == aSize // they take two: what follows is not the next
	for kind := range m.holds {
		if k := scan.Kind(kind); k != scan.Word && s.hold.mayBe(k) {
			m.holds[k] = append(m.holds[k], holding{entry: e, hold: s.hold})
		}
	}
}

// split returns the second words behind a state, and a state with what else may
// follow, 0 for nothing. firsts is how many words lead to the state.
func (b *Builder) split(at int32, firsts int, total *int) (pairs []pair, rest int32) {
	var others []step
	for _, s := range b.states[at].steps {
		if s.word == 0 || s.gap > 0 || *total+firsts*len(b.taken(s)) > pairsMax {
			others = append(others, s)
			continue
		}
		*total += firsts * len(b.taken(s))
		for _, w := range b.taken(s) {
			pairs = append(pairs, pair{word: w, second: second{state: s.to}})
		}
	}
	outs := b.states[at].outs
	switch {
	case len(pairs) == 0:
		return nil, at
	case len(others)+len(outs) == 0:
		return pairs, 0
	}
	b.states = append(b.states, buildState{steps: others, outs: outs})
	return pairs, int32(len(b.states) - 1)
}

// freezePairs writes down what begins with a word and a second one.
func (b *Builder) freezePairs(m *Machine, first int32, pairs []pair) {
	slices.SortStableFunc(pairs, func(a, b pair) int { return int(a.word - b.word) })
	for i, p := range pairs {
		if i == 0 || pairs[i-1].word != p.word {
			m.starts[first].seconds |= b.bits[p.word]
			m.pairs.put(pairKey(first, p.word), int32(len(m.follow)+1))
		}
		p.more = i+1 < len(pairs) && pairs[i+1].word == p.word
		m.follow = append(m.follow, p.second)
	}
}

func pairKey(first, second int32) uint64 { return uint64(first)<<32 | uint64(second) }

// entry is a state, with what may follow it.
func (b *Builder) entry(at int32) entry { return entry{ahead: b.ahead(at), state: at} }

// ahead sums up what may follow a state.
func (b *Builder) ahead(at int32) ahead {
	a := ahead{ends: len(b.states[at].outs) > 0}
	for _, s := range b.states[at].steps {
		if s.gap == 0 {
			a.next |= b.bitsOf(s)
		} else {
			a.wide |= b.bitsOf(s)
		}
		a.last |= b.lastOf(s)
		a.far = max(a.far, reachOf(s.gap))
	}
	return a
}

// lastOf returns the bits of which one has to be in the rest of a sentence for a
// step to lead to the end of a phrase: those of the last words.
func (b *Builder) lastOf(s step) uint64 {
	switch to := &b.states[s.to]; {
	case s.hold == aDuration || s.hold == aSize: // they take two, of which the second may begin a sentence
		return ^uint64(0)
	case len(to.outs) > 0:
		return b.bitsOf(s)
	case to.last == 0:
		for _, further := range to.steps {
			to.last |= b.lastOf(further)
		}
	}
	return b.states[s.to].last
}

// bitsOf returns the bits of what a step takes.
func (b *Builder) bitsOf(s step) (bits uint64) {
	if s.word == 0 {
		return bitAny
	}
	for _, w := range b.taken(s) {
		bits |= b.bits[w]
	}
	return bits
}
