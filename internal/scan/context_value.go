package scan

import "strings"

// next returns the value after i: the text up to the next white space, or in quotes. Blanks before
// it are skipped, but no line end. If there is no value, from and to are equal.
func (s *scanner) next(i int) (from, to int) {
	i = s.skipSpaces(i)
	if quote := s.at(i); isQuote(quote) {
		return i + 1, max(i+1, s.end(i+1, quote))
	}
	if s.at(i) == '\\' && isQuote(s.at(i+1)) {
		return i + 2, max(i+2, s.end(i+2, '\\'))
	}
	return i, s.valueEnd(i)
}

// argument returns the value of an option that ends at i: after a blank, after '=', or as the next
// member of a list of quoted arguments.
func (s *scanner) argument(i int) (from, to int) {
	switch c := s.at(i); {
	case c == '=', c == ' ':
		return s.next(i + 1)
	case isQuote(c):
		j := s.skipSpaces(i + 1)
		if s.at(j) == ',' {
			j = s.skipSpaces(j + 1)
		}
		if j > i+1 && isQuote(s.at(j)) {
			return s.next(j)
		}
	}
	return i, i
}

// afterQuote returns the position after a quote at i, if there is one.
func (s *scanner) afterQuote(i int) int {
	if s.at(i) == '\\' && isQuote(s.at(i+1)) {
		return i + 2
	}
	if isQuote(s.at(i)) {
		return i + 1
	}
	return i
}

// last reports whether only punctuation follows on the line.
func (s *scanner) last(i int) bool {
	for ; i < len(s.text); i++ {
		switch c := classOf[s.text[i]]; {
		case c&cNewline != 0 || s.text[i] == '\\' && (s.at(i+1) == 'n' || s.at(i+1) == 'r'):
			return true
		case c&(cAlnum|cHigh) != 0:
			return false
		}
	}
	return true
}

// lineMax is how far a line is read back or ahead for the surroundings of a secret.
const lineMax = 200

// lineBegin returns the beginning of the line that i is in, or of its last 200 bytes.
func (s *scanner) lineBegin(i int) int {
	floor := max(s.base, i-lineMax)
	for i > floor && classOf[s.text[i-1]]&cNewline == 0 {
		i--
	}
	return i
}

// lineRest returns the text from i to the end of the line, at most 200 bytes.
func (s *scanner) lineRest(i int) string {
	rest := s.text[i:min(len(s.text), i+lineMax)]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	if n := strings.IndexByte(rest, '\r'); n >= 0 {
		rest = rest[:n]
	}
	return rest
}

// passwordMax is the largest length in bytes of a value that is compared with the form of a
// password. So the time for a text without blanks stays linear.
const passwordMax = 256

// passwordLike reports whether a value looks like a password and not like a word, a number, a host
// or a file: it has letters and digits, or letters and one of the symbols that names rarely have.
func (s *scanner) passwordLike(from, to int) bool {
	if to-from < 6 || to-from > passwordMax || s.harmless(from) {
		return false
	}
	digits, letters, symbols := 0, 0, 0
	for k := from; k < to; k++ {
		switch c := s.text[k]; {
		case isDigit(c):
			digits++
		case classOf[c]&(cLetter|cHigh) != 0:
			letters++
		case strings.IndexByte("!$*+=~#?&%^@", c) >= 0:
			symbols++
		case c == '/' || c == '\\' || c == '(' || c == ' ':
			return false
		}
	}
	if letters == 0 || digits == 0 && symbols == 0 {
		return false
	}
	if dot := strings.LastIndexByte(s.text[from:to], '.'); dot > 0 {
		label := s.text[from+dot+1 : to]
		return !isDomain(label, 3) && !isExtension(label)
	}
	return true
}

// strong reports whether a value of at least 8 characters looks like a password and not like any
// name: it has small letters, capitals and digits, or digits and a symbol that names do not have.
func strong(value string) bool {
	if len(value) < 8 || len(value) > passwordMax || strings.ContainsAny(value, "/\\() ,;") {
		return false
	}
	var run blobRun
	for i := range len(value) {
		run.add(classOf[value[i]])
	}
	if run.digits == 0 || run.upper+run.lower == 0 {
		return false
	}
	return run.upper > 0 && run.lower > 0 && run.changes > 2 || strings.ContainsAny(value, "!$*+=~#?&%^")
}

// upper reports whether the word of a token is written in capitals.
func (s *scanner) upper(k int) bool {
	for _, c := range []byte(s.dst[k].Text(s.text)) {
		if classOf[c]&cUpper == 0 {
			return false
		}
	}
	return true
}

// isWord reports whether the token k is this word; case does not count.
func (s *scanner) isWord(k int, word string) bool {
	return k >= 0 && k < len(s.dst) && s.dst[k].Kind == Word && strings.EqualFold(s.dst[k].Text(s.text), word)
}
