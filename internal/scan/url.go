package scan

import "strings"

// url reads a URL that begins with a scheme. The URL ends at white space or a quote;
// punctuation and closing brackets at its end are not part of it.
func (s *scanner) url(i int) int {
	if i < s.noScheme || s.mask&cSlash == 0 {
		return i
	}
	j := i
	for s.is(j)&(cAlnum|cJoin|cDot) != 0 || s.at(j) == '+' {
		j++
	}
	rest := s.text[j:]
	switch {
	case strings.HasPrefix(rest, "://"):
		return s.urlEnd(i, j+3)
	case strings.HasPrefix(rest, `:\/\/`):
		return s.urlEnd(i, j+5)
	case j == i+4 && strings.HasPrefix(rest, ":") && strings.EqualFold(s.text[i:j], "jdbc"):
		return s.jdbc(i, j+1)
	}
	s.noScheme = j
	return i
}

// jdbc reads the rest of a URL after its prefix "jdbc:". The host comes after "//" or, for Oracle's
// drivers, after "@".
func (s *scanner) jdbc(start, i int) int {
	for j := i; j < i+32 && (s.is(j)&cAlnum != 0 || s.at(j) == ':' || s.at(j) == '/' || s.at(j) == '@'); j++ {
		if strings.HasPrefix(s.text[j:], "//") || s.text[j] == '@' {
			return s.urlEnd(start, j)
		}
	}
	return start
}

func (s *scanner) urlEnd(start, i int) int {
	j := s.urlChars(i)
	if j == i {
		return start
	}
	return s.trimURL(start, s.passwordEnd(i, j))
}

// passwordEnd returns the real end of a URL that seems to end within its password: the URL has
// a ':' and no '@', and an '@' follows later. A password may contain any character.
func (s *scanner) passwordEnd(i, j int) int {
	if j == s.chunkEnd || strings.IndexByte(s.text[i:j], '@') >= 0 {
		return j
	}
	colon := strings.IndexByte(s.text[i:j], ':')
	if colon < 0 || isDigit(s.at(i+colon+1)) {
		return j
	}
	limit := min(s.chunkEnd, j+256)
	if at := strings.IndexByte(s.text[j:limit], '@'); at >= 0 {
		return s.urlChars(j + at)
	}
	return j
}

// urlChars returns the end of a run of characters that a URL may contain. In texts from JSON,
// some of them are escaped.
func (s *scanner) urlChars(i int) int {
	for ; i < s.chunkEnd; i++ {
		switch s.text[i] {
		case '"', '\'', '<', '>', '`':
			return i
		case '\\':
			if s.at(i+1) != '/' && !strings.HasPrefix(s.text[i:], `\u00`) {
				return i
			}
		case 0xe2:
			if s.at(i+1) == 0x80 { // a typographic quote, a dash or an ellipsis ends the URL
				return i
			}
		}
	}
	return i
}

// trimURL returns the end of a URL without punctuation and unmatched closing brackets at its
// end.
func (s *scanner) trimURL(start, end int) int {
	var open [3]int
	counted := false
	for ; end > start; end-- {
		k := 0
		switch s.text[end-1] {
		case '.', ',', ';', ':', '!', '?', '*', '\\':
			continue
		case ')':
			k = 0
		case ']':
			k = 1
		case '}':
			k = 2
		default:
			return end
		}
		if !counted {
			counted = true
			for n, pair := range [...]string{"()", "[]", "{}"} {
				open[n] = strings.Count(s.text[start:end], pair[:1]) - strings.Count(s.text[start:end], pair[1:])
			}
		}
		if open[k] >= 0 {
			return end
		}
		open[k]++
	}
	return end
}
