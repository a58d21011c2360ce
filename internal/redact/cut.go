package redact

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/plaintext"
	"github.com/redrive/redrive/internal/scan"
)

// seam is how far beyond a cut a text is read, so that what the cut divides is
// known for what it is.
const seam = 1 << 10

// nameMax is the largest distance in bytes between a secret and the words in front of it that name it as a secret.
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
		return plaintext.Clip(head, z.max), same
	}
	head, same := z.head(text, headBytes)
	tail, sameTail := z.tail(text, tailBytes)
	// Marks can be longer than what they replace, hence once more.
	return plaintext.CutEnd(head, headBytes) + gap + plaintext.CutStart(tail, tailBytes), same && sameTail
}

// head returns the first limit bytes, without what the cut divides.
func (z *sanitizer) head(text string, limit int) (string, bool) {
	text = plaintext.Mend(text[:min(len(text), limit+seam)])
	limit = len(plaintext.CutEnd(text, limit))
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
		text = plaintext.Mend(text[n:])
		known = afterBlank(text, seam/2)
	}
	from := max(known, len(text)-len(plaintext.CutStart(text, limit)))
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

// afterBlank returns where the first word begins that is known to be whole; 0
// when that is not before limit.
func afterBlank(text string, limit int) int {
	return strings.IndexAny(text[:min(limit, len(text))], " \n\t\r") + 1
}
