// Package phrase is the language in which rules name what programs say, and the automaton that finds the
// phrases of all rules in one pass over the words of a text. Phrases and the tokens of package scan come in;
// the matches go out: of which rule, and where. It must not know classes, evidence or policies, and
// what a match means is for the package that calls it to say.
//
// A phrase is a row of words, compared by their stems, so that "Rate limits exceeded",
// rate_limit_exceeded and RateLimitExceeded are the same:
//
//	rate limit exceeded      these words, one after the other; punctuation may stand between them
//	(daily|monthly) quota    one of several, each a row of words
//	service (temporarily)? unavailable   a word or group that may be missing
//	lost ... connection      up to four words between; ...8 up to eight
//	error <number>           a placeholder: see placeholders
//	=cannot                  this word and none that means the same
//	!(in|of) memory          not directly after one of these words
//	memory !of               not directly before one of these words; !<number> is any number
//
// Words that mean the same may stand for each other: see synonyms.
package phrase

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// placeholder is a token that a phrase takes by its kind.
type placeholder uint8

const (
	noPlaceholder placeholder = iota
	anyToken
	aNumber
	aStatus // a number from 400 to 599
	anID
	aPath
	aURL
	aHost
	aDuration // a number with a unit of time
	aSize     // a number with a unit of bytes
	aValue    // a number, an id or one word
)

// placeholders are the names that the language has for them.
var placeholders = map[string]placeholder{
	"any": anyToken, "number": aNumber, "status": aStatus, "id": anID, "path": aPath,
	"url": aURL, "host": aHost, "duration": aDuration, "size": aSize, "value": aValue,
}

// tokensOf are the kinds of tokens that placeholders take, a bit each.
var tokensOf = [...]uint16{
	anyToken:  ^uint16(0),
	aNumber:   1 << scan.Number,
	aStatus:   1 << scan.Number,
	anID:      1<<scan.Number | 1<<scan.ID,
	aPath:     1<<scan.Path | 1<<scan.File,
	aURL:      1 << scan.URL,
	aHost:     1<<scan.Host | 1<<scan.IP,
	aDuration: 1 << scan.Number,
	aSize:     1 << scan.Number,
	aValue:    1<<scan.Number | 1<<scan.ID | 1<<scan.Word,
}

// mayBe reports whether a placeholder may take a token of a kind.
func (h placeholder) mayBe(k scan.Kind) bool { return tokensOf[h]>>k&1 != 0 }

const (
	gapDefault = 4  // words that "..." spans at most
	gapMax     = 16 // that "...n" may ask for
	// Max is how many bytes a phrase in a policy file may have.
	Max     = 4 << 10
	nestMax = 8 // parentheses within parentheses
)

// part is a piece of a phrase: a word, a placeholder, a gap, or a group.
type part struct {
	word     string // "" for all but words
	hash     uint64 // of the word
	hold     placeholder
	gap      int
	group    [][]part // its alternatives
	optional bool
	exact    bool // a word that stands for itself alone
}

// Phrase is a parsed phrase.
type Phrase struct {
	parts         []part
	before, after []uint64 // hashes of words that must not stand there
	Words         bool     // there are words in it, not placeholders alone
}

// anyNumber is the hash by which a phrase says that no number must stand there.
const anyNumber = 1

// Parse reads a phrase.
func Parse(text string) (Phrase, error) {
	p := phraseParser{rest: text}
	var out Phrase
	var err error
	if out.before, err = p.unwanted(); err != nil {
		return Phrase{}, err
	}
	if out.parts, err = p.sequence(0); err != nil {
		return Phrase{}, err
	}
	if out.after, err = p.unwanted(); err != nil {
		return Phrase{}, err
	}
	if p.skip(); p.rest != "" {
		return Phrase{}, fmt.Errorf("%q is not expected there", p.rest)
	}
	out.Words = p.words
	return out, checkParts(out.parts)
}

// checkParts refuses gaps that lead nowhere and phrases that nothing must be in.
func checkParts(parts []part) error {
	must := false
	for i, p := range parts {
		if p.gap > 0 && (i == 0 || i == len(parts)-1 || parts[i-1].gap > 0 || parts[i-1].optional && i == 1) {
			return fmt.Errorf(`"..." must stand between words`)
		}
		must = must || p.gap == 0 && !p.optional
	}
	if !must {
		return fmt.Errorf("a phrase of which every word may be missing says nothing")
	}
	return nil
}

type phraseParser struct {
	rest  string
	words bool // one was seen
}

func (p *phraseParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *phraseParser) take(prefix string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = rest
	}
	return ok
}

// unwanted reads !(a|b) or !a.
func (p *phraseParser) unwanted() ([]uint64, error) {
	if !p.take("!") {
		return nil, nil
	}
	had := p.words
	parts, err := p.item(1)
	if err != nil {
		return nil, err
	}
	p.words = had
	options := [][]part{parts}
	if len(parts) == 1 && parts[0].group != nil {
		options = parts[0].group
	}
	var hashes []uint64
	for _, o := range options {
		switch {
		case len(o) > 0 && o[0].word != "":
			hashes = append(hashes, o[0].hash)
		case len(o) > 0 && o[0].hold == aNumber:
			hashes = append(hashes, anyNumber)
		default:
			return nil, fmt.Errorf("after ! only words and <number> can stand: !word or !(one|two)")
		}
	}
	return hashes, nil
}

// sequence reads items up to the end, a bar, a closing parenthesis or a "!".
func (p *phraseParser) sequence(depth int) ([]part, error) {
	var parts []part
	for {
		p.skip()
		if p.rest == "" || strings.IndexByte("|)!", p.rest[0]) >= 0 {
			return parts, nil
		}
		item, err := p.item(depth)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(p.rest, "?") {
			p.rest = p.rest[1:]
			item = []part{{group: [][]part{item}, optional: true}}
		}
		parts = append(parts, item...)
	}
}

// item reads one word, group, placeholder or gap. An identifier is several
// words.
func (p *phraseParser) item(depth int) ([]part, error) {
	switch {
	case p.take("("):
		return p.group(depth + 1)
	case p.take("..."):
		return p.gap()
	case p.take("<"):
		name, rest, ok := strings.Cut(p.rest, ">")
		hold := placeholders[name]
		if !ok || hold == noPlaceholder {
			return nil, fmt.Errorf("unknown placeholder <%s", p.rest)
		}
		p.rest = rest
		return []part{{hold: hold}}, nil
	}
	end := strings.IndexAny(p.rest, " \t|()?!<")
	if end < 0 {
		end = len(p.rest)
	}
	word, exact := strings.CutPrefix(p.rest[:end], "=")
	p.rest = p.rest[end:]
	p.words = true
	parts, err := literal(word)
	for i := range parts {
		parts[i].exact = exact
	}
	return parts, err
}

func (p *phraseParser) group(depth int) ([]part, error) {
	if depth > nestMax {
		return nil, fmt.Errorf("more than %d parentheses within each other", nestMax)
	}
	var g part
	for {
		parts, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		if len(parts) == 0 {
			return nil, fmt.Errorf("an alternative is empty: write (…)? for what may be missing")
		}
		if err := checkParts(parts); err != nil {
			return nil, err
		}
		g.group = append(g.group, parts)
		if p.take(")") {
			return []part{g}, nil
		}
		if !p.take("|") {
			return nil, fmt.Errorf("a parenthesis is not closed")
		}
	}
}

func (p *phraseParser) gap() ([]part, error) {
	end := 0
	for end < len(p.rest) && end < 3 && p.rest[end] >= '0' && p.rest[end] <= '9' {
		end++
	}
	gap := gapDefault
	if end > 0 {
		gap, _ = strconv.Atoi(p.rest[:end])
		p.rest = p.rest[end:]
	}
	if gap < 1 || gap > gapMax {
		return nil, fmt.Errorf("a gap of %d words: 1 to %d are allowed", gap, gapMax)
	}
	return []part{{gap: gap}}, nil
}

// literal reads a word as the scanner does, so that both agree on its stem.
func literal(word string) ([]part, error) {
	var out []part
	for _, t := range scan.Tokens(nil, word) {
		text := word[t.Start:t.End]
		switch {
		case t.Kind == scan.Word:
			out = append(out, part{word: text, hash: t.Hash})
		case t.Kind == scan.Number && t.Num >= 0:
			out = append(out, part{word: text, hash: numberHash(t.Num)})
		case t.Kind == scan.Punct && strings.Contains("_-.:/'+", text):
		default:
			return nil, fmt.Errorf("%q is not a word", word)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q is not a word", word)
	}
	return out, nil
}

// numberHash keeps numbers that phrases name apart from words.
func numberHash(n int64) uint64 {
	x := uint64(n) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return (x ^ x>>27) | 1
}
