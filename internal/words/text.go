// Package words says in words what is stored: sentences, labelled facts, figures with
// verdicts, durations and numbers, and what a person can do next. Command, page and
// API use the same words; next steps are values, which each writes in its own way.
//
// Stored texts are not escaped here; the caller does, for a terminal with Clean.
package words

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clean makes stored text safe for one line of a terminal: characters that are not
// printable become escapes, so that the text of a job cannot move the cursor, colour
// the screen or hide other text.
func Clean(s string) string { return escape(s, "") }

// CleanBlock is Clean for texts of several lines.
func CleanBlock(s string) string {
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t")
}

func escape(s, allowed string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + hex(s[i]))
		case strconv.IsPrint(r) || strings.ContainsRune(allowed, r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += size
	}
	return b.String()
}

func hex(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// Width is the number of columns that a clean text takes.
func Width(s string) int { return utf8.RuneCountInString(s) }

// Shorten cuts a text to a number of columns, with a mark at the end.
func Shorten(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	n := 0
	for i := range s {
		if n == columns-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
		n++
	}
	return s
}

// FirstLine returns the first line that is not empty.
func FirstLine(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(line) != "" {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// LastLine returns the last line that is not empty.
func LastLine(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// Count writes "1 job", "1,234 jobs" or "2 crashes".
func Count(n int64, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "sh"):
		noun += "es"
	case strings.HasSuffix(noun, "fe"):
		noun = strings.TrimSuffix(noun, "fe") + "ves"
	default:
		noun += "s"
	}
	return Number(n) + " " + noun
}

// Number writes a number with its thousands apart.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Size writes a number of bytes in the unit that suits it.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return Count(n, "byte")
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KiB"
	case n < 1<<30:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<30), 'f', 1, 64) + " GiB"
}
