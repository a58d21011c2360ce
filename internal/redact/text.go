package redact

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
	"github.com/redrive/redrive/internal/scan"
)

// Text returns a text without secrets, paths and addresses. A nil o stands for the defaults. The result is valid
// UTF-8 of at most o.Max bytes; of longer texts beginning and end stay. Text is linear and idempotent, and does not
// allocate for a text that it leaves as it is.
func Text(text string, o *Options) string {
	z := sanitizer{max: scan.Max}
	if o != nil {
		z.Options = *o
		if o.Max > 0 {
			z.max = min(o.Max, scan.Max)
		}
	}
	return z.text(text)
}

// Output does the same for the tail of an output. If its beginning was cut off, because it is as long as OutputMax
// allows, the rest of its first line goes: it may be the second half of a secret.
func Output(tail []byte, o *Options) []byte {
	if len(tail) >= OutputMax {
		tail = afterCut(tail)
	}
	clean := Text(string(tail), o)
	if clean == string(tail) {
		return tail
	}
	return []byte(clean)
}

// afterCut drops the rest of a line that was cut at its beginning. Other than plaintext.FromLine it returns nothing if there is no
// white space: half a secret is worse than no text.
func afterCut(tail []byte) []byte {
	const lineMax = 4 << 10
	if n := bytes.IndexByte(tail[:min(len(tail), lineMax)], '\n'); n >= 0 {
		return tail[n+1:]
	}
	if n := bytes.IndexAny(tail, " \t\n"); n >= 0 {
		return tail[n+1:]
	}
	return nil
}

// rounds bounds how often a text is read again after something was replaced in
// it, which may uncover something else.
const rounds = 4

func (z *sanitizer) text(text string) string {
	total := len(text)
	given := text
	if total > 2*scan.Max { // only a part of it is read
		text, _ = z.cut(text, total)
	}
	text = reveal(text)
	revealed := text
	for range rounds {
		read, same := z.pass, false
		if len(text) > z.max {
			read = z.cut
		}
		if text, same = read(text, total); same {
			if text == revealed && utf8.ValidString(given) && len(given) <= z.max {
				return given // nothing was hidden in it
			}
			return text
		}
	}
	return plaintext.CutEnd(text, z.max)
}

// pass replaces once, and reports whether nothing was to do.
func (z *sanitizer) pass(text string, _ int) (clean string, same bool) {
	if !utf8.ValidString(text) {
		return plaintext.Mend(text), false
	}
	read := scan.Read(text)
	defer read.Release()
	var b strings.Builder
	from := 0
	for i := range read.Tokens {
		if t := &read.Tokens[i]; indivisible(t.Kind) {
			from = z.replace(&b, text, from, t)
		}
	}
	if from == 0 {
		return text, true
	}
	return rest(&b, text[from:]), false
}

// Message returns a text of at most limit bytes with everything in it, cut like the results of Text: not within a
// path, an address or a secret.
func Message(text string, limit int) string {
	z := sanitizer{raw: true, max: limit}
	short, _ := z.cut(text, len(text))
	return short
}
