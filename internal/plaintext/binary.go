package plaintext

import (
	"strings"
	"unicode/utf8"
)

// IsBinary reports whether a quarter of the characters at the beginning of a text are not text: control
// characters and what was not UTF-8.
func IsBinary(text string) bool {
	const most, least = 1 << 10, 8
	all, bad := 0, 0
	for _, r := range text[:min(len(text), most)] {
		all++
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7F {
			bad++
		}
	}
	return bad >= least && bad*4 >= all
}

// WithoutNoise returns an output, or, if it begins like bytes that are no text, only its last lines that
// are text.
func WithoutNoise(text string) string {
	if !IsBinary(text) {
		return text
	}
	const least = 8 // shorter lines may be text by chance
	from := len(text)
	for from > 0 {
		begin := strings.LastIndexByte(text[:from-1], '\n') + 1
		line := strings.TrimSuffix(text[begin:from], "\n")
		if len(line) < least || strings.ContainsFunc(line, func(r rune) bool { return r == utf8.RuneError || r < ' ' && r != '\t' || r == 0x7F }) {
			break
		}
		from = begin
	}
	return text[from:]
}
