package scan

import "strings"

// account finds the password in "credentials anna:x", "login failed for anna / x" and
// `logged in as ("anna", "x")`. The words mean an account, so a value that looks like a password
// is one.
func (s *scanner) account(k int) (from, to int) {
	start, end := int(s.dst[k].Start), int(s.dst[k].End)
	if from, to = s.pairAfter(end); from < to {
		return from, to
	}
	if start > s.base && s.is(start-1)&(cAlnum|cJoin|cDot|cSlash) != 0 || s.is(end)&(cAlnum|cJoin|cDot) != 0 || s.isWord(k, "log") {
		return end, end // a part of a name
	}
	limit := end + len(s.lineRest(end))
	for i := end; i < limit && i < end+100; i++ {
		if s.is(i)&cAlnum == 0 {
			continue
		}
		j := i
		for s.is(j)&(cAlnum|cJoin|cDot|cAt) != 0 {
			j++
		}
		if accountWord(s.text[i:j]) && s.at(j) != '/' && (s.at(j) != ':' || s.is(j+1)&cBlank != 0) {
			i = j
			continue
		}
		if notUser(s.text[i:j]) || notName(s.text[i:j]) {
			return end, end
		}
		switch {
		case s.at(j) == ':' && s.is(j+1)&cBlank == 0 && !isQuote(s.at(j+1)):
			from, to = j+1, s.valueEnd(j+1)
		case strings.HasPrefix(s.text[j:], " / "):
			from, to = s.next(j + len(" / "))
		case isQuote(s.at(j)) && strings.HasPrefix(s.text[j+1:], ", ") && isQuote(s.at(j+len(`", `))):
			from, to = s.next(j + len(`", `))
		case s.at(j) == ' ' && strong(s.text[s.skipSpaces(j):s.valueEnd(s.skipSpaces(j))]):
			if from, to = s.next(j); !s.last(to) {
				return end, end
			}
		case s.at(j) == '/' && strong(s.text[j+1:s.valueEnd(j+1)]):
			from, to = j+1, s.valueEnd(j+1)
		case s.at(j) == '/' && strings.IndexByte(s.text[j:s.chunkTo(j)], '@') > 0:
			from = j + 1
			to = j + strings.IndexByte(s.text[j:s.chunkTo(j)], '@')
		default:
			return end, end
		}
		if to <= limit && s.passwordLike(from, to) {
			return from, to
		}
		break
	}
	return end, end
}

// pairAfter finds the password in a pair of texts that follows a name which ends at i, as in
// new Credentials("anna", "x") and basic_auth: ["anna", "x"].
func (s *scanner) pairAfter(i int) (from, to int) {
	end := i
	for j := i; j < i+4; j++ {
		switch c := s.at(j); {
		case c == '(' || c == '[':
			user, userEnd := s.next(j + 1)
			if from, to = s.plainPair(j + 1); from < to {
				return from, to
			}
			if user == userEnd || s.text[user-1] != '"' && s.text[user-1] != '\'' || s.text[userEnd:min(len(s.text), userEnd+1)] != s.text[user-1:user] {
				return end, end
			}
			k := s.skipSpaces(userEnd + 1)
			if s.at(k) == ',' {
				k = s.skipSpaces(k + 1)
			}
			if !isQuote(s.at(k)) {
				return end, end
			}
			from, to = s.next(k)
			if last := s.at(to + 1); last != ')' && last != ']' || to-from < 4 || s.harmless(from) || !s.passwordLike(from, to) && s.isWord(len(s.dst)-1, "login") {
				return end, end
			}
			return from, to
		case c != ' ' && c != ':' && c != '=':
			return end, end
		}
	}
	return end, end
}

// plainPair returns the position of the password in a pair without quotes that begins at i: anna, x).
func (s *scanner) plainPair(i int) (from, to int) {
	j := i
	for s.is(j)&(cAlnum|cJoin|cDot|cAt) != 0 {
		j++
	}
	if j == i || !strings.HasPrefix(s.text[j:], ", ") {
		return i, i
	}
	if from, to = s.next(j + len(", ")); s.at(to) != ')' || !strong(s.text[from:to]) {
		return i, i
	}
	return from, to
}

// call returns the position of the password in a call that opens a connection: its name ends at i,
// and the password follows the name of a user, as in ("mysql:host=db", "anna", "x").
func (s *scanner) call(i int) (from, to int) {
	none, name := i, false
	if s.at(i) != '(' {
		return none, none
	}
	i++
	for range 6 {
		from, to = s.argumentAt(i)
		if from == to || !isQuote(s.text[from-1]) {
			break
		}
		if value := s.text[from:to]; name && len(value) >= 8 && s.passwordLike(from, to) {
			return from, to
		}
		name = true
		for k := from; k < to && name; k++ {
			name = s.is(k)&(cAlnum|cJoin|cDot|cAt) != 0
		}
		i = to + 1
	}
	return none, none
}

// phraseWords is the smallest number of words in the phrase of a wallet.
const phraseWords = 10

// phrase finds the words after "seed phrase", and the value after "pass phrase".
func (s *scanner) phrase(k int) (from, to int) {
	start, end := int(s.dst[k].Start), int(s.dst[k].End)
	if s.isWord(k-1, "pass") {
		if from, to = s.linked(start, end); from < to {
			return from, to
		}
		if from, to = s.next(end); s.passwordLike(from, to) {
			return from, to
		}
		return end, end
	}
	if !s.isWord(k-1, "seed") && !s.isWord(k-1, "recovery") && !s.isWord(k-1, "mnemonic") && !s.isWord(k-1, "backup") {
		return end, end
	}
	i := s.skipSpaces(s.afterQuote(end))
	for s.at(i) == ':' || s.at(i) == '=' || isQuote(s.at(i)) {
		i = s.skipSpaces(i + 1)
	}
	from, to = i, i
	words := 0
	for {
		j := to
		for words > 0 && s.is(j)&cBlank != 0 && j < len(s.text) {
			j++
		}
		n := j
		for s.is(n)&cLower != 0 {
			n++
		}
		if n-j < 3 || n-j > 8 || s.is(n)&(cAlnum|cHigh) != 0 {
			break
		}
		to = n
		words++
	}
	if words < phraseWords {
		return end, end
	}
	return from, to
}

// bind finds the password after the name of an LDAP entry: bind cn=admin,dc=x / x.
func (s *scanner) bind(k int) (from, to int) {
	end := int(s.dst[k].End)
	entry, _, found := strings.Cut(s.lineRest(end), " / ")
	if !found || !strings.ContainsRune(entry, ',') && !strings.Contains(entry, "cn=") {
		return end, end
	}
	for _, name := range [...]string{"cn=", "dc=", "uid=", "ou=", "o="} {
		if n := strings.Index(strings.ToLower(entry), name); n < 0 || n > 0 && classOf[entry[n-1]]&cAlnum != 0 {
			continue
		}
		if from, to = s.next(end + len(entry) + len(" / ")); to-from >= 4 && !s.harmless(from) {
			return from, to
		}
		break
	}
	return end, end
}

// securityAnswer finds the value in "security answer: x", which gives access as a password does.
func (s *scanner) securityAnswer(k int) (from, to int) {
	if end := int(s.dst[k].End); !s.isWord(k-1, "security") && !s.isWord(k-1, "secret") {
		return end, end
	}
	return s.linked(int(s.dst[k].Start), int(s.dst[k].End))
}

// accountWord reports whether a word may be between a word such as login and the name of a user.
func accountWord(word string) bool {
	switch strings.ToLower(word) {
	case "failed", "failure", "fails", "for", "as", "in", "with", "user", "username", "account", "of", "incorrect", "invalid", "denied", "rejected", "refused", "pair",
		"error", "by", "login", "the", "credentials", "is", "was", "using", "attempt", "attempted", "wrong", "bad", "not", "accepted", "tried", "from", "to":
		return true
	}
	return false
}

// notName reports whether a word before a ':' names what follows, so that it is not the name of a
// user.
func notName(name string) bool {
	switch strings.ToLower(name) {
	case "code", "error", "err", "status", "host", "hostname", "port", "id", "line", "at", "session", "request", "requestid", "trace", "http", "https",
		"region", "realm", "domain", "server", "client", "role", "arn", "sha256", "sha1", "md5", "version", "method", "type", "reason", "time", "date":
		return true
	}
	return false
}

// oneTimeCode finds the digits of a code that a person has received: "verification code is 123456".
func (s *scanner) oneTimeCode(k int) (from, to int) {
	end := int(s.dst[k].End)
	least := 4
	if s.isWord(k, "cvv") || s.isWord(k, "cvc") || s.isWord(k, "csc") {
		least = 3
	}
	if s.isWord(k, "code") {
		if !s.codeKind(k) {
			return end, end
		}
		if from, to = s.codeBefore(int(s.dst[k].Start)); from < to {
			return from, to
		}
		if s.isWord(k-1, "security") || s.isWord(k-1, "verification") {
			least = 3
		}
	}
	i := s.skipSpaces(s.afterQuote(end))
	for range 3 {
		if c := s.at(i); c == ':' || c == '=' || c == '#' || isQuote(c) {
			i = s.skipSpaces(i + 1)
		} else if word, after := s.wordAfter(i); codeVerb(word) {
			i = s.skipSpaces(after)
		}
	}
	if s.isWord(k-1, "recovery") || s.isWord(k-1, "backup") {
		return s.recoveryCodes(i)
	}
	j := s.digitsEnd(i)
	if j-i < least || j-i > 12 || s.is(j)&(cAlnum|cJoin) != 0 {
		return end, end
	}
	return i, j
}

// codeVerb reports whether a word may be between the word code and the digits.
func codeVerb(word string) bool {
	switch word {
	case "is", "was", "code", "number", "lautet", "ist", "est", "es", "é", "è", "er", "är", "to":
		return true
	}
	return false
}

// recoveryCodes returns the position of codes of letters and digits with '-' that begin at i, such as
// x7f2k-tl9fo, and of those that follow after commas or blanks.
func (s *scanner) recoveryCodes(i int) (from, to int) {
	from, to = i, i
	for {
		j, parts := i, 0
		for s.is(j)&cAlnum != 0 {
			for s.is(j)&cAlnum != 0 {
				j++
			}
			parts++
			if s.at(j) == '-' {
				j++
			}
		}
		if j-i < 6 || j > i && s.text[j-1] == '-' || parts < 2 && !s.looksSecret(i, j) && !allDigits(s.text[i:j]) {
			return from, to
		}
		to = j
		for j < to+3 && (s.at(j) == ',' || s.is(j)&cSpace != 0) {
			j++
		}
		if j == to {
			return from, to
		}
		i = j
	}
}

// codeBefore finds the digits in "123456 is your verification code", before i.
func (s *scanner) codeBefore(i int) (from, to int) {
	begin := s.lineBegin(i)
	line := s.text[begin:i]
	n := strings.LastIndex(line, " as your ")
	if n < 0 {
		n = strings.LastIndex(line, " is your ")
	}
	if n < 4 {
		return i, i
	}
	to = begin + n
	for from = to; from > begin && isDigit(s.text[from-1]); {
		from--
	}
	if to-from < 4 || to-from > 8 {
		return i, i
	}
	return from, to
}

// codeKind reports whether the words before the word code show that the code gives access to
// something. attribute finds the value that follows the name of a secret in another attribute or
// element: <add key="SmtpPassword" value="x"/>, <entry key="password">x</entry>, name: DB_PASSWORD
// and value: x on the next line, and the part of a form that is named like a secret.
func (s *scanner) codeKind(k int) bool {
	for n := k - 1; n >= max(0, k-2); n-- {
		if s.dst[n].Kind != Word && s.dst[n].Kind != Number {
			continue
		}
		switch strings.ToLower(s.dst[n].Text(s.text)) {
		case "otp", "time", "verification", "fa", "mfa", "factor", "security", "sms", "passcode", "pin", "tan", "recovery", "backup", "unlock", "puk", "cvv", "cvc", "your", "login", "access",
			"ihr", "dein", "votre", "ton", "su", "tu", "seu", "tuo", "uw", "je", "din", "ditt":
			return true
		}
	}
	return false
}
