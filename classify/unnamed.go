package classify

import (
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// ruleUnnamed stands where a rule for what was not found would: what has no name cannot be missing. Who built the name had
// nothing to put there, because of the input, of a defect, or because something before could not be opened or read.
const ruleUnnamed = "notfound.unnamed"

// emptyNames are quotations with nothing in them.
var emptyNames = [...]string{"''", `""`, `\"\"`, "‘’", "“”", "„“", "„”", "«»", "`'", "``", "「」"}

// opened are calls that have the name of a file behind them, in the words of a runtime: "open : no such file or directory".
var opened = [...]string{"open ", "stat ", "lstat ", "read ", "readdir ", "chdir ", "mkdir ", "remove ", "unlink ", "exec "}

// unnamed reports whether the only name of a file or thing in a text is an empty one: `cat: "": No such file or directory`,
// "diff: : No such file or directory".
func unnamed(m *phrase.Matcher) bool {
	if !hasEmptyName(m.Text) {
		return false
	}
	for i := range m.Tokens {
		switch t := &m.Tokens[i]; t.Kind { //nolint:exhaustive // the other kinds are no names
		case scan.Path, scan.File, scan.URL, scan.Host, scan.IP, scan.Email:
			return false
		case scan.Punct:
			if !scan.OpensQuote(t.Hash) || i+1 == len(m.Tokens) || !m.Tokens[i+1].Glued || t.Glued && i > 0 {
				continue
			}
			if end := closing(m.Tokens, i); end > i+1 && m.Tokens[i+1].Kind != scan.Punct {
				return false // another name
			}
		}
	}
	return true
}

// nameless says of the text that is being read whether it is unnamed. It looks once, however often something was not found.
func (r *reader) nameless(m *phrase.Matcher) bool {
	if r.unnamed == notLooked {
		r.unnamed = hasName
		if unnamed(m) {
			r.unnamed = noName
		}
	}
	return r.unnamed == noName
}

func hasEmptyName(text string) bool {
	for _, name := range emptyNames {
		at := strings.Index(text, name)
		if at <= 0 {
			continue
		}
		before, after := text[at-1], text[at+len(name):]
		if (before == ' ' || before == '(' || before >= 0x80) && !strings.HasSuffix(strings.TrimRight(text[:at], " "), `":`) &&
			!strings.HasPrefix(after, name[len(name)-1:]) {
			return true
		}
	}
	at := strings.Index(text, " : ")
	if at < 0 {
		return false
	}
	before := text[:at+1]
	for _, call := range opened {
		if strings.HasSuffix(before, call) {
			return true
		}
	}
	return strings.HasSuffix(before, ": ")
}

// withoutName takes a not-found of nothing for what it is: nobody can say from it whether another attempt would help.
func (h *hit) withoutName() {
	if h.class == failure.NotFound {
		h.rule, h.class, h.code, h.final = ruleUnnamed, failure.UnknownError, "", false
	}
}
