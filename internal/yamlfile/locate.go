package yamlfile

import (
	"unicode"

	"github.com/goccy/go-yaml/token"
)

// locate returns the position of each token in the text. The columns of the YAML scanner are
// wrong after tabs and before trailing spaces. So locate searches each token in the text again.
// Between two tokens there is only white space.
//
// The YAML scanner skips some characters that make no sense, such as a second closing quote. Then
// the third result is false, the second is the first such position, and the tokens after it have
// no position.
func locate(text string, tokens token.Tokens) (where map[*token.Token]Position, stray Position, complete bool) {
	where = make(map[*token.Token]Position, len(tokens))
	c := cursor{rest: []rune(text), at: start}
	for _, t := range tokens {
		c.skipSpace()
		where[t] = c.at
		if t.Type == token.DoubleQuoteType {
			c.skipQuoted() // the token's value does not contain the escapes
		} else if !c.skipWords(t.Origin) {
			return where, c.at, false
		}
	}
	c.skipSpace()
	return where, c.at, len(c.rest) == 0
}

// positionOf returns the position of t, or the given position if t is nil. A token that is not in
// the text, such as an omitted value, gets the position of the token before it.
func positionOf(t *token.Token, where map[*token.Token]Position, fallback Position) Position {
	for ; t != nil; t = t.Prev {
		if at, ok := where[t]; ok {
			return at
		}
	}
	return fallback
}

// cursor moves through a text and counts lines and columns.
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

// skipWords skips the words of a text. In the file, there may be any white space between the
// words.
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

// skipQuoted skips a text in double quotes.
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
