package phrase

import "github.com/redrive/redrive/internal/scan"

// LineMax is how much of a line is looked at to tell what it is.
const LineMax = 160

// Line returns the beginning of the line that begins with symbol i, with the
// white space before it.
func (m *Matcher) Line(i int) string {
	first := int(m.Syms[i].Token)
	start := int(m.Tokens[first].Start)
	from, end := start, min(len(m.Text), start+LineMax)
	for k := first - 1; k >= 0; k-- { // punctuation may stand in front
		if from = int(m.Tokens[k].End); m.Tokens[k].Kind == scan.Newline {
			break
		}
		from = int(m.Tokens[k].Start)
	}
	for k := first + 1; k < len(m.Tokens) && int(m.Tokens[k].Start) < end; k++ {
		if m.Tokens[k].Kind == scan.Newline {
			end = int(m.Tokens[k].Start)
		}
	}
	return m.Text[from:max(from, end)]
}

// Offset returns where a phrase begins in the text.
func (m *Matcher) Offset(f *Match) int32 { return m.Tokens[m.Syms[f.Start].Token].Start }

// Saw returns the part of the text that a phrase was found in.
func (m *Matcher) Saw(f *Match) string {
	first, last := m.Syms[f.Start].Token, m.Syms[f.End-1].Token
	for int(last+1) < len(m.Tokens) && int(f.End) < len(m.Syms) && last+1 < m.Syms[f.End].Token && m.Tokens[last+1].Kind == scan.Word {
		last++
	}
	return m.Text[m.Tokens[first].Start:m.Tokens[last].End]
}

// Number returns the number that a symbol is, -1 for none.
func (m *Matcher) Number(sym int32) int64 {
	if sym < 0 {
		return -1
	}
	t := &m.Tokens[m.Syms[sym].Token]
	if t.Kind != scan.Number {
		return -1
	}
	return t.Num
}

// Word returns a symbol's word if it is a short one.
func (m *Matcher) Word(i int) string {
	t := &m.Tokens[m.Syms[i].Token]
	if t.Kind != scan.Word || t.End-t.Start > 16 {
		return ""
	}
	return m.Text[t.Start:t.End]
}

// InParens reports whether a symbol stands right behind a parenthesis or bracket.
func (m *Matcher) InParens(sym int32) bool {
	start := m.Tokens[m.Syms[sym].Token].Start
	return start > 0 && (m.Text[start-1] == '(' || m.Text[start-1] == '[')
}

// TextOf returns the text of a symbol, "" for -1.
func (m *Matcher) TextOf(sym int32) string {
	if sym < 0 {
		return ""
	}
	t := &m.Tokens[m.Syms[sym].Token]
	return m.Text[t.Start:t.End]
}
