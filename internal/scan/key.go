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
)

// strengthOf returns the strength of a name. Only the end of the name matters, so DB_PASSWORD,
// dbPassword and pgpassword have the same strength.
func strengthOf(text string) strength {
	var buf [48]byte
	n := len(buf)
	for k := len(text); k > 0 && n > 0; k-- {
		if c := text[k-1]; classOf[c]&cAlnum != 0 {
			n--
			buf[n] = lower(c)
		}
	}
	name := buf[n:]
	if len(name) < 2 {
		return noKey
	}
	for _, k := range keyNames[name[len(name)-1]&0x7f] {
		rest := len(name) - len(k.name)
		if rest < 0 || string(name[rest:]) != k.name {
			continue
		}
		if rest > 0 && (k.part == alone || k.part == asWord && !wordBorder(text, len(text)-len(k.name))) {
			continue
		}
		if k.name == "key" && keepsKey(name[:rest]) {
			return noKey
		}
		return k.strength
	}
	return noKey
}

// part says where in a longer name the name of a secret may be.
type part uint8

const (
	anywhere part = iota // the name may also be the end of a word, such as pgpassword
	asWord               // the name must be the whole last word; so pass is not found in bypass
	alone                // the text must be the whole name
)

type keyName struct {
	name     string
	part     part
	strength strength
}

// keyNames contains the words at the end of the names of secrets. The words are grouped by
// their last byte. In each group, longer words come before shorter words.
var keyNames = keysByLast([]keyName{
	{"password", anywhere, sureKey}, {"passwd", anywhere, sureKey}, {"oldpwd", alone, folderKey}, {"pwd", alone, folderKey},
	{"pwd", anywhere, sureKey}, {"passphrase", anywhere, sureKey}, {"passcode", anywhere, sureKey}, {"pass", asWord, sureKey}, {"pw", asWord, sureKey},
	{"passwort", anywhere, sureKey}, {"kennwort", anywhere, sureKey}, {"motdepasse", anywhere, sureKey}, {"senha", asWord, sureKey},
	{"secret", anywhere, sureKey}, {"secretkeybase", anywhere, sureKey},
	{"apikey", anywhere, sureKey}, {"accesskey", anywhere, sureKey}, {"secretkey", anywhere, sureKey}, {"privatekey", anywhere, sureKey},
	{"accountkey", anywhere, sureKey}, {"signingkey", anywhere, sureKey}, {"encryptionkey", anywhere, sureKey},
	{"sharedkey", anywhere, sureKey}, {"masterkey", anywhere, sureKey}, {"authkey", anywhere, sureKey},
	{"subscriptionkey", anywhere, sureKey}, {"servicekey", anywhere, sureKey}, {"storagekey", anywhere, sureKey},
	{"licensekey", anywhere, sureKey}, {"adminkey", anywhere, sureKey}, {"deploykey", anywhere, sureKey},
	{"servicerolekey", anywhere, sureKey}, {"key", asWord, hintKey},
	{"accesstoken", anywhere, sureKey}, {"authtoken", anywhere, sureKey}, {"refreshtoken", anywhere, sureKey},
	{"sessiontoken", anywhere, sureKey}, {"securitytoken", anywhere, sureKey}, {"apitoken", anywhere, sureKey},
	{"bearertoken", anywhere, sureKey}, {"idtoken", anywhere, sureKey}, {"bottoken", anywhere, sureKey}, {"token", anywhere, tokenKey},
	{"jwt", asWord, hintKey}, {"bearer", alone, hintKey}, {"auth", asWord, authKey}, {"credential", anywhere, tokenKey},
	{"credentials", anywhere, hintKey}, {"signature", asWord, hintKey}, {"sig", asWord, hintKey}, {"session", asWord, hintKey},
	{"sessionid", anywhere, hintKey}, {"sessid", anywhere, hintKey}, {"sid", asWord, hintKey}, {"csrf", asWord, hintKey},
	{"otp", asWord, sureKey}, {"cvv", asWord, sureKey}, {"cvc", asWord, sureKey}, {"ssn", asWord, sureKey},
	{"authorization", anywhere, headerKey}, {"setcookie", alone, cookieKey}, {"cookie", alone, cookieKey},
})

func keysByLast(all []keyName) (table [128][]keyName) {
	for _, k := range all {
		last := k.name[len(k.name)-1]
		table[last] = append(table[last], k)
	}
	return table
}

// keepsKey reports whether the word before "key" in a name shows that the key is not secret, as
// in partition_key or idempotencyKey.
func keepsKey(before []byte) bool {
	for _, word := range [...]string{"idempotency", "partition", "primary", "foreign", "routing", "sort", "cache", "object", "public",
		"unique", "dedup", "deduplication", "message", "record", "group", "hash", "range", "index", "lock", "redis", "s3", "bucket", "file", "row"} {
		if strings.HasSuffix(string(before), word) {
			return true
		}
	}
	return false
}

// wordBorder reports whether a new word begins at i in a name.
func wordBorder(name string, i int) bool {
	if i <= 0 || classOf[name[i-1]]&cAlnum == 0 {
		return true
	}
	return classOf[name[i]]&cUpper != 0 && classOf[name[i-1]]&cLower != 0
}

// named returns the position of the secret that follows an identifier such as password. from
// and to are equal if no secret follows.
func (s *scanner) named(start, end int) (from, to int) {
	switch c := s.at(end); {
	case c == ' ':
		switch next := s.at(end + 1); {
		case next == '=' || next == ':' || isQuote(next):
		case classOf[next]&cBlank == 0:
			return s.spaced(start, end)
		default:
			return end, end
		}
	case c == '=' || c == ':' || c == '>' || c == ']' || c == '\\' || isQuote(c):
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
	if level == tokenKey && s.expected() {
		return end, end
	}
	return s.value(start, level, l)
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
	if s.at(i) == '\\' && isQuote(s.at(i+1)) {
		i++
	}
	if isQuote(s.at(i)) {
		quoted = true
		i++
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
	case c == ',' && quoted && start > s.base && s.text[start-1] == '-': // an option in a list of arguments: "--password", "x"
		return link{value: i + 1, tight: true}
	case c == ',' && quoted:
		return link{value: s.valueMember(i), tight: true}
	case isQuote(c) && !quoted && i == end+1:
		return link{value: i, tight: true, bare: true}
	}
	return link{}
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
	if start > s.base && s.text[start-1] == '-' && s.at(end+1) != '-' {
		if level := strengthOf(s.text[start:end]); level != noKey && level != headerKey {
			return s.value(start, level, link{value: end + 1, tight: true})
		}
	}
	switch {
	case isScheme(s.text[start:end]):
		from = s.skipSpaces(end)
		to = s.tokenEnd(from)
		if to-from >= 8 && s.looksSecret(from, to) {
			return from, to
		}
	case last == 'd' || last == 'e':
		if hasFoldSuffix(s.text[start:end], "password") || hasFoldSuffix(s.text[start:end], "passphrase") {
			from, to = end+1, s.valueEnd(end+1)
			if s.looksSecret(from, to) && s.at(to) != ':' && s.at(to) != '=' && strings.ContainsAny(s.text[from:to], "0123456789") {
				return from, to
			}
		}
	}
	return end, end
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
