package yamlfile

import (
	"unicode"

	"github.com/goccy/go-yaml/token"
)

// locate finds where each token stands in text. The scanner's own columns are
// off after tabs and before trailing spaces, so the tokens are laid along the
// text again: between two tokens there is nothing but white space.
//
// The scanner skips some signs that make no sense, such as a second closing
// quote. Then complete is false, stray is the first such place, and the tokens
// after it are left out.
func locate(text string, tokens token.Tokens) (where map[*token.Token]Position, stray Position, complete bool) {
	where = make(map[*token.Token]Position, len(tokens))
	c := cursor{rest: []rune(text), at: start}
	for _, t := range tokens {
		c.skipSpace()
		where[t] = c.at
		if t.Type == token.DoubleQuoteType {
			c.skipQuoted() // the scanner loses the escapes
		} else if !c.skipWords(t.Origin) {
			return where, c.at, false
		}
	}
	c.skipSpace()
	return where, c.at, len(c.rest) == 0
}

// positionOf returns where t stands, or fallback without a token. One that is
// not in the text, such as a value left out, stands where the one before it does.
func positionOf(t *token.Token, where map[*token.Token]Position, fallback Position) Position {
	for ; t != nil; t = t.Prev {
		if at, ok := where[t]; ok {
			return at
		}
	}
	return fallback
}

// cursor walks over text and counts lines and columns.
type cursor struct {
	rest []rune
	at   Position
}

func (c *cursor) next() {
	if c.rest[0] == '\n' {
		c.at = Position{c.at.Line + 1, 1}
	} else {
		c.at.Col++
	}
	c.rest = c.rest[1:]
}

func (c *cursor) skipSpace() {
	for len(c.rest) > 0 && unicode.IsSpace(c.rest[0]) {
		c.next()
	}
}

// skipWords passes over words, whatever white space lies between them.
func (c *cursor) skipWords(words string) bool {
	for _, want := range words {
		if unicode.IsSpace(want) {
			continue
		}
		c.skipSpace()
		if len(c.rest) == 0 || c.rest[0] != want {
			return false
		}
		c.next()
	}
	return true
}

// skipQuoted passes over a text in double quotes.
func (c *cursor) skipQuoted() {
	for opened := false; len(c.rest) > 0; {
		quote, escape := c.rest[0] == '"', c.rest[0] == '\\'
		c.next()
		if escape && len(c.rest) > 0 {
			c.next()
		}
		if quote && opened {
			return
		}
		opened = opened || quote
	}
}
