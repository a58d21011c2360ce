// Package scan splits the text of a failure into typed tokens, once for all that read it: the classifier with its
// phrases and lines, the sanitiser and the fingerprint. In comes a text; out go tokens: words, numbers, paths, addresses,
// secrets, with their places. Its time grows with the length of the text; it uses no regular expressions, and allocates nothing
// but the tokens. It must never know what its users make of
// a token, and never change the text.
package scan

import "slices"

// If a text has more than Max bytes, only its beginning and its end are read. The text of an error
// begins with the action that failed and ends with the cause.
const (
	Max     = 64 << 10      // how many bytes of a longer text are read in total
	headMax = 48 << 10      // how many bytes are read at the beginning of a longer text
	tailMax = Max - headMax // how many bytes are read at the end of a longer text
)

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
