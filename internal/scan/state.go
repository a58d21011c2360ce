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

// credsMemo caches the positions of the '@' characters of a chunk.
type credsMemo struct {
	chunk int // the end of the chunk whose positions are cached
	last  int // position of the last '@', or -1
	tcp   int // position of the first "@tcp(" or "@unix(", which MySQL drivers use; or -1
	// The text before the offset partEnd may be a password with any characters.
	partEnd int
	partAt  int // position of the last '@' before a host in this text, or -1
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

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}
