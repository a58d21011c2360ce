package scan

import (
	"strings"
)

// blobKeyMin is the smallest length in bytes of a secret whose name only suggests a secret.
const blobKeyMin = 16

// looksSecret reports whether a value looks random: not a word, a sentence or a short
// number.
func (s *scanner) looksSecret(from, to int) bool {
	digits, lowers, uppers := 0, 0, 0
	for k := from; k < to; k++ {
		switch c := classOf[s.text[k]]; {
		case c&cDigit != 0:
			digits++
		case c&cLower != 0:
			lowers++
		case c&cUpper != 0 && k > from:
			uppers++
		case s.text[k] == ' ':
			return false
		}
	}
	switch n := to - from; {
	case n < 6:
		return false
	case digits == n:
		return n >= 12
	default:
		return digits > 0 && lowers+uppers > 0 || n >= 24 || n >= 8 && uppers > 0 && lowers > 0
	}
}

// blobMax is how many bytes of a value blobLike and encoded read at most.
const blobMax = 256

// blobLike reports whether a value looks random and contains only characters of encoded bytes.
func (s *scanner) blobLike(from, to int) bool {
	if s.uuid(from, to) {
		return false
	}
	to = min(to, from+blobMax)
	var run blobRun
	path := false
	for k := from; k < to; k++ {
		c := s.text[k]
		if classOf[c]&(cAlnum|cJoin|cDot) == 0 && strings.IndexByte("+/=~%", c) < 0 {
			return false
		}
		path = path || c == '/' || c == '.'
		run.add(classOf[c])
	}
	if path && (run.upper < 3 || run.changes*3 < to-from) {
		return false
	}
	return run.digits > 1 && run.changes*5 >= to-from
}

// encoded reports whether a value changes between capitals, small letters and digits
// as often as encoded bytes do.
func (s *scanner) encoded(from, to int) bool {
	var run blobRun
	to = min(to, from+blobMax)
	for k := from; k < to; k++ {
		c := s.text[k]
		if !blobChar(c) && c != '=' {
			return false
		}
		run.add(classOf[c])
	}
	return run.upper > 1 && run.lower > 1 && run.changes*3 >= to-from || to-from >= blobKeyMin && run.digits > 1
}

func allDigits(text string) bool {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return false
		}
	}
	return true
}
