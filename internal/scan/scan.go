// Package scan turns the text of a failure into typed tokens, once, for the
// three that read it: the classifier, the sanitiser and the fingerprint. It is
// one linear pass without regular expressions, and without allocation beside
// the tokens.
package scan

import (
	"slices"
	"strconv"
)

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

// bytesPerToken is what is common in texts of errors.
const bytesPerToken = 4

// Range appends the tokens of text[from:to]. Nothing outside of it is looked
// at, so what is cut at its ends is taken as it stands.
func Range(dst []Token, text string, from, to int) []Token {
	if size := (to - from) / bytesPerToken; cap(dst)-len(dst) < size/4 {
		dst = slices.Grow(dst, size)
	}
	s := scanner{text: text[:to], base: from, dst: dst, chunkEnd: from, creds: credsMemo{chunk: -1}}
	s.run(from)
	return s.dst
}
