package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
	"github.com/redrive/redrive/internal/scan"
)

// reveal returns a text in the form in which its secrets can be recognised: without escape
// sequences of terminals and NUL characters, without characters that nobody sees within a word, with
// the names of secrets in plain letters, and with secrets that were wrapped at the end of a line in
// one piece. It returns the same string if there is nothing to do.
func reveal(text string) string {
	found := lookFor(text)
	if found&hasControls != 0 {
		text = string(plaintext.Strip([]byte(text)))
	}
	if found&hasInvisible != 0 {
		text = visible(text)
	}
	if found&hasEscapes != 0 {
		text = unescapeNames(text)
	}
	if found&hasLines != 0 {
		text = unwrap(text)
	}
	return text
}

// What lookFor finds.
const (
	hasControls = 1 << iota
	hasInvisible
	hasEscapes
	hasLines
)

func lookFor(text string) (found int) {
	for i := range len(text) {
		switch c := text[i]; c {
		case 0, '\a', 0x1b:
			found |= hasControls
		case '\n':
			found |= hasLines
		case '\\', '%', '&':
			found |= hasEscapes
		case 0xC2:
			if i+1 < len(text) && text[i+1] == 0x9B {
				found |= hasControls
			}
			if i+1 < len(text) && text[i+1] == 0xAD {
				found |= hasInvisible
			}
		case 0xE2, 0xEF:
			found |= hasInvisible
		}
	}
	return found
}

// invisible are the characters of no width: soft hyphen, spaces and joiners of no width, and
// the mark of the byte order.
var invisible = [...]string{"\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"}

// visible removes invisible characters between letters and digits of ASCII. In other places, for
// example between emojis, they have a meaning.
func visible(text string) string {
	if !slices.ContainsFunc(invisible[:], func(c string) bool { return strings.Contains(text, c) }) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	from := 0
	for i := 0; i < len(text); {
		end := i
		for n := invisibleAt(text[end:]); n > 0; n = invisibleAt(text[end:]) {
			end += n
		}
		if end == i {
			i++
			continue
		}
		if i > 0 && end < len(text) && isPlain(text[i-1]) && isPlain(text[end]) {
			b.WriteString(text[from:i])
			from = end
		}
		i = end
	}
	b.WriteString(text[from:])
	return b.String()
}

func invisibleAt(text string) int {
	if text == "" || text[0] < 0xC2 {
		return 0
	}
	for _, c := range invisible {
		if strings.HasPrefix(text, c) {
			return len(c)
		}
	}
	return 0
}

// isPlain reports whether c is a letter or digit of ASCII, or '_' or '-'.
func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// nameMaxEscaped is the largest number of bytes of a name with escaped characters.
const nameMaxEscaped = 256

// unescapeNames replaces the names of secrets in which letters are escaped, as in p\u0061ssword,
// p%61ssword and p&#97;ssword, by the names in plain letters.
func unescapeNames(text string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		if !isPlain(text[i]) && text[i] != '\\' && text[i] != '%' && text[i] != '&' {
			i++
			continue
		}
		end, name, escaped := escapedName(text, i)
		if escaped && scan.SecretName(name) && !scan.SecretName(text[i:end]) {
			b.WriteString(text[from:i])
			b.WriteString(name)
			from = end
		}
		i = max(end, i+1)
	}
	return rest(&b, text[from:])
}

// escapedName reads a name at i, and reports whether a character in it is escaped.
func escapedName(text string, i int) (end int, name string, escaped bool) {
	end = i
	for end < len(text) && isPlain(text[end]) {
		end++
	}
	if end == len(text) || text[end] != '\\' && text[end] != '%' && text[end] != '&' { // nearly always
		return end, "", false
	}
	var b strings.Builder
	b.WriteString(text[i:end])
	for end < len(text) && end < i+nameMaxEscaped {
		if isPlain(text[end]) {
			b.WriteByte(text[end])
			end++
			continue
		}
		c, n := unescape(text[end:])
		if n == 0 {
			break
		}
		b.WriteByte(c)
		end += n
		escaped = true
	}
	return end, b.String(), escaped
}

// unescape returns the letter or digit that is escaped at the beginning of a text, and the length
// of its escaped form, which is 0 if it has no such form.
func unescape(text string) (c byte, length int) {
	digits, base := "", 16
	switch {
	case len(text) >= 6 && text[0] == '\\' && (text[1] == 'u' || text[1] == 'U') && text[2:4] == "00":
		digits, length = text[4:6], 6
	case len(text) >= 4 && text[0] == '\\' && text[1] == 'x':
		digits, length = text[2:4], 4
	case len(text) >= 3 && text[0] == '%':
		digits, length = text[1:3], 3
	case strings.HasPrefix(text, "&#"):
		n := strings.IndexByte(text[:min(len(text), 8)], ';')
		if n < 3 {
			return 0, 0
		}
		digits, base, length = text[2:n], 10, n+1
		if digits[0] == 'x' || digits[0] == 'X' {
			digits, base = digits[1:], 16
		}
	}
	v, err := strconv.ParseUint(digits, base, 8)
	if err != nil || !isPlain(byte(v)) {
		return 0, 0
	}
	return byte(v), length
}

// Terminals and log shippers wrap lines of at least wrapMin bytes. wrapPart is how much of both lines
// is read together.
const (
	wrapMin  = 60
	wrapPart = 1 << 10
)

// unwrap joins two lines if a secret begins at the end of the first and goes on in the second. The
// first must be one of the longest lines, because a program that wraps lines fills them.
func unwrap(text string) string {
	longest := 0
	for i := 0; i < len(text); {
		n := strings.IndexByte(text[i:], '\n')
		if n < 0 {
			n = len(text) - i
		}
		longest = max(longest, n)
		i += n + 1
	}
	if longest < wrapMin {
		return text
	}
	start := 0
	for start < len(text) {
		n := strings.IndexByte(text[start:], '\n')
		if n < 0 {
			break
		}
		end := start + n
		if n == longest && end+1 < len(text) && isToken(text[end-1]) && isToken(text[end+1]) {
			if divided(text[start:end], text[end+1:]) {
				text = text[:end] + text[end+1:]
				next := strings.IndexByte(text[end:], '\n')
				if next != longest { // the line after the joined one, if that was not filled, too
					if next < 0 {
						break
					}
					start = end + next + 1
					continue
				}
				start = end // the rest of the joined line is checked like a line
				continue
			}
		}
		start = end + 1
	}
	return text
}

// isToken reports whether c may be in a key or token.
func isToken(c byte) bool { return isPlain(c) || strings.IndexByte("+/=.~%:", c) >= 0 }

// goesOn reports whether a line may begin with the second part of a key: with letters and digits,
// without a ':' as after a name or in a time.
func goesOn(line string) bool {
	if n := strings.IndexAny(line, " \t"); n >= 0 {
		line = line[:n]
	}
	digits := strings.ContainsAny(line, "0123456789")
	letters := strings.ContainsFunc(line, func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' })
	return digits && letters && strings.IndexByte(line, ':') < 0
}

// divided reports whether a secret is partly at the end of the text before and partly at the
// beginning of the text after.
func divided(before, after string) bool {
	before = before[len(plaintext.CutEnd(before, max(0, len(before)-wrapPart))):]
	if n := strings.IndexByte(after, '\n'); n >= 0 {
		after = after[:n]
	}
	after = plaintext.CutEnd(after, wrapPart)
	if !goesOn(after) {
		return false
	}
	if !utf8.ValidString(before) || !utf8.ValidString(after) {
		return false
	}
	joined, seam := before+after, int32(len(before))
	read := scan.Read(joined)
	defer read.Release()
	for i := range read.Tokens {
		t := &read.Tokens[i]
		if t.Start >= seam || t.End <= seam {
			continue
		}
		return t.Kind == scan.Secret || t.Kind == scan.URL && strings.HasSuffix(cleanURL(t.Text(joined), &Options{}), Secret)
	}
	return false
}
