package fingerprint

import "github.com/redrive/redrive/internal/scan"

// shaper writes the shape of one text.
type shaper struct {
	text   string
	tokens []scan.Token
	out    []byte
	mark   string // the last thing written, if it was a mark
	colon  bool   // a ':' is due before the next word
	source bool   // the next line is a frame's line of source
	lines  int
	code   int // the last number that was a code
}

func (s *shaper) part(i int) string { return s.tokens[i].Text(s.text) }

func (s *shaper) kind(i int) scan.Kind {
	if i < 0 || i >= len(s.tokens) {
		return scan.Newline
	}
	return s.tokens[i].Kind
}

// char returns the character of the token at i if the token is punctuation, and otherwise 0.
func (s *shaper) char(i int) uint64 {
	if s.kind(i) != scan.Punct {
		return 0
	}
	return s.tokens[i].Hash
}

// touches reports whether nothing is between the token before and the one at i,
// or only what joins the parts of an identifier.
func (s *shaper) touches(i int) (joiner string, ok bool) {
	if i == 0 || !s.tokens[i].Glued || s.tokens[i-1].Kind == scan.Punct {
		return "", false
	}
	return s.text[s.tokens[i-1].End:s.tokens[i].Start], true
}

func (s *shaper) inName(i int) bool {
	return s.tokens[i].Kind == scan.Word || s.tokens[i].Kind == scan.Number || s.tokens[i].Kind == scan.ID
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
