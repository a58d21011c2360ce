package failure

import "github.com/redrive/redrive/internal/scan"

// symbol is one word of a text, or what else counts as one step of a phrase.
type symbol struct {
	word   int32 // its number in the machine, 0 for one in no phrase
	token  int32 // which token it is
	kind   scan.Kind
	gap    gapKind
	nfused uint8
	fused  int32           // synonyms that begin here
	bits   [reaches]uint64 // of what is here and within reach, see needBits; 0 behind the end of a sentence
}

// fusion is a row of words that means something.
type fusion struct{ word, next int32 } // next is the symbol behind it

// gapKind is what stands in front of a symbol, the strongest of it.
type gapKind uint8

const (
	noGap   gapKind = iota // white space, quotes, hyphens
	softGap                // a comma, a colon, a parenthesis
	stop                   // the end of a sentence
	lineGap                // the end of a line
	textGap                // the beginning of the text
)

// match is a phrase that was found: of which rule, and where. held are the first
// and the last symbol that placeholders have taken, -1 for none.
type match struct {
	rule       int32
	start, end int32 // symbols
	order      int32 // of its phrase, among those that begin with the same word
	held       [2]int32
}

// matcher finds the phrases of a machine in a text. It may be used again.
type matcher struct {
	m      *machine
	text   string
	tokens []scan.Token
	syms   []symbol
	fused  []fusion
	found  []match
	lines  bool  // there are several
	quotes bool  // there are some
	ones   bool  // a number is 1
	steps  int   // that may still be made
	order  int32 // of what is being looked for
}

const (
	matchesMax   = 2048 // per text
	stepsPerWord = 256  // bounds what gaps can cost
)

// run finds the phrases in the text of the tokens.
func (r *matcher) run(m *machine, text string, tokens []scan.Token) {
	r.m, r.text, r.tokens = m, text, tokens
	r.syms, r.fused, r.found = r.syms[:0], r.fused[:0], r.found[:0]
	r.symbols()
	r.fuse()
	r.spreadBits()
	r.steps = 4096 + stepsPerWord*len(r.syms)
	for i := range r.syms {
		s := &r.syms[i]
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
func (r *matcher) hold(i int) {
	bits := &nothingAhead
	if i+1 < len(r.syms) {
		bits = &r.syms[i+1].bits
	}
	holds := r.m.holds[r.syms[i].kind]
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
func (r *matcher) enter(word int32, start, behind int) {
	begins := &r.m.starts[word]
	had := len(r.found)
	bits := &nothingAhead
	if behind < len(r.syms) {
		sym := &r.syms[behind]
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
	if len(r.found) > had+1 {
		sortByOrder(r.found[had:])
	}
}

// pair goes on behind the first two words of phrases.
func (r *matcher) pair(first, word int32, start, behind int) {
	at := r.m.pairs.get(pairKey(first, word))
	if at == 0 {
		return
	}
	for _, s := range r.m.follow[at-1:] {
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
func sortByOrder(found []match) {
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
func (r *matcher) fusedAt(s *symbol) []fusion {
	return r.fused[s.fused : s.fused+int32(s.nfused)]
}

// leads reports whether a state may lead to something at symbol i.
func (r *matcher) leads(at int32, i int) bool {
	s := &r.m.states[at]
	return s.ends || i < len(r.syms) && s.leads(&r.syms[i].bits)
}

// walk looks at what may follow a state at symbol i.
func (r *matcher) walk(at int32, start, i int, held [2]int32) {
	if r.steps--; r.steps < 0 {
		return
	}
	s := &r.m.states[at]
	if s.outs > 0 {
		r.emit(s, start, i, held)
	}
	if i >= len(r.syms) || s.steps == 0 {
		return
	}
	bits := &r.syms[i].bits
	if s.next&bits[next] == 0 && s.wide&bits[s.far] == 0 { // it was begun for what ends here
		return
	}
	steps := r.m.steps[s.step : s.step+s.steps]
	for k := range steps {
		step := &steps[k]
		if step.bits&bits[step.far] == 0 || step.last&bits[sentence] == 0 {
			continue
		}
		if step.gap == 0 {
			r.take(step, start, i, held)
			continue
		}
		last := min(i+int(step.gap), len(r.syms)-1)
		for j := i; j <= last && r.syms[j].bits[next] != 0; j++ {
			if step.bits&r.syms[j].bits[next] != 0 && r.take(step, start, j, held) {
				break
			}
		}
	}
}

// take makes a step if the symbol at i allows it, in each of its meanings.
func (r *matcher) take(s *step, start, i int, held [2]int32) bool {
	sym := &r.syms[i]
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
	if sym.word != 0 && r.m.is(s.word, sym.word) {
		took = true
		if r.leads(s.to, i+1) {
			r.walk(s.to, start, i+1, held)
		}
	}
	if sym.nfused == 0 {
		return took
	}
	for _, f := range r.fusedAt(sym) {
		if r.m.is(s.word, f.word) {
			took = true
			if r.leads(s.to, int(f.next)) {
				r.walk(s.to, start, int(f.next), held)
			}
		}
	}
	return took
}

// is reports whether a word is the one that is wanted, or in the set.
func (m *machine) is(wanted, word int32) bool {
	if wanted > 0 {
		return wanted == word
	}
	return m.sets[word*m.width+(-wanted>>6)]&(1<<(-wanted&63)) != 0
}

// takes returns how many symbols a placeholder takes, 0 if it does not fit.
func (r *matcher) takes(h placeholder, i int) int {
	s := &r.syms[i]
	if !h.mayBe(s.kind) {
		return 0
	}
	switch h {
	case aStatus:
		if t := &r.tokens[s.token]; t.Num < 400 || t.Num >= 600 {
			return 0
		}
	case aDuration, aSize:
		if i+1 >= len(r.syms) || !r.unit(h, i+1) {
			return 0
		}
		return 2
	default:
	}
	return 1
}

func (r *matcher) unit(h placeholder, i int) bool {
	word := &r.tokens[r.syms[i].token]
	if word.Kind != scan.Word || word.End-word.Start > 12 {
		return false
	}
	var buf [12]byte
	name := lowerASCII(buf[:0], word.Text(r.text))
	if h == aSize {
		return sizeUnits[string(name)]
	}
	_, ok := unitNanos[string(name)]
	return ok
}

func lowerASCII(dst []byte, s string) []byte {
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
func (r *matcher) emit(s *state, start, i int, held [2]int32) {
	for k := s.out; k < s.out+s.outs; k++ {
		o := &r.m.outs[k]
		if len(r.found) >= matchesMax || o.before|o.after != 0 && (r.unwanted(o.before, start-1, start) || r.unwanted(o.after, i, i)) {
			continue
		}
		r.found = append(r.found, match{rule: o.rule, start: int32(start), end: int32(i), order: r.order, held: held})
	}
}

// unwanted reports whether the symbol at i is in the set, with no end of a
// sentence at the border.
func (r *matcher) unwanted(set int32, i, border int) bool {
	if set == 0 || i < 0 || i >= len(r.syms) || r.syms[border].gap > softGap {
		return false
	}
	if w := r.syms[i].word; w != 0 && r.m.is(-set, w) || r.syms[i].kind == scan.Number && r.m.is(-set, r.m.number) {
		return true
	}
	for _, f := range r.fusedAt(&r.syms[i]) {
		if r.m.is(-set, f.word) {
			return true
		}
	}
	return false
}
