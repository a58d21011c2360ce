package scan

import "strings"

// marks finds a phone number after '+', and a hash of a password after '$'.
func (s *scanner) marks(k int) (from, to int) {
	t := &s.dst[k]
	start := int(t.Start)
	switch t.Hash {
	case '+':
		if int(t.End) == start+1 && isDigit(s.at(start+1)) && (start == s.base || classOf[s.text[start-1]]&(cAlnum|cHigh|cDot) == 0) {
			return start, s.international(start + 1)
		}
	case '$':
		if int(t.End) == start+1 {
			return start, s.hash(start)
		}
	case '<':
		if t.End-t.Start == 3 {
			return s.hereString(int(t.End))
		}
	case ':':
		if int(t.End) == start+1 && t.Glued {
			return s.passwordFile(start)
		}
	case '@':
		if int(t.End) == start+1 && t.Glued {
			return s.accountAt(start)
		}
	}
	return start, start
}

// hereString returns the position of a password that a shell passes to a command: sudo -S <<< x.
func (s *scanner) hereString(i int) (from, to int) {
	line := s.text[s.lineBegin(i):i]
	for _, word := range [...]string{"sudo", "passw", "stdin", "passphrase", "login"} {
		if strings.Contains(line, word) {
			if from, to = s.next(i); s.at(from) == '$' {
				return i, i
			}
			return from, to
		}
	}
	return i, i
}

// passwordFile returns the position of the password in a line such as host:5432:database:user:x,
// as PostgreSQL keeps them. The first ':' is at i.
func (s *scanner) passwordFile(i int) (from, to int) {
	j := i + 1
	if s.at(j) == '*' {
		j++
	} else {
		j = s.digitsEnd(j)
	}
	if j == i+1 || j > i+6 || s.at(j) != ':' {
		return i, i
	}
	host := i
	for host > s.base && host > i-64 && s.is(host-1)&(cAlnum|cJoin|cDot) != 0 || host > s.base && s.text[host-1] == '*' {
		host--
	}
	if host == i || host > s.base && classOf[s.text[host-1]]&cBlank == 0 && !isQuote(s.text[host-1]) {
		return i, i
	}
	for range 2 {
		k := j + 1
		for s.is(k)&(cAlnum|cJoin|cDot) != 0 || s.at(k) == '*' {
			k++
		}
		if k == j+1 || s.at(k) != ':' || k == j+3 && isHex(s.at(j+1)) && isHex(s.at(j+2)) {
			return i, i
		}
		j = k
	}
	if allDigits(s.text[i+1:j]) || s.is(j+1)&cBlank != 0 || s.harmless(j+1) {
		return i, i
	}
	to = s.valueEnd(j + 1)
	if allDigits(s.text[j+1 : to]) {
		return i, i
	}
	return j + 1, to
}

// accountAt returns the position of the password in user/x@database; the '@' is at i.
func (s *scanner) accountAt(i int) (from, to int) {
	slash := -1
	j := i
	for j > s.base && j > i-64 {
		c := s.text[j-1]
		if classOf[c]&cBlank != 0 || isQuote(c) {
			break
		}
		switch c {
		case '/':
			if slash >= 0 {
				return i, i
			}
			slash = j - 1
		case '@', ':':
			return i, i
		}
		j--
	}
	if slash <= j || s.is(i+1)&cAlnum == 0 && s.at(i+1) != '/' || s.is(j)&cLetter == 0 || !s.passwordLike(slash+1, i) {
		return i, i
	}
	if !strings.ContainsAny(s.text[slash+1:i], "!$*+=~#?&%^") && !mixed(s.text[slash+1:i]) {
		return i, i
	}
	return slash + 1, i
}

// mixed reports whether a text has at least two digits, capitals and small letters.
func mixed(text string) bool {
	var run blobRun
	for i := range len(text) {
		run.add(classOf[text[i]])
	}
	return run.digits > 1 && run.upper > 0 && run.lower > 0
}

// international returns the end of a phone number after its '+': the code of a country and 7 to 13
// more digits.
func (s *scanner) international(i int) int {
	end, digits, groups := s.phoneEnd(i)
	if s.at(i) == '0' || digits < 9 || digits > 15 || groups == 1 && digits < 10 {
		return i - 1
	}
	return end
}

// phoneEnd returns the end of groups of digits, the number of digits and the number of groups.
func (s *scanner) phoneEnd(i int) (end, digits, groups int) {
	for j := i; ; {
		k := s.digitsEnd(j)
		if k > j {
			digits += k - j
			groups++
			end = k
		}
		switch c := s.at(k); {
		case (c == ' ' || c == '-' || c == '/' || c == ')') && isDigit(s.at(k+1)):
			j = k + 1
		case (c == ' ' || c == ')') && (s.at(k+1) == '(' || s.at(k+1) == ' ') && isDigit(s.at(k+2)):
			j = k + 2
		case c == '(' && isDigit(s.at(k+1)):
			j = k + 1
		default:
			if classOf[c]&cAlnum != 0 || c == '.' && isDigit(s.at(k+1)) {
				return i, 0, 0
			}
			return max(end, i), digits, groups
		}
		if groups > 8 {
			return i, 0, 0
		}
	}
}

// phone finds a number of 7 to 15 digits after a word such as phone.
func (s *scanner) phone(k int) (from, to int) {
	end := int(s.dst[k].End)
	i := s.skipSpaces(s.afterQuote(end))
	for range 3 {
		if c := s.at(i); c == ':' || c == '=' || c == '#' || c == '.' || isQuote(c) {
			i = s.skipSpaces(i + 1)
		} else if word, after := s.wordAfter(i); word == "number" || word == "no" || word == "nr" || word == "is" || word == "to" {
			i = s.skipSpaces(after)
		}
	}
	from = i
	if s.at(i) == '+' {
		i++
	}
	to, digits, _ := s.phoneEnd(i)
	if s.at(i) == '(' {
		to, digits, _ = s.phoneEnd(i + 1)
	}
	if digits < 7 || digits > 15 {
		return end, end
	}
	return from, to
}

// hash returns the end of a password in the form in which systems store it: $6$salt$hash.
func (s *scanner) hash(i int) int {
	j := i + 1
	for j < i+12 && s.is(j)&(cAlnum|cJoin) != 0 {
		j++
	}
	if j == i+1 || s.at(j) != '$' {
		return i
	}
	switch s.text[i+1 : j] {
	case "1", "5", "6", "7", "y", "2a", "2b", "2x", "2y", "apr1", "md5", "sha1", "gy", "argon2i", "argon2d", "argon2id", "scrypt", "pbkdf2", "P", "H":
	default:
		return i
	}
	for s.is(j)&(cAlnum|cDot) != 0 || strings.IndexByte("$/+=,-_", s.at(j)) >= 0 {
		if j >= len(s.text) {
			break
		}
		j++
	}
	if j-i < 20 {
		return i
	}
	return j
}
