package classify

import (
	"strings"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// Words around an error that are no part of it: the footer of a page, a setting, the name of a host or a table, lines of a
// log that tell of what went well.

// notice reports whether a phrase is the notice of copyright or the link to the terms that stand on every page, whatever it
// says.
func notice(m *phrase.Matcher, f *phrase.Match) bool {
	saw, end := m.Saw(f), int(m.Offset(f))
	if len(saw) > len("terms of service") {
		return false
	}
	rest := strings.TrimLeft(m.Text[end+len(saw):], " ")
	switch strings.ToLower(saw) {
	case "copyright":
		return rest != "" && (rest[0] >= '0' && rest[0] <= '9' || rest[0] == '(' || rest[0] == '&' || saw[0] == 'C' && 'A' <= rest[0] && rest[0] <= 'Z') ||
			strings.HasPrefix(rest, "©")
	case "terms of service", "terms of use":
		before := strings.TrimRight(m.Text[:end], " ")
		return rest == "" || rest[0] == '<' || rest[0] == '|' || rest[0] == '.' || strings.HasSuffix(before, ">") || strings.HasSuffix(before, "|")
	}
	return false
}

// setting reports whether a phrase is a part of the name of a setting, or goes from one setting to the next:
// "deadlock_timeout=1s", "rate_limit=100/s memory_limit=1". number says that the value begins with a number.
func setting(m *phrase.Matcher, f *phrase.Match) (is, number bool) {
	saw, end := m.Saw(f), int(m.Offset(f))
	if i := strings.IndexByte(saw, '='); i > 0 && isNameByte(saw[i-1]) {
		return true, true
	}
	end += len(saw)
	for end < len(m.Text) && isNameByte(m.Text[end]) {
		end++
	}
	if end+1 >= len(m.Text) || m.Text[end] != '=' {
		return false, false
	}
	next := m.Text[end+1]
	return true, '0' <= next && next <= '9'
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// partOfName reports whether a phrase is only a part of the name of something: a word of a host with hyphens, or a name with
// an underscore behind the word for what it names.
func partOfName(m *phrase.Matcher, f *phrase.Match) bool {
	saw, start := m.Saw(f), int(m.Offset(f))
	if f.End-f.Start == 1 {
		from, to := start, start+len(saw)
		for from > 0 && isNameByte(m.Text[from-1]) {
			from--
		}
		for to < len(m.Text) && isNameByte(m.Text[to]) {
			to++
		}
		return to-from > len(saw) && strings.Count(m.Text[from:to], "-") >= 2
	}
	if f.Start == 0 || m.Syms[f.Start].Gap > phrase.NoGap || !strings.ContainsAny(saw, "_-") || strings.IndexByte(saw, ' ') >= 0 {
		return false
	}
	switch m.Word(int(f.Start) - 1) {
	case "relation", "table", "column", "index", "view", "sequence", "function", "topic", "queue", "bucket", "schema", "database", "stream", "job", "task":
		return true
	}
	return false
}

// denies reports whether a phrase contains its own denial: "is not a rate limit".
func denies(m *phrase.Matcher, f *phrase.Match) bool {
	for i := int(f.Start); i+1 < int(f.End); i++ {
		if w := m.Word(i); w == "not" || w == "isn't" || w == "never" {
			switch m.Word(i + 1) {
			case "a", "an", "the", "any":
				return true
			}
		}
	}
	return false
}

// recovered lowers the lines of a log that tell of what is over: those before one that says that the attempts succeeded,
// and those of a level below a warning where others are of an error.
func (r *reader) recovered(m *phrase.Matcher, set *ruleset) {
	if !m.Lines {
		return
	}
	symbols := int32(len(m.Syms))
	errors, informs, last := false, false, int32(0)
	for i := range symbols {
		if i > 0 && m.Syms[i].Gap < phrase.LineGap {
			continue
		}
		last = i
		switch m.Word(int(i)) {
		case "succeeded", "recovered", "reconnected":
			if r.says(m, set, i, symbols) {
				r.lowerAll(0, i, inHistory)
			}
		}
		switch level(m, i) {
		case levelError:
			errors = true
		case levelInfo:
			informs = true
		case levelNone:
		}
	}
	// A last line without a level is what the program itself said.
	own := level(m, last) == levelNone && (r.says(m, set, last, symbols) || !r.says(m, set, 0, last))
	if !informs || !errors && !own {
		return
	}
	low := false
	for i := range symbols {
		if i == 0 || m.Syms[i].Gap >= phrase.LineGap {
			low = level(m, i) == levelInfo
		}
		if low {
			r.lower(int(i), inHistory)
		}
	}
}

type logLevel uint8

const (
	levelNone logLevel = iota
	levelInfo
	levelError
)

// level returns the level that a line of a log begins with, behind its time.
func level(m *phrase.Matcher, from int32) logLevel {
	const words = 5 // a time, a date and the like stand before it
	for i := from; i < min(from+words, int32(len(m.Syms))); i++ {
		if i > from && m.Syms[i].Gap >= phrase.LineGap {
			break
		}
		t := &m.Tokens[m.Syms[i].Token]
		if t.Kind != scan.Word {
			continue
		}
		switch m.Text[t.Start:t.End] {
		case "INFO", "DEBUG", "TRACE":
			return levelInfo
		case "ERROR", "FATAL", "CRITICAL", "SEVERE":
			return levelError
		}
	}
	return levelNone
}
