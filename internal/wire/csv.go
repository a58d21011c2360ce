package wire

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/redrive/redrive/job"
)

// appendCSV writes a record as RFC 4180 wants it, and so that no spreadsheet
// takes a cell for a formula.
func appendCSV(out *bytes.Buffer, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			out.WriteByte(',')
		}
		cell = harmless(cell)
		// A cell with what separates cells elsewhere is quoted, too.
		if !strings.ContainsAny(cell, "\",;\t\r\n") && strings.TrimSpace(cell) == cell {
			out.WriteString(cell)
			continue
		}
		out.WriteByte('"')
		out.WriteString(strings.ReplaceAll(cell, `"`, `""`))
		out.WriteByte('"')
	}
	out.WriteString("\r\n")
}

// plainNumber is a number that a spreadsheet reads as nothing else.
var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// formula is what a formula may begin with, behind something that separates cells or
// records for some spreadsheet.
var formula = regexp.MustCompile("([;\t\r\n][;\t\r\n \u00a0\"']*)([=+\\-@＝＋－＠])")

// harmless puts an apostrophe before a cell that a spreadsheet would take for a
// formula, and before what it would take for one when it splits cells at
// semicolons, which quotes do not keep it from in a line that it has split before.
// Numbers stay numbers.
func harmless(cell string) string {
	if cell == "" || plainNumber.MatchString(cell) {
		return cell
	}
	if strings.ContainsAny(cell, ";\t\r\n") {
		cell = formula.ReplaceAllString(cell, "$1'$2")
	}
	if strings.ContainsRune("=+-@\t\r\n＝＋－＠", firstRune(cell)) {
		return "'" + cell
	}
	return cell
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

// exportTime writes a time for other programs: UTC, RFC 3339; nothing for none.
func exportTime(m *job.Micros) string {
	if m == nil || *m == 0 {
		return ""
	}
	text, err := m.MarshalText()
	if err != nil {
		panic("a time always marshals: " + err.Error())
	}
	return string(text)
}
