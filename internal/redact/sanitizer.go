package redact

import (
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// sanitizer is one reading of a text.
type sanitizer struct {
	Options
	max int
	raw bool // replaces nothing, only cuts
}

// mark returns what stands for a token.
func (z *sanitizer) mark(k scan.Kind, part string) string {
	if z.raw {
		return part
	}
	switch k {
	case scan.Secret:
		return Secret
	case scan.Path:
		if z.KeepPaths {
			return part
		}
		return Path
	case scan.IP:
		if z.KeepAddresses {
			return part
		}
		return IP
	case scan.URL:
		return cleanURL(part, &z.Options)
	case scan.Email:
		if z.Emails {
			return Email
		}
	default:
	}
	return part
}

// replace writes the text before a token, and the token's mark if that differs from
// the token. It returns the offset up to which text was written.
func (z *sanitizer) replace(b *strings.Builder, text string, from int, t *scan.Token) int {
	part := t.Text(text)
	mark := z.mark(t.Kind, part)
	if mark == part || slices.Contains(z.Keep, part) {
		return from
	}
	if b.Cap() == 0 {
		b.Grow(len(text) + 64)
	}
	b.WriteString(text[from:t.Start])
	b.WriteString(mark)
	return int(t.End)
}

// indivisible reports whether half of a token must not stay.
func indivisible(k scan.Kind) bool {
	return k != scan.Word && k != scan.Number && k != scan.Punct && k != scan.Newline
}
