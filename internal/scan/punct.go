package scan

import "strings"

// punct reads a token that begins with a punctuation character.
func (s *scanner) punct(i int) int {
	c := s.text[i]
	switch c {
	case '_':
		return i + 1
	case '/', '~', '.':
		if c != '/' && s.mask&cSlash == 0 {
			break
		}
		if c == '/' && (i == s.base || classOf[s.text[i-1]]&cBlank != 0) {
			if from, to := s.windowsOption(i); from < to {
				return s.secret(i, from, to)
			}
		}
		if end, kind := s.path(i); end > i {
			s.add(kind, i, end)
			return end
		}
	case ':':
		if s.at(i+1) == ':' && (i == s.base || !s.glued || classOf[s.text[i-1]]&cAlnum == 0) {
			if end := s.ipv6(i); end > i {
				s.add(IP, i, end)
				return end
			}
		}
	case '[':
		if end, kind := s.placeholder(i); end > i {
			s.add(kind, i, end)
			return end
		}
	case '\\':
		return s.escape(i)
	case '%':
		if end := s.variablePath(i); end > i {
			s.add(Path, i, end)
			return end
		}
	case '-':
		if end := s.pem(i); end > i {
			return end
		}
		if from, to := s.option(i); from < to {
			return s.secret(i, from, to)
		}
	}
	s.addPunct(i, i+1, uint64(c))
	return i + 1
}

// The sanitiser replaces private parts of a text by these marks. The token of a mark has the
// same kind as the token of the part that the mark replaces.
const (
	MarkPath   = "[PATH]"
	MarkIP     = "[IP]"
	MarkSecret = "[REDACTED]"
	MarkEmail  = "[EMAIL]"
)

func (s *scanner) placeholder(i int) (int, Kind) {
	rest := s.text[i:]
	switch {
	case strings.HasPrefix(rest, MarkSecret):
		return i + len(MarkSecret), Secret
	case strings.HasPrefix(rest, MarkPath):
		return i + len(MarkPath), Path
	case strings.HasPrefix(rest, MarkIP):
		return i + len(MarkIP), IP
	case strings.HasPrefix(rest, MarkEmail):
		return i + len(MarkEmail), Email
	}
	return i, Punct
}

// escape reads a backslash and the character after it. In JSON and source code, a line end or a
// quote is written as these two characters.
func (s *scanner) escape(i int) int {
	if end := s.uncPath(i); end > i {
		s.add(Path, i, end)
		return end
	}
	switch c := s.at(i + 1); c {
	case '/':
		if end, kind := s.path(i); end > i {
			s.add(kind, i, end)
			return end
		}
		s.addPunct(i, i+2, '/')
		return i + 2
	case 'n', 'r':
		s.addNewline(i, i+2)
		return i + 2
	case 't':
		s.glued = false
		return i + 2
	case '"', '\'', '\\':
		s.addPunct(i, i+2, uint64(c))
		return i + 2
	case 'u':
		value := uint64(0)
		for k := i + 2; k < i+6; k++ {
			if !isHex(s.at(k)) {
				value = 0
				break
			}
			value = value<<4 | uint64(hexValue(s.at(k)))
		}
		if value > 0 && value < 0x80 && classOf[byte(value)]&cAlnum == 0 {
			s.addPunct(i, i+6, value)
			return i + 6
		}
	}
	s.addPunct(i, i+1, '\\')
	return i + 1
}

func hexValue(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}

// OpensQuote reports whether the character of a Punct is a quote that may open a quotation.
func OpensQuote(char uint64) bool {
	switch char {
	case '"', '\'', '`', '“', '‘', '«':
		return true
	}
	return false
}
