package failure

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/scan"
)

// What the sanitiser puts in place of what it takes out.
const (
	RedactedPath   = scan.MarkPath   // of a file
	RedactedIP     = scan.MarkIP     // version 4 and 6
	RedactedSecret = scan.MarkSecret // passwords, keys, tokens
	RedactedEmail  = scan.MarkEmail  // where Emails asks for it
)

// SanitizeOptions changes what Sanitize takes out. The zero value is the
// default.
type SanitizeOptions struct {
	Emails    bool     // takes out e-mail addresses as well
	Keep      []string // stay whatever they look like, such as the job's own id
	Paths     bool     // leaves the paths of files: for operators, who need them to find a cause
	Addresses bool     // leaves IP addresses, for the same reason
	Max       int      // bytes of the result; 0 is 64 KiB, which is also the most
}

// Sanitize returns text without what a log or a user must not see: the paths of
// files, IP addresses, and secrets, which are passwords, keys and tokens that
// are known by their names (password=…, "api_key": …, Authorization: …), by
// their shapes (AKIA…, sk-…, PEM, JWT) or by their place (in URLs, in DSNs, in
// options of commands). URLs keep their scheme, host, path and the names in
// their query. The marks are RedactedPath, RedactedIP, RedactedSecret and
// RedactedEmail.
//
// The result is valid UTF-8 of at most o.Max bytes. Of longer texts beginning
// and end stay, as Message cuts them; no half of a secret stays at the cut.
// Sanitize is linear and idempotent, and does not allocate for a text that it
// leaves as it is. A nil o stands for the defaults. It goes by looks: a secret
// that looks like a word stays.
func Sanitize(text string, o *SanitizeOptions) string {
	z := sanitizer{max: scan.Max}
	if o != nil {
		z.emails, z.keep, z.paths, z.addresses = o.Emails, o.Keep, o.Paths, o.Addresses
		if o.Max > 0 {
			z.max = min(o.Max, scan.Max)
		}
	}
	return z.text(text)
}

// SanitizeStderr does the same for the tail of a standard error or output. If its
// beginning was cut off, because it is as long as StderrMax allows, the rest of
// its first line goes: it may be the second half of a secret.
func SanitizeStderr(tail []byte, o *SanitizeOptions) []byte {
	if len(tail) >= StderrMax {
		tail = afterCut(tail)
	}
	clean := Sanitize(string(tail), o)
	if clean == string(tail) {
		return tail
	}
	return []byte(clean)
}

// afterCut drops the rest of a line that was cut at its beginning.
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

type sanitizer struct {
	emails    bool
	keep      []string
	paths     bool // stay
	addresses bool // stay
	max       int
	raw       bool // replaces nothing, only cuts
}

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
	return cutEnd(text, z.max)
}

// pass replaces once, and reports whether nothing was to do.
func (z *sanitizer) pass(text string, _ int) (clean string, same bool) {
	if !utf8.ValidString(text) {
		return mend(text), false
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

// mark returns what stands for a token.
func (z *sanitizer) mark(k scan.Kind, part string) string {
	if z.raw {
		return part
	}
	switch k {
	case scan.Secret:
		return RedactedSecret
	case scan.Path:
		if z.paths {
			return part
		}
		return RedactedPath
	case scan.IP:
		if z.addresses {
			return part
		}
		return RedactedIP
	case scan.URL:
		return z.url(part)
	case scan.Email:
		if z.emails {
			return RedactedEmail
		}
	default:
	}
	return part
}
