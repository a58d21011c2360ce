// Package scan splits the text of a failure into typed tokens, once for all that read it: the classifier with its
// phrases and lines, the sanitiser and the fingerprint. In comes a text; out go tokens: words, numbers, paths, addresses,
// secrets, with their places. Its time grows with the length of the text; it uses no regular expressions, and allocates nothing
// but the tokens. It must never know what its users make of
// a token, and never change the text.
package scan

import (
	"slices"
	"strconv"
)

// If a text has more than Max bytes, only its beginning and its end are read. The text of an error
// begins with the action that failed and ends with the cause.
const (
	Max     = 64 << 10      // how many bytes of a longer text are read in total
	headMax = 48 << 10      // how many bytes are read at the beginning of a longer text
	tailMax = Max - headMax // how many bytes are read at the end of a longer text
)

// Kind is the type of a token.
type Kind uint8

// The kinds of tokens.
const (
	Word    Kind = iota // letters, or letters and then digits: S3, x509, E11000
	Number              // a number, written in digits
	ID                  // a value without meaning for the class: UUID, hexadecimal, request id, version, date, time, port, line
	Path                // path of a file, absolute or with an extension
	File                // name of a file without a folder, recognised by its extension
	URL                 // a whole URL with its user and query
	Host                // a host: a name with dots, or localhost, without its port
	IP                  // an IP address of version 4 or 6, without port or brackets
	Email               // an e-mail address
	Secret              // a password, key or token, without the name before it
	Punct               // one or more of the same punctuation character
	Newline             // one or more line ends
)

var kindNames = [...]string{"word", "number", "id", "path", "file", "url", "host", "ip", "email", "secret", "punct", "newline"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Token is a piece of a text. White space, '_' and the '-' in an identifier belong to no token.
type Token struct {
	Kind Kind
	// Glued means that no white space is before the token: it belongs to the same
	// identifier as the token before, or touches punctuation. A Number that is glued to
	// a Word is part of a name (job-404), not a separate number.
	Glued      bool
	Start, End int32 // the position of the token: byte offsets in the text
	// For a Word, Hash is the hash of its stem, see HashWord. For a Punct, Hash is the character.
	Hash uint64
	// Num is the value of a Number. It is -1 if the number has a fraction or separators, or is too
	// large.
	Num int64
}

// Text returns the token's part of text, the text that was scanned.
func (t *Token) Text(text string) string { return text[t.Start:t.End] }

// Tokens appends the tokens of a text to dst. The text may have any bytes; invalid
// UTF-8 counts as punctuation. In a text longer than Max, only the first 48 KiB and the
// last 16 KiB are read, with a Newline in place of the rest.
//
// Words are the texts between spaces and the parts of identifiers: RateLimitExceeded,
// rate_limit_exceeded and "rate-limit exceeded" give the same three words. Only separate
// numbers are of kind Number: parts of versions, times, dates, addresses, ports, lines
// of files and ids are of kind ID.
func Tokens(dst []Token, text string) []Token {
	if len(text) <= Max {
		return Range(dst, text, 0, len(text))
	}
	dst = Range(dst, text, 0, headMax)
	from := len(text) - tailMax
	dst = append(dst, Token{Kind: Newline, Start: headMax, End: int32(from)})
	return Range(dst, text, from, len(text))
}

// bytesPerToken is the usual number of bytes per token in error texts.
const bytesPerToken = 4

// Range appends the tokens of text[from:to]. It does not read outside this range. So a token at
// the border of the range may be only a part of a token of the whole text.
func Range(dst []Token, text string, from, to int) []Token {
	if size := (to - from) / bytesPerToken; cap(dst)-len(dst) < size/4 {
		dst = slices.Grow(dst, size)
	}
	s := scanner{text: text[:to], base: from, dst: dst, chunkEnd: from, creds: credsMemo{chunk: -1}}
	first := len(dst)
	s.run(from)
	s.context(first)
	return s.dst
}
