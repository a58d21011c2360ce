package phrase

import "github.com/redrive/redrive/internal/scan"

// Machine finds all phrases of a set of rules in one pass over the words of a
// text: an automaton whose steps are numbers of words, so that the cost of a
// text hardly grows with the number of phrases.
type Machine struct {
	words  table                       // hash of a stem → number of the word
	fused  table                       // node of the synonyms and number → node
	means  [][]int32                   // per node of the synonyms: what it means
	starts []start                     // per word: what begins with it
	pairs  table                       // two words → where in seconds what begins with them is
	holds  [scan.Newline + 1][]holding // per kind of token: of phrases that begin with a placeholder for it
	states []state
	steps  []step
	outs   []output
	follow []second
	sets   []uint64 // per word: the sets that it is in, a bit each
	width  int32    // numbers per word
	number int32    // the word that stands for any number behind "!"
}

// start is what begins with a word. Where a second word has to follow at once,
// that finds the state behind both; the rest are entries.
type start struct {
	entries []entry
	seconds uint64 // bits of the second words
	bits    uint64 // of the word itself
	fused   int32  // node of the synonyms that begin with it
}

// second is a state behind two words.
type second struct {
	state int32
	order int32 // of the phrase: matches are in the order in which phrases are written
	more  bool  // the next one is behind the same words
}

// entry is a state behind a first word, and what may follow it, so that most
// entries are passed over without a look at the state.
type entry struct {
	ahead
	state int32
	order int32
}

// ahead sums up what may follow a state: where nothing of it is there, the state
// leads nowhere. An example is the phrase "lost ...2 (database|db) connection":
//
//	word      state                          of the state
//	lost   →  1   next: nothing              nothing follows at once,
//	              wide: bits(database, db)   one of these follows behind a gap
//	              far:  near                 of at most gapDefault words,
//	              last: bits(connection)     and the sentence must have this word
//	(gap)
//	database
//	or db  →  2   next: bits(connection), last: bits(connection)
//	connection
//	       →  3   ends: the phrase is found
//
// Each symbol of a text has the bits of what is there: of itself (next), within gapDefault words (near), and up to the end of its
// sentence (sentence). In "he lost his temper" the symbol behind "lost" has no bit of database or db within reach, so state 1 is
// not entered: that is what "leads" asks. 63 bits stand for all words, so a bit may be that of another word. Then the state is
// entered for nothing, and the words themselves are compared. Bits only skip work: with all of them set, the same is found
// (TestRun_BitsOnlySkipWork). Behind the end of a sentence a symbol has no bits at all, so nothing goes over it.
type ahead struct {
	next uint64 // bits of what may follow at once
	wide uint64 // bits of what may follow behind a gap
	last uint64 // bits of which one has to be in the rest of the sentence
	far  reach  // of the widest gap
	ends bool   // a phrase ends here: nothing has to follow
}

// leads reports whether a state may lead to something in front of a symbol with
// the bits.
func (a *ahead) leads(bits *[reaches]uint64) bool {
	return a.ends || (a.next&bits[next]|a.wide&bits[a.far]) != 0 && a.last&bits[sentence] != 0
}

// holding is a placeholder at the beginning of phrases, and what is behind it.
type holding struct {
	entry
	hold placeholder
}

// state is a place within phrases.
type state struct {
	step, steps int32 // what may follow
	out, outs   int32 // the phrases that may end here
	ahead
}

// step leads from one state to another by a word of a set, or by a placeholder,
// after up to gap other words.
type step struct {
	bits uint64 // of what it takes, see needBits: where none of them is, it leads nowhere
	last uint64 // of what has to be in the rest of the sentence for a phrase to end
	to   int32
	word int32 // > 0: this word; 0: by hold; < 0: of the set -word
	hold placeholder
	gap  uint8
	far  reach // of the gap
}

// output is a phrase that was found.
type output struct {
	rule          int32
	before, after int32 // set of words that must not be there, 0 for none
}

// table is an open hash table from numbers to numbers, 0 for none. Keys are
// never 0.
type table struct {
	keys   []uint64
	values []int32
	mask   uint64
}

func newTable(n int) table {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return table{keys: make([]uint64, size), values: make([]int32, size), mask: uint64(size - 1)}
}

func spread(key uint64) uint64 {
	key *= 0x9e3779b97f4a7c15
	return key ^ key>>29
}

func (t *table) put(key uint64, value int32) {
	i := spread(key) & t.mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & t.mask
	}
	t.keys[i], t.values[i] = key, value
}

func (t *table) get(key uint64) int32 {
	for i := spread(key) & t.mask; ; i = (i + 1) & t.mask {
		switch t.keys[i] {
		case key:
			return t.values[i]
		case 0:
			return 0
		}
	}
}

func fuseKey(node, word int32) uint64 { return uint64(node+1)<<32 | uint64(word) }

// Bits tell in one operation that a word, or none of many, is not there. One of
// them stands for whatever there is, for steps that take more than words.
const (
	bitAny   = 1 << 63
	wordBits = 63
)

// reach is how many words a gap spans, roughly: a symbol has the bits of what is
// within each reach of it.
type reach uint8

const (
	next     reach = iota // the next word
	near                  // gapDefault words between
	sentence              // up to the end of the sentence
	reaches
)

func reachOf(gap uint8) reach {
	switch {
	case gap == 0:
		return next
	case gap <= gapDefault:
		return near
	default:
		return sentence
	}
}
