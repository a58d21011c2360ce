package weigh

import (
	"unicode/utf8"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// wordsMax is how many words of a text count, half of them from its beginning and half from its end.
const wordsMax = 192

// Words adds the words of a text, but those whose place says that they are no evidence: worth has what the place of each
// symbol adds, and what is below least is left out. The words begin with the symbol first.
func (b *Bag) Words(m *phrase.Matcher, worth []int8, least int8, first int) {
	n := len(m.Syms)
	b.text, b.base = m.Text, b.texts*scan.Max*2
	b.texts++
	last := lastClause(m, worth, least)
	var one, two uint64 // the symbols before
	from := int32(0)
	fromTwo := int32(0)
	for i := first; i < n; i++ {
		if i == wordsMax/2 && n > wordsMax {
			i = n - wordsMax/2
			one, two = 0, 0
		}
		s := &m.Syms[i]
		t := &m.Tokens[s.Token]
		if worth[i] < least {
			one, two = 0, 0
			continue
		}
		if s.Gap >= phrase.Stop {
			one, two = 0, 0
		}
		h := t.Hash
		if t.Kind != scan.Word {
			h = 0x1234567 + uint64(t.Kind) // names, numbers and places do not count as words of this text
		} else {
			b.word(sortWord, h, 0, t.Start, t.End)
			if i >= last {
				b.word(sortLast, h, 0, t.Start, t.End)
			}
			b.parts(m.Text[t.Start:t.End], t.Start, t.End)
		}
		if one != 0 {
			b.word(sortPair, one, h, from, t.End)
		}
		if two != 0 {
			b.word(sortTriple, two*31+one, h, fromTwo, t.End)
			b.word(sortSkip, two, h, fromTwo, t.End)
		}
		two, fromTwo = one, from
		one, from = h, t.Start
	}
}

func (b *Bag) word(sort, x, y uint64, from, to int32) {
	hash, row := mix(sort, x, y), int32(0)
	if b.model != nil {
		if row = b.model.find(hash); row < 0 { // most have no weights
			return
		}
	}
	if f := b.place(hash); f != nil {
		f.From, f.To, f.Sort, f.Name, f.row = b.base+from, b.base+to, uint8(sort), b.text[from:to], row
	}
}

// lastClause returns the symbol with which the last clause begins that is evidence.
func lastClause(m *phrase.Matcher, worth []int8, least int8) int {
	words := 0
	for i := len(m.Syms) - 1; i > 0; i-- {
		if worth[i] < least {
			continue
		}
		if m.Tokens[m.Syms[i].Token].Kind == scan.Word {
			words++
		}
		if m.Syms[i].Gap > phrase.NoGap && words > 1 {
			return i
		}
	}
	return 0
}

// parts adds the beginning and the middle of a long word: words of languages that compose and inflect.
func (b *Bag) parts(word string, from, to int32) {
	const size = 5
	if len(word) <= size+1 || len(word) > 40 {
		return
	}
	h := uint64(0)
	for i := range len(word) {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h<<8 | uint64(c)) & (1<<(8*size) - 1)
		switch begin := i + 1 - size; {
		case begin == 0:
			b.word(sortPart, h, 2, from, to)
		case begin > 0 && utf8.RuneStart(word[begin]):
			b.word(sortPart, h, 1, from, to)
		}
	}
}
