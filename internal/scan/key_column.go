package scan

import "strings"

// column returns the position of the value after a name in a table: after a tab, two blanks, '|', "->"
// or the type of a value in the registry of Windows.
func (s *scanner) column(start, end int) (from, to int) {
	i := s.skipSpaces(end)
	wide := i > end+1 || s.at(end) == '\t'
	switch rest := s.text[i:]; {
	case strings.HasPrefix(rest, "| "):
		i += 2
	case strings.HasPrefix(rest, "-> "):
		i += 3
	case strings.HasPrefix(rest, "REG_SZ "), strings.HasPrefix(rest, "REG_SZ\t"):
		i += len("REG_SZ ")
	case !wide:
		return end, end
	}
	i = s.skipSpaces(i)
	if level := strengthOf(s.text[start:end]); level != sureKey && level != passKey && level != tokenKey {
		return end, end
	}
	if from, to = s.next(i); s.harmless(from) || !s.passwordLike(from, to) || wide && s.at(end) != '\t' && i < from+1 && !strong(s.text[from:to]) && !strings.Contains(s.text[end:from], "REG_SZ") {
		return end, end
	}
	return from, to
}

// rowsMax is how many rows of a table are read.
const rowsMax = 64

// rows covers the passwords in the rows below a head that names their column, in a table whose
// cells are separated by ',', ';' or a tab. The name is the token k.
func (s *scanner) rows(k int) {
	start, end := int(s.dst[k].Start), int(s.dst[k].End)
	begin := s.lineBegin(start)
	head := s.text[begin:end] + s.lineRest(end)
	separator := byte(0)
	for _, c := range [...]byte{',', ';', '\t'} {
		if strings.IndexByte(head, c) >= 0 {
			separator = c
			break
		}
	}
	if separator == 0 || s.at(end) != separator && !s.endsLine(end) || start > begin && s.text[start-1] != separator || !isHead(head, separator) {
		return
	}
	cell := strings.Count(s.text[begin:start], string(rune(separator)))
	cells := strings.Count(head, string(rune(separator)))
	i := begin + len(head)
	for range rowsMax {
		for i < len(s.text) && (s.text[i] == '\n' || s.text[i] == '\r') {
			i++
		}
		row := s.lineRest(i)
		if row == "" || strings.Count(row, string(rune(separator))) != cells {
			return
		}
		from := i
		for range cell {
			from += strings.IndexByte(s.text[from:], separator) + 1
		}
		to := from
		for to < i+len(row) && s.text[to] != separator {
			to++
		}
		if to-from >= 4 && !s.harmless(from) && s.text[from] != '[' {
			k = s.cover(k, from, to)
		}
		i += len(row)
	}
}

// endsLine reports whether a line end is at i, or an escaped one, as JSON writes it.
func (s *scanner) endsLine(i int) bool {
	c := s.at(i)
	return c == '\n' || c == '\r' || c == '\\' && (s.at(i+1) == 'n' || s.at(i+1) == 'r')
}

// isHead reports whether a line consists of names of columns.
func isHead(line string, separator byte) bool {
	for i := range len(line) {
		if c := line[i]; c != separator && classOf[c]&(cAlnum|cJoin|cHigh) == 0 && !isQuote(c) {
			return false
		}
	}
	return true
}

// nextLine returns the position of a password alone on the line after a prompt such as "Password:".
func (s *scanner) nextLine(i int) (from, to int) {
	from = i
	for s.endsLine(from) {
		if s.text[from] == '\\' { // escaped
			from++
		}
		from++
	}
	if from >= len(s.text) {
		return i, i
	}
	if from, to = s.next(from); !strong(s.text[from:to]) || !s.endsLine(to) && to < len(s.text) && !isQuote(s.text[to]) || s.harmless(from) {
		return i, i
	}
	return from, to
}
