package scan

import "strings"

const (
	pemBegin = "-----BEGIN "
	pemFinal = "-----END "
	pemLine  = 40 // the shortest length of a base64 line in a block; only the last line may be shorter
)

// pem returns the end of a PEM block. The beginning or the end of the block may be missing, because
// the text was cut.
func (s *scanner) pem(i int) int {
	switch {
	case strings.HasPrefix(s.text[i:], pemBegin):
	case strings.HasPrefix(s.text[i:], pemFinal):
		return s.pemTail(i)
	default:
		return i
	}
	if s.pemEnd <= i {
		s.pemEnd = len(s.text)
		if n := strings.Index(s.text[i:], pemFinal); n >= 0 {
			s.pemEnd = i + n
		}
	}
	body := s.pemLabel(i + len(pemBegin))
	if body == 0 {
		return i
	}
	end := 0
	if s.pemEnd < len(s.text) && s.pemEnd >= body && !strings.Contains(s.text[body:s.pemEnd], pemBegin) {
		end = s.pemLabel(s.pemEnd + len(pemFinal))
	}
	if end == 0 {
		if end = s.pemBody(body); end == body {
			return i // the text has only the word BEGIN or END, without a block
		}
	}
	s.add(Secret, i, end)
	s.pemFloor = end
	return end
}

// pemLabel returns the end of a label and of the hyphens after it, or 0 without a
// label. The label may be cut off.
func (s *scanner) pemLabel(i int) int {
	for limit := i + 64; i < limit && (s.is(i)&(cUpper|cDigit) != 0 || s.at(i) == ' '); i++ {
	}
	hyphens := 0
	for hyphens < 5 && s.at(i) == '-' {
		hyphens++
		i++
	}
	if hyphens < 5 && i < len(s.text) {
		return 0
	}
	return i
}

// pemBody returns the end of a PEM block whose end was cut off. The lines at i that are headers
// or base64 belong to the block.
func (s *scanner) pemBody(i int) int {
	end := i
	for i < len(s.text) {
		for i < len(s.text) && (classOf[s.text[i]]&cBlank != 0 || s.text[i] == '\\') {
			if s.text[i] == '\\' {
				i++
			}
			i++
		}
		from := min(i, len(s.text))
		for i = from; i < len(s.text) && base64Char(s.text[i]); i++ {
		}
		switch after := s.at(i); {
		case i-from >= pemLine, i > from && (after <= ' ' || after == '\\' || isQuote(after)) && (s.senseless(from, i) || i == len(s.text)):
			end = i
		case after == '-' && strings.HasPrefix(s.text[from:], "Proc-Type:"), after == '-' && strings.HasPrefix(s.text[from:], "DEK-Info:"):
			for i < len(s.text) && classOf[s.text[i]]&cNewline == 0 && s.text[i] != '\\' {
				i++
			}
		default:
			return end
		}
	}
	return end
}

func base64Char(c byte) bool { return classOf[c]&cAlnum != 0 || c == '+' || c == '/' || c == '=' }

// pemTail adds the end of a block whose beginning was cut off, with the lines of
// base64 before it.
func (s *scanner) pemTail(i int) int {
	end := s.pemLabel(i + len(pemFinal))
	if end == 0 {
		return i
	}
	start, floor := i, max(s.base, s.pemFloor)
	for last := true; start > floor; last = false {
		j := start
		for j > floor && (classOf[s.text[j-1]]&cBlank != 0 || j > floor+1 && s.text[j-2] == '\\' && (s.text[j-1] == 'n' || s.text[j-1] == 'r')) {
			if classOf[s.text[j-1]]&cBlank == 0 {
				j--
			}
			j--
		}
		k := j
		for k > floor && base64Char(s.text[k-1]) {
			k--
		}
		if k == j || !last && j-k < pemLine && k > s.base {
			break
		}
		start = k
	}
	n := len(s.dst)
	for n > 0 && int(s.dst[n-1].End) > start {
		n--
	}
	if n < len(s.dst) {
		start = min(start, int(s.dst[n].Start))
		s.glued = s.dst[n].Glued
		s.dst = s.dst[:n]
	}
	s.add(Secret, start, end)
	s.pemFloor = end
	return end
}
