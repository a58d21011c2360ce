package scan

import "strings"

// numbers finds the number of a card, an account, a person or a phone that begins with the token
// k, and hashes of passwords.
func (s *scanner) numbers(k int) (from, to int) {
	start := int(s.dst[k].Start)
	if start > s.base {
		if c := s.text[start-1]; classOf[c]&(cAlnum|cHigh) != 0 || c == '_' || c == '.' || c == '-' && start > s.base+1 && classOf[s.text[start-2]]&cAlnum != 0 {
			return start, start
		}
	}
	if end := s.hexPair(start); end > start {
		return start, end
	}
	if from, to = s.afterAccount(start); from < to {
		return from, to
	}
	if c := s.text[start]; !isDigit(c) {
		if strings.HasPrefix(s.text[start:], "UGFzc3dvcmQ6") { // "Password:" in base64, as SMTP servers ask for it
			return s.answer(int(s.dst[k].End))
		}
		return s.account97(start)
	}
	if end := s.card(start); end > start {
		return start, end
	}
	return start, s.social(start)
}

// answer returns the first value on the next line.
func (s *scanner) answer(i int) (from, to int) {
	for i < len(s.text) && (classOf[s.text[i]]&(cBlank|cAlnum) == 0 || classOf[s.text[i]]&cBlank != 0) {
		i++
	}
	for s.is(i)&cAlnum != 0 && s.at(i+1) == ':' && s.at(i+2) == ' ' { // C: in a protocol
		i += 3
	}
	return s.next(i)
}

// card returns the end of the number of a payment card: 13 to 19 digits, alone or in groups, that
// begin as an issuer's numbers do and have a correct check digit.
func (s *scanner) card(i int) int {
	var digits [20]byte
	n, j := 0, i
	gap, group := byte(0), 0
	for n < len(digits) {
		c := s.at(j)
		if isDigit(c) {
			digits[n] = c - '0'
			n++
			j++
			group++
			continue
		}
		if (c == ' ' || c == '-') && isDigit(s.at(j+1)) && (gap == 0 && n == 4 || gap == c && (group == 4 || group == 6)) {
			gap, group = c, 0
			j++
			continue
		}
		break
	}
	if n < 13 || n > 19 || gap != 0 && (group > 5 || group < 3) || s.is(j)&(cAlnum|cHigh) != 0 || s.at(j) == '.' && isDigit(s.at(j+1)) || s.at(j) == '_' {
		return i
	}
	if !issuer(digits[:n]) || !luhn(digits[:n]) {
		return i
	}
	return j
}

// issuer reports whether digits have the beginning and the length of the card numbers of Visa,
// Mastercard, American Express, Discover, Diners, JCB, UnionPay or Maestro.
func issuer(d []byte) bool {
	four := int(d[0])*1000 + int(d[1])*100 + int(d[2])*10 + int(d[3])
	two, n := four/100, len(d)
	switch {
	case d[0] == 4:
		return n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		return n == 16
	case two == 34 || two == 37:
		return n == 15
	case two == 36 || two == 38 || four >= 3000 && four <= 3059 || two == 39:
		return n == 14 || n == 16
	case four >= 3528 && four <= 3589, four == 6011, two == 65, two == 62, four/10 >= 644 && four/10 <= 649:
		return n >= 16
	case two == 35:
		return n == 16
	case two == 50 || two >= 56 && two <= 58 || two == 63 || two == 67:
		return n == 16
	}
	return false
}

// luhn reports whether the last digit is the check digit of the others.
func luhn(d []byte) bool {
	sum := 0
	for i := range d {
		v := int(d[len(d)-1-i])
		if i%2 == 1 {
			v *= 2
		}
		sum += v/10 + v%10
	}
	return sum%10 == 0
}

// account97 returns the position of an IBAN: two letters, two check digits and 11 to 30 letters
// and digits, alone or in groups of four, whose remainder by 97 is 1.
func (s *scanner) account97(i int) (from, to int) {
	if s.is(i)&cUpper == 0 || s.is(i+1)&cUpper == 0 || !isDigit(s.at(i+2)) || !isDigit(s.at(i+3)) {
		return i, i
	}
	j, n, group := i, 0, 0
	spaced := s.at(i+4) == ' '
	for n < 34 {
		c := s.at(j)
		if isDigit(c) || classOf[c]&cUpper != 0 {
			n++
			j++
			group++
			continue
		}
		if !spaced || c != ' ' || group != 4 || s.is(j+1)&(cDigit|cUpper) == 0 {
			break
		}
		group = 0
		j++
	}
	length := ibanLength(s.text[i : i+2])
	for n >= length && length > 0 {
		if n == length && s.is(j)&cAlnum == 0 && mod97(s.text[i:j]) {
			return i, j
		}
		if !spaced {
			break
		}
		last := strings.LastIndexByte(s.text[i:j], ' ') // the last group may be a word after the number
		if last < 0 {
			break
		}
		n -= j - (i + last + 1)
		j = i + last
	}
	return i, i
}

// ibanLengths holds, for each country that has IBANs, their length.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 " +
	"GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 " +
	"MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 " +
	"VA22 VG24 XK20 YE30 "

// ibanLength returns the length of the IBANs of a country, or 0.
func ibanLength(country string) int {
	const entry = len("AD24 ")
	for i := 0; i+entry <= len(ibanLengths); i += entry {
		if ibanLengths[i:i+2] == country {
			return int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	return 0
}

// mod97 reports whether the check digits of an IBAN are right.
func mod97(text string) bool {
	rest, digits := 0, 0
	add := func(part string) {
		for _, c := range []byte(part) {
			switch {
			case isDigit(c):
				rest = (rest*10 + int(c-'0')) % 97
				digits++
			case c != ' ':
				rest = (rest*100 + int(c-'A') + 10) % 97
			}
		}
	}
	add(text[4:])
	add(text[:4])
	return rest == 1 && digits >= 9
}

// social returns the end of a US social security number such as 078-05-1120.
func (s *scanner) social(i int) int {
	end := i + len("078-05-1120")
	if end > len(s.text) || s.at(i+3) != '-' || s.at(i+6) != '-' || s.is(end)&(cAlnum|cJoin) != 0 || s.at(end) == '.' && isDigit(s.at(end+1)) {
		return i
	}
	text := s.text[i:end]
	if !allDigits(text[:3]) || !allDigits(text[4:6]) || !allDigits(text[7:]) {
		return i
	}
	if text[:3] == "000" || text[:3] == "666" || text[0] == '9' || text[4:6] == "00" || text[7:] == "0000" {
		return i
	}
	return end
}

// afterAccount returns the position of 32 hexadecimal digits after the id of an account, which is two
// capitals and as many digits: AC… / x, AC…:x.
func (s *scanner) afterAccount(i int) (from, to int) {
	if s.is(i)&cUpper == 0 || s.is(i+1)&cUpper == 0 || s.hexEnd(i+2) != i+34 {
		return i, i
	}
	from = i + 34
	for n := 0; n < 3 && (s.is(from)&cBlank != 0 || s.at(from) == '/' || s.at(from) == ':' || s.at(from) == ','); n++ {
		from++
	}
	if to = s.hexEnd(from); from == i+34 || to != from+32 || s.is(to)&cAlnum != 0 {
		return i, i
	}
	return from, to
}

// hexEnd returns the end of the hexadecimal digits at i.
func (s *scanner) hexEnd(i int) int {
	for i < len(s.text) && isHex(s.text[i]) {
		i++
	}
	return i
}

// hexPair returns the end of two hashes of a Windows password with a ':' between them.
func (s *scanner) hexPair(i int) int {
	for n := range 32 {
		if !isHex(s.at(i+n)) || !isHex(s.at(i+33+n)) {
			return i
		}
	}
	if s.at(i+32) != ':' || s.is(i+65)&cAlnum != 0 {
		return i
	}
	return i + 65
}
