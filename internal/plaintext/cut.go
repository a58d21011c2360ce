package plaintext

import (
	"strings"
	"unicode/utf8"
)

// Mend replaces what is not UTF-8. It may make the text longer.
func Mend(s string) string {
	if utf8.ValidString(s) { // several times as fast as looking for what to replace
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// Clip cuts s to limit bytes of valid UTF-8, visibly.
func Clip(s string, limit int) string {
	const mark = "…"
	valid := Mend(s[:min(len(s), limit+1)])
	if len(valid) <= limit {
		return valid
	}
	return CutEnd(valid, limit-len(mark)) + mark
}

// CutEnd keeps the first limit bytes of valid UTF-8, or less to end at a
// character.
func CutEnd(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:max(limit, 0)]
}

// CutStart keeps the last limit bytes likewise.
func CutStart(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	start := len(s) - limit
	for start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	return s[start:]
}
