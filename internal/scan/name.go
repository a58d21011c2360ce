package scan

// name reads what begins with a letter or a digit: the shapes that mean
// something as a whole first, then words and numbers.
func (s *scanner) name(i int) int {
	c := classOf[s.text[i]]
	if c&cHigh != 0 {
		return s.foreign(i)
	}
	if c&cLower != 0 && s.localhost(i) {
		s.add(Host, i, i+len(localhost))
		return i + len(localhost)
	}
	const structured = cDigit | cAt | cColon | cSlash | cDot | cBackslash | cJoin | cHigh
	long := s.chunkEnd-i >= shapeMin
	if !long && s.mask&structured == 0 {
		return s.identifier(i)
	}
	if long {
		if end := s.shape(i); end > i {
			s.add(Secret, i, end)
			return end
		}
		if end, kind := s.blob(i); end > i {
			s.add(kind, i, end)
			return end
		}
	}
	if s.mask&cColon != 0 {
		if end, kind := s.withColon(i); end > i {
			s.add(kind, i, end)
			return end
		}
	}
	if s.mask&cAt != 0 {
		if s.mask&cColon != 0 && s.creds(i) {
			return s.identifier(i)
		}
		if end := s.email(i); end > i {
			s.add(Email, i, end)
			return end
		}
	}
	if s.mask&cSlash != 0 {
		if end := s.relPath(i); end > i {
			s.add(Path, i, end)
			return end
		}
	}
	if c&cDigit != 0 {
		if end := s.number(i); end > i {
			return end
		}
	} else if s.mask&cDot != 0 {
		if end, kind := s.dotted(i); end > i {
			s.add(kind, i, end)
			return end
		}
	}
	return s.identifier(i)
}

// withColon finds the shapes that need a ':' further on.
func (s *scanner) withColon(i int) (end int, kind Kind) {
	if end = s.url(i); end > i {
		return end, URL
	}
	if end = s.ipv6(i); end > i {
		return end, IP
	}
	if end = s.mac(i); end > i {
		return end, ID
	}
	return s.windowsPath(i), Path
}

// identifier adds the words of letters and digits that '_' and '-' join.
func (s *scanner) identifier(i int) int {
	start, first := i, true
	for {
		j := i
		var mask class
		for j < len(s.text) && classOf[s.text[j]]&cAlnum != 0 {
			mask |= classOf[s.text[j]]
			j++
		}
		if j < len(s.text) && classOf[s.text[j]]&cHigh != 0 && s.contraction(j) == 0 {
			if r := s.letterAt(j); r {
				return s.foreign(i)
			}
		}
		if !first && s.chunkEnd-i >= shapeMin {
			if end := s.shape(i); end > i {
				s.add(Secret, i, end)
				return end
			}
		}
		switch {
		case mask&cDigit == 0:
			j = s.letters(i, j)
		case mask&cLetter == 0:
			s.digits(i, j, !first)
		default:
			s.mixed(i, j)
		}
		k := j
		for s.at(k) == '_' {
			k++
		}
		if k == j && s.at(k) == '-' {
			k++
		}
		if k == j || classOf[s.at(k)]&cAlnum == 0 {
			if mask&cLetter != 0 {
				s.keyed(start, j)
			}
			return j
		}
		i, first = k, false
	}
}

// digits adds a number. Of one that is part of a name, or is the port of a
// host or the line of a file, nobody should read a meaning from its value.
func (s *scanner) digits(start, end int, inName bool) {
	kind, num := Number, int64(-1)
	if end-start <= 18 {
		num = 0
		for _, c := range []byte(s.text[start:end]) {
			num = num*10 + int64(c-'0')
		}
	}
	n := len(s.dst)
	if s.glued && n > 0 && !inName {
		switch last := s.dst[n-1]; {
		case last.Kind != Punct:
		case last.Hash == '$':
			num = -1
		case last.Hash == ':' && n > 1 && last.Glued && s.dst[n-2].Kind.place():
			kind = ID
		case last.Hash == '.' && n > 1 && last.Glued && s.dst[n-2].Kind == Word:
			kind = ID
		case last.Hash == ':' && n > 1 && last.Glued && s.dst[n-2].Kind == ID:
			kind = ID
		}
	}
	s.add(kind, start, end)
	if kind == Number {
		s.dst[len(s.dst)-1].Num = num
	}
}

func (k Kind) place() bool { return k == Host || k == IP || k == File || k == Path || k == URL }

// fraction adds a number whose value nobody reads.
func (s *scanner) fraction(start, end int) int {
	s.add(Number, start, end)
	s.dst[len(s.dst)-1].Num = -1
	return end
}

// number reads what begins with a digit and goes on beyond letters and digits:
// addresses, fractions, versions, times and dates. Where it is neither, and no
// letter is in it, it is a plain number.
func (s *scanner) number(i int) int {
	j := s.digitsEnd(i)
	next := s.at(j)
	if !isDigit(s.at(j + 1)) {
		if classOf[next]&(cLetter|cHigh) != 0 || next == '_' || next == '-' && classOf[s.at(j+1)]&cLetter != 0 {
			return i // an identifier
		}
		s.digits(i, j, false)
		return j
	}
	switch next {
	case '.':
		return s.dottedNumber(i)
	case ':':
		end := s.timeEnd(j)
		s.add(ID, i, end)
		return end
	case '-':
		end := s.dateEnd(j)
		s.add(ID, i, end)
		return end
	case '/':
		k := s.digitsEnd(j + 1)
		if s.at(k) == '/' && isDigit(s.at(k+1)) {
			end := s.digitsEnd(k + 1)
			s.add(ID, i, end)
			return end
		}
	case ',':
		k := j
		for s.at(k) == ',' && s.digitsEnd(k+1) == k+4 {
			k += 4
		}
		if k > j {
			return s.fraction(i, k)
		}
	case '_':
		return i
	}
	if classOf[next]&cLetter != 0 {
		return i
	}
	s.digits(i, j, false)
	return j
}

func (s *scanner) digitsEnd(i int) int {
	for isDigit(s.at(i)) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// dottedNumber reads 1.5, 1.2.3 and 10.0.0.1.
func (s *scanner) dottedNumber(i int) int {
	parts, octets, j := 1, s.octet(i), s.digitsEnd(i)
	for s.at(j) == '.' && isDigit(s.at(j+1)) {
		octets = octets && s.octet(j+1)
		j = s.digitsEnd(j + 1)
		parts++
	}
	after := classOf[s.at(j)]
	switch {
	case parts == 4 && octets && after&cAlnum == 0 && !s.afterVersion():
		s.add(IP, i, j)
	case parts == 2 && (s.at(j) != '-' || classOf[s.at(j+1)]&cAlnum == 0) && (after&cLetter == 0 || s.unitEnd(j) > 0):
		s.fraction(i, j)
	case parts == 2 && s.at(j) == '-':
		s.fraction(i, j)
	default:
		for classOf[s.at(j)]&cAlnum != 0 || (s.at(j) == '-' || s.at(j) == '+' || s.at(j) == '.') && classOf[s.at(j+1)]&cAlnum != 0 {
			j++
		}
		s.add(ID, i, j)
	}
	return j
}

// octet reports whether the digits at i are a number up to 255.
func (s *scanner) octet(i int) bool {
	n := s.digitsEnd(i) - i
	return n < 3 || n == 3 && s.text[i:i+3] <= "255"
}

// afterVersion reports whether the word before says that four numbers with dots
// are a version.
func (s *scanner) afterVersion() bool {
	n := len(s.dst)
	return n > 0 && s.dst[n-1].Kind == Word && s.dst[n-1].Hash == hashVersion
}

var hashVersion = HashWord("version")

// unitEnd returns the end of a unit that touches a number, 0 when there is
// none: up to seven letters that end there.
func (s *scanner) unitEnd(i int) int {
	j := i
	for classOf[s.at(j)]&cLetter != 0 {
		j++
	}
	if j == i || j > i+7 || isDigit(s.at(j)) {
		return 0
	}
	return j
}

// timeEnd returns the end of a time or of a file's line and column, from a
// ':' on.
func (s *scanner) timeEnd(i int) int {
	for (s.at(i) == ':' || s.at(i) == '.' || s.at(i) == ',') && isDigit(s.at(i+1)) {
		i = s.digitsEnd(i + 1)
	}
	switch c := s.at(i); {
	case c == 'Z' && classOf[s.at(i+1)]&cAlnum == 0:
		i++
	case (c == '+' || c == '-') && isDigit(s.at(i+1)) && isDigit(s.at(i+2)):
		i = s.digitsEnd(i + 1)
		if s.at(i) == ':' && isDigit(s.at(i+1)) {
			i = s.digitsEnd(i + 1)
		}
	}
	return i
}

// dateEnd returns the end of a date with its time, or of other digits with
// hyphens.
func (s *scanner) dateEnd(i int) int {
	for s.at(i) == '-' && isDigit(s.at(i+1)) {
		i = s.digitsEnd(i + 1)
	}
	if (s.at(i) == 'T' || s.at(i) == 't') && isDigit(s.at(i+1)) {
		i = s.digitsEnd(i + 1)
		return s.timeEnd(i)
	}
	return i
}

// mixed adds letters and digits without anything between.
func (s *scanner) mixed(i, j int) {
	groups, digits, hex := 0, 0, true
	lastDigit, firstDigit := 0, -1
	for k := i; k < j; k++ {
		c := s.text[k]
		if isDigit(c) {
			if k == i || !isDigit(s.text[k-1]) {
				groups++
			}
			if firstDigit < 0 {
				firstDigit = k
			}
			digits, lastDigit = digits+1, k
		} else if lc := lower(c); lc > 'f' {
			hex = false
		}
	}
	n := j - i
	afterDigits := lastDigit + 1
	switch {
	case n >= 8 && hex, n > 2 && s.text[i] == '0' && lower(s.text[i+1]) == 'x':
		s.add(ID, i, j)
	case isDigit(s.text[i]) && groups == 1 && j-afterDigits <= 7:
		s.digits(i, afterDigits, false)
		s.letters(afterDigits, j)
	case isDigit(s.text[i]):
		if !s.duration(i, j) {
			s.add(ID, i, j)
		}
	case n < 6 && groups == 1 || n < 4:
		s.word(i, j, false)
	case groups == 1 && digits <= 6 && (afterDigits == j || s.wordAt(afterDigits, j)):
		s.codeWord(i, afterDigits, firstDigit)
		if afterDigits < j {
			s.letters(afterDigits, j)
		}
	default:
		s.add(ID, i, j)
	}
}

// wordAt reports whether [i, j) reads as words: a capital and small letters.
func (s *scanner) wordAt(i, j int) bool {
	return j-i >= 3 && (classOf[s.text[i]]&cUpper != 0 && classOf[s.text[i+1]]&cLower != 0 || j-i >= 4 && classOf[s.text[i]]&cLower != 0)
}

// codeWord adds letters that end in digits: the words before the last one by
// themselves.
func (s *scanner) codeWord(i, j, firstDigit int) {
	from := i
	for k := firstDigit - 1; k > i+1; k-- {
		if classOf[s.text[k]]&cUpper != 0 && classOf[s.text[k-1]]&cLower != 0 {
			s.letters(i, k)
			from = k
			break
		}
	}
	if j-from > 16 {
		s.add(ID, from, j)
		return
	}
	s.word(from, j, false)
}

// duration adds numbers and units such as 1h30m and 2m0s.
func (s *scanner) duration(i, j int) bool {
	for k := i; k < j; {
		k = s.digitsEnd(k)
		from := k
		for k < j && !isDigit(s.text[k]) {
			k++
		}
		switch s.text[from:k] {
		case "d", "h", "m", "s", "ms", "us", "ns", "min", "sec":
		default:
			return false
		}
	}
	for k := i; k < j; {
		end := s.digitsEnd(k)
		s.digits(k, end, false)
		for k = end; k < j && !isDigit(s.text[k]); {
			k++
		}
		s.word(end, k, true)
	}
	return true
}

// ipv6 finds an address of version 6.
func (s *scanner) ipv6(i int) int {
	j, groups, double, digit := i, 0, false, false
	for groups <= 8 {
		k := j
		for isHex(s.at(k)) && k < j+5 {
			digit = digit || isDigit(s.text[k])
			k++
		}
		if k > j+4 || k == j && !double {
			if groups == 0 && s.at(i) == ':' && s.at(i+1) == ':' {
				k = j
			} else {
				return i
			}
		}
		if k > j {
			groups++
		}
		if s.at(k) == '.' && groups > 1 { // its last 32 bits as version 4
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
	if !full && !short || classOf[s.at(j)]&(cAlnum|cHigh) != 0 || s.at(j) == ':' && s.at(j+1) == ':' {
		return i
	}
	if s.at(j) == '%' { // its zone
		k := j + 1
		for classOf[s.at(k)]&cAlnum != 0 && k < j+16 {
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
	if parts != 4 || !double || classOf[s.at(j)]&cAlnum != 0 {
		return i
	}
	return j
}

// mac finds six pairs of hexadecimal digits.
func (s *scanner) mac(i int) int {
	for n := range 6 {
		p := i + 3*n
		if !isHex(s.at(p)) || !isHex(s.at(p+1)) || n < 5 && s.at(p+2) != ':' {
			return i
		}
	}
	end := i + 17
	if classOf[s.at(end)]&cAlnum != 0 || s.at(end) == ':' {
		return i
	}
	return end
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= lower(c) && lower(c) <= 'f' }

// blob finds a long run of letters and digits without sense: request ids,
// hashes, base64. Near the name of a secret, or when it is very long, it counts
// as one.
func (s *scanner) blob(i int) (int, Kind) {
	if i < s.noBlob || s.mask&cDigit == 0 {
		return i, ID
	}
	j := i
	var counts [3]int // of digits, capitals, small letters
	changes, last := 0, -1
	for ; j < s.chunkEnd; j++ {
		class := -1
		switch c := classOf[s.text[j]]; {
		case c&cDigit != 0:
			class = 0
		case c&cUpper != 0:
			class = 1
		case c&cLower != 0:
			class = 2
		}
		if class < 0 {
			if c := s.text[j]; c != '+' && c != '/' && c != '=' && c != '-' && c != '_' {
				break
			}
			continue
		}
		counts[class]++
		if class != last {
			changes++
		}
		last = class
	}
	s.noBlob = j
	for j > i && (s.text[j-1] == '-' || s.text[j-1] == '/' || s.text[j-1] == '_') {
		j--
	}
	n := j - i
	if n < blobMin || counts[0] < 2 || changes*5 < n || s.uuid(i, j) || s.at(i+n) == '.' && classOf[s.at(i+n+1)]&cAlnum != 0 {
		if s.uuid(i, j) {
			if s.nearKey() {
				return j, Secret
			}
			return j, ID
		}
		return i, ID
	}
	if s.nearKey() || n >= secretMin && counts[1] > 2 && counts[2] > 2 && counts[0] > 2 {
		return j, Secret
	}
	return j, ID
}

const (
	blobMin   = 20
	secretMin = 40 // of a blob that is taken for a secret wherever it stands
)

// uuid reports whether [i, j) is 8-4-4-4-12 hexadecimal digits.
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
