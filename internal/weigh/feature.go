// Package weigh weighs weak evidence: single words, and rules that mostly, but not always, mean what they say. In come the
// features of a text, out comes how likely each class is. The weights are learned from labelled texts of many families
// (tests/judgement) and stored in weights.bin. It is pure: integers only, no clock, no I/O, and the same features give the
// same answer on every machine. It must never know rules, policies or evidence: what to do with an answer is for classify to say.
package weigh

// Feature is something about a text that can have weights: a word, two words in a row, a rule that was hit.
type Feature struct {
	Hash     uint64
	From, To int32  // where it is; To 0 is nowhere
	Name     string // a rule, a class, or the words
	Sort     uint8
	row      int32 // its weights in the model of the bag
}

// OfRule reports whether the feature is of rules and not of words.
func (f *Feature) OfRule() bool { return f.Sort < uint8(sortWord) }

// ofOneWord reports whether the feature is one word of the text, or a part of one.
func (f *Feature) ofOneWord() bool {
	return f.Sort == uint8(sortWord) || f.Sort == uint8(sortLast) || f.Sort == uint8(sortPart)
}

// FeaturesMax is how many different features of a text count. A feature counts once, however often it is there.
const FeaturesMax = 768

// Bag has the features of a text, each once. It may be used again.
type Bag struct {
	Features []Feature
	model    *Model
	seen     [2 * 1024]uint16 // 1 + the number of the feature, by its hash; small, so that it stays in the processor's cache
	texts    int32            // that were added
	text     string
	base     int32 // of the places in the text that is being added
	named    [128]named
}

// Reset empties a bag. Afterwards it takes only features that have weights in the model; without a model it takes all.
func (b *Bag) Reset(m *Model) {
	clear(b.seen[:])
	clear(b.Features)
	b.Features, b.texts, b.text, b.model = b.Features[:0], 0, "", m
}

// add adds a feature, unless it is there or has no weights.
func (b *Bag) add(f Feature) {
	if b.model != nil {
		if f.row = b.model.find(f.Hash); f.row < 0 {
			return
		}
	}
	if at := b.place(f.Hash); at != nil {
		*at = f
	}
}

// place makes room for a feature, which has its hash already. It returns nil if the feature is there or the bag is full.
func (b *Bag) place(hash uint64) *Feature {
	if len(b.Features) == FeaturesMax {
		return nil
	}
	at := hash % uint64(len(b.seen))
	for ; b.seen[at] != 0; at = (at + 1) % uint64(len(b.seen)) {
		if b.Features[b.seen[at]-1].Hash == hash {
			return nil
		}
	}
	b.Features = append(b.Features, Feature{Hash: hash})
	b.seen[at] = uint16(len(b.Features))
	return &b.Features[len(b.Features)-1]
}

// The sorts of features. Each has hashes of its own.
const (
	sortRule uint64 = iota + 1
	sortClass
	sortBest
	sortWord
	sortPair
	sortLast
	sortPart
	sortTriple
	sortSkip
)

func mix(sort, a, b uint64) uint64 {
	h := (sort*0x9e3779b97f4a7c15 ^ a) * 0xff51afd7ed558ccd
	h = (h ^ h>>32 ^ b) * 0xc4ceb9fe1a85ec53
	h ^= h >> 29
	h *= 0x9e3779b97f4a7c15
	return (h ^ h>>32) | 1
}

func hashName(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// named is the hash of a name that was used. Rules and classes have few names, which are used again and again.
type named struct {
	name string
	hash uint64
}

func (b *Bag) hashOf(name string) uint64 {
	if name == "" {
		return hashName("")
	}
	n := len(name)
	have := &b.named[(n+3*int(name[n/2])+7*int(name[n-1]))%len(b.named)]
	if have.name != name {
		*have = named{name, hashName(name)}
	}
	return have.hash
}

// Rule adds a rule that was hit.
func (b *Bag) Rule(id string) {
	b.add(Feature{Hash: mix(sortRule, b.hashOf(id), 0), Name: id, Sort: uint8(sortRule)})
}

// Class adds that some rule of a class was hit, and how heavy the heaviest of them is.
func (b *Bag) Class(class string, tier int) {
	b.add(Feature{Hash: mix(sortClass, b.hashOf(class), uint64(tier)), Name: class, Sort: uint8(sortClass)})
}

// Best adds what the rules alone would decide, and what comes next.
func (b *Bag) Best(class, next string, tier int) {
	b.add(Feature{Hash: mix(sortBest, b.hashOf(class), uint64(tier)), Name: class, Sort: uint8(sortBest)})
	b.add(Feature{Hash: mix(sortBest, b.hashOf(class), b.hashOf(next)), Name: class, Sort: uint8(sortBest)})
}
