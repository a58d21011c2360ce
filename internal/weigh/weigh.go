package weigh

// Result is how likely each class is, in shares of One, and what each feature weighs.
type Result struct {
	Class int // the likeliest class
	Final int // how likely it is that another attempt changes nothing
	Known int // words that have weights
	Share [len(Classes)]int
	score [len(Classes)]int32 // in steps of 1/Unit nat

	rows  [FeaturesMax][]byte // of the features, nil for one without weights
	scale int                 // of words
}

// One is a share of all.
const One = 1 << 16

// Weigh adds up what the features weigh.
func (m *Model) Weigh(b *Bag, out *Result) {
	var rules, words [len(Classes)]int32
	known := 0 // features of words that have weights
	out.Known = 0
	for i := range b.Features {
		f := &b.Features[i]
		row := m.row(f.Hash)
		out.rows[i] = row
		if row == nil {
			continue
		}
		sum := &rules
		if !f.OfRule() {
			sum = &words
			known++
			if f.Sort == uint8(sortWord) {
				out.Known++
			}
		}
		for k := range sum {
			sum[k] += int32(int8(row[k]))
		}
	}
	out.scale = Scale(known)
	for k := range out.score {
		out.score[k] = m.bias[k] + rules[k] + words[k]*int32(out.scale)/ScaleOne
	}
	out.share()
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
	row := r.rows[i]
	if row == nil {
		return 0
	}
	points := int(int8(row[class])) - int(int8(row[than]))
	if !b.Features[i].OfRule() {
		points = points * r.scale / ScaleOne
	}
	return points
}

// Alone reports whether one class is likelier than another by one word alone: without the word that weighs most, and
// its parts, it would not be.
func (r *Result) Alone(b *Bag, class, than int) bool {
	most, at := 0, -1
	for i := range b.Features {
		if p := r.Points(b, i, class, than); p > most && b.Features[i].ofOneWord() {
			most, at = p, i
		}
	}
	if at < 0 {
		return true // no word is for it
	}
	margin := int(r.score[class] - r.score[than])
	word := &b.Features[at]
	for i := range b.Features {
		if f := &b.Features[i]; f.To > 0 && f.From >= word.From && f.To <= word.To {
			margin -= r.Points(b, i, class, than)
		}
	}
	return margin <= 0
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
