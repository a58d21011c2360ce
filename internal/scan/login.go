package scan

import "strings"

// password returns the position of the password in user:password@host. If there is no password,
// both results are i.
func (s *scanner) password(i int) (from, to int) {
	if i < s.noCreds {
		return i, i
	}
	j := i
	for s.is(j)&(cAlnum|cJoin|cDot) != 0 || s.at(j) == '%' || s.at(j) == '+' {
		j++
	}
	if s.at(j) != ':' || s.at(j+1) == '/' && s.at(j+2) == '/' {
		s.noCreds = j
		return i, i
	}
	if s.creds.chunk != s.chunkEnd {
		s.lookForAt(j)
	}
	at := s.creds.tcp
	if at <= j+1 {
		at = s.lastAt(j + 1)
	}
	if at <= j+1 || notUser(s.text[i:j]) || allDigits(s.text[i:j]) && s.times(j, at) {
		return i, i
	}
	return j + 1, at
}

func (s *scanner) lookForAt(i int) {
	rest := s.text[i:s.chunkEnd]
	s.creds = credsMemo{chunk: s.chunkEnd, last: strings.LastIndexByte(rest, '@'), tcp: strings.Index(rest, "@tcp(")}
	if s.creds.tcp < 0 {
		s.creds.tcp = strings.Index(rest, "@unix(")
	}
	if s.creds.last >= 0 {
		s.creds.last += i
	}
	if s.creds.tcp >= 0 {
		s.creds.tcp += i
	}
}

// lastAt searches the text from i on for the '@' between a password and a host. It returns the
// position of the last '@' after which a host may come, or -1. The search ends at a character
// that a password without quotes does not contain, such as a comma or a bracket.
func (s *scanner) lastAt(i int) int {
	c := &s.creds
	if i < c.partEnd {
		return c.partAt
	}
	c.partAt = -1
	for c.partEnd = i; c.partEnd <= c.last; c.partEnd++ {
		switch s.text[c.partEnd] {
		case '@':
			if s.hostAfter(c.partEnd) {
				c.partAt = c.partEnd
			}
		case '"', '\'', '`', '<', '>', '{', '}', ',', '\\', '[':
			return c.partAt
		}
	}
	return c.partAt
}

// hostAfter reports whether a host may follow the '@' at i. What follows the '@' is not a host
// if it is the hash of an object or of an image.
func (s *scanner) hostAfter(i int) bool {
	rest := s.text[i+1:]
	if rest == "" || classOf[rest[0]]&cAlnum == 0 && rest[0] != '[' && rest[0] != '/' || strings.HasPrefix(rest, "sha256:") {
		return false
	}
	n := 0
	for n < len(rest) && n < 17 && isHex(rest[n]) {
		n++
	}
	if n < 4 || n > 16 {
		return true
	}
	return n < len(rest) && classOf[rest[n]]&(cAlnum|cDot|cColon|cJoin|cSlash) != 0
}

// userEnd returns the position of the ':' after the name of a user at i, as in anna:x. If there is no
// such name, or the word names what follows it, as in code:x, the result is i.
func (s *scanner) userEnd(i, to int) int {
	j := i
	for j < to && s.is(j)&(cAlnum|cJoin|cDot|cAt) != 0 {
		j++
	}
	name := s.text[i:j]
	if j == to || s.at(j) != ':' || notUser(name) || notName(name) || accountWord(name) || strengthOf(name) != noKey {
		return i
	}
	return j
}

// notUser reports whether the name in name:text@host is not the name of a user, so that
// the text is not a password.
func notUser(name string) bool {
	switch strings.ToLower(name) {
	case "to", "from", "cc", "bcc", "email", "mail", "mailto", "user", "username", "sender", "recipient", "address", "rcpt", "npm", "pkg", "sip", "acct":
		return true
	}
	return false
}

// times reports whether the text from i to j consists of digits and ':', like a time.
func (s *scanner) times(i, j int) bool {
	for ; i < j; i++ {
		if !isDigit(s.text[i]) && s.text[i] != ':' {
			return false
		}
	}
	return true
}

// option returns the position of the password in an option of a command line, as in -u
// user:password or -ppassword. If there is no password, the first result is not less than the
// second.
func (s *scanner) option(i int) (from, to int) {
	rest := s.text[i:]
	for _, option := range [...]string{"-u", "--user", "-U", "--proxy-user"} {
		if !strings.HasPrefix(rest, option) || s.is(i+len(option))&cAlnum != 0 {
			continue
		}
		from, to = s.argument(i + len(option))
		if n := strings.IndexAny(s.text[from:max(from, to)], ":,%"); n > 0 && from+n+1 < to {
			return from + n + 1, to
		}
		return i, i
	}
	if strings.HasPrefix(rest, "-a ") && s.clientBefore() {
		from, to = s.argument(i + len("-a"))
		if n := strings.IndexByte(s.text[from:max(from, to)], ':'); n > 0 && from+n+1 < to {
			return from + n + 1, to
		}
	}
	if strings.HasPrefix(rest, "-y ") && (s.hasBefore("dig") || s.hasBefore("nsupdate")) { // -y hmac-sha256:name:x
		from, to = s.argument(i + len("-y"))
		if n := strings.LastIndexByte(s.text[from:max(from, to)], ':'); n > 0 {
			return from + n + 1, to
		}
	}
	return s.passwordOption(i)
}

// clientBefore reports whether the command of an option is one of the clients http and https.
func (s *scanner) clientBefore() bool {
	return s.hasBefore("http") || s.hasBefore("https") || s.hasBefore("xh")
}

// hasBefore reports whether a word is one of the last tokens of the line.
func (s *scanner) hasBefore(word string) bool {
	for k := len(s.dst) - 1; k >= max(0, len(s.dst)-8) && s.dst[k].Kind != Newline; k-- {
		if s.isWord(k, word) {
			return true
		}
	}
	return false
}
