package failure

import "github.com/redrive/redrive/internal/scan"

// symbols turns tokens into symbols.
func (r *matcher) symbols() {
	gap, dot := textGap, false
	r.lines, r.quotes, r.ones = false, false, false
	for i := range r.tokens {
		t := &r.tokens[i]
		switch t.Kind {
		case scan.Punct:
			switch {
			case t.Hash == '.':
				dot = true
			case t.Hash == ',' && i > 0 && isQuote(r.tokens[i-1].Hash) && r.tokens[i-1].Kind == scan.Punct:
				gap = max(gap, stop) // of a field
			default:
				gap = max(gap, gapOf(t.Hash))
			}
			r.quotes = r.quotes || isQuote(t.Hash)
			continue
		case scan.Newline:
			gap = max(gap, lineGap)
			continue
		default:
		}
		if dot && !t.Glued {
			gap = max(gap, stop)
		}
		r.lines = r.lines || gap == lineGap
		s := symbol{kind: t.Kind, gap: gap, token: int32(i)}
		switch {
		case t.Kind == scan.Word:
			s.word = r.m.words.get(t.Hash)
		case t.Kind == scan.Number && t.Num >= 0:
			s.word = r.m.words.get(numberHash(t.Num))
			r.ones = r.ones || t.Num == 1
		}
		s.bits[next] = bitAny
		if s.word != 0 {
			s.bits[next] |= r.m.starts[s.word].bits
		}
		r.syms = append(r.syms, s)
		gap, dot = noGap, false
	}
}

func gapOf(char uint64) gapKind {
	switch char {
	case '"', '\'', '`', '-', '_', '/', '*', '\\', '$', '@', '#', '~', '^', '%', '’', '‘', '“', '”':
		return noGap
	case '!', '?', ';', '。', '！':
		return stop
	}
	return softGap
}

// fuse finds the rows of words that mean something.
func (r *matcher) fuse() {
	for i := range r.syms {
		s := &r.syms[i]
		s.fused = int32(len(r.fused))
		if s.word == 0 || s.kind != scan.Word {
			continue
		}
		at := r.m.starts[s.word].fused
		for j := i; at != 0; {
			for _, word := range r.m.means[at] {
				r.fused = append(r.fused, fusion{word, int32(j + 1)})
				s.nfused++
				s.bits[next] |= r.m.starts[word].bits
			}
			if j++; j == len(r.syms) || r.syms[j].gap != noGap || r.syms[j].word == 0 {
				break
			}
			at = r.m.fused.get(fuseKey(at, r.syms[j].word))
		}
	}
}

// spreadBits sums up for each symbol what is within reach of it.
func (r *matcher) spreadBits() {
	var rest, one, two, three, four uint64 // of the sentence, and of each of gapDefault symbols behind
	for i := len(r.syms) - 1; i >= 0; i-- {
		s := &r.syms[i]
		if s.gap > softGap {
			s.bits = [reaches]uint64{}
			rest, one, two, three, four = 0, 0, 0, 0, 0
			continue
		}
		bits := s.bits[next]
		rest |= bits
		s.bits[sentence], s.bits[near] = rest, bits|one|two|three|four
		one, two, three, four = bits, one, two, three
	}
}
