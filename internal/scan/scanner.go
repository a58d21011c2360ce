package scan

// scanner is the state of one pass. The pass takes linear time for any text: when the scanner reads
// ahead, it consumes the text, or reads only a few bytes, or remembers the offset up to which it
// found nothing.
type scanner struct {
	text  string // the text up to the end of the range that is read
	base  int    // the start of the range of the text that is read
	dst   []Token
	glued bool

	chunkEnd int   // end of the current chunk, a run of characters without white space
	mask     class // classes of all characters in the chunk

	// Before these offsets, no further token of a kind begins. For example, no e-mail address
	// begins before noEmail.
	noEmail, noScheme, noDotted, noRelPath, noBlob, noCreds, noToken int

	values   valueMemo
	creds    credsMemo
	pemEnd   int // position of the next end of a PEM block, or the end of the text
	pemFloor int // PEM blocks before this offset are tokens already
}

// valueMemo is the last range without a character that ends a value. It holds for one length of the
// text, because a part of the text may be read alone.
type valueMemo struct{ text, from, to int }

func (s *scanner) run(i int) {
	for i < len(s.text) {
		c := classOf[s.text[i]]
		switch {
		case c&cSpace != 0:
			i = s.space(i)
		case c&cNewline != 0:
			i = s.newline(i)
		default:
			if i >= s.chunkEnd {
				if s.chunk(i); s.mask == cLower && s.plain(i) {
					i = s.chunkEnd
					continue
				}
			}
			if c&(cAlnum|cHigh) != 0 {
				i = s.name(i)
			} else {
				i = s.punct(i)
			}
		}
	}
}

// chunk reads the characters up to the next white space.
func (s *scanner) chunk(i int) {
	var mask class
	for ; i < len(s.text); i++ {
		c := classOf[s.text[i]]
		if c&cBlank != 0 {
			break
		}
		mask |= c
	}
	s.chunkEnd, s.mask = i, mask
}

// secret adds the text between i and a secret, and then the secret. If the sanitiser has
// already replaced the value by a mark, the mark becomes the secret.
func (s *scanner) secret(i, from, to int) int {
	if end, kind := s.placeholder(from); end > from && kind == Secret {
		to = end
	}
	text, end, mask := s.text, s.chunkEnd, s.mask
	s.text, s.chunkEnd = text[:from], i
	s.run(i)
	s.text, s.chunkEnd, s.mask = text, end, mask
	s.add(Secret, from, to)
	return to
}

func (s *scanner) add(k Kind, start, end int) {
	s.dst = append(s.dst, Token{Kind: k, Glued: s.glued, Start: int32(start), End: int32(end)})
	s.glued = true
}

// at returns the byte at i, or 0 after the end.
func (s *scanner) at(i int) byte {
	if uint(i) < uint(len(s.text)) {
		return s.text[i]
	}
	return 0
}

// is returns the class of the byte at i.
func (s *scanner) is(i int) class { return classOf[s.at(i)] }

// space skips white space, control characters and escape sequences for terminal
// colours.
func (s *scanner) space(i int) int {
	s.glued = false
	if s.text[i] == 0x1b && s.at(i+1) == '[' {
		for j := i + 2; j < min(len(s.text), i+16); j++ {
			if classOf[s.text[j]]&cLetter != 0 {
				return j + 1
			}
		}
	}
	return i + 1
}

func (s *scanner) newline(i int) int {
	start := i
	for i < len(s.text) && classOf[s.text[i]]&cNewline != 0 {
		i++
	}
	s.addNewline(start, i)
	return i
}

func (s *scanner) addNewline(start, end int) {
	if n := len(s.dst); n > 0 && s.dst[n-1].Kind == Newline {
		s.dst[n-1].End = int32(end)
	} else {
		s.add(Newline, start, end)
	}
	s.glued = false
}

type class uint16

// Classes of bytes.
const (
	cSpace class = 1 << iota
	cNewline
	cLower
	cUpper
	cDigit
	cHigh // a byte of a character beyond ASCII
	cAt
	cColon
	cSlash
	cDot
	cBackslash
	cJoin  // the characters '-' and '_'
	cOther // all other punctuation characters

	cLetter = cLower | cUpper
	cAlnum  = cLetter | cDigit
	cBlank  = cSpace | cNewline
)

var classOf = makeClasses()

func makeClasses() (table [256]class) {
	for c := range table {
		switch b := byte(c); {
		case b == '\n' || b == '\r':
			table[c] = cNewline
		case b <= ' ' || b == 0x7f:
			table[c] = cSpace
		case 'a' <= b && b <= 'z':
			table[c] = cLower
		case 'A' <= b && b <= 'Z':
			table[c] = cUpper
		case '0' <= b && b <= '9':
			table[c] = cDigit
		case b >= 0x80:
			table[c] = cHigh
		default:
			table[c] = cOther
		}
	}
	table['@'], table[':'], table['/'], table['.'], table['\\'] = cAt, cColon, cSlash, cDot, cBackslash
	table['-'], table['_'] = cJoin, cJoin
	return table
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= lower(c) && lower(c) <= 'f' }

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }
