package phrase

// needBits gives a bit to each word that is searched for after another word. Words
// that only begin phrases get none.
func (b *Builder) needBits() {
	b.bits = make([]uint64, len(b.words)+1)
	for at := range b.states {
		for _, s := range b.states[at].steps {
			if at == 0 || s.word == 0 {
				continue
			}
			for _, w := range b.taken(s) {
				b.bits[w] = 1 << (spread(uint64(w)) >> 32 * wordBits >> 32)
			}
		}
	}
}

// Freeze makes the machine.
func (b *Builder) Freeze() *Machine {
	m := &Machine{words: newTable(len(b.words)), fused: newTable(len(b.fused)), means: b.means, number: b.words[anyNumber]}
	for hash, n := range b.words {
		m.words.put(hash, n)
	}
	for key, to := range b.fused {
		m.fused.put(key, to)
	}
	b.freezeSets(m)
	b.needBits()
	b.freezeStarts(m)
	for w := range m.starts {
		m.starts[w].bits, m.starts[w].fused = b.bits[w], b.fused[fuseKey(0, int32(w))]
	}
	m.states = make([]state, len(b.states))
	for i, s := range b.states {
		for k := range s.steps {
			step := &s.steps[k]
			step.bits, step.last, step.far = b.bitsOf(*step), b.lastOf(*step), reachOf(step.gap)
		}
		m.states[i] = state{int32(len(m.steps)), int32(len(s.steps)), int32(len(m.outs)), int32(len(s.outs)), b.ahead(int32(i))}
		m.steps = append(m.steps, s.steps...)
		m.outs = append(m.outs, s.outs...)
	}
	return m
}

// freezeSets writes down for each word the sets that it is in. Sets that only
// begin phrases are not needed: see starts.
func (b *Builder) freezeSets(m *Machine) {
	number := make([]int32, len(b.sets)) // of the sets that are needed
	next := int32(1)
	need := func(set int32) int32 {
		if set > 0 && number[set] == 0 {
			number[set] = next
			next++
		}
		return number[set]
	}
	for at := range b.states {
		s := &b.states[at]
		for i := range s.steps {
			if at > 0 && s.steps[i].word < 0 {
				s.steps[i].word = -need(-s.steps[i].word)
			}
		}
		for i := range s.outs {
			s.outs[i].before, s.outs[i].after = need(s.outs[i].before), need(s.outs[i].after)
		}
	}
	m.width = next/64 + 1
	m.sets = make([]uint64, (len(b.words)+1)*int(m.width))
	frozen := make([][]int32, next)
	for set, n := range number {
		if n == 0 {
			continue
		}
		frozen[n] = b.sets[set]
		for _, w := range b.sets[set] {
			m.sets[w*m.width+(n>>6)] |= 1 << (n & 63)
		}
	}
	for i := range b.states[0].steps { // the root's sets keep their words
		if w := b.states[0].steps[i].word; w < 0 {
			frozen = append(frozen, b.sets[-w])
			b.states[0].steps[i].word = -int32(len(frozen) - 1)
		}
	}
	b.sets = frozen
}
