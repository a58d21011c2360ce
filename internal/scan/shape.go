package scan

import "strings"

// shapeMin is the smallest length in bytes of a key that is recognised by its shape.
const shapeMin = 12

// shapes contains the known prefixes of keys and tokens by their first byte. For each prefix,
// it also contains how many characters must follow at least.
var shapes = shapesByFirst([]shape{
	{"1//0", 20}, {"AGE-SECRET-KEY-1", 10}, {"AIza", 20}, {"AKIA", 12}, {"CFPAT-", 20}, {"EAAA", 40}, {"ASIA", 12}, {"ATATT3", 16}, {"ATCTT3", 16},
	{"GOCSPX-", 10}, {"LTAI", 12}, {"NRAK-", 16}, {"PMAK-", 20}, {"SG.", 16},
	{"atlasv1.", 10}, {"dapi", 32}, {"dckr_oat_", 8}, {"dckr_pat_", 8}, {"doo_v1_", 16}, {"dop_v1_", 16}, {"dor_v1_", 16}, {"dp.pt.", 16},
	{"eyJ", 12}, {"fal_", 20}, {"figd_", 16}, {"fo1_", 16},
	{"gho_", 8}, {"ghp_", 8}, {"ghr_", 8}, {"ghs_", 8}, {"ghu_", 8}, {"github_pat_", 8}, {"glc_", 16}, {"gldt-", 8}, {"glpat-", 8},
	{"glrt-", 8}, {"glsa_", 16}, {"gsk_", 16},
	{"hf_", 12}, {"hvb.", 16}, {"hvs.", 16}, {"key-", 28}, {"lin_api_", 16}, {"live_sk_", 8}, {"npm_", 16}, {"ntn_", 20}, {"nvapi-", 16},
	{"pat-na1-", 16}, {"phc_", 20}, {"phx_", 20}, {"pk_live_", 8}, {"pk_test_", 8}, {"pplx-", 16}, {"pscale_", 16}, {"pypi-", 16},
	{"r8_", 20}, {"rk_live_", 8}, {"rk_test_", 8}, {"rnd_", 20}, {"rubygems_", 16},
	{"sb_secret_", 8}, {"sbp_", 20}, {"secret_", 20}, {"sgp_", 20}, {"shpat_", 16}, {"shpca_", 16}, {"shppa_", 16}, {"shpss_", 16},
	{"sk-", 8}, {"sl.", 60}, {"sk_", 20}, {"sk_live_", 8}, {"sk_test_", 8}, {"sntrys_", 16}, {"sq0atp-", 12}, {"sq0csp-", 12},
	{"tgp_v1_", 16}, {"tskey-", 10}, {"vercel_", 16}, {"whsec_", 8}, {"xai-", 16}, {"xapp-", 8},
	{"xoxa-", 8}, {"xoxb-", 8}, {"xoxc-", 8}, {"xoxd-", 8}, {"xoxe-", 8}, {"xoxe.xox", 8}, {"xoxo-", 8}, {"xoxp-", 8}, {"xoxr-", 8}, {"xoxs-", 8},
	{"ya29.", 12},
	{"csk-", 30}, {"dt0c01.", 24}, {"dt0s01.", 24}, {"dt0s16.", 24}, {"bkua_", 20}, {"fw_", 24}, {"gloas-", 16}, {"glptt-", 16}, {"glft-", 8}, {"glsoat-", 8},
	{"glagent-", 16}, {"glcbt-", 8}, {"HRKU-", 30}, {"hrku-", 30}, {"jina_", 30}, {"lsv2_pt_", 20}, {"lsv2_sk_", 20}, {"mlsn.", 30}, {"nfp_", 24}, {"pnu_", 24},
	{"pul-", 30}, {"re_", 24}, {"sgd_", 24}, {"squ_", 20}, {"sqa_", 20}, {"sqp_", 20}, {"sntryu_", 16}, {"sdk-", 36}, {"mob-", 36}, {"tfp_", 24}, {"tvly-", 20},
	{"vcp_", 20}, {"xkeysib-", 20}, {"xsmtpsib-", 20}, {"shpit_", 16}, {"duffel_live_", 16}, {"FLWSECK-", 16}, {"EZAK", 40}, {"gcpat_", 30}, {"pa-", 40},
	{"AKCp", 40}, {"dsapi_", 20}, {"e2b_", 30}, {"lob_live_", 16}, {"frwn_", 20}, {"nrn_", 30}, {"pk_", 36},
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

// shape returns the end of a key that is recognised by its prefix.
func (s *scanner) shape(i int) int {
	for _, p := range shapes[s.text[i]&0x7f] {
		if !strings.HasPrefix(s.text[i:s.chunkEnd], p.prefix) {
			continue
		}
		from := i + len(p.prefix)
		end := s.tokenEnd(from)
		if end-from >= p.more && s.senseless(from, end) {
			return end
		}
	}
	if isDigit(s.text[i]) {
		return s.botToken(i)
	}
	return i
}

// tokenEnd returns the end of a run of characters that keys may contain. Stars may hide some of
// the characters. A full stop at the end of a sentence does not belong to the run.
func (s *scanner) tokenEnd(i int) int {
	from := i
	for s.is(i)&(cAlnum|cJoin|cDot) != 0 || strings.IndexByte("*~+/=", s.at(i)) >= 0 {
		i++
	}
	for i > from && (s.text[i-1] == '.' || s.text[i-1] == '/') {
		i--
	}
	return i
}

// senseless reports whether the text from i to j looks random and not like a word. A random text
// has digits, capitals after small letters or stars, or is very long.
func (s *scanner) senseless(i, j int) bool {
	for k := i; k < j; k++ {
		if c := classOf[s.text[k]]; c&cDigit != 0 || c&cUpper != 0 && k > i || s.text[k] == '*' {
			return true
		}
	}
	return j-i >= 24
}

// botToken returns the end of a chat bot's token: a number, ':' and 35 characters.
func (s *scanner) botToken(i int) int {
	j := i
	for isDigit(s.at(j)) && j < i+20 {
		j++
	}
	if j < i+8 || s.at(j) != ':' {
		return i
	}
	k := j + 1
	for s.is(k)&(cAlnum|cJoin) != 0 {
		k++
	}
	if k-j-1 < 30 {
		return i
	}
	return k
}

// dottedToken returns the end of a token of several parts with a '.' or ':' between them, whose
// letters and digits change as often as in encoded bytes.
func (s *scanner) dottedToken(i int) int {
	const least, part = 45, 22
	if i < s.noToken || s.chunkEnd-i < least {
		return i
	}
	j, from, longest := i, i, 0
	var run blobRun
	for ; s.is(j)&(cAlnum|cJoin|cDot|cColon) != 0; j++ {
		if s.is(j)&(cDot|cColon) != 0 {
			if s.is(j+1)&(cAlnum|cJoin) == 0 {
				break
			}
			longest, from = max(longest, j-from), j+1
		}
		run.add(classOf[s.text[j]])
	}
	s.noToken = j
	if longest = max(longest, j-from); j-i < least || from == i || longest < part || run.digits < 3 || run.upper < 2 || run.lower < 3 || run.changes*5 < (j-i)*2 {
		return i
	}
	return j
}

const (
	blobMin   = 20
	secretMin = 40 // from this length in bytes on, a blob is a secret in any context
	// prefixedMin is the same for a blob that begins with a short word and '_' or '-', as the keys of
	// most services do. Ids of that form are shorter.
	prefixedMin = 34
)

// prefixed reports whether a blob begins with a word of 2 to 8 small letters and digits and '_' or '-'.
func (s *scanner) prefixed(i int) bool {
	j := i
	for j < i+9 && s.is(j)&(cLower|cDigit) != 0 {
		j++
	}
	return j >= i+2 && s.is(i)&cLower != 0 && s.is(j)&cJoin != 0 && !idPrefixes[s.text[i:j]]
}

// idPrefixes are the beginnings of ids, which are no secrets.
var idPrefixes = wordSet("asst batch call chatcmpl cmpl cs cus evt file img in job msg pi req resp run span sub task thread toolu trace tx upload user usr")

// blob reads a long run of letters and digits that looks random: a request id, a hash or base64.
// Its token is a Secret if the run is very long or near the name of a secret. Otherwise the token
// is an ID.
func (s *scanner) blob(i int) (int, Kind) {
	if i < s.noBlob || s.mask&cDigit == 0 {
		return i, ID
	}
	j := i
	var run blobRun
	for blobChar(s.at(j)) || s.at(j) == '=' && (s.at(j+1) == '=' || !blobChar(s.at(j+1))) {
		run.add(classOf[s.text[j]])
		j++
	}
	s.noBlob = j
	if s.at(j) == '.' && s.is(j+1)&cAlnum != 0 { // the text is a part of a host name or a file name
		return i, ID
	}
	for j > i && (classOf[s.text[j-1]]&cJoin != 0 || s.text[j-1] == '/') {
		j--
	}
	n := j - i
	switch {
	case s.uuid(i, j):
		if s.nearKey(2) {
			return j, Secret
		}
		return j, ID
	case n < blobMin || run.digits < 2 || run.changes*5 < n:
		return i, ID
	case n >= secretMin && run.digits > 2 && run.upper > 2 && run.lower > 2 && !s.idBefore():
		return j, Secret
	case n >= prefixedMin && run.digits > 2 && run.upper > 4 && run.lower > 4 && s.prefixed(i) && !s.idBefore():
		return j, Secret
	}
	if s.nearKey(8) {
		return j, Secret
	}
	return j, ID
}

func blobChar(c byte) bool { return classOf[c]&(cAlnum|cJoin) != 0 || c == '+' || c == '/' }

// blobRun counts the characters of a blob, and how often their class changes.
type blobRun struct {
	digits, upper, lower, changes int
	last                          class
}

func (b *blobRun) add(c class) {
	if c&cAlnum == 0 {
		return
	}
	switch {
	case c&cDigit != 0:
		b.digits++
	case c&cUpper != 0:
		b.upper++
	default:
		b.lower++
	}
	if c != b.last {
		b.changes++
		b.last = c
	}
}

// uuid reports whether the text from i to j has the form of a UUID: 8-4-4-4-12 hexadecimal digits.
func (s *scanner) uuid(i, j int) bool {
	if j-i != 36 {
		return false
	}
	for k := i; k < j; k++ {
		switch k - i {
		case 8, 13, 18, 23:
			if s.text[k] != '-' {
				return false
			}
		default:
			if !isHex(s.text[k]) {
				return false
			}
		}
	}
	return true
}

// nearKey reports whether one of the words before i is the name of a secret. It returns
// false if the word directly before i is the name of an id.
func (s *scanner) nearKey(words int) bool {
	seen := 0
	for k := len(s.dst) - 1; k >= max(0, len(s.dst)-12) && seen < words; k-- {
		t := &s.dst[k]
		if t.Kind == Newline {
			return false
		}
		if t.Kind != Word {
			continue
		}
		switch m := wordMeaning[t.Hash]; {
		case m == namesSecret && lower(s.text[t.End-1]) != 's': // the plural "tokens" usually means a number of tokens
			return !s.keepsKey(k)
		case m == namesID && seen == 0:
			return false
		}
		seen++
	}
	return false
}

// keepsKey reports whether the word k is part of a name such as partition_key.
func (s *scanner) keepsKey(k int) bool {
	if k == 0 || !s.dst[k].Glued || s.dst[k-1].Kind != Word {
		return false
	}
	return keepsKey([]byte(strings.ToLower(s.dst[k-1].Text(s.text))))
}

// idBefore reports whether the word directly before i is the name of an id.
func (s *scanner) idBefore() bool {
	for k := len(s.dst) - 1; k >= max(0, len(s.dst)-4); k-- {
		if s.dst[k].Kind != Punct && (s.dst[k].Kind != Number || !s.dst[k].Glued) {
			return s.dst[k].Kind == Word && wordMeaning[s.dst[k].Hash] == namesID
		}
	}
	return false
}

type meaning uint8

const (
	namesSecret meaning = iota + 1
	namesID
)

var wordMeaning = makeMeanings()

func makeMeanings() map[uint64]meaning {
	m := make(map[uint64]meaning)
	for _, word := range []string{"key", "token", "secret", "password", "passwd", "pwd", "credential", "apikey", "bearer", "authorization",
		"signature", "jwt", "passphrase", "cookie"} {
		m[HashWord(word)] = namesSecret
	}
	for _, word := range []string{"id", "request", "requestid", "sha", "sha256", "sha1", "md5", "digest", "etag", "hash", "checksum", "commit",
		"trace", "span", "correlation", "job", "uuid", "version", "ray"} {
		m[HashWord(word)] = namesID
	}
	return m
}
