package cli

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// clean makes stored text fit for one line of a terminal: whatever is not a
// printable character is shown as an escape, so that nobody who enqueues a job
// can move the cursor, colour the screen or hide text of whoever looks at it.
func clean(s string) string { return escape(s, "") }

// cleanBlock is clean for texts of several lines.
func cleanBlock(s string) string {
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

// width is the number of columns that a clean text takes.
func width(s string) int { return utf8.RuneCountInString(s) }

// shorten cuts a text to a number of columns, with a mark at the end.
func shorten(s string, columns int) string {
	if width(s) <= columns {
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

// firstLine returns the first line that is not empty.
func firstLine(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(line) != "" {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// lastLine returns the last line that is not empty.
func lastLine(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// count writes "1 job", "1,234 jobs" or "2 crashes".
func count(n int64, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "sh"):
		noun += "es"
	case strings.HasSuffix(noun, "fe"):
		noun = strings.TrimSuffix(noun, "fe") + "ves"
	default:
		noun += "s"
	}
	return number(n) + " " + noun
}

// number writes a number with its thousands apart.
func number(n int64) string {
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

// size writes a number of bytes in the unit that suits it.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return count(n, "byte")
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KiB"
	case n < 1<<30:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<30), 'f', 1, 64) + " GiB"
}
