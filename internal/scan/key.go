package scan

import "strings"

// strength says how certain it is that the value after a name is a secret.
type strength uint8

const (
	noKey     strength = iota
	hintKey            // session, signature, STRIPE_KEY: a value that looks random is secret
	tokenKey           // token: every value is secret, unless it is part of a sentence
	sureKey            // password, api_key, client_secret: every value is secret
	headerKey          // Authorization: what follows the scheme is secret
	cookieKey          // Cookie: all pairs are secret
	folderKey          // PWD: the value may be a password or the working directory
	blobKey            // code, key, in URLs only: a value that looks random is secret
	authKey            // auth: a value that looks like encoded bytes is secret
	passKey            // pass: every value but a short number is secret
	idKey              // secret_id: a UUID is secret, and a value that looks random
	pinKey             // pin: a number of four digits or more is secret
)

// named returns the position of the secret that follows an identifier such as password. The two
// results are equal if no secret follows.
func (s *scanner) named(start, end int) (from, to int) {
	switch c := s.at(end); {
	case c == '\t':
		return s.column(start, end)
	case c == ' ':
		switch next := s.at(end + 1); {
		case next == '|' || next == ' ' || next == '-' && s.at(end+2) == '>':
			return s.column(start, end)
		case next == '=' || next == ':' || isQuote(next):
		case classOf[next]&cBlank == 0:
			return s.spaced(start, end)
		default:
			return end, end
		}
	case c == '%' || c == '(':
	case c == '=' || c == ':' || c == '>' || c == ']' || c == '[' || c == '&' || c == '\\' || isQuote(c):
	default:
		return end, end
	}
	l := s.link(start, end)
	if l.value == 0 {
		return end, end
	}
	level := strengthOf(s.text[start:end])
	if level == noKey || l.bare && level != sureKey {
		return end, end
	}
	if l.bare && hasFoldSuffix(s.text[start:end], "secret") { // secret "x" not found: the name of an object
		if i := s.skipSpaces(l.value) + 1; !strong(s.text[i:s.end(i, s.text[i-1])]) {
			level = hintKey
		}
	}
	if s.text[start:end] == "PASS" && testName(s.text[s.skipSpaces(l.value):]) {
		return end, end
	}
	if level == tokenKey && s.expected() {
		return end, end
	}
	return s.value(start, level, l)
}

// testName reports whether a text begins with the name of a test in Go, whose results are
// reported as PASS: TestName.
func testName(text string) bool {
	for _, prefix := range [...]string{"Test", "Benchmark", "Example", "Fuzz"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// link is the text between a name and its value.
type link struct {
	value int // where the value begins; 0 means that there is no link
	// tight is true if the text is data and not a sentence, such as key=value or "key":
	// "value".
	tight   bool
	bare    bool // between the name and the value there are only a space and a quote
	element bool // whether the name is the tag of an XML element, whose value ends at the next tag
}

func (s *scanner) link(start, end int) link {
	i, quoted := end, false
	i = s.afterEscapes(i)
	if isQuote(s.at(i)) {
		quoted = true
		i++
	}
	if s.at(i) == '[' && i == end { // the index of a list: password[0]
		if j := s.digitsEnd(i + 1); s.at(j) == ']' {
			i = j
		}
	}
	if s.at(i) == ']' {
		i++
	}
	for i < end+6 && s.at(i) == ' ' {
		i++
	}
	switch c := s.at(i); {
	case c == '=':
		i++
		if s.at(i) == '=' && (s.is(i+1)&cBlank != 0 || isQuote(s.at(i+1))) { // the text is a comparison: "==", or "=" and a space
			i++
		}
		if i == end+1 && s.at(i) == ' ' && s.nameAt(s.skipSpaces(i)) { // the value is empty, as in PASSWORD= HOST=db
			return link{}
		}
		if s.at(i) == '>' {
			i++
		}
		return link{value: i, tight: true}
	case c == ':' && s.at(i+1) == '=':
		return link{value: i + 2, tight: true}
	case c == ':' && s.at(i+1) != ':' && (s.at(i+1) != '/' || s.at(i+2) != '/'):
		return link{value: i + 1, tight: quoted || s.is(i+1)&cBlank == 0}
	case c == '>' && start > s.base && (s.text[start-1] == '<' || s.text[start-1] == ':'):
		return link{value: i + 1, tight: true, element: true}
	case c == '&' && strings.HasPrefix(s.text[i:], "&gt;") && start > s.base && (s.text[start-1] == ';' || s.text[start-1] == ':'):
		return link{value: i + len("&gt;"), tight: true, element: true}
	case c == '%':
		if n := escapedEqual(s.text[i:]); n > 0 {
			return link{value: i + n, tight: true}
		}
	case c == '(' && !quoted && i == end && isQuote(s.at(i+1)): // a call: setPassword("x")
		if from, to := s.pairAfter(end); from < to { // a user and a password
			return link{value: from - 1, tight: true}
		}
		last := s.end(i+2, s.text[i+1])
		if s.at(last+1) != ')' || strings.IndexByte(s.text[i+2:max(last, i+2)], ' ') >= 0 {
			return link{} // more than one argument, or a sentence
		}
		return link{value: i + 1, tight: s.looksSecret(i+2, last) || !hasFoldSuffix(s.text[start:end], "token")}
	case c == ',' && quoted && s.secondArgumentAt(start, i) > 0:
		return link{value: s.secondArgumentAt(start, i), tight: true}
	case c == ',' && quoted && start > s.base && s.text[start-1] == '-': // an option in a list of arguments: "--password", "x"
		return link{value: i + 1, tight: true}
	case c == ',' && quoted:
		return link{value: s.valueMember(i), tight: true}
	case isQuote(c) && !quoted && i == end+1:
		return link{value: i, tight: true, bare: true}
	}
	return link{}
}

// escapedEqual returns the length of an escaped '=' at the beginning of a text: %3D, %253D.
func escapedEqual(text string) int {
	i := 1
	for strings.HasPrefix(text[i:], "25") {
		i += 2
	}
	if hasFoldPrefix(text[i:], "3d") {
		return i + 2
	}
	return 0
}

// secondArgumentAt returns the position of the value in a call with two texts, a name and its value:
// set("db.password", "x"). The name begins at start or before, and the ',' is at comma. It returns
// 0 for other lists, because those may be lists of names.
func (s *scanner) secondArgumentAt(start, comma int) int {
	for start > s.base && s.is(start-1)&(cAlnum|cJoin|cDot) != 0 {
		start--
	}
	if start-2 < s.base || !isQuote(s.text[start-1]) || s.text[start-2] != '(' {
		return 0
	}
	i := s.skipSpaces(comma + 1)
	if !isQuote(s.at(i)) {
		return 0
	}
	if end := s.end(i+1, s.text[i]); isQuote(s.at(end)) && (s.at(end+1) == ')' || s.at(end+1) == ',') && strengthOf(s.text[i+1:end]) == noKey {
		return i
	}
	return 0
}

// valueMember returns the position at which the value in {"name":"PASSWORD","value":"…"}
// begins.
func (s *scanner) valueMember(i int) int {
	rest := s.text[i:min(len(s.text), i+24)]
	n := strings.Index(rest, "alue")
	if n < 0 || n > 6 {
		return 0
	}
	for n += len("alue"); n < len(rest) && (isQuote(rest[n]) || rest[n] == ' ' || rest[n] == '\\'); n++ {
	}
	if n == len(rest) || rest[n] != ':' {
		return 0
	}
	return i + n + 1
}

// expected reports whether the word before "token" shows that the text is about the token
// of a grammar and not about a secret, as in "unexpected token".
func (s *scanner) expected() bool {
	n := len(s.dst) - 2 // the index of the token before the name
	if n < 0 || s.dst[n].Kind != Word {
		return false
	}
	switch strings.ToLower(s.dst[n].Text(s.text)) {
	case "unexpected", "expected", "expecting", "illegal", "next", "near", "last":
		return true
	}
	return false
}

// spaced returns the position of the secret that follows a name after a space, as in --password
// x or Bearer x.
func (s *scanner) spaced(start, end int) (from, to int) {
	last := lower(s.text[end-1])
	if start > s.base && (s.text[start-1] == '<' || s.text[start-1] == ':') {
		if from, to = s.element(start, end); from < to {
			return from, to
		}
	}
	if strings.IndexByte(s.text[start:end], '_') > 0 {
		if from, to = s.setting(start, end); from < to {
			return from, to
		}
	}
	if start > s.base && s.text[start-1] == '-' && s.at(end+1) != '-' {
		if level := strengthOf(s.text[start:end]); level != noKey && level != headerKey {
			return s.value(start, level, link{value: end + 1, tight: true})
		}
	}
	switch {
	case isScheme(s.text[start:end]):
		from = s.skipSpaces(end)
		to = s.tokenEnd(from)
		least := 8
		if hasFoldSuffix(s.text[start:end], "key") { // the key of a cache, a table or a request, unless it looks random
			least = blobKeyMin
		}
		if to-from >= least && s.looksSecret(from, to) && (least < blobKeyMin || s.blobLike(from, to)) {
			return from, to
		}
	case last == 'd' || last == 'e':
		if hasFoldSuffix(s.text[start:end], "password") || hasFoldSuffix(s.text[start:end], "passphrase") {
			if from, to = s.groups(end + 1); from < to {
				return from, to
			}
			from, to = end+1, s.valueEnd(end+1)
			if s.looksSecret(from, to) && s.at(to) != ':' && s.at(to) != '=' && strings.ContainsAny(s.text[from:to], "0123456789") &&
				strings.IndexByte(s.text[from:to], '(') < 0 {
				return from, to
			}
		}
	}
	return end, end
}

// element returns the position of the text in an element with attributes that is named like a
// secret: <password type="plain">x</password>.
func (s *scanner) element(start, end int) (from, to int) {
	level := strengthOf(s.text[start:end])
	rest := s.lineRest(end)
	n := strings.IndexByte(rest, '>')
	if level == noKey || n < 0 || strings.IndexByte(rest[:n], '<') >= 0 || n > 0 && rest[n-1] == '/' {
		return end, end
	}
	return s.value(start, level, link{value: end + n + 1, tight: true, element: true})
}

// setting returns the position of the value that follows a name such as DB_PASSWORD and a space, as
// in a Dockerfile (ENV DB_PASSWORD secret) or in a command that sets a variable.
func (s *scanner) setting(start, end int) (from, to int) {
	if level := strengthOf(s.text[start:end]); level != sureKey && level != passKey {
		return end, end
	}
	from, to = s.next(end)
	if to-from < 4 || s.harmless(from) || strings.IndexByte("=:(<>!&|{[,;$%", s.at(from)) >= 0 {
		return end, end
	}
	if s.blobLike(from, to) && to-from >= blobKeyMin || strong(s.text[from:to]) {
		return from, to
	}
	switch n := len(s.dst); {
	case n == 0 || s.dst[n-1].Kind != Word:
	default: // ENV is before the words of the name, which are tokens already
		for k := n - 1; k >= max(0, n-6); k-- {
			if s.isWord(k, "env") || s.isWord(k, "export") || s.isWord(k, "setenv") {
				return from, to
			}
		}
	}
	return end, end
}

// groups returns the position of a password in four or more groups of four letters and digits, as
// providers of mail make them for programs: h3Kd 9fQa w2Lm x8Zp.
func (s *scanner) groups(i int) (from, to int) {
	n, digits := 0, 0
	for to = i; ; {
		j := to
		if n > 0 {
			if s.at(j) != ' ' {
				break
			}
			j++
		}
		for k := j; k < j+4; k++ {
			if s.is(k)&cAlnum == 0 {
				j = -1
				break
			}
			if isDigit(s.text[k]) {
				digits++
			}
		}
		if j < 0 || s.is(j+4)&(cAlnum|cHigh) != 0 {
			break
		}
		to = j + 4
		n++
	}
	if n < 4 || digits < 2 {
		return i, i
	}
	return i, to
}

func (s *scanner) skipSpaces(i int) int {
	for n := 0; n < 8 && (s.at(i) == ' ' || s.at(i) == '\t'); n++ {
		i++
	}
	return i
}

// isScheme reports whether a word is the scheme of credentials in a header, such as Bearer.
func isScheme(word string) bool {
	if len(word) < 3 || len(word) > 9 {
		return false
	}
	switch last := lower(word[len(word)-1]); lower(word[0]) { // this check of the first and the last letter excludes most words
	case 'b':
		if last != 'r' && last != 'c' {
			return false
		}
	case 't':
		if last != 'n' {
			return false
		}
	case 'a', 'k':
		if last != 'y' {
			return false
		}
	case 'n':
		if last != 'e' && last != 'm' {
			return false
		}
	case 's':
		if last != 's' {
			return false
		}
	default:
		return false
	}
	switch strings.ToLower(word) {
	case "bearer", "basic", "token", "apikey", "negotiate", "ntlm", "ssws", "key":
		return true
	}
	return false
}

func hasFoldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func hasFoldSuffix(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}
