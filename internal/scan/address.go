package scan

import (
	"strings"
	"unicode/utf8"
)

// ipv6 returns the end of an IPv6 address with its zone, or i if there is no address at i.
func (s *scanner) ipv6(i int) int {
	j, groups, double, digit := i, 0, false, false
	for groups < 9 {
		k := j
		for isHex(s.at(k)) && k < j+5 {
			digit = digit || isDigit(s.text[k])
			k++
		}
		switch {
		case k > j+4, k == j && j > i:
			return i
		case k > j:
			groups++
		}
		if s.at(k) == '.' && groups > 1 || s.at(k) == '.' && double { // the last 32 bits may be written like an IPv4 address
			return s.mapped(i, j, double)
		}
		switch {
		case s.at(k) == ':' && s.at(k+1) == ':' && !double:
			double = true
			j = k + 2
			if !isHex(s.at(j)) {
				return s.endIPv6(i, j, groups, double, digit)
			}
		case s.at(k) == ':' && isHex(s.at(k+1)) && k > j:
			j = k + 1
		default:
			return s.endIPv6(i, k, groups, double, digit)
		}
	}
	return i
}

func (s *scanner) endIPv6(i, j, groups int, double, digit bool) int {
	full := groups == 8 && !double
	short := double && groups < 8 && groups > 0 && (digit || groups > 3)
	if !full && !short || s.is(j)&(cAlnum|cHigh) != 0 || s.at(j) == ':' && s.at(j+1) == ':' {
		return i
	}
	if s.at(j) == '%' {
		k := j + 1
		for s.is(k)&cAlnum != 0 && k < j+16 {
			k++
		}
		j = k
	}
	return j
}

func (s *scanner) mapped(i, v4 int, double bool) int {
	j, parts := v4, 0
	for isDigit(s.at(j)) && s.octet(j) {
		parts++
		j = s.digitsEnd(j)
		if s.at(j) != '.' || parts == 4 {
			break
		}
		j++
	}
	if parts != 4 || !double || s.is(j)&cAlnum != 0 {
		return i
	}
	return j
}

// mac returns the end of a MAC address at i, which is six pairs of hexadecimal digits. It
// returns i if there is no MAC address.
func (s *scanner) mac(i int) int {
	for n := range 6 {
		p := i + 3*n
		if !isHex(s.at(p)) || !isHex(s.at(p+1)) || n < 5 && s.at(p+2) != ':' {
			return i
		}
	}
	end := i + len("00:00:00:00:00:00")
	if s.is(end)&cAlnum != 0 || s.at(end) == ':' {
		return i
	}
	return end
}

// email returns the end of an e-mail address with a domain.
func (s *scanner) email(i int) int {
	if i < s.noEmail {
		return i
	}
	j := i
	for s.is(j)&(cAlnum|cDot|cJoin) != 0 || s.at(j) == '+' || s.at(j) == '%' || s.foreignLetter(j) > 0 {
		j += max(1, s.foreignLetter(j))
	}
	s.noEmail = j
	at := j + 1
	if s.at(j) != '@' {
		n := strings.Index(s.text[i:j], "%40") // an escaped '@'
		if n < 1 {
			return i
		}
		j = i + n
		at = j + len("%40")
	}
	k, dots := at, 0
	for s.is(k)&(cAlnum|cDot|cJoin) != 0 || s.foreignLetter(k) > 0 {
		if s.text[k] == '.' && s.is(k+1)&(cAlnum|cHigh) != 0 {
			dots++
		}
		k += max(1, s.foreignLetter(k))
	}
	for k > at && classOf[s.text[k-1]]&(cAlnum|cHigh) == 0 {
		k--
	}
	if s.text[i:j] == "git" && s.at(k) == ':' { // the address of a repository
		return i
	}
	if dots == 0 || k < at+3 || isDigit(s.text[k-1]) {
		return i
	}
	return k
}

// foreignLetter returns the length of a letter beyond ASCII at i, or 0. Scripts without spaces do not
// count: their words would become parts of the address.
func (s *scanner) foreignLetter(i int) int {
	if s.is(i)&cHigh == 0 {
		return 0
	}
	if r, n := utf8.DecodeRuneInString(s.text[i:]); isLetter(r) && !isDense(r) {
		return n
	}
	return 0
}

// hostAddress returns the end of the name of a host that contains its IPv4 address, such as
// ip-10-0-0-1.ec2.internal and 10-42-0-7.default.pod. A name with only four numbers must have a '.'
// behind them, because a date or an id has the same form.
func (s *scanner) hostAddress(i int) int {
	j := i
	for j < i+8 && s.is(j)&cLetter != 0 {
		j++
	}
	if j > i {
		for isDigit(s.at(j)) && j < i+12 { // ec2-54-…
			j++
		}
		if s.at(j) != '-' {
			return i
		}
		j++
	}
	start := j
	for n := range 4 {
		if !isDigit(s.at(j)) || !s.octet(j) {
			return i
		}
		if j = s.digitsEnd(j); n < 3 {
			if s.at(j) != '-' {
				return i
			}
			j++
		}
	}
	switch {
	case s.at(j) == '.' && s.is(j+1)&cLetter != 0:
	case start == i+len("ip-") && lower(s.text[i]) == 'i' && lower(s.text[i+1]) == 'p' && s.is(j)&(cAlnum|cJoin|cHigh) == 0:
	default:
		return i
	}
	for s.is(j)&(cAlnum|cJoin) != 0 || s.at(j) == '.' && s.is(j+1)&cAlnum != 0 {
		j++
	}
	return j
}

const localhost = "localhost"

// localhost reports whether the word localhost, a host without a dot, is at i.
func (s *scanner) localhost(i int) bool {
	if s.text[i] != 'l' || !strings.HasPrefix(s.text[i:], localhost) {
		return false
	}
	after := i + len(localhost)
	return s.is(after)&(cAlnum|cHigh|cJoin) == 0 && (s.at(after) != '.' || s.is(after+1)&cAlnum == 0)
}

// dotted reads names with dots: hosts, URLs without a scheme, files and versions.
func (s *scanner) dotted(i int) (int, Kind) {
	if i < s.noDotted {
		return i, Host
	}
	j, lastDot, labels, onlyDigits := i, -1, 1, true
	for {
		c := s.is(j)
		switch {
		case c&cDot != 0 && s.is(j+1)&cAlnum != 0:
			lastDot = j
			labels++
		case c&(cAlnum|cJoin) == 0:
			s.noDotted = j
			return s.dottedKind(i, j, lastDot, labels, onlyDigits)
		case c&cDigit == 0 && lastDot >= 0:
			onlyDigits = false
		}
		j++
	}
}

func (s *scanner) dottedKind(i, j, lastDot, labels int, onlyDigits bool) (int, Kind) {
	for j > i && classOf[s.text[j-1]]&cAlnum == 0 {
		j--
	}
	if lastDot < 0 || lastDot >= j || s.is(j)&cHigh != 0 {
		return i, Host
	}
	last := s.text[lastDot+1 : j]
	switch {
	case onlyDigits && lower(s.text[i]) == 'v' && isDigit(s.at(i+1)):
		return j, ID
	case isExtension(last):
		return j, File
	case isDomain(last, labels) && s.at(j) != '(':
		if s.at(j) == '/' && s.is(j+1)&cAlnum != 0 && !s.quad(j+1) { // but not host/address, the form in which Java prints an address
			return s.trimURL(i, s.urlChars(j)), URL
		}
		return j, Host
	}
	return i, Host
}

// quad reports whether four numbers with dots, such as an IPv4 address, are at i.
func (s *scanner) quad(i int) bool {
	for n := range 4 {
		if !isDigit(s.at(i)) || !s.octet(i) {
			return false
		}
		if i = s.digitsEnd(i); n < 3 {
			if s.at(i) != '.' {
				return false
			}
			i++
		}
	}
	return s.is(i)&(cAlnum|cJoin|cSlash) == 0
}

// isDomain reports whether the last label of a name shows that the name is a host. If the
// name has two labels, a last label that is common in programs does not show this.
func isDomain(label string, labels int) bool {
	switch label {
	case "com", "net", "org", "io", "dev", "ai", "app", "co", "cloud", "gov", "edu", "mil", "info", "biz",
		"local", "internal", "intranet", "lan", "corp", "svc", "example", "invalid", "localhost", "arpa", "onion",
		"uk", "de", "fr", "nl", "eu", "ru", "cn", "jp", "br", "au", "ca", "ch", "se", "es", "kr", "tr", "ua", "cz", "fi", "dk",
		"COM", "NET", "ORG":
		return true
	case "test", "home", "in", "us", "it", "at", "be", "me", "to", "tv", "gg", "xyz", "tech", "site", "online", "store":
		return labels > 2
	}
	return false
}
