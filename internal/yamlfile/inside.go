package yamlfile

import "unicode"

// Inside returns the position in the file of one character of the text of v, for problems
// within a text. The offset is the number of characters before this character in the text.
// Inside handles quotes, escapes, and texts of several lines.
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
	after := c.at // the position after the last character that was read
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

// from returns the rest of the file's text, beginning at a position.
func (r *Reader) from(at Position) []rune {
	rest := r.source
	for line := 1; line < at.Line && len(rest) > 0; rest = rest[1:] {
		if rest[0] == '\n' {
			line++
		}
	}
	return rest[min(at.Col-1, len(rest)):]
}

// space skips the part of the file that YAML reads as one space: a space, or a line end with
// the white space around it.
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

// skipSpaceBefore skips white space that line folding removes from the text.
func (c *cursor) skipSpaceBefore(want rune) {
	if !unicode.IsSpace(want) {
		c.skipSpace()
	}
}

// sign skips one character of a text. The character may be written as several characters in the
// file, depending on the quotes of the text.
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
