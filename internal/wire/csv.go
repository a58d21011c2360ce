package wire

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/redrive/redrive/job"
)

// appendCSV writes a record in the format of RFC 4180. It changes cells that a spreadsheet
// would evaluate as a formula.
func appendCSV(out *bytes.Buffer, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			out.WriteByte(',')
		}
		cell = harmless(cell)
		// Some spreadsheets also split lines at semicolons or tabs, so a cell that contains
		// them is quoted.
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

// plainNumber matches a text that all spreadsheets read as a number.
var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// formula matches the first character of a possible formula inside a cell: it follows a
// character at which some spreadsheets split cells or records.
var formula = regexp.MustCompile("([;\t\r\n][;\t\r\n \u00a0\"']*)([=+\\-@＝＋－＠])")

// harmless puts an apostrophe before a cell that a spreadsheet would evaluate as a formula.
// Inside the cell, it also puts an apostrophe before a formula that follows a semicolon, a
// tab or a line end, because some spreadsheets split a line there even inside quotes.
// Numbers are not changed.
func harmless(cell string) string {
	if cell == "" || (cell[0] == '-' || cell[0] >= '0' && cell[0] <= '9') && plainNumber.MatchString(cell) {
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

// exportTime returns a time in UTC in the format of RFC 3339, for other programs. It
// returns "" for the time 0.
func exportTime(m *job.Micros) string {
	if m == nil || *m == 0 {
		return ""
	}
	text, err := m.MarshalText()
	if err != nil {
		panic("encode a time as text: " + err.Error())
	}
	return string(text)
}
