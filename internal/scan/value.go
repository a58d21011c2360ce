package scan

import "strings"

// value returns the position of the secret that is the value of a name. The name begins at the
// given position. If the value is not a secret, the two results are equal.
func (s *scanner) value(start int, level strength, l link) (from, to int) {
	i := s.skipSpaces(l.value)
	none := i
	if s.endsLine(i) && level == sureKey {
		return s.nextLine(i)
	}
	if l.element {
		if strings.HasPrefix(s.text[i:], "<![CDATA[") {
			i += len("<![CDATA[")
			if n := strings.Index(s.text[i:min(len(s.text), i+elementMax)], "]]>"); n > 0 && !s.skips(i, level) && s.isSecret(i, i+n, level, '<', l) {
				return i, i + n
			}
			return none, none
		}
		rest := s.text[i:min(len(s.text), i+elementMax)]
		n := strings.IndexByte(rest, '<')
		if escaped := strings.Index(rest, "&lt;"); escaped >= 0 && (n < 0 || escaped < n) {
			n = escaped
		}
		if n > 0 && !s.skips(i, level) && s.isSecret(i, i+n, level, '<', l) {
			return i, i + n
		}
		return none, none
	}
	if s.at(i) == '[' { // the value is a list, as Go prints header values
		if end, kind := s.placeholder(i); end > i {
			if kind == Secret {
				return i, end
			}
			return none, none
		}
		i++
	}
	if isLiteral(s.at(i)) && isQuote(s.at(i+1)) && s.at(i+1) != '`' { // the value is a bytes literal of Python, or a national one of SQL
		i++
	} else {
		i = s.afterType(i)
	}
	if c := s.at(i); c == '|' || c == '>' {
		if from, to := s.block(i); from < to && !s.skips(from, level) {
			return from, to
		}
	} else if c == '<' {
		if from, to := s.heredoc(i); from < to && !s.skips(from, level) {
			return from, to
		}
	}
	i = s.afterTag(i)
	if c := s.at(i); (c == '"' || c == '\'') && s.at(i+1) == c && s.at(i+2) == c { // a long text of Python
		i += 2
	}
	quote := byte(0)
	if isQuote(s.at(i)) {
		quote, i = s.at(i), i+1
	} else if j := s.afterEscapes(i); j > i {
		quote, i = '\\', j+1
		l.tight = true
	} else if s.at(i) == '{' && isQuote(s.afterEscapesAt(i+1)) { // an object
		return none, none
	}
	if level == headerKey {
		return s.header(start, i, quote, l)
	}
	if i >= len(s.text) || s.skips(i, level) {
		return none, none
	}
	if level == cookieKey {
		if !s.pairAt(i) {
			return none, none
		}
		return i, s.lineEnd(start, i, quote)
	}
	if n := s.schemeLength(i); n > 0 {
		i += n
	}
	to = s.end(i, quote)
	if level == authKey {
		if j := s.userEnd(i, to); quote != 0 && j > i && to-j > 4 && strings.IndexByte(s.text[j:to], ' ') < 0 && !s.harmless(j+1) {
			return j + 1, to
		}
		if n := strings.IndexByte(s.text[i:min(to, i+passwordMax)], ':'); n > 0 && s.passwordLike(i+n+1, to) {
			return i + n + 1, to
		}
		if s.is(start)&cUpper != 0 && s.is(start+1)&cUpper != 0 && l.tight && s.passwordLike(i, to) { // REDISCLI_AUTH
			return i, to
		}
	}
	if quote == 0 && level == sureKey {
		if _, end := s.groups(i); end > to {
			to = end
		}
	}
	if quote == 0 && to > i && s.isNext(i, to) {
		return none, none
	}
	if to > i && s.isSecret(i, to, level, quote, l) {
		return i, to
	}
	return none, none
}

const elementMax = 1 << 10

// isNext reports whether a name has no value, because the text after the name is already the
// next name or option.
func (s *scanner) isNext(from, to int) bool {
	switch c := s.at(to); {
	case strings.HasPrefix(s.text[from:], "--"):
		return true
	case c == ':':
		return s.nameAt(from) && strengthOf(s.text[from:to]) != noKey
	default:
		return isQuote(c) && (s.text[to-1] == '=' || s.text[to-1] == ':')
	}
}

// skips reports whether s.value must skip the text at i, because it is not a value or because
// other methods read it.
func (s *scanner) skips(i int, level strength) bool {
	if strings.HasPrefix(s.text[i:], "-----BEGIN ") {
		return true
	}
	return level == folderKey && (s.text[i] == '/' || s.at(i+1) == ':') || s.harmless(i)
}

func (s *scanner) isSecret(from, to int, level strength, quote byte, l link) bool {
	switch level {
	case passKey:
		return (to-from > 3 || !allDigits(s.text[from:to])) && (!l.bare || strings.IndexByte(s.text[from:to], ' ') < 0)
	case sureKey, folderKey:
		return !l.bare || strings.IndexByte(s.text[from:to], ' ') < 0
	case tokenKey:
		if l.tight || quote != 0 && s.looksSecret(from, to) {
			return to-from >= 4 && (to-from >= 6 || !allDigits(s.text[from:to]))
		}
	case hintKey, noKey, headerKey, cookieKey:
		if !l.tight && quote == 0 && s.is(to)&cBlank == 0 {
			return false
		}
		return to-from >= blobKeyMin && s.blobLike(from, to)
	case pinKey:
		return to-from >= 4 && to-from <= 19 && allDigits(s.text[from:to])
	case idKey:
		return s.uuid(from, to) || to-from >= blobKeyMin && s.blobLike(from, to)
	case authKey:
		return to-from >= 8 && s.encoded(from, to)
	case blobKey:
		return to-from >= blobKeyMin || to-from >= 8 && s.looksSecret(from, to)
	}
	return s.looksSecret(from, to)
}

// header returns the position of the secret after the scheme in a header. If the scheme has
// several parts, the secret ends at the end of the line.
func (s *scanner) header(start, i int, quote byte, l link) (from, to int) {
	n := s.schemeLength(i)
	rest := s.text[min(i, len(s.text)):]
	for _, scheme := range [...]string{"Digest ", "AWS4-HMAC-SHA256 ", "OAuth ", "Hawk ", "SharedKey ", "SharedKeyLite ", "Signature "} {
		if hasFoldPrefix(rest, scheme) {
			from = i + len(scheme)
			return from, s.lineEnd(start, from, quote)
		}
	}
	if n > 0 {
		from = i + n
		if from >= len(s.text) || s.skips(from, headerKey) {
			return i, i
		}
		return from, max(from, min(s.end(from, quote), s.valueEnd(from)))
	}
	if i >= len(s.text) || s.skips(i, headerKey) {
		return i, i
	}
	to = s.end(i, quote)
	if s.looksSecret(i, to) || l.tight && to-i >= 8 {
		return i, to
	}
	return i, i
}

// schemeLength returns the length of a scheme such as "Bearer " before a value.
func (s *scanner) schemeLength(i int) int {
	j := i
	for j < i+12 && s.is(j)&cAlnum != 0 {
		j++
	}
	if s.at(j) != ' ' || !isScheme(s.text[i:j]) {
		return 0
	}
	return s.skipSpaces(j) - i
}

// lineEnd returns the end of a header's value: the end of the line, of the quotes
// around the value or the header, or of the brackets around it.
func (s *scanner) lineEnd(start, i int, quote byte) int {
	if quote != 0 {
		return s.end(i, quote)
	}
	outer := byte(0)
	if start > s.base && isQuote(s.text[start-1]) {
		outer = s.text[start-1]
	}
	for ; i < len(s.text); i++ {
		c := s.text[i]
		if classOf[c]&cNewline != 0 || c == outer && outer != 0 || c == ']' || c == '\\' && (s.at(i+1) == 'n' || s.at(i+1) == 'r') {
			break
		}
		if c == '\\' {
			i++
		}
	}
	return min(i, len(s.text))
}

// end returns the end of a value, with or without quotes. A quote directly before a word does
// not end the value, unless it is the last quote nearby on its line.
func (s *scanner) end(i int, quote byte) int {
	if quote == 0 {
		return s.valueEnd(i)
	}
	last, limit := 0, len(s.text)
	for ; i < limit; i++ {
		switch c := s.text[i]; {
		case c == '\\' && quote == '\\' && s.afterEscapes(i) > i:
			return i
		case c == '\\':
			i++
		case c == quote && s.is(i+1)&cAlnum == 0:
			return i
		case c == quote:
			if last == 0 {
				limit = min(limit, i+256)
			}
			last = i
		case classOf[c]&cNewline != 0 && last > 0:
			return last
		case classOf[c]&cNewline != 0:
			return i
		}
	}
	if last > 0 {
		return last
	}
	return len(s.text)
}

// afterEscapes returns the position of a quote that is escaped at i by one or more backslashes, or i.
func (s *scanner) afterEscapes(i int) int {
	j := i
	for j < i+8 && s.at(j) == '\\' {
		j++
	}
	if j > i && isQuote(s.at(j)) {
		return j
	}
	return i
}

// afterEscapesAt returns the byte after such backslashes.
func (s *scanner) afterEscapesAt(i int) byte { return s.at(s.afterEscapes(i)) }

// valueEnd returns the end of a value without quotes.
func (s *scanner) valueEnd(i int) int {
	if m := &s.values; m.text != len(s.text) || i < m.from || i > m.to { // else the value is the end of the last one
		m.text, m.from, m.to = len(s.text), i, i
		for m.to < len(s.text) && !s.ends(m.to) {
			m.to++
		}
	}
	j := s.values.to
	for j > i && (s.text[j-1] == '.' || s.text[j-1] == ',' || s.text[j-1] == ':') {
		j--
	}
	return j
}

// ends reports whether the character at i ends a value without quotes.
func (s *scanner) ends(i int) bool {
	switch c := s.text[i]; c {
	case ';', '"', '\'', '`', '<', '>':
		return true
	case '\\':
		return s.at(i+1) == 'n' || s.at(i+1) == 'r' || isQuote(s.at(i+1))
	case '&', ',':
		return s.is(i+1)&cAlnum == 0 || s.nameAt(i+1)
	case ')', ']', '}':
		return s.is(i+1)&cAlnum == 0
	case 0xe2: // a typographic quote, a dash or an ellipsis ends the value
		return s.at(i+1) == 0x80
	default:
		return classOf[c]&cBlank != 0
	}
}

// nameAt reports whether a name followed by '=' or ':' is at i.
func (s *scanner) nameAt(i int) bool {
	for j := i; j < i+32; j++ {
		switch c := s.at(j); {
		case c == '=' || c == ':':
			return j > i
		case classOf[c]&(cAlnum|cJoin) == 0:
			return false
		}
	}
	return false
}
