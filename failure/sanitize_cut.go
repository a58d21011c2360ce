package failure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// seam is how far beyond a cut a text is read, so that what the cut divides is
// known for what it is.
const seam = 1 << 10

// nameMax is how far in front of a secret the words may be that tell it is one.
const nameMax = 128

// cut returns the beginning and the end of a text that is too long, and between
// them how long it was: total bytes. A quarter of the room is the end's. same
// says that nothing was replaced in them.
func (z *sanitizer) cut(text string, total int) (short string, same bool) {
	gap := fmt.Sprintf(" … [%d bytes in all] … ", total)
	tailBytes := z.max / 4
	headBytes := z.max - tailBytes - len(gap)
	if headBytes < len(gap) { // no room for two
		head, same := z.head(text, z.max)
		return clip(head, z.max), same
	}
	head, same := z.head(text, headBytes)
	tail, sameTail := z.tail(text, tailBytes)
	// Marks can be longer than what they replace, hence once more.
	return cutEnd(head, headBytes) + gap + cutStart(tail, tailBytes), same && sameTail
}

// head returns the first limit bytes, without what the cut divides.
func (z *sanitizer) head(text string, limit int) (string, bool) {
	text = mend(text[:min(len(text), limit+seam)])
	limit = len(cutEnd(text, limit))
	var b strings.Builder
	from := 0
	for _, t := range scan.Range(nil, text, 0, len(text)) {
		if int(t.End) > limit {
			if int(t.Start) < limit && indivisible(t.Kind) {
				limit = int(t.Start)
			}
			break
		}
		from = z.replace(&b, text, from, &t)
	}
	return rest(&b, text[from:limit]), b.Len() == 0
}

// tail returns the last limit bytes, without what the cut divides. A secret
// whose name is on the other side of the cut goes too.
func (z *sanitizer) tail(text string, limit int) (string, bool) {
	known := 0
	if n := len(text) - limit - seam; n > 0 {
		text = mend(text[n:])
		known = afterBlank(text, seam/2)
	}
	from := max(known, len(text)-len(cutStart(text, limit)))
	start := from
	var b strings.Builder
	for _, t := range scan.Range(nil, text, known, len(text)) {
		switch {
		case int(t.End) <= start:
		case int(t.Start) < start && indivisible(t.Kind), z.raw && t.Kind == scan.Secret && int(t.Start) < start+nameMax:
			from = int(t.End)
		default:
			from = z.replace(&b, text, from, &t)
		}
	}
	return rest(&b, text[from:]), b.Len() == 0
}

// rest returns what was written and what follows it.
func rest(b *strings.Builder, text string) string {
	if b.Len() == 0 {
		return text
	}
	b.WriteString(text)
	return b.String()
}

// replace writes what is before a token and its mark, if it has another one than
// itself, and returns what is written up to.
func (z *sanitizer) replace(b *strings.Builder, text string, from int, t *scan.Token) int {
	part := t.Text(text)
	mark := z.mark(t.Kind, part)
	if mark == part || slices.Contains(z.keep, part) {
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

// afterBlank returns where the first word begins that is known to be whole; 0
// when that is not before limit.
func afterBlank(text string, limit int) int {
	return strings.IndexAny(text[:min(limit, len(text))], " \n\t\r") + 1
}
