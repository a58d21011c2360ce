package phrase

import "github.com/redrive/redrive/internal/scan"

const (
	matchesMax   = 2048 // per text
	stepsPerWord = 256  // bounds what gaps can cost
)

// Run finds the phrases in the text of the tokens.
func (r *Matcher) Run(m *Machine, text string, tokens []scan.Token) {
	r.Machine, r.Text, r.Tokens = m, text, tokens
	r.Syms, r.fused, r.Found = r.Syms[:0], r.fused[:0], r.Found[:0]
	r.symbols()
	r.fuse()
	r.spreadBits()
	r.steps = 4096 + stepsPerWord*len(r.Syms)
	for i := range r.Syms {
		s := &r.Syms[i]
		if s.word != 0 {
			r.enter(s.word, i, i+1)
		}
		if s.nfused > 0 {
			for _, f := range r.fusedAt(s) {
				r.enter(f.word, i, int(f.next))
			}
		}
		if s.kind != scan.Word {
			r.hold(i)
		}
	}
}

// hold begins the phrases that begin with a placeholder.
func (r *Matcher) hold(i int) {
	bits := &nothingAhead
	if i+1 < len(r.Syms) {
		bits = &r.Syms[i+1].bits
	}
	holds := r.Machine.holds[r.Syms[i].kind]
	for k := range holds {
		h := &holds[k]
		if !h.leads(bits) {
			continue
		}
		if n := r.takes(h.hold, i); n > 0 {
			r.walk(h.state, i, i+n, [2]int32{int32(i), int32(i)})
		}
	}
}

// enter begins all phrases that begin with a word.
func (r *Matcher) enter(word int32, start, behind int) {
	begins := &r.Machine.starts[word]
	had := len(r.Found)
	bits := &nothingAhead
	if behind < len(r.Syms) {
		sym := &r.Syms[behind]
		if bits = &sym.bits; begins.seconds&bits[next] != 0 {
			r.pair(word, sym.word, start, behind+1)
			if sym.nfused > 0 {
				for _, f := range r.fusedAt(sym) {
					r.pair(word, f.word, start, int(f.next))
				}
			}
		}
	}
	for i := range begins.entries {
		if e := &begins.entries[i]; e.leads(bits) {
			r.order = e.order
			r.walk(e.state, start, behind, nothingHeld)
		}
	}
	if len(r.Found) > had+1 {
		sortByOrder(r.Found[had:])
	}
}

// pair goes on behind the first two words of phrases.
func (r *Matcher) pair(first, word int32, start, behind int) {
	at := r.Machine.pairs.get(pairKey(first, word))
	if at == 0 {
		return
	}
	for _, s := range r.Machine.follow[at-1:] {
		if r.leads(s.state, behind) {
			r.order = s.order
			r.walk(s.state, start, behind, nothingHeld)
		}
		if !s.more {
			return
		}
	}
}

// sortByOrder puts the few matches that begin with a word into order.
func sortByOrder(found []Match) {
	for i := range found {
		for k := i; k > 0 && found[k].order < found[k-1].order; k-- {
			found[k], found[k-1] = found[k-1], found[k]
		}
	}
}

var (
	nothingHeld  = [2]int32{-1, -1}
	nothingAhead [reaches]uint64 // behind the end of a text
)

// fusedAt returns what the words that begin with a symbol mean together.
func (r *Matcher) fusedAt(s *symbol) []fusion {
	return r.fused[s.fused : s.fused+int32(s.nfused)]
}

// leads reports whether a state may lead to something at symbol i.
func (r *Matcher) leads(at int32, i int) bool {
	s := &r.Machine.states[at]
	return s.ends || i < len(r.Syms) && s.leads(&r.Syms[i].bits)
}

// walk looks at what may follow a state at symbol i.
func (r *Matcher) walk(at int32, start, i int, held [2]int32) {
	if r.steps--; r.steps < 0 {
		return
	}
	s := &r.Machine.states[at]
	if s.outs > 0 {
		r.emit(s, start, i, held)
	}
	if i >= len(r.Syms) || s.steps == 0 {
		return
	}
	bits := &r.Syms[i].bits
	if s.next&bits[next] == 0 && s.wide&bits[s.far] == 0 { // nothing that follows is here: the state was entered for the phrases that end with it
		return
	}
	steps := r.Machine.steps[s.step : s.step+s.steps]
	for k := range steps {
		step := &steps[k]
		if step.bits&bits[step.far] == 0 || step.last&bits[sentence] == 0 {
			continue
		}
		if step.gap == 0 {
			r.take(step, start, i, held)
			continue
		}
		last := min(i+int(step.gap), len(r.Syms)-1)
		for j := i; j <= last && r.Syms[j].bits[next] != 0; j++ {
			if step.bits&r.Syms[j].bits[next] != 0 && r.take(step, start, j, held) {
				break
			}
		}
	}
}

// take makes a step if the symbol at i allows it, in each of its meanings.
func (r *Matcher) take(s *step, start, i int, held [2]int32) bool {
	sym := &r.Syms[i]
	if s.word == 0 {
		n := r.takes(s.hold, i)
		if n == 0 {
			return false
		}
		if held[0] < 0 {
			held[0] = int32(i)
		}
		held[1] = int32(i)
		if r.leads(s.to, i+n) {
			r.walk(s.to, start, i+n, held)
		}
		return true
	}
	took := false
	if sym.word != 0 && r.Machine.is(s.word, sym.word) {
		took = true
		if r.leads(s.to, i+1) {
			r.walk(s.to, start, i+1, held)
		}
	}
	if sym.nfused == 0 {
		return took
	}
	for _, f := range r.fusedAt(sym) {
		if r.Machine.is(s.word, f.word) {
			took = true
			if r.leads(s.to, int(f.next)) {
				r.walk(s.to, start, int(f.next), held)
			}
		}
	}
	return took
}

// is reports whether a word is the one that is wanted, or in the set.
func (m *Machine) is(wanted, word int32) bool {
	if wanted > 0 {
		return wanted == word
	}
	return m.sets[word*m.width+(-wanted>>6)]&(1<<(-wanted&63)) != 0
}

// takes returns how many symbols a placeholder takes, 0 if it does not fit.
func (r *Matcher) takes(h placeholder, i int) int {
	s := &r.Syms[i]
	if !h.mayBe(s.kind) {
		return 0
	}
	switch h {
	case aStatus:
		if t := &r.Tokens[s.Token]; t.Num < 400 || t.Num >= 600 {
			return 0
		}
	case aDuration, aSize:
		if i+1 >= len(r.Syms) || !r.unit(h, i+1) {
			return 0
		}
		return 2
	default:
	}
	return 1
}

func (r *Matcher) unit(h placeholder, i int) bool {
	word := &r.Tokens[r.Syms[i].Token]
	if word.Kind != scan.Word || word.End-word.Start > 12 {
		return false
	}
	var buf [12]byte
	name := LowerASCII(buf[:0], word.Text(r.Text))
	if h == aSize {
		return sizeUnits[string(name)]
	}
	_, ok := UnitNanos[string(name)]
	return ok
}

// LowerASCII appends a text with its ASCII letters in lower case.
func LowerASCII(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// emit records the phrases that end before symbol i.
func (r *Matcher) emit(s *state, start, i int, held [2]int32) {
	for k := s.out; k < s.out+s.outs; k++ {
		o := &r.Machine.outs[k]
		if len(r.Found) >= matchesMax || o.before|o.after != 0 && (r.unwanted(o.before, start-1, start) || r.unwanted(o.after, i, i)) {
			continue
		}
		r.Found = append(r.Found, Match{Rule: o.rule, Start: int32(start), End: int32(i), order: r.order, Held: held})
	}
}

// unwanted reports whether the symbol at i is in the set, with no end of a
// sentence at the border.
func (r *Matcher) unwanted(set int32, i, border int) bool {
	if set == 0 || i < 0 || i >= len(r.Syms) || r.Syms[border].Gap > softGap {
		return false
	}
	if w := r.Syms[i].word; w != 0 && r.Machine.is(-set, w) || r.Syms[i].kind == scan.Number && r.Machine.is(-set, r.Machine.number) {
		return true
	}
	for _, f := range r.fusedAt(&r.Syms[i]) {
		if r.Machine.is(-set, f.word) {
			return true
		}
	}
	return false
}
