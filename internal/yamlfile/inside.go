package yamlfile

import "unicode"

// Inside returns the place of the character offset of the text of v, counted
// from 0: where in the file a mistake within a text stands. It follows quotes,
// escapes, and text that goes over several lines.
func (r *Reader) Inside(v Value, offset int) Position {
	c := cursor{rest: r.from(v.Pos), at: v.Pos}
	if len(c.rest) == 0 {
		return v.Pos
	}
	quote := c.rest[0]
	switch quote {
	case '|', '>':
		for len(c.rest) > 0 && c.rest[0] != '\n' {
			c.next()
		}
	case '"', '\'':
		c.next()
	default:
		quote = 0
	}
	after := c.at // the last character that was passed
	for i, want := range []rune(v.Text) {
		if unicode.IsSpace(want) && quote != '"' {
			if i == offset {
				return c.at
			}
			c.space(want)
			continue
		}
		c.skipSpaceBefore(want)
		if i == offset || len(c.rest) == 0 {
			return c.at
		}
		c.sign(quote)
		after = c.at
	}
	return after
}

// from returns the text from a place on.
func (r *Reader) from(at Position) []rune {
	rest := r.source
	for line := 1; line < at.Line && len(rest) > 0; rest = rest[1:] {
		if rest[0] == '\n' {
			line++
		}
	}
	return rest[min(at.Col-1, len(rest)):]
}

// space passes over one space of a text: the same in the file, or the white
// space that stands for it at the end of a line.
func (c *cursor) space(want rune) {
	if len(c.rest) == 0 || !unicode.IsSpace(c.rest[0]) {
		return
	}
	if c.rest[0] == want && want != '\n' {
		c.next()
		return
	}
	c.skipSpace()
}

// skipSpaceBefore passes over the white space that folding has removed.
func (c *cursor) skipSpaceBefore(want rune) {
	if !unicode.IsSpace(want) {
		c.skipSpace()
	}
}

// sign passes over one character as it is spelt in a text with such quotes.
func (c *cursor) sign(quote rune) {
	first := c.rest[0]
	c.next()
	switch {
	case len(c.rest) == 0:
	case quote == '\'' && first == '\'':
		c.next()
	case quote == '"' && first == '\\':
		digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c.rest[0]]
		c.next()
		for ; digits > 0 && len(c.rest) > 0; digits-- {
			c.next()
		}
	}
}
