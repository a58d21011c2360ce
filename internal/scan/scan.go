// Package scan turns the text of a failure into typed tokens, once, for the
// three that read it: the classifier, the sanitiser and the fingerprint. It is
// one linear pass without regular expressions, and without allocation beside
// the tokens.
package scan

import "strconv"

// Text longer than Max bytes is looked at in two parts: errors begin with what
// was done and end with their cause.
const (
	Max     = 64 << 10      // bytes that are looked at
	headMax = 48 << 10      // from the beginning
	tailMax = Max - headMax // to the end
)

// Kind is what a token is.
type Kind uint8

// The kinds of tokens.
const (
	Word    Kind = iota // letters, or letters and then digits: S3, x509, E11000
	Number              // digits
	ID                  // says nothing by itself: UUID, hexadecimal, request id, version, date, time, port, line
	Path                // of a file, absolute or with an extension
	File                // the bare name of a file, by its extension
	URL                 // with its user, query and all
	Host                // a name with dots, or localhost, without its port
	IP                  // version 4 or 6, without port or brackets
	Email               // an address
	Secret              // a password, key or token; without the name in front of it
	Punct               // one punctuation character, however often it is repeated
	Newline             // one or more
)

var kindNames = [...]string{"word", "number", "id", "path", "file", "url", "host", "ip", "email", "secret", "punct", "newline"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Token is a piece of a text. White space is in no token, and neither are '_'
// and the '-' inside of an identifier.
type Token struct {
	Kind Kind
	// Glued says that no white space is before the token: it belongs to the
	// identifier of the one before, or touches its punctuation. A Number that
	// is glued to a Word is part of a name (job-404), not a number of its own.
	Glued      bool
	Start, End int32 // bytes of the text
	// Hash is of a Word the hash of its stem, see HashWord; of a Punct its
	// character.
	Hash uint64
	// Num is of a Number its value; -1 when it has a fraction or separators or
	// does not fit.
	Num int64
}

// Text returns the token's part of the text that it was found in.
func (t *Token) Text(text string) string { return text[t.Start:t.End] }

// Tokens appends the tokens of a text to dst. Any bytes are a text; what is not
// UTF-8 counts as punctuation. Of one longer than Max the first 48 KiB and the
// last 16 KiB are looked at, with a Newline for what is between.
//
// Words are what stands between spaces, and the parts of identifiers:
// RateLimitExceeded, rate_limit_exceeded and "rate-limit exceeded" are the same
// three. Of numbers only those that stand for themselves are Number: parts of
// versions, times, dates, addresses, ports, lines of files and ids are ID.
func Tokens(dst []Token, text string) []Token {
	if len(text) <= Max {
		return Range(dst, text, 0, len(text))
	}
	dst = Range(dst, text, 0, headMax)
	from := len(text) - tailMax
	dst = append(dst, Token{Kind: Newline, Start: headMax, End: int32(from)})
	return Range(dst, text, from, len(text))
}

// Range appends the tokens of text[from:to]. Nothing outside of it is looked
// at, so what is cut at its ends is taken as it stands.
func Range(dst []Token, text string, from, to int) []Token {
	s := scanner{text: text[:to], base: from, dst: dst, chunkEnd: from, secretAt: -1}
	s.run(from)
	return s.dst
}

// scanner is the state of one pass. What looks ahead remembers how far it
// looked in vain, which keeps the pass linear.
type scanner struct {
	text  string // cut at the end of the range
	base  int    // where the range begins
	dst   []Token
	glued bool

	chunkEnd int   // of the characters without white space that are being read
	mask     class // of all of them

	secretAt, secretEnd int // a secret that a name has announced

	noEmail   int // no address begins before it
	noDotted  int // no host or file name begins before it
	noRelPath int // no relative path begins before it
	noBlob    int // no random string begins before it
	noCreds   int // no user:password@ begins before it
	pemEnd    int // the next end of a PEM block, or the text's
	pemFloor  int // PEM blocks before it are tokens
	mysqlAt   int // end of a word that makes -p… a password
}

func (s *scanner) run(i int) {
	for i < len(s.text) {
		if i == s.secretAt {
			s.add(Secret, i, s.secretEnd)
			i, s.secretAt = s.secretEnd, -1
			continue
		}
		c := classOf[s.text[i]]
		switch {
		case c&cSpace != 0:
			i = s.space(i)
		case c&cNewline != 0:
			i = s.newline(i)
		default:
			if i >= s.chunkEnd {
				s.chunk(i)
			}
			if c&(cAlnum|cHigh) != 0 {
				i = s.name(i)
			} else {
				i = s.punct(i)
			}
		}
	}
}

// chunk looks at the characters up to the next white space.
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

func (s *scanner) add(k Kind, start, end int) {
	s.dst = append(s.dst, Token{Kind: k, Glued: s.glued, Start: int32(start), End: int32(end)})
	s.glued = true
}

// at returns the character at i, 0 beyond the end.
func (s *scanner) at(i int) byte {
	if uint(i) < uint(len(s.text)) {
		return s.text[i]
	}
	return 0
}

// space skips white space, control characters and the escape sequences that
// colour a terminal.
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
	cHigh // of a character beyond ASCII
	cAt
	cColon
	cSlash
	cDot
	cBackslash
	cJoin // - and _

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
		}
	}
	table['@'], table[':'], table['/'], table['.'], table['\\'] = cAt, cColon, cSlash, cDot, cBackslash
	table['-'], table['_'] = cJoin, cJoin
	return table
}
