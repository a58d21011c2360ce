package fingerprint

import (
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
	"github.com/redrive/redrive/internal/scan"
)

// What stands in a shape for what differs from one failure to the next of the
// same cause.
const (
	shapeNumber = "<n>"
	shapeID     = "<id>"
	shapePath   = "<path>"
	shapeURL    = "<url>"
	shapeHost   = "<host>"
	shapeEmail  = "<email>"
	shapeSecret = "<secret>"
	shapeValue  = "<value>"  // in quotes, or a list of names
	shapeBinary = "<binary>" // a whole message that is no text
)

// Limits in bytes. A longer shape is cut to its beginning and its end.
const (
	shapeMax  = 240
	shapeTail = 80
)

// Shape returns the shape of a message: what messages of one cause have in common. See failure.Normalize.
func Shape(text string) string {
	if plaintext.IsBinary(text) {
		return shapeBinary
	}
	read := scan.Read(text)
	defer read.Release()
	s := shaper{text: text, tokens: read.Tokens, out: read.Room}
	s.run()
	read.Room = s.out
	return s.cut()
}

func (s *shaper) run() {
	for i := 0; i < len(s.tokens); {
		if i == 0 || s.tokens[i-1].Kind == scan.Newline {
			if s.frame(i) {
				i = s.nextLine(i)
				continue
			}
		}
		if end := s.list(i); end > i {
			s.join(i, shapeValue)
			i = end
			continue
		}
		if s.alone(i) {
			s.out = appendLower(append(s.out, ' '), s.part(i))
			i++
			continue
		}
		i = s.token(i)
	}
}

// alone reports whether the token at i is a word between blanks, after a word:
// there is nothing to think about.
func (s *shaper) alone(i int) bool {
	t := &s.tokens[i]
	if t.Kind != scan.Word || t.Glued || s.colon || s.mark != "" || len(s.out) == 0 || isDigit(s.text[t.End-1]) {
		return false
	}
	return i+1 == len(s.tokens) || !s.tokens[i+1].Glued || s.tokens[i+1].Kind == scan.Punct
}

// token writes the token at i, and returns the next one to look at.
func (s *shaper) token(i int) int {
	switch t := &s.tokens[i]; t.Kind {
	case scan.Word:
		if end := s.idEnd(i); end > i {
			s.join(i, shapeID)
			return end
		}
		s.word(i)
	case scan.Number:
		return s.number(i)
	case scan.ID:
		if s.isCode(i) {
			s.join(i, s.part(i))
		} else if !s.ofPlace(i) {
			s.join(i, shapeID)
		}
	case scan.Path, scan.File:
		s.join(i, shapePath)
	case scan.URL:
		s.join(i, shapeURL)
	case scan.Host, scan.IP:
		s.join(i, shapeHost)
	case scan.Email:
		s.join(i, shapeEmail)
	case scan.Secret:
		s.join(i, shapeSecret)
	case scan.Punct:
		return s.punct(i)
	case scan.Newline:
	}
	return i + 1
}

// join writes a word or a mark. Marks that follow each other are written once:
// how many there are says nothing.
func (s *shaper) join(i int, word string) {
	isMark := word[0] == '<'
	if isMark && word == s.mark && !s.colon {
		return
	}
	joiner, touches := s.touches(i)
	switch {
	case len(s.out) == 0:
	case s.colon:
		s.out = append(s.out, ": "...)
	case touches && s.mark == "" && len(s.out) > 0:
		s.out = append(s.out, joiner...)
	case (s.char(i-1) == '/' || s.char(i-1) == '.') && s.tokens[i-1].Glued && s.tokens[i].Glued && !isMark && s.mark == "":
		s.out = append(s.out, s.text[s.tokens[i-1].Start])
	default:
		s.out = append(s.out, ' ')
	}
	s.colon, s.mark = false, ""
	if isMark {
		s.mark = word
		s.out = append(s.out, word...)
		return
	}
	s.out = appendLower(s.out, word)
}

func appendLower(out []byte, word string) []byte {
	start := len(out)
	out = append(out, word...)
	for i, c := range out[start:] {
		switch {
		case c >= utf8.RuneSelf:
			return append(out[:start+i], strings.ToLower(word[i:])...)
		case 'A' <= c && c <= 'Z':
			out[start+i] = c + 'a' - 'A'
		}
	}
	return out
}

func (s *shaper) word(i int) {
	word := s.part(i)
	if digits := trailingDigits(word); digits > 0 && !keepsDigits(word, digits) {
		s.join(i, word[:len(word)-digits])
		s.out = append(s.out, shapeNumber...)
		return
	}
	if n := len(word); s.mark == shapeNumber && n > 3 && word[n-1] == 's' && word[n-2] != 's' { // 1 page, 2 pages
		word = word[:n-1]
	}
	s.join(i, word)
}

func trailingDigits(word string) int {
	n := 0
	for n < len(word) && isDigit(word[len(word)-1-n]) {
		n++
	}
	return n
}

// keepsDigits reports whether a word with digits is one word: a code in
// capitals, or the name of something technical.
func keepsDigits(word string, digits int) bool {
	letters := word[:len(word)-digits]
	if strings.ToUpper(letters) == letters {
		return true
	}
	switch strings.ToLower(letters) {
	case "http", "utf", "sha", "md", "base", "int", "uint", "float", "mp", "ipv", "aes", "oauth", "x", "h", "log", "es", "ext", "win", "amd", "arm":
		return true
	}
	return false
}

// number writes a number and leaves out the unit that touches it.
func (s *shaper) number(i int) int {
	if s.isCode(i) {
		s.join(i, s.part(i))
		s.code = i
		return i + 1
	}
	s.join(i, shapeNumber)
	for i++; s.kind(i) == scan.Word || s.kind(i) == scan.Number; i++ { // 1h30m
		if joiner, touches := s.touches(i); !touches || joiner != "" {
			break
		}
	}
	if s.kind(i) == scan.Word && isSizeUnit(s.part(i)) { // 12 MB, 17,345,112 bytes
		i++
	}
	return i
}

// isSizeUnit reports whether a word is a unit of sizes.
func isSizeUnit(word string) bool {
	switch strings.ToLower(word) {
	case "b", "byte", "bytes", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "kilobytes", "megabytes", "gigabytes":
		return true
	}
	return false
}

// idEnd returns the token behind an identifier that begins with a word and has
// an id in it; i when there is no id in it.
func (s *shaper) idEnd(i int) int {
	found := false
	k := i + 1
	for ; k < len(s.tokens); k++ {
		if joiner, touches := s.touches(k); !touches || len(joiner) > 1 || !s.inName(k) {
			break
		}
		found = found || s.tokens[k].Kind == scan.ID
	}
	if !found {
		return i
	}
	return k
}

// ofPlace reports whether an id is the port of a host or the line of a file.
func (s *shaper) ofPlace(i int) bool {
	return s.char(i-1) == ':' && s.tokens[i].Glued && s.tokens[i-1].Glued && s.mark != "" && s.mark != shapeNumber
}

// punct writes a ':' and what quotes hold, and leaves the rest out.
func (s *shaper) punct(i int) int {
	switch c := s.char(i); c {
	case ':':
		if !(s.ofPlaceColon(i)) {
			s.colon = len(s.out) > 0
		}
	case '<':
		if end := s.tag(i); end > i {
			return end
		}
	case '"', '\'', '`', '“', '‘', '«':
		if end := s.closing(i); s.opens(i) && end > i+1 && s.isValue(i, end) {
			s.join(i, shapeValue)
			return end + 1
		}
	}
	return i + 1
}

// ofPlaceColon reports whether a ':' is in front of a port or a line.
func (s *shaper) ofPlaceColon(i int) bool {
	return s.kind(i+1) == scan.ID && s.tokens[i+1].Glued && s.tokens[i].Glued && s.mark != "" && s.mark != shapeNumber
}

// cut returns the shape, with its beginning and its end when it is too long.
func (s *shaper) cut() string {
	if len(s.out) <= shapeMax {
		return string(s.out)
	}
	const gap = " … "
	shape := plaintext.Mend(string(s.out))
	return plaintext.CutEnd(shape, shapeMax-shapeTail-len(gap)) + gap + plaintext.CutStart(shape, shapeTail)
}
