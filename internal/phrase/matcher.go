package phrase

import "github.com/redrive/redrive/internal/scan"

// symbol is one word of a text, or what else counts as one step of a phrase.
type symbol struct {
	word   int32 // number of the word in the machine; 0 if no phrase contains the word
	Token  int32 // which token it is
	kind   scan.Kind
	Gap    gapKind
	nfused uint8
	fused  int32           // synonyms that begin here
	bits   [reaches]uint64 // of what is here and within reach, see needBits; 0 behind the end of a sentence
}

// fusion is a row of words that means something.
type fusion struct{ word, next int32 } // next is the symbol behind it

// gapKind is what stands in front of a symbol, the strongest of it.
type gapKind uint8

// The kinds of gaps, the weakest first.
const (
	NoGap   gapKind = iota // white space, quotes, hyphens
	softGap                // a comma, a colon, a parenthesis
	Stop                   // the end of a sentence
	LineGap                // the end of a line
	textGap                // the beginning of the text
)

// Match is a phrase that was found: of which rule, and where. Held are the first
// and the last symbol that placeholders have taken, -1 for none.
type Match struct {
	Rule       int32
	Start, End int32 // symbols
	order      int32 // of its phrase, among those that begin with the same word
	Held       [2]int32
}

// Matcher finds the phrases of a machine in a text. It may be used again.
type Matcher struct {
	Machine   *Machine
	Text      string
	Tokens    []scan.Token
	Syms      []symbol
	fused     []fusion
	Found     []Match
	Lines     bool  // there are several
	HasQuotes bool  // there are some
	HasOne    bool  // a number is 1
	steps     int   // that may still be made
	order     int32 // of what is being looked for
}
