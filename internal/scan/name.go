package scan

// name reads a token that begins with a letter or a digit. It first looks for a text that is one
// token in spite of its punctuation, such as a host or a URL. Otherwise it reads a word or a
// number.
func (s *scanner) name(i int) int {
	c := classOf[s.text[i]]
	if c&cHigh != 0 {
		if s.mask&cAt != 0 {
			if end := s.email(i); end > i {
				s.add(Email, i, end)
				return end
			}
		}
		return s.foreign(i)
	}
	const structured = cOther | cDigit | cAt | cColon | cSlash | cDot | cBackslash | cJoin | cHigh
	if s.mask&structured != 0 || s.chunkEnd-i >= shapeMin {
		if from, end, kind := s.whole(i); end > i {
			if from > i { // the text is a password after a user name
				return s.secret(i, from, end)
			}
			s.add(kind, i, end)
			return end
		}
		if c&cDigit != 0 {
			if end := s.number(i); end > i {
				return end
			}
		}
	} else if s.localhost(i) {
		s.add(Host, i, i+len(localhost))
		return i + len(localhost)
	}
	return s.identifier(i)
}

// whole finds a text that is one token in spite of its punctuation, such as a host, a URL or an
// e-mail address. For a user name with a password, the token is only the password, and the first
// result is its beginning. For all other tokens, the first result is i.
func (s *scanner) whole(i int) (from, end int, kind Kind) {
	if s.chunkEnd-i >= shapeMin {
		if end = s.shape(i); end > i {
			return i, end, Secret
		}
		if s.mask&(cDot|cColon) != 0 && s.mask&cDigit != 0 {
			if end = s.dottedToken(i); end > i {
				return i, end, Secret
			}
		}
		if end, kind = s.blob(i); end > i {
			return i, end, kind
		}
	}
	if s.mask&(cJoin|cDigit) == cJoin|cDigit {
		if end = s.hostAddress(i); end > i {
			return i, end, IP
		}
	}
	if s.mask&cColon != 0 {
		if end = s.url(i); end > i {
			return i, end, URL
		}
		if end = s.ipv6(i); end > i {
			return i, end, IP
		}
		if end = s.mac(i); end > i {
			return i, end, ID
		}
		if end = s.windowsPath(i); end > i {
			return i, end, Path
		}
	}
	if s.mask&cAt != 0 {
		if s.mask&cColon != 0 {
			if from, end = s.password(i); end > i {
				return from, end, Secret
			}
		}
	}
	if s.mask&(cAt|cOther) != 0 {
		if end = s.email(i); end > i {
			return i, end, Email
		}
	}
	if s.mask&cSlash != 0 {
		if end = s.relPath(i); end > i {
			return i, end, Path
		}
	}
	if s.mask&cDot != 0 && classOf[s.text[i]]&cDigit == 0 {
		if end, kind = s.dotted(i); end > i {
			return i, end, kind
		}
	}
	if s.localhost(i) {
		return i, i + len(localhost), Host
	}
	return i, i, Word
}

// identifier adds the words that '_' and '-' join. If the identifier is the name of a
// secret, it also adds the secret that follows.
func (s *scanner) identifier(i int) int {
	if s.mask&^cLetter == 0 && i < s.chunkEnd { // the text is one word of letters between blanks
		end := s.letters(i, s.chunkEnd, s.mask)
		return s.valueOf(i, end)
	}
	start, first := i, true
	for {
		j := i
		var mask class
		for ; j < len(s.text); j++ {
			c := classOf[s.text[j]]
			if c&cAlnum == 0 {
				break
			}
			mask |= c
		}
		if s.is(j)&cHigh != 0 && s.contraction(j) == 0 && s.letterAt(j) {
			return s.foreign(i)
		}
		if !first && s.chunkEnd-i >= shapeMin {
			if end := s.shape(i); end > i {
				s.add(Secret, i, end)
				return end
			}
		}
		switch {
		case mask&cDigit == 0:
			j = s.letters(i, j, mask)
		case mask&cLetter == 0:
			s.digits(i, j, !first)
		default:
			j = s.mixed(i, j)
		}
		k := j
		for s.at(k) == '_' {
			k++
		}
		if k == j && s.at(k) == '-' {
			k++
		}
		if k == j || s.is(k)&cAlnum == 0 {
			if mask&cLetter != 0 || !first {
				return s.valueOf(start, j)
			}
			return j
		}
		i, first = k, false
	}
}

// valueOf looks for a secret after an identifier. If the identifier is the name of a secret,
// valueOf adds the secret that follows and returns the position after the secret. Otherwise it
// returns the end of the identifier.
func (s *scanner) valueOf(start, end int) int {
	if from, to := s.named(start, end); from < to {
		return s.secret(end, from, to)
	}
	return end
}

// mixed adds a run of letters and digits from i to j and returns its end. If a contraction
// follows, the returned end is after j.
func (s *scanner) mixed(i, j int) int {
	var m mixture
	m.count(s.text[i:j])
	n, rest := j-i, i+m.lastDigit+1
	switch {
	case n >= 8 && m.hex, n > 2 && s.text[i] == '0' && lower(s.text[i+1]) == 'x':
		s.add(ID, i, j)
	case isDigit(s.text[i]) && m.groups == 1 && j-rest <= unitMax:
		s.digits(i, rest, false)
		return s.letters(rest, j, cLetter)
	case isDigit(s.text[i]):
		if !s.duration(i, j) {
			s.add(ID, i, j)
		}
	case n < 6 && m.groups == 1 || n < 4:
		s.word(i, j, false)
	case m.groups == 1 && m.digits <= 6 && (rest == j || s.wordAt(rest, j)):
		s.codeWord(i, rest, i+m.firstDigit)
		if rest < j {
			return s.letters(rest, j, cLetter)
		}
	default:
		s.add(ID, i, j)
	}
	return j
}

// unitMax is the length of the longest unit that may follow a number directly: 10minutes.
const unitMax = 7

// mixture counts the parts of a run of letters and digits.
type mixture struct {
	groups, digits        int // the number of groups of consecutive digits, and the number of all digits
	firstDigit, lastDigit int
	hex                   bool
}

func (m *mixture) count(text string) {
	m.hex, m.firstDigit = true, -1
	for k := range len(text) {
		c := text[k]
		if !isDigit(c) {
			m.hex = m.hex && lower(c) <= 'f'
			continue
		}
		if m.firstDigit < 0 {
			m.firstDigit = k
		}
		if m.digits == 0 || m.lastDigit != k-1 {
			m.groups++
		}
		m.digits++
		m.lastDigit = k
	}
}

// wordAt reports whether the text from i to j is a capital letter followed by small letters, like a
// word.
func (s *scanner) wordAt(i, j int) bool {
	if classOf[s.text[i]]&cLower != 0 {
		return j-i >= 4
	}
	return j-i >= 3 && classOf[s.text[i+1]]&cLower != 0
}

// codeWord adds letters that end with digits. Words before the last word become tokens
// of their own.
func (s *scanner) codeWord(i, j, firstDigit int) {
	from := i
	for k := firstDigit - 1; k > i+1; k-- {
		if classOf[s.text[k]]&cUpper != 0 && classOf[s.text[k-1]]&cLower != 0 {
			s.letters(i, k, cLetter)
			from = k
			break
		}
	}
	if j-from > 16 {
		s.add(ID, from, j)
		return
	}
	s.word(from, j, false)
}

// duration adds the numbers and units of a duration such as 1h30m or 2m0s.
func (s *scanner) duration(i, j int) bool {
	for k := i; k < j; {
		k = s.digitsEnd(k)
		from := k
		for k < j && !isDigit(s.text[k]) {
			k++
		}
		switch s.text[from:k] {
		case "d", "h", "m", "s", "ms", "us", "ns", "min", "sec":
		default:
			return false
		}
	}
	for k := i; k < j; {
		end := s.digitsEnd(k)
		s.digits(k, end, false)
		for k = end; k < j && !isDigit(s.text[k]); {
			k++
		}
		s.word(end, k, true)
	}
	return true
}
