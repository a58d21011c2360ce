package scan

import "strings"

// shapeMin is the length in bytes below which nothing is a key by its shape.
const shapeMin = 12

// shapes are the beginnings of keys and tokens that say by themselves what they
// are, by their first byte, and how many characters have to follow.
var shapes = shapesByFirst([]shape{
	{"AKIA", 12}, {"ASIA", 12}, {"AIza", 20}, {"AGE-SECRET-KEY-1", 10}, {"ATATT3", 16}, {"ATCTT3", 16},
	{"GOCSPX-", 10}, {"SG.", 20}, {"PMAK-", 20}, {"NRAK-", 16}, {"EAACEdEose0cBA", 4}, {"LTAI", 12},
	{"atlasv1.", 10}, {"dckr_pat_", 8}, {"dckr_oat_", 8}, {"dop_v1_", 16}, {"doo_v1_", 16}, {"dor_v1_", 16}, {"dp.pt.", 16}, {"dapi", 32},
	{"eyJ", 12}, {"figd_", 16}, {"fal_", 20}, {"fo1_", 16}, {"gsk_", 16}, {"glpat-", 8}, {"gldt-", 8}, {"glrt-", 8}, {"glsa_", 16}, {"glc_", 16},
	{"ghp_", 8}, {"gho_", 8}, {"ghu_", 8}, {"ghs_", 8}, {"ghr_", 8}, {"github_pat_", 8},
	{"hf_", 12}, {"hvs.", 16}, {"hvb.", 16}, {"key-", 28}, {"lin_api_", 16}, {"live_sk_", 8}, {"npm_", 16}, {"ntn_", 20}, {"nvapi-", 16},
	{"pk_live_", 8}, {"pk_test_", 8}, {"pplx-", 16}, {"pypi-", 16}, {"pat-na1-", 16}, {"phc_", 20}, {"phx_", 20}, {"pscale_", 16}, {"postman-", 20},
	{"r8_", 20}, {"rk_live_", 8}, {"rk_test_", 8}, {"rnd_", 20}, {"rubygems_", 16},
	{"sk-", 8}, {"sk_live_", 8}, {"sk_test_", 8}, {"sk_", 20}, {"sbp_", 20}, {"sb_secret_", 8}, {"secret_", 20}, {"shpat_", 16}, {"shpss_", 16},
	{"shpca_", 16}, {"shppa_", 16}, {"sq0atp-", 12}, {"sq0csp-", 12}, {"sntrys_", 16}, {"sgp_", 20},
	{"tgp_v1_", 16}, {"tskey-", 10}, {"vercel_", 16}, {"whsec_", 8}, {"xai-", 16}, {"xapp-", 8}, {"xoxa-", 8}, {"xoxb-", 8}, {"xoxc-", 8},
	{"xoxd-", 8}, {"xoxe-", 8}, {"xoxe.xoxp-", 8}, {"xoxo-", 8}, {"xoxp-", 8}, {"xoxr-", 8}, {"xoxs-", 8}, {"ya29.", 12}, {"1//0", 20},
})

type shape struct {
	prefix string
	more   int
}

func shapesByFirst(all []shape) (table [128][]shape) {
	for _, p := range all {
		table[p.prefix[0]] = append(table[p.prefix[0]], p)
	}
	return table
}

// shape returns the end of a key that is one by its looks.
func (s *scanner) shape(i int) int {
	for _, p := range shapes[s.text[i]&0x7f] {
		if !strings.HasPrefix(s.text[i:s.chunkEnd], p.prefix) {
			continue
		}
		j := s.tokenEnd(i + len(p.prefix))
		if j-i-len(p.prefix) < p.more {
			continue
		}
		if p.more >= 12 && !s.mixedCase(i+len(p.prefix), j) {
			continue
		}
		return j
	}
	if end := s.botToken(i); end > i {
		return end
	}
	return i
}

// tokenEnd returns the end of the characters that keys have. The full stop of a
// sentence is none of them.
func (s *scanner) tokenEnd(i int) int {
	for i < s.chunkEnd {
		c := s.text[i]
		if classOf[c]&(cAlnum|cJoin|cDot) == 0 && c != '*' && c != '~' && c != '+' && c != '/' && c != '=' {
			break
		}
		i++
	}
	for i > 0 && (s.text[i-1] == '.' || s.text[i-1] == '/') {
		i--
	}
	return i
}

// mixedCase reports whether something is no word: digits, capitals within, or
// very long.
func (s *scanner) mixedCase(i, j int) bool {
	if j-i >= 24 {
		return true
	}
	digit, upper := false, false
	for k := i; k < j; k++ {
		digit = digit || isDigit(s.text[k])
		upper = upper || k > i && classOf[s.text[k]]&cUpper != 0
	}
	return digit || upper
}

// botToken finds the number and 35 characters of a chat bot's token.
func (s *scanner) botToken(i int) int {
	j := i
	for isDigit(s.at(j)) && j < i+11 {
		j++
	}
	if j < i+8 || s.at(j) != ':' {
		return i
	}
	k := j + 1
	for k < s.chunkEnd && classOf[s.text[k]]&(cAlnum|cJoin) != 0 {
		k++
	}
	if k-j-1 < 30 {
		return i
	}
	return k
}

// nearKey reports whether a word shortly before says that what follows is
// secret. A word right before that names an id says that it is not.
func (s *scanner) nearKey() bool {
	n := len(s.dst)
	for k, words := n-1, 0; k >= 0 && k >= n-12; k-- {
		t := &s.dst[k]
		if t.Kind == Newline {
			return false
		}
		if t.Kind != Word {
			continue
		}
		meaning := wordMeaning[t.Hash]
		if words == 0 && meaning == namesID {
			return false
		}
		if meaning == namesSecret {
			return true
		}
		words++
	}
	return false
}

const (
	namesSecret = 1
	namesID     = 2
)

var wordMeaning = makeMeanings()

func makeMeanings() map[uint64]int {
	m := make(map[uint64]int)
	for _, word := range []string{"key", "token", "secret", "password", "passwd", "pwd", "credential", "apikey", "bearer", "authorization",
		"signature", "jwt", "passphrase", "cookie"} {
		m[HashWord(word)] = namesSecret
	}
	for _, word := range []string{"id", "request", "requestid", "sha256", "sha1", "md5", "digest", "etag", "hash", "checksum", "commit", "trace", "span",
		"correlation", "job", "uuid", "version", "ray"} {
		m[HashWord(word)] = namesID
	}
	return m
}

// creds finds user:password@ in front of a host and announces the password.
func (s *scanner) creds(i int) bool {
	if i < s.noCreds {
		return false
	}
	j := i
	for j < s.chunkEnd && (classOf[s.text[j]]&(cAlnum|cJoin|cDot) != 0 || s.text[j] == '%' || s.text[j] == '+') {
		j++
	}
	if s.at(j) != ':' {
		return false
	}
	limit := s.chunkEnd
	tcp := strings.Index(s.text[j:limit], "@tcp(")
	at := -1
	if tcp >= 0 {
		at = j + tcp
	} else {
		for k := j + 1; k < limit; k++ {
			c := s.text[k]
			if c == '@' {
				at = k
			} else if c == '"' || c == '\'' || c == '<' || c == '>' || c == '{' || c == '}' || c == ',' || c == '/' && k == j+1 {
				if at < 0 {
					s.noCreds = k
				}
				break
			}
		}
	}
	if at <= j+1 || classOf[s.at(at+1)]&cAlnum == 0 && s.at(at+1) != '[' && s.at(at+1) != '/' || strings.HasPrefix(s.text[at:], "@sha256:") {
		return false
	}
	switch strings.ToLower(s.text[i:j]) {
	case "to", "from", "cc", "bcc", "email", "mail", "mailto", "user", "sender", "recipient", "address", "rcpt":
		return false
	}
	s.announce(j+1, at)
	return true
}

// announce says that a secret begins further on.
func (s *scanner) announce(start, end int) {
	if start < end && s.secretAt < 0 {
		s.secretAt, s.secretEnd = start, end
	}
}

// option finds the passwords of command lines: -u user:password, -ppassword.
func (s *scanner) option(i int) {
	rest := s.text[i:]
	for _, option := range [...]string{"-u ", "--user ", "--user=", "-U ", "--proxy-user "} {
		if !strings.HasPrefix(rest, option) {
			continue
		}
		from := i + len(option)
		if c := s.at(from); c == '"' || c == '\'' {
			from++
		}
		end := s.valueEnd(from)
		if colon := strings.IndexByte(s.text[from:end], ':'); colon > 0 {
			s.announce(from+colon+1, end)
		}
		return
	}
	if s.at(i+1) == 'p' && classOf[s.at(i+2)]&cAlnum != 0 && s.mysqlNear() {
		s.announce(i+2, s.valueEnd(i+2))
	}
}

// mysqlNear reports whether the command line is one on which -p is followed by
// a password without a space.
func (s *scanner) mysqlNear() bool {
	for k := len(s.dst) - 1; k >= 0 && k > len(s.dst)-20; k-- {
		if s.dst[k].Kind == Newline {
			return false
		}
		if s.dst[k].Kind == Word {
			switch text := s.dst[k].Text(s.text); text {
			case "mysql", "mysqldump", "mysqladmin", "mariadb":
				return true
			}
		}
	}
	return false
}

// pem finds a block of PEM, also one that is cut at either end.
func (s *scanner) pem(i int) int {
	switch {
	case strings.HasPrefix(s.text[i:], "-----BEGIN "):
	case strings.HasPrefix(s.text[i:], "-----END "):
		return s.pemTail(i)
	default:
		return i
	}
	if s.pemEnd <= i {
		s.pemEnd = len(s.text)
		if n := strings.Index(s.text[i:], "-----END "); n >= 0 {
			s.pemEnd = i + n
		}
	}
	end := s.pemEnd
	if end < len(s.text) {
		end = s.pemLabelEnd(end + len("-----END "))
	} else {
		end = s.pemBody(s.pemLabelEnd(i + len("-----BEGIN ")))
	}
	s.add(Secret, i, end)
	s.pemFloor = end
	return end
}

// pemLabelEnd returns the end of the hyphens after a label.
func (s *scanner) pemLabelEnd(i int) int {
	for i < len(s.text) && (classOf[s.text[i]]&cAlnum != 0 || s.text[i] == ' ') {
		i++
	}
	for s.at(i) == '-' {
		i++
	}
	return i
}

// pemBody returns the end of the lines of base64 at i.
func (s *scanner) pemBody(i int) int {
	end := i
	for i < len(s.text) {
		for i < len(s.text) && (classOf[s.text[i]]&cBlank != 0 || s.text[i] == '\\') {
			if s.text[i] == '\\' {
				i++
			}
			i++
		}
		from := i
		for i < len(s.text) && (classOf[s.text[i]]&cAlnum != 0 || s.text[i] == '+' || s.text[i] == '/' || s.text[i] == '=') {
			i++
		}
		if i-from < 40 {
			if i == len(s.text) || s.text[i] == '\n' || s.text[i] == '\r' || s.text[i] == '"' {
				end = i // its last line
			}
			return min(end, len(s.text))
		}
		end = i
	}
	return end
}

// pemTail takes the end of a block whose beginning was cut off.
func (s *scanner) pemTail(i int) int {
	end := s.pemLabelEnd(i + len("-----END "))
	start, pieces := i, 0
	for start > max(s.base, s.pemFloor) {
		j := start
		for j > s.base && classOf[s.text[j-1]]&cBlank != 0 {
			j--
		}
		k := j
		for k > s.base && (classOf[s.text[k-1]]&cAlnum != 0 || s.text[k-1] == '+' || s.text[k-1] == '/' || s.text[k-1] == '=') {
			k--
		}
		if k == j || pieces > 0 && j-k < 40 && k > s.base {
			break
		}
		start = k
		pieces++
	}
	n := len(s.dst)
	for n > 0 && int(s.dst[n-1].End) > start {
		n--
	}
	if n < len(s.dst) {
		start = min(start, int(s.dst[n].Start))
		s.glued = s.dst[n].Glued
		s.dst = s.dst[:n]
	}
	s.add(Secret, start, end)
	s.pemFloor = end
	return end
}
