package classify

import (
	"strings"

	"github.com/redrive/redrive/internal/lines"
	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// context finds what the places of a text are worth: stack frames and settings
// are noise, what stands in quotes after a noun is a name, what a code field
// holds is a code.
func (r *reader) context(m *phrase.Matcher) {
	if cap(r.adjust) < len(m.Syms) {
		r.adjust = make([]int8, len(m.Syms), 2*len(m.Syms))
	}
	r.adjust = r.adjust[:len(m.Syms)]
	clear(r.adjust)
	r.lines(m)
	if m.HasQuotes {
		r.quotes(m)
	}
}

// lines looks at how the lines of a text begin.
func (r *reader) lines(m *phrase.Matcher) {
	if !m.Lines {
		if len(m.Syms) == 0 {
			return
		}
		if worth, _ := lines.Worth(m.Line(0), false, true); worth != 0 {
			for i := range r.adjust {
				r.adjust[i] = worth
			}
		}
		return
	}
	frame := false // the last line named a place in a file
	worth := int8(0)
	for i := range m.Syms {
		s := &m.Syms[i]
		if s.Gap >= phrase.LineGap {
			line := m.Line(i)
			worth, frame = lines.Worth(line, frame, false)
		}
		r.adjust[i] = worth
	}
}

// regions lowers what is over: earlier attempts, wrappers of a cause, what was
// the reason to try again, and the failures of tidying up.
func (r *reader) regions(m *phrase.Matcher, set *ruleset) {
	r.recovered(m, set)
	lastMark := int32(-1)
	for i := range m.Found {
		f := &m.Found[i]
		switch t := set.rules[f.Rule].trait; {
		case t&history != 0:
			if f.Start > lastMark && r.says(m, set, f.End, int32(len(m.Syms))) {
				lastMark = f.Start
			}
		case t&past != 0:
			end := f.End
			for end < int32(len(m.Syms)) && m.Syms[end].Gap == phrase.NoGap {
				end++
			}
			if r.says(m, set, end, int32(len(m.Syms))) || r.says(m, set, 0, f.Start) {
				r.lowerAll(f.Start, end, inHistory)
			}
		case t&cleanup != 0:
			if r.says(m, set, 0, f.Start) {
				end := f.End
				for end < int32(len(m.Syms)) && m.Syms[end].Gap < phrase.Stop {
					end++
				}
				r.lowerAll(f.Start, end, inHistory)
			}
		}
	}
	if k := enumerated(m); k > lastMark && r.says(m, set, k, int32(len(m.Syms))) {
		lastMark = k
	}
	if lastMark > 0 {
		r.lowerAll(0, lastMark, inHistory)
	}
}

// enumerated returns the symbol with which the last of several numbered attempts
// begins, "(1) … (2) … (3) …", 0 for none.
func enumerated(m *phrase.Matcher) int32 {
	if !m.HasOne {
		return 0
	}
	last, next := int32(0), int64(1)
	for i := range m.Syms {
		at := int(m.Syms[i].Token)
		if t := &m.Tokens[at]; t.Kind != scan.Number || t.Num != next || at == 0 || at+1 >= len(m.Tokens) {
			continue
		}
		open, shut := m.Text[m.Tokens[at-1].Start], m.Text[m.Tokens[at+1].Start]
		if open == '(' && shut == ')' || open == '[' && shut == ']' || open == '#' && (shut == ':' || shut == ')') {
			last, next = int32(i), next+1
		}
	}
	if next <= 2 {
		return 0
	}
	return last
}

// place returns what the place of a phrase adds to its weight.
func (r *reader) place(f *phrase.Match) int {
	return int(min(r.adjust[f.Start], r.adjust[f.End-1]))
}

// mailReply reports whether a held status is the reply of a mail server: an
// enhanced code follows, or mail is spoken of.
func (r *reader) mailReply(m *phrase.Matcher, f *phrase.Match) bool {
	for i := max(0, f.End-1); i <= f.End+1 && int(i) < len(m.Syms); i++ {
		if enhanced(m.TextOf(i)) {
			return true
		}
	}
	word := m.Word(int(f.Start))
	return strings.HasPrefix(strings.ToLower(word), "smtp") || word == "said" || word == "RCPT" || word == "mail"
}

// enhanced reports whether a word is the enhanced status code of a mail server,
// such as 5.7.1.
func enhanced(code string) bool {
	return len(code) >= 5 && (code[0] == '4' || code[0] == '5') && code[1] == '.' && strings.Count(code, ".") == 2
}
