package scan

import "strings"

func isLiteral(c byte) bool {
	return c == 'b' || c == 'N'
}

// afterType returns the position after a type that is between a name and its value, as in
// password: String = "x" and in string(5) "hello".
func (s *scanner) afterType(i int) int {
	j := i
	for j < i+24 && s.is(j)&(cLetter|cDot) != 0 {
		j++
	}
	switch {
	case j == i:
	case s.at(j) == '(' && isDigit(s.at(j+1)):
		if k := s.digitsEnd(j + 1); s.at(k) == ')' && s.at(k+1) == ' ' && isQuote(s.at(k+2)) {
			return k + 2
		}
	case strings.HasPrefix(s.text[j:], " = ") && isQuote(s.at(j+len(" = "))):
		return j + len(" = ")
	}
	return i
}

// afterTag returns the position after a tag or an anchor of YAML, as in !!str x and &name x.
func (s *scanner) afterTag(i int) int {
	if c := s.at(i); c != '!' && c != '&' {
		return i
	}
	j := i + 1
	for j < i+24 && (s.is(j)&(cAlnum|cJoin) != 0 || s.at(j) == '!' || s.at(j) == ':') {
		j++
	}
	if s.at(j) != ' ' || j == i+1 || s.is(j+1)&cBlank != 0 || j+1 >= len(s.text) {
		return i
	}
	return s.skipSpaces(j)
}

// heredoc returns the position of a value that begins on the next line, after <<EOF of a shell.
func (s *scanner) heredoc(i int) (from, to int) {
	n := strings.IndexByte(s.text[i:min(len(s.text), i+24)], '\n')
	if !strings.HasPrefix(s.text[i:], "<<") || n < 0 {
		return i, i
	}
	from = i + n + 1
	to = from
	for to < len(s.text) && classOf[s.text[to]]&cNewline == 0 {
		to++
	}
	return from, to
}

// block returns the position of a value that begins on the next line, after | or > of YAML. The
// lines of the value are indented.
// elementMax is the largest length in bytes of a text in an XML element that counts as a
// secret.
func (s *scanner) block(i int) (from, to int) {
	if s.at(i) != '|' && s.at(i) != '>' {
		return i, i
	}
	j := i + 1
	for j < i+4 && (s.at(j) == '-' || s.at(j) == '+' || isDigit(s.at(j))) {
		j++
	}
	for to = i; s.is(j)&cNewline != 0 && j < len(s.text); {
		k := j
		for s.is(k)&cNewline != 0 && k < len(s.text) {
			k++
		}
		first := k
		for k < len(s.text) && (s.text[k] == ' ' || s.text[k] == '\t') {
			k++
		}
		if k == first || k == len(s.text) || to > i && s.nameAt(k) {
			break
		}
		if to == i {
			from = k
		}
		for k < len(s.text) && classOf[s.text[k]]&cNewline == 0 {
			k++
		}
		to, j = k, k
	}
	if to == i {
		return i, i
	}
	return from, to
}

// pairAt reports whether a name followed by '=' is at i.
func (s *scanner) pairAt(i int) bool {
	for j := i; j < i+64; j++ {
		switch c := s.at(j); {
		case c == '=':
			return j > i
		case classOf[c]&(cAlnum|cJoin|cDot) == 0:
			return false
		}
	}
	return false
}
