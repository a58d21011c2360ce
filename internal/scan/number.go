package scan

// number reads a token that begins with a digit: an address, a fraction, a version, a
// time, a date or a plain number. If a letter touches the digits, the text is an
// identifier and number does not read it.
func (s *scanner) number(i int) int {
	j := s.digitsEnd(i)
	next := s.at(j)
	if !isDigit(s.at(j + 1)) {
		if classOf[next]&(cLetter|cHigh) != 0 || next == '_' || next == '-' && s.is(j+1)&cLetter != 0 {
			return i
		}
		return s.digits(i, j, false)
	}
	switch next {
	case '.':
		return s.dottedNumber(i)
	case ':':
		return s.id(i, s.timeEnd(j))
	case '-':
		return s.id(i, s.dateEnd(j))
	case '/':
		if k := s.digitsEnd(j + 1); s.at(k) == '/' && isDigit(s.at(k+1)) {
			return s.id(i, s.digitsEnd(k+1))
		}
	case ',':
		k := j
		for s.at(k) == ',' && s.digitsEnd(k+1) == k+4 {
			k += 4
		}
		if k > j {
			return s.fraction(i, k)
		}
	case '_':
		return i
	}
	if classOf[next]&cLetter != 0 {
		return i
	}
	return s.digits(i, j, false)
}

func (s *scanner) id(start, end int) int {
	s.add(ID, start, end)
	return end
}

// digits adds a number. The port of a host, the line of a file, the index of a field and an
// amount of money become IDs, because they say nothing about the class of the failure.
func (s *scanner) digits(start, end int, inName bool) int {
	kind, num := Number, int64(-1)
	if end-start <= 18 {
		num = 0
		for _, c := range []byte(s.text[start:end]) {
			num = num*10 + int64(c-'0')
		}
	}
	if s.glued && !inName {
		switch before, hash := s.before(); {
		case hash == '$':
			num = -1
		case hash == ':' && (before.place() || before == ID), hash == '.' && before == Word:
			kind = ID
		}
	}
	s.add(kind, start, end)
	if kind == Number {
		s.dst[len(s.dst)-1].Num = num
	}
	return end
}

// before looks at the last token. If it is a Punct, before returns its hash and the kind of the
// token directly before it. For the ':' after the bracket in [2001:db8::1]:443, this kind is
// IP.
func (s *scanner) before() (k Kind, hash uint64) {
	n := len(s.dst) - 1
	if n < 0 || s.dst[n].Kind != Punct {
		return Punct, 0
	}
	k, hash = Punct, s.dst[n].Hash
	if n > 0 && s.dst[n].Glued {
		k = s.dst[n-1].Kind
		if n > 1 && s.dst[n-1].Hash == ']' && s.dst[n-2].Kind == IP {
			k = IP
		}
	}
	return k, hash
}

func (k Kind) place() bool { return k == Host || k == IP || k == File || k == Path || k == URL }

// fraction adds a number with a fraction or separators. Its token has no value.
func (s *scanner) fraction(start, end int) int {
	s.add(Number, start, end)
	s.dst[len(s.dst)-1].Num = -1
	return end
}

func (s *scanner) digitsEnd(i int) int {
	for isDigit(s.at(i)) {
		i++
	}
	return i
}

// dottedNumber reads numbers with dots, such as 1.5, 1.2.3 and 10.0.0.1.
func (s *scanner) dottedNumber(i int) int {
	parts, octets, j := 1, s.octet(i), s.digitsEnd(i)
	for s.at(j) == '.' && isDigit(s.at(j+1)) {
		octets = octets && s.octet(j+1)
		j = s.digitsEnd(j + 1)
		parts++
	}
	switch {
	case parts == 4 && octets && s.is(j)&cAlnum == 0 && !s.isVersion(i, j):
		s.add(IP, i, j)
	case parts == 2 && (s.is(j)&cLetter == 0 || s.unitAt(j)):
		return s.fraction(i, j)
	default:
		for s.is(j)&cAlnum != 0 || (s.at(j) == '-' || s.at(j) == '+' || s.at(j) == '.') && s.is(j+1)&cAlnum != 0 {
			j++
		}
		s.add(ID, i, j)
	}
	return j
}

// octet reports whether the digits at i are a number from 0 to 255, a part of an IPv4 address.
func (s *scanner) octet(i int) bool {
	n := s.digitsEnd(i) - i
	return n < 3 || n == 3 && s.text[i:i+3] <= "255"
}

// isVersion reports whether four numbers with dots are a version and not an address. They are a
// version after the word version, or after a product and '/', as browsers write it. In
// host/address:port, as Java writes it, they are an address.
func (s *scanner) isVersion(i, j int) bool {
	n := len(s.dst)
	if n == 0 {
		return false
	}
	if last := &s.dst[n-1]; last.Kind == Word {
		return versionWords[last.Hash]
	}
	if s.dst[n-1].Hash != '/' || n < 2 || !s.dst[n-1].Glued || !s.glued || s.dst[n-2].Kind != Word {
		return false
	}
	port := s.at(j) == ':' && isDigit(s.at(j+1))
	return !port && !private(s.text[i:j])
}

// versionWords are the words before a version or the number of a section.
var versionWords = func() map[uint64]bool {
	words := make(map[uint64]bool)
	for _, word := range [...]string{"version", "driver", "section", "release", "build", "firmware", "chapter", "paragraph", "clause", "appendix", "annex", "article",
		"revision", "sdk", "kernel", "chrome", "patch", "hotfix", "oid", "spec", "ver", "figure", "table", "step", "plugin", "library", "package"} {
		words[HashWord(word)] = true
	}
	return words
}()

// private reports whether an IPv4 address belongs to a private or local network.
func private(v4 string) bool {
	for _, prefix := range [...]string{"10.", "127.", "192.168.", "169.254."} {
		if len(v4) > len(prefix) && v4[:len(prefix)] == prefix {
			return true
		}
	}
	return len(v4) > 7 && v4[:4] == "172." && v4[6] == '.' && "16" <= v4[4:6] && v4[4:6] <= "31"
}

// unitAt reports whether the text at i is a unit of the number before it and is a whole word.
func (s *scanner) unitAt(i int) bool {
	j := i
	for j <= i+unitMax && s.is(j)&cLetter != 0 {
		j++
	}
	return j > i && j <= i+unitMax && !isDigit(s.at(j))
}

// timeEnd returns the end of a time, or of a file's line and column; i is at the
// first ':'.
func (s *scanner) timeEnd(i int) int {
	for (s.at(i) == ':' || s.at(i) == '.' || s.at(i) == ',') && isDigit(s.at(i+1)) {
		i = s.digitsEnd(i + 1)
	}
	switch c := s.at(i); {
	case c == 'Z' && s.is(i+1)&cAlnum == 0:
		i++
	case (c == '+' || c == '-') && isDigit(s.at(i+1)) && isDigit(s.at(i+2)):
		i = s.digitsEnd(i + 1)
		if s.at(i) == ':' && isDigit(s.at(i+1)) {
			i = s.digitsEnd(i + 1)
		}
	}
	return i
}

// dateEnd returns the end of a date with its time, or of other digits joined by
// hyphens.
func (s *scanner) dateEnd(i int) int {
	for s.at(i) == '-' && isDigit(s.at(i+1)) {
		i = s.digitsEnd(i + 1)
	}
	if (s.at(i) == 'T' || s.at(i) == 't') && isDigit(s.at(i+1)) {
		return s.timeEnd(s.digitsEnd(i + 1))
	}
	return i
}
