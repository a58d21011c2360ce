package classify

import (
	"strings"
	"time"

	"github.com/redrive/redrive/internal/phrase"
)

// hintMax is the longest wait that a text may ask for; what is longer is no wait.
const hintMax = 400 * 24 * time.Hour

// readHint reads the wait that a phrase holds: "in 53s", "after 6m0s",
// "retry_after_ms: 500", "Retry-After: 120". Without a unit it is in seconds.
func (r *reader) readHint(m *phrase.Matcher, f *phrase.Match) {
	sym := f.Held[1]
	if sym < 0 {
		return
	}
	start := int(m.Tokens[m.Syms[sym].Token].Start)
	unit := int64(time.Second)
	from := int(m.Tokens[m.Syms[f.Start].Token].Start)
	if before := strings.ToLower(m.Text[from:start]); strings.Contains(before, "_ms") || strings.Contains(before, "-ms") || strings.Contains(before, "afterms") {
		unit = int64(time.Millisecond)
	}
	if d, ok := parseWait(m.Text[start:], unit); ok && d > r.hint && d <= hintMax {
		r.hint = d
	}
}

// parseWait reads one or several numbers with units at the beginning of a text.
// A number without a unit has the one given, if it is the only one.
func parseWait(text string, unit int64) (time.Duration, bool) {
	total, parts := int64(0), 0
	for parts < 5 {
		value, frac, n := decimalOf(text)
		if n == 0 {
			break
		}
		rest := text[n:]
		trimmed := strings.TrimLeft(rest, " ")
		word := unitWord(trimmed)
		var buf [16]byte
		nanos, known := phrase.UnitNanos[string(phrase.LowerASCII(buf[:0], word))]
		if !known {
			if parts > 0 || word != "" && len(rest) == len(trimmed) {
				break // another number, or a name such as 3rd
			}
			if strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "-") {
				break // a time or a date
			}
			nanos, trimmed = unit, rest
		}
		if value > int64(hintMax)/nanos {
			return 0, false
		}
		total += value*nanos + int64(frac*float64(nanos))
		parts++
		if !known {
			break
		}
		text = trimmed[len(word):]
		if len(text) > 0 && text[0] == ' ' && (len(text) < 2 || text[1] < '0' || text[1] > '9') {
			break
		}
		text = strings.TrimLeft(text, " ")
	}
	return time.Duration(total), parts > 0 && total > 0 && total <= int64(hintMax)
}

// decimalOf reads digits and a fraction, and returns how many bytes they have.
func decimalOf(text string) (value int64, frac float64, n int) {
	for n < len(text) && n < 12 && text[n] >= '0' && text[n] <= '9' {
		value = value*10 + int64(text[n]-'0')
		n++
	}
	if n == 0 || n == 12 || n+1 >= len(text) || text[n] != '.' || text[n+1] < '0' || text[n+1] > '9' {
		return value, 0, n % 12
	}
	scale := 0.1
	for n++; n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
		frac += float64(text[n]-'0') * scale
		scale /= 10
	}
	return value, frac, n
}

// unitWord returns the letters at the beginning of a text, in small letters of
// a known unit; "" for none.
func unitWord(text string) string {
	end := 0
	for end < len(text) && end < 13 && (isLetter(text[end]) || text[end] >= 0x80) {
		end++
	}
	return text[:end]
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
