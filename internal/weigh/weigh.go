package weigh

import "encoding/binary"

// Result is how likely each class is, in shares of One, and what each feature weighs.
type Result struct {
	Class int // the likeliest class
	Final int // how likely it is that another attempt changes nothing
	Known int // words that have weights
	Share [len(Classes)]int
	score [len(Classes)]int32 // in steps of 1/Unit nat
	scale int                 // of words
}

// One is a share of all.
const One = 1 << 16

// Weigh adds up what the features of a bag weigh in the model of the bag.
func (b *Bag) Weigh(out *Result) {
	var rules, words sums
	known := 0 // features of words
	out.Known = 0
	for i := range b.Features {
		f := &b.Features[i]
		row := b.model.row(f.row)
		if f.OfRule() {
			rules.add(row)
			continue
		}
		words.add(row)
		known++
		if f.Sort == uint8(sortWord) {
			out.Known++
		}
	}
	rules.carry()
	words.carry()
	out.scale = Scale(known)
	for k := range out.score {
		out.score[k] = b.model.bias[k] + rules.of[k] + words.of[k]*int32(out.scale)/ScaleOne
	}
	out.share()
}

// sums adds up rows of weights. It adds four weights at a time, in lanes of 16 bits that have room for some rows, and
// carries them over when they are full.
type sums struct {
	of    [len(Classes)]int32
	lanes [4]uint64
	rows  int // in the lanes
}

const (
	signs = 0x80_80_80_80_80_80_80_80 // makes of a byte with a sign one without: 128 more
	evens = 0x00ff_00ff_00ff_00ff
)

func (s *sums) add(row []byte) {
	low := binary.LittleEndian.Uint64(row) ^ signs
	high := binary.LittleEndian.Uint64(row[8:]) ^ signs
	s.lanes[0] += low & evens
	s.lanes[1] += low >> 8 & evens
	s.lanes[2] += high & evens
	s.lanes[3] += high >> 8 & evens
	if s.rows++; s.rows == 256 {
		s.carry()
	}
}

func (s *sums) carry() {
	for k := range s.of {
		lane := s.lanes[k/8*2+k%2] >> (k % 8 / 2 * 16)
		s.of[k] += int32(lane&0xffff) - 128*int32(s.rows)
	}
	s.lanes, s.rows = [4]uint64{}, 0
}

// share turns scores into shares.
func (r *Result) share() {
	score := &r.score
	r.Class = 0
	for k := range score {
		if score[k] > score[r.Class] {
			r.Class = k
		}
	}
	sum := uint64(0)
	var e [len(Classes)]uint64
	for k := range score {
		e[k] = exp(score[r.Class] - score[k])
		sum += e[k]
	}
	r.Final = 0
	for k := range e {
		r.Share[k] = int(e[k] * One / sum)
		if !Retriable[k] {
			r.Final += r.Share[k]
		}
	}
}

// Of returns the likeliest class of a verdict.
func (r *Result) Of(retriable bool) int {
	best := -1
	for k := range r.Share {
		if Retriable[k] == retriable && (best < 0 || r.Share[k] > r.Share[best]) {
			best = k
		}
	}
	return best
}

// Points returns by how much a feature makes one class likelier than another, in steps of 1/Unit nat.
func (r *Result) Points(b *Bag, i, class, than int) int {
	row := b.model.row(b.Features[i].row)
	points := int(int8(row[class])) - int(int8(row[than]))
	if !b.Features[i].OfRule() {
		points = points * r.scale / ScaleOne
	}
	return points
}

// Alone reports whether one class is likelier than another by one word alone: without the word that weighs most, and all
// that it is a part of, it would not be. How common the classes are is no evidence and does not count. What the rules say
// counts only with several: a single weak rule is a word of the text once more.
func (r *Result) Alone(b *Bag, class, than int, several bool) bool {
	most, at := 0, -1
	words, rules := 0, 0
	for i := range b.Features {
		p := r.Points(b, i, class, than)
		f := &b.Features[i]
		if f.OfRule() {
			rules += p
			continue
		}
		words += p
		if p > most && f.ofOneWord() {
			most, at = p, i
		}
	}
	if at < 0 {
		return true // no word is for it
	}
	word := &b.Features[at]
	for i := range b.Features {
		if f := &b.Features[i]; f.To > word.From && f.From < word.To {
			words -= r.Points(b, i, class, than)
		}
	}
	if several {
		words += rules
	}
	return words <= 0
}

// exps are 2^32 / e^(n/Unit).
var exps = func() (t [16 * Unit]uint64) {
	const step = 4119687348 // 2^32 / e^(1/24)
	x := uint64(1) << 32
	for n := range t {
		t[n] = x
		x = x * step >> 32
	}
	return t
}()

func exp(less int32) uint64 {
	if int(less) >= len(exps) {
		return 0
	}
	return exps[less] >> 8
}

// ScaleOne is a scale of one.
const ScaleOne = 256

// Scale returns how much each of a number of words counts: the more there are, the less each.
func Scale(words int) int {
	if words < len(scales) {
		return int(scales[words])
	}
	return int(scales[len(scales)-1])
}

// scales are 256 × sqrt(16 / (16 + n)).
var scales = func() (s [FeaturesMax + 1]int16) {
	for n := range s {
		want := 256 * 256 * 16 / (16 + n)
		r := 0
		for (r+1)*(r+1) <= want {
			r++
		}
		s[n] = int16(r)
	}
	return s
}()
