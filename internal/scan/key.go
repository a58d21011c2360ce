package scan

import (
	"strings"
	"unicode/utf8"
)

// strength says how sure a name makes that its value is secret.
type strength uint8

const (
	noKey   strength = iota
	weakKey          // token, signature, session: the value has to look secret
	sureKey          // password, api_key, client_secret
	pwdKey           // PWD: a password or the working directory
)

// keyed looks at what follows an identifier that may name a secret, and
// announces its value.
func (s *scanner) keyed(start, end int) {
	c := s.at(end)
	if c == ' ' {
		switch s.at(end + 1) {
		case '=', ':', '"', '\'':
		default:
			s.spaced(start, end)
			return
		}
	} else if c == 0 || c == '.' || c == ',' || c == ')' || classOf[c]&cBlank != 0 {
		return
	}
	i, quote := end, byte(0)
	if s.at(i) == '\\' {
		i++
	}
	if q := s.at(i); q == '"' || q == '\'' || q == '`' {
		quote, i = q, i+1
	} else if i > end {
		return
	} else if q == ']' {
		i++
	}
	for s.at(i) == ' ' && i < end+8 {
		i++
	}
	sep := s.at(i)
	switch sep {
	case '=':
		i++
		if s.at(i) == '>' {
			i++
		}
	case ':':
		i++
		if s.at(i) == '=' {
			i++
		}
		if s.at(i) == ':' || s.at(i) == '/' && s.at(i+1) == '/' {
			return
		}
	case '>':
		if start == s.base || s.text[start-1] != '<' {
			return
		}
		i++
	case ',':
		i = s.valueMember(i, quote)
		if i < 0 {
			return
		}
	case '"', '\'':
		if s.keyStrength(start, end) == sureKey && quote == 0 {
			if from, to := s.quotedValue(i); to > from && strings.IndexByte(s.text[from:to], ' ') < 0 {
				s.announce(from, to)
			}
		}
		return
	default:
		return
	}
	level := s.keyStrength(start, end)
	if level == noKey {
		return
	}
	s.value(i, level, sep, quote != 0, start)
}

// valueMember finds the value of {"name":"PASSWORD","value":"…"}.
func (s *scanner) valueMember(i int, quote byte) int {
	if quote == 0 {
		return -1
	}
	rest := s.text[i:min(len(s.text), i+24)]
	for _, c := range []string{"value", "Value"} {
		if n := strings.Index(rest, c); n >= 0 && n <= 4 {
			n += len(c)
			for n < len(rest) && (rest[n] == '"' || rest[n] == '\'' || rest[n] == ' ' || rest[n] == '\\') {
				n++
			}
			if n < len(rest) && rest[n] == ':' {
				return i + n + 1
			}
		}
	}
	return -1
}

// spaced finds the values that follow a name after a space: --password x,
// Bearer x.
func (s *scanner) spaced(start, end int) {
	if start >= s.base+2 && s.text[start-1] == '-' && classOf[s.at(end+1)]&cBlank == 0 && s.at(end+1) != '-' {
		if level := s.keyStrength(start, end); level != noKey {
			s.value(end+1, level, ' ', false, start)
		}
		return
	}
	if isScheme(s.text[start:end]) {
		from := end + 1
		for s.at(from) == ' ' {
			from++
		}
		to := s.credentialEnd(from)
		if to-from >= 8 && s.looksSecret(from, to) {
			s.announce(from, to)
		}
	}
}

// isScheme reports whether a word announces credentials in a header.
func isScheme(word string) bool {
	switch len(word) {
	case 3, 4, 5, 6, 9:
		switch strings.ToLower(word) {
		case "bearer", "basic", "token", "apikey", "negotiate", "ntlm", "sso", "ssws":
			return true
		}
	}
	return false
}

func (s *scanner) credentialEnd(i int) int {
	for i < len(s.text) {
		c := s.text[i]
		if classOf[c]&(cAlnum|cJoin|cDot) == 0 && c != '~' && c != '+' && c != '/' && c != '=' && c != '*' {
			break
		}
		i++
	}
	for i > 0 && s.text[i-1] == '.' {
		i--
	}
	return i
}

// value announces the value at i of a name that may be secret.
func (s *scanner) value(i int, level strength, sep byte, quotedName bool, name int) {
	for n := 0; n < 8 && (s.at(i) == ' ' || s.at(i) == '\t'); n++ {
		i++
	}
	if s.at(i) == '[' {
		if end, _ := s.placeholder(i); end > i {
			return
		}
		i++
	}
	if s.at(i) == 'b' && (s.at(i+1) == '\'' || s.at(i+1) == '"') {
		i++
	}
	from, to := i, i
	quoted := false
	if c := s.at(i); c == '"' || c == '\'' || c == '`' || c == '\\' {
		from, to = s.quotedValue(i)
		quoted = true
	} else {
		to = s.valueEnd(i)
	}
	header := s.isHeader(name)
	if n := s.schemeLength(from, to); n > 0 || header == wholeLine {
		from += n
		if quoted {
			// to its end
		} else if header == wholeLine || s.text[from-max(n, 1):from] != "" && s.wholeLineScheme(from-n) {
			to = s.lineEnd(from)
		} else {
			to = max(from, s.credentialEnd(from))
		}
		if n > 0 || strings.IndexByte(s.text[from:to], '=') > 0 {
			if !s.harmless(from, to) {
				s.announce(from, to)
			}
			return
		}
	}
	if from >= to || s.harmless(from, to) {
		return
	}
	if _, kind := s.placeholder(from); kind != Punct {
		return
	}
	switch level {
	case pwdKey:
		if s.text[from] == '/' || s.at(from+1) == ':' {
			return
		}
	case weakKey:
		if !s.looksSecret(from, to) {
			return
		}
	case sureKey, noKey:
		if !quoted && sep == ':' && !quotedName && s.prose(from, to) {
			return
		}
	}
	s.announce(from, to)
}

const wholeLine = 2

// isHeader reports whether the name at i is that of a header whose value goes
// on to the end of its line.
func (s *scanner) isHeader(i int) int {
	rest := s.text[i:min(len(s.text), i+24)]
	switch lower(rest[0]) {
	case 'c':
		if hasFold(rest, "cookie") {
			return wholeLine
		}
	case 's':
		if hasFold(rest, "set-cookie") {
			return wholeLine
		}
	}
	return 0
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// schemeLength returns the length of "Bearer " in front of a value.
func (s *scanner) schemeLength(from, to int) int {
	j := from
	for j < len(s.text) && (classOf[s.text[j]]&cAlnum != 0 || s.text[j] == '-') {
		j++
	}
	if s.at(j) != ' ' || j == from || j > to {
		return 0
	}
	word := s.text[from:j]
	if isScheme(word) || s.wholeLineScheme(from) {
		k := j
		for s.at(k) == ' ' {
			k++
		}
		return k - from
	}
	return 0
}

// wholeLineScheme reports whether the word at i announces credentials of
// several parts.
func (s *scanner) wholeLineScheme(i int) bool {
	rest := s.text[i:]
	return hasFold(rest, "Digest ") || hasFold(rest, "AWS4-HMAC") || hasFold(rest, "OAuth ") || hasFold(rest, "Hawk ") || hasFold(rest, "SharedKey")
}

func (s *scanner) lineEnd(i int) int {
	quote := byte(0)
	if i > s.base {
		quote = s.text[i-1]
	}
	for i < len(s.text) && classOf[s.text[i]]&cNewline == 0 {
		if c := s.text[i]; c == quote && quote == '\'' || c == '\'' || c == ']' || c == '\\' {
			break
		}
		i++
	}
	return i
}

// quotedValue returns what is between the quote at i and the next such quote,
// or the end of the line.
func (s *scanner) quotedValue(i int) (from, to int) {
	escaped := false
	if s.at(i) == '\\' {
		escaped = true
		i++
	}
	q := s.at(i)
	if q != '"' && q != '\'' && q != '`' {
		return i, i
	}
	from = i + 1
	for to = from; to < len(s.text); to++ {
		switch c := s.text[to]; {
		case c == '\\' && escaped && s.at(to+1) == q:
			return from, to
		case c == '\\':
			to++
		case c == q:
			return from, to
		case classOf[c]&cNewline != 0 && to > from+4:
			return from, to
		}
	}
	return from, min(to, len(s.text))
}

// valueEnd returns the end of a value without quotes.
func (s *scanner) valueEnd(i int) int {
	j := i
loop:
	for j < len(s.text) {
		c := s.text[j]
		switch {
		case classOf[c]&cBlank != 0:
			break loop
		case c == ';' || c == '"' || c == '\'' || c == '`' || c == '<' || c == '>':
			break loop
		case c == '\\' && (s.at(j+1) == 'n' || s.at(j+1) == 'r' || s.at(j+1) == '"'):
			break loop
		case c == '&' && classOf[s.at(j+1)]&cAlnum != 0 && s.nameFollows(j+1):
			break loop
		case c == ',' && (classOf[s.at(j+1)]&cAlnum == 0 || s.nameFollows(j+1)):
			break loop
		case (c == ')' || c == ']' || c == '}') && classOf[s.at(j+1)]&cAlnum == 0:
			break loop
		case c >= utf8.RuneSelf && c == 0xe2 && s.at(j+1) == 0x80:
			break loop
		}
		j++
	}
	for j > i && (s.text[j-1] == '.' || s.text[j-1] == ',' || s.text[j-1] == ':') {
		j--
	}
	return j
}

// nameFollows reports whether a name and '=' or ':' are at i.
func (s *scanner) nameFollows(i int) bool {
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

// harmless reports whether a value is none: a word such as null, stars.
func (s *scanner) harmless(from, to int) bool {
	value := s.text[from:to]
	if strings.Trim(value, "*") == "" || strings.Trim(value, "x") == "" || strings.Trim(value, ".") == "" {
		return true
	}
	first := value
	if n := strings.IndexAny(value, " ,:"); n >= 0 {
		first = value[:n]
	}
	if len(first) > 14 {
		return false
	}
	switch strings.ToLower(first) {
	case "null", "none", "nil", "true", "false", "undefined", "missing", "empty", "required", "invalid", "incorrect", "wrong",
		"expired", "mismatch", "denied", "failed", "failure", "error", "not", "is", "was", "has", "must", "can't", "can", "cannot", "could", "should",
		"too", "unauthorized", "rejected", "revoked", "unknown", "unsupported", "malformed", "unexpected", "bad", "no", "yes",
		"forbidden", "disabled", "this", "the", "a", "an", "it", "your", "you", "please", "field", "value", "does", "doesn't", "use", "got",
		"expected", "authentication", "string", "redacted", "hidden", "omitted", "<nil>", "(nil)", "in", "on", "of", "for", "and", "or", "with", "to":
		return true
	}
	return false
}

// prose reports whether an unquoted value is the first word of a sentence.
func (s *scanner) prose(from, to int) bool {
	for k := from; k < to; k++ {
		if classOf[s.text[k]]&cLower == 0 && !(k == from && classOf[s.text[k]]&cUpper != 0) {
			return false
		}
	}
	return s.at(to) == ' ' && classOf[s.at(to+1)]&cLower != 0 && !s.nameFollows(to+1)
}

// looksSecret reports whether a value is no word and no short number.
func (s *scanner) looksSecret(from, to int) bool {
	digits, lowers, uppers, others, spaces := 0, 0, 0, 0, 0
	for k := from; k < to; k++ {
		switch c := classOf[s.text[k]]; {
		case c&cDigit != 0:
			digits++
		case c&cLower != 0:
			lowers++
		case c&cUpper != 0:
			if k > from {
				uppers++
			}
		case s.text[k] == ' ':
			spaces++
		default:
			others++
		}
	}
	n := to - from
	switch {
	case spaces > 0 || n < 6:
		return false
	case digits == n:
		return n >= 12
	case digits > 0:
		return true
	case n >= 24:
		return true
	}
	return n >= 8 && uppers > 0 && lowers > 0
}

// keyStrength reads a name: its end decides, so that DB_PASSWORD, dbPassword
// and pgpassword are alike.
func (s *scanner) keyStrength(start, end int) strength {
	var buf [32]byte
	n, joined := 0, false
	k := max(start, end-40)
	for ; k < end; k++ {
		c := s.text[k]
		if c == '_' || c == '-' {
			continue
		}
		if n == len(buf) {
			copy(buf[:], buf[1:])
			n--
		}
		buf[n] = lower(c)
		n++
	}
	name := string(buf[:n])
	ends := func(suffix string) bool {
		if !strings.HasSuffix(name, suffix) {
			return false
		}
		joined = len(name) > len(suffix)
		return true
	}
	whole := func(word string) bool {
		if !ends(word) {
			return false
		}
		return !joined || s.wordBorder(end-len(word))
	}
	switch {
	case n < 3:
		return noKey
	case name == "pwd" || name == "oldpwd":
		return pwdKey
	}
	switch name[n-1] {
	case 'd':
		if ends("password") || ends("passwd") || ends("pwd") {
			return sureKey
		}
	case 't':
		if ends("secret") {
			return sureKey
		}
		if whole("jwt") {
			return weakKey
		}
	case 'y':
		for _, k := range [...]string{"apikey", "accesskey", "secretkey", "privatekey", "accountkey", "signingkey", "encryptionkey",
			"sharedkey", "masterkey", "authkey", "subscriptionkey", "servicekey", "storagekey", "licensekey", "adminkey", "deploykey", "rolekey"} {
			if ends(k) {
				return sureKey
			}
		}
		if whole("key") {
			return weakKey
		}
	case 'n':
		if ends("accesstoken") || ends("authtoken") || ends("refreshtoken") || ends("sessiontoken") || ends("securitytoken") || ends("apitoken") ||
			ends("bearertoken") || ends("authorization") || ends("idtoken") {
			return sureKey
		}
		if ends("token") || whole("session") {
			return weakKey
		}
	case 'e':
		if ends("passphrase") || ends("passcode") || name == "cookie" || name == "setcookie" {
			return sureKey
		}
		if whole("signature") {
			return weakKey
		}
	case 's':
		if whole("pass") || ends("credentials") {
			return sureKey
		}
	case 'g':
		if whole("sig") || ends("connectionstring") {
			return weakKey
		}
	case 'l':
		if ends("credential") {
			return sureKey
		}
	case 'h':
		if whole("auth") {
			return weakKey
		}
	case 'p':
		if whole("otp") {
			return weakKey
		}
	case 'r':
		if ends("connectionstr") {
			return weakKey
		}
	}
	return noKey
}

// wordBorder reports whether a word begins at i within an identifier.
func (s *scanner) wordBorder(i int) bool {
	if i <= s.base || classOf[s.text[i-1]]&cAlnum == 0 {
		return true
	}
	return classOf[s.text[i]]&cUpper != 0 && classOf[s.text[i-1]]&cLower != 0
}
