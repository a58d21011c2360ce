// Package words writes stored data as text for people: sentences, labelled facts, figures
// with verdicts, durations and numbers, and the steps that a person can take next. The
// command, the page and the API use the same texts. A next step is a value, so that each of
// them can write it in its own form.
//
// The texts may hold stored characters that are not printable. Callers that write to a
// terminal pass them through Clean.
package words

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Clean makes a stored text safe for one line on a terminal. It escapes characters that are
// not printable, so that the text cannot move the cursor, change colours or hide other
// text.
func Clean(s string) string { return escape(s, "") }

// CleanBlock does the same as Clean, but keeps line ends and tabs.
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

// Width returns the width of a clean text on a terminal, in columns.
func Width(s string) int { return utf8.RuneCountInString(s) }

// Shorten cuts a text to a number of columns. If the text was too long, the result ends
// with "…".
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

// Wrap breaks a text between words into lines of at most so many columns. A longer word has a line of
// its own.
func Wrap(s string, columns int) []string {
	var lines []string
	for Width(s) > columns {
		end, n := -1, 0 // the last space within the columns, or else the first one
		for i, r := range s {
			if r == ' ' && i > 0 && (n <= columns || end < 0) {
				end = i
			}
			if n++; n > columns && end >= 0 {
				break
			}
		}
		if end < 0 {
			break
		}
		lines = append(lines, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
	}
	return append(lines, s)
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

// Count returns a number with its noun, such as "1 job", "1,234 jobs" or "2 crashes".
func Count(n int64, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "sh"), strings.HasSuffix(noun, "ch"):
		noun += "es"
	case strings.HasSuffix(noun, "ry"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	case strings.HasSuffix(noun, "fe"):
		noun = strings.TrimSuffix(noun, "fe") + "ves"
	default:
		noun += "s"
	}
	return Number(n) + " " + noun
}

// Number returns the text of a number with a comma between the thousands.
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

// Size returns the text of a number of bytes in a suitable unit, such as "1.5 KiB".
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
