package scan

import "strings"

// passCommand finds the password in PASS x, a command of FTP, POP3 and IRC, and in mot de passe: x.
func (s *scanner) passCommand(k int) (from, to int) {
	t := &s.dst[k]
	end := int(t.End)
	switch t.Text(s.text) {
	case "PASS":
		if s.at(end) != ' ' || !s.beginsLine(k) && !s.isWord(k-2, "user") {
			return end, end
		}
		from, to = s.next(end)
		if s.harmless(from) || !s.last(to) || strings.ContainsAny(s.text[from:to], "/:([") || testName(s.text[from:]) {
			return end, end
		}
		return from, to
	case "passe", "Passe", "PASSE":
		return s.linked(int(t.Start), end)
	}
	return end, end
}

// beginsLine reports whether at most two short words or signs, such as "C:" or a tag, are before
// the token k on its line, or after the last ':' before these.
func (s *scanner) beginsLine(k int) bool {
	start := int(s.dst[k].Start)
	begin := s.lineBegin(start)
	if n := strings.LastIndex(s.text[begin:start], ": "); n >= 0 {
		begin += n + len(": ")
	}
	return start-begin <= 12 && strings.Count(strings.TrimSpace(s.text[begin:start]), " ") <= 1
}

// authCommand finds the password in AUTH x and AUTH user x of Redis, and in AUTH PLAIN x of SMTP.
func (s *scanner) authCommand(k int) (from, to int) {
	end := int(s.dst[k].End)
	if !s.upper(k) {
		return s.account(k)
	}
	from, to = s.command3(end)
	if from == to || s.harmless(from) || s.at(from) == '=' || s.at(from) == ':' {
		return end, end
	}
	next, nextEnd := s.command3(to)
	if mechanism(s.text[from:to]) {
		if nextEnd-next >= 4 && !s.harmless(next) && !mechanism(s.text[next:nextEnd]) {
			return next, nextEnd
		}
		return end, end
	}
	if nextEnd-next >= 4 && !s.harmless(next) && !allDigits(s.text[next:nextEnd]) && s.is(from)&cLetter != 0 &&
		(s.last(nextEnd) && s.beginsLine(k) || s.passwordLike(next, nextEnd)) {
		return next, nextEnd
	}
	if s.last(to) && (s.beginsLine(k) && to-from >= 4 || s.passwordLike(from, to)) {
		return from, to
	}
	return end, end
}

// command3 returns the next argument of a command. Both may be in quotes.
func (s *scanner) command3(i int) (from, to int) {
	i = s.afterQuote(i)
	if s.at(i) != ' ' {
		return i, i
	}
	return s.next(i)
}

// mechanism reports whether a word is the name of a SASL mechanism.
func mechanism(word string) bool {
	switch strings.ToUpper(word) {
	case "PLAIN", "LOGIN", "CRAM-MD5", "DIGEST-MD5", "NTLM", "XOAUTH", "XOAUTH2", "OAUTHBEARER", "GSSAPI", "EXTERNAL", "ANONYMOUS":
		return true
	}
	return hasFoldPrefix(word, "SCRAM-")
}

// authenticate finds what follows AUTHENTICATE PLAIN in IMAP.
func (s *scanner) authenticate(k int) (from, to int) {
	end := int(s.dst[k].End)
	if !s.upper(k) {
		return s.account(k)
	}
	from, to = s.next(end)
	if !mechanism(s.text[from:to]) {
		return end, end
	}
	if from, to = s.next(to); to-from < 4 {
		return end, end
	}
	return from, to
}

// login finds the password in the command LOGIN user x of IMAP, and in sentences about a login.
func (s *scanner) login(k int) (from, to int) {
	end := int(s.dst[k].End)
	if s.at(end) == ' ' && s.upper(k) && s.isWord(k, "login") && s.beginsLine(k) {
		user, userEnd := s.next(end)
		from, to = s.next(s.afterQuote(userEnd))
		if userEnd > user && to-from >= 4 && s.last(to) && !s.harmless(user) && !s.harmless(from) {
			return from, to
		}
	}
	return s.account(k)
}

// identify finds the password in IDENTIFY x and OPER user x of IRC.
func (s *scanner) identify(k int) (from, to int) {
	end := int(s.dst[k].End)
	if s.isWord(k, "identified") {
		return s.identified(k)
	}
	if !s.upper(k) || s.at(end) != ' ' {
		return end, end
	}
	from, to = s.next(end)
	if next, nextEnd := s.next(to); nextEnd > next {
		from, to = next, nextEnd
	} else if s.isWord(k, "oper") {
		return end, end
	}
	if to-from < 4 || !s.last(to) || s.harmless(from) {
		return end, end
	}
	return from, to
}

// oracle finds the password in sqlplus user/x@db.
func (s *scanner) oracle(k int) (from, to int) {
	end := int(s.dst[k].End)
	if from, to = s.call(end); from < to {
		return from, to
	}
	rest := s.lineRest(end)
	if strings.IndexByte(rest, '/') < 0 {
		return end, end
	}
	for i := 1; i < len(rest); i++ {
		if classOf[rest[i]]&cAlnum == 0 || classOf[rest[i-1]]&cBlank == 0 && !isQuote(rest[i-1]) {
			continue
		}
		j := i
		for j < len(rest) && (classOf[rest[j]]&cAlnum != 0 || rest[j] == '_' || rest[j] == '$') {
			j++
		}
		if j < len(rest) && rest[j] == '/' {
			value := rest[j+1:]
			if n := strings.IndexAny(value, "@ \"'"); n > 2 && value[n] == '@' {
				return end + j + 1, end + j + 1 + n
			} else if n > 2 && value[n] == ' ' && hasFoldPrefix(value[n:], " as sys") {
				return end + j + 1, end + j + 1 + n
			} else if n < 0 && strong(value) {
				return end + j + 1, end + len(rest)
			} else if n < 0 && s.isWord(k, "sqlplus") && len(value) > 2 && !strings.Contains(value, "/") {
				return end + j + 1, end + len(rest)
			}
		}
		i = j
	}
	return end, end
}

// identified finds the password in IDENTIFIED BY x of SQL.
func (s *scanner) identified(k int) (from, to int) {
	end := int(s.dst[k].End)
	if !s.upper(k) && !s.afterUser(k) {
		return end, end
	}
	rest := s.lineRest(end)
	for n := 0; n+4 < len(rest) && n < 60; n++ {
		if rest[n] != ' ' || !hasFoldPrefix(rest[n:], " by ") && !hasFoldPrefix(rest[n:], " as ") {
			continue
		}
		i := end + n + len(" by ")
		if word, after := s.wordAfter(i); word == "password" || word == "values" {
			i = after
		}
		from, to = s.next(i)
		if hasFoldPrefix(s.text[from:], "random") || !isQuote(s.at(from-1)) && !s.last(to) && !s.passwordLike(from, to) {
			return end, end
		}
		return from, to
	}
	return end, end
}

// afterUser reports whether the words before the token k are those of CREATE USER name.
func (s *scanner) afterUser(k int) bool {
	for n := k - 1; n >= max(0, k-8); n-- {
		if s.isWord(n, "user") || s.isWord(n, "role") {
			return s.isWord(n-1, "create") || s.isWord(n-1, "alter")
		}
		if s.isWord(n, "grant") {
			return true
		}
	}
	return false
}

// using finds the password in: connect to db user anna using x.
func (s *scanner) using(k int) (from, to int) {
	end := int(s.dst[k].End)
	if !s.isWord(k-2, "user") {
		return end, end
	}
	if from, to = s.next(end); !s.passwordLike(from, to) {
		return end, end
	}
	return from, to
}

// send finds the password in send "x\r" of expect.
func (s *scanner) send(k int) (from, to int) {
	end := int(s.dst[k].End)
	i := s.skipSpaces(end)
	if strings.HasPrefix(s.text[i:], "-- ") {
		i = s.skipSpaces(i + 2)
	}
	if !isQuote(s.at(i)) && (s.at(i) != '\\' || !isQuote(s.at(i+1))) {
		return end, end
	}
	from = s.afterQuote(i)
	to = from
	for to < len(s.text) && to < from+64 && s.is(to)&cBlank == 0 && s.text[to] != '\\' && !isQuote(s.text[to]) {
		to++
	}
	for k := to; s.at(k) == '\\'; k++ { // the line end may be escaped once more
		if c := s.at(k + 1); (c == 'r' || c == 'n') && to-from >= 4 && s.text[from] != '$' {
			switch strings.ToLower(s.text[from:to]) {
			case "exit", "quit", "logout", "reboot", "enable", "sudo", "clear", "help":
				return end, end
			}
			return from, to
		}
	}
	return end, end
}

// secureString finds the first text in quotes after SecureString of PowerShell.
func (s *scanner) secureString(k int) (from, to int) {
	start := int(s.dst[k].Start)
	if !hasFoldPrefix(s.text[start:], "SecureString") {
		return start, start
	}
	if begin := start - len("' | ConvertTo-"); begin > s.base && strings.HasPrefix(s.text[begin+1:], " | ConvertTo-") && isQuote(s.text[begin]) {
		if from = strings.LastIndexByte(s.text[max(s.base, begin-64):begin], s.text[begin]); from >= 0 {
			return max(s.base, begin-64) + from + 1, begin
		}
	}
	i := start + len("SecureString")
	rest := s.lineRest(i)
	n := strings.IndexAny(rest, "\"'")
	if n < 0 || n > 40 || strings.ContainsAny(rest[:n], ";)|") {
		return start, start
	}
	if from, to = s.next(i + n); s.at(from) == '$' {
		return start, start
	}
	return from, to
}

// community finds the community of SNMP, which works like a password.
func (s *scanner) community(k int) (from, to int) {
	end := int(s.dst[k].End)
	for n := k - 1; n >= max(0, k-4); n-- {
		if s.isWord(n, "snmp") && s.at(end) == ' ' {
			return s.next(end)
		}
	}
	return end, end
}

// puttyKey finds the private part of a key file of PuTTY.
func (s *scanner) puttyKey(k int) (from, to int) {
	end := int(s.dst[k].End)
	if !s.isWord(k-1, "private") || s.at(end) != ':' {
		return end, end
	}
	from, to = s.next(end + 1)
	if s.isWord(k, "mac") {
		return from, to
	}
	for from = to; from < len(s.text) && s.is(from)&cBlank != 0; from++ {
	}
	to = from
	for i := from; i < len(s.text); {
		for i < len(s.text) && base64Char(s.text[i]) {
			i++
		}
		if i < len(s.text) && s.is(i)&cBlank == 0 || i == to {
			break
		}
		for to = i; i < len(s.text) && s.is(i)&cBlank != 0; i++ {
		}
	}
	return from, max(from, to)
}
