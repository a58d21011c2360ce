package words

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// diffLinesMax is the largest number of lines of each compared text. The time for a comparison
// grows with the product of the two numbers of lines.
const diffLinesMax = 1_000

// Diff compares two payloads line by line. Removed lines begin with "-", added lines with
// "+". JSON is indented first, so that each field has a separate line.
func Diff(was, is []byte) string {
	if !utf8.Valid(was) || !utf8.Valid(is) {
		return fmt.Sprintf("no text: %s before, %s now", Size(int64(len(was))), Size(int64(len(is))))
	}
	a, b := diffLines(was), diffLines(is)
	if len(a) > diffLinesMax || len(b) > diffLinesMax {
		return fmt.Sprintf("too long to compare: %s before, %s now", Count(int64(len(a)), "line"), Count(int64(len(b)), "line"))
	}
	return strings.Join(diff(a, b), "\n")
}

// depthMax is the depth up to which JSON is laid out: the white space of deeper JSON would be many
// times as long as its text.
const depthMax = 100

// Lay returns JSON with one member a line; only white space differs. Other text, and JSON that is nested
// too deep, is returned as it is.
func Lay(b []byte) []byte {
	depth, most, inText := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			depth++
			most = max(most, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	var laid bytes.Buffer
	if most > depthMax || json.Indent(&laid, b, "", "  ") != nil {
		return b
	}
	return laid.Bytes()
}

func diffLines(b []byte) []string {
	b = Lay(b)
	return strings.Split(strings.TrimRight(string(b), "\n"), "\n")
}

// diff returns the lines of both texts in order, based on their longest common subsequence.
// Common lines begin with a space.
func diff(a, b []string) []string {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i, was := range slices.Backward(a) {
		for j, is := range slices.Backward(b) {
			if was == is {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}
