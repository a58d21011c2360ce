package phrase

import "github.com/redrive/redrive/internal/scan"

// symbols turns tokens into symbols.
func (r *Matcher) symbols() {
	gap, dot := textGap, false
	r.Lines, r.HasQuotes, r.HasOne = false, false, false
	for i := range r.Tokens {
		t := &r.Tokens[i]
		switch t.Kind {
		case scan.Punct:
			switch {
			case t.Hash == '.':
				dot = true
			case t.Hash == ',' && i > 0 && scan.OpensQuote(r.Tokens[i-1].Hash) && r.Tokens[i-1].Kind == scan.Punct:
				gap = max(gap, Stop) // of a field
			default:
				gap = max(gap, gapOf(t.Hash))
			}
			r.HasQuotes = r.HasQuotes || scan.OpensQuote(t.Hash)
			continue
		case scan.Newline:
			gap = max(gap, LineGap)
			continue
		default:
		}
		if dot && !t.Glued {
			gap = max(gap, Stop)
		}
		r.Lines = r.Lines || gap == LineGap
		s := symbol{kind: t.Kind, Gap: gap, Token: int32(i)}
		switch {
		case t.Kind == scan.Word:
			s.word = r.Machine.words.get(t.Hash)
		case t.Kind == scan.Number && t.Num >= 0:
			s.word = r.Machine.words.get(numberHash(t.Num))
			r.HasOne = r.HasOne || t.Num == 1
		}
		s.bits[next] = bitAny
		if s.word != 0 {
			s.bits[next] |= r.Machine.starts[s.word].bits
		}
		r.Syms = append(r.Syms, s)
		gap, dot = NoGap, false
	}
}

func gapOf(char uint64) gapKind {
	switch char {
	case '"', '\'', '`', '-', '_', '/', '*', '\\', '$', '@', '#', '~', '^', '%', '’', '‘', '“', '”':
		return NoGap
	case '!', '?', ';', '。', '！':
		return Stop
	}
	return softGap
}

// fuse finds the rows of words that mean something.
func (r *Matcher) fuse() {
	for i := range r.Syms {
		s := &r.Syms[i]
		s.fused = int32(len(r.fused))
		if s.word == 0 || s.kind != scan.Word {
			continue
		}
		at := r.Machine.starts[s.word].fused
		for j := i; at != 0; {
			for _, word := range r.Machine.means[at] {
				r.fused = append(r.fused, fusion{word, int32(j + 1)})
				s.nfused++
				s.bits[next] |= r.Machine.starts[word].bits
			}
			if j++; j == len(r.Syms) || r.Syms[j].Gap != NoGap || r.Syms[j].word == 0 {
				break
			}
			at = r.Machine.fused.get(fuseKey(at, r.Syms[j].word))
		}
	}
}

// spreadBits sums up for each symbol what is within reach of it.
func (r *Matcher) spreadBits() {
	var rest, one, two, three, four uint64 // of the sentence, and of each of gapDefault symbols behind
	for i := len(r.Syms) - 1; i >= 0; i-- {
		s := &r.Syms[i]
		if s.Gap > softGap {
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
