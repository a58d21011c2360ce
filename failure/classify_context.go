package failure

import (
	"strings"

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
		if worth, _ := lineWorth(m.Line(0), false, true); worth != 0 {
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
			worth, frame = lineWorth(line, frame, false)
		}
		r.adjust[i] = worth
	}
}

// lineWorth tells a line of a stack or of settings from one that says something.
// After the line of a Python frame comes a line of the program.
func lineWorth(line string, frame, single bool) (worth int8, isFrame bool) {
	text := strings.TrimLeft(line, " \t")
	indented := len(text) < len(line)
	switch {
	case strings.HasPrefix(text, `File "`) && strings.Contains(text, ", line "):
		return -inNoise, true
	case frame && indented:
		return -inNoise, false
	case indented && (strings.HasPrefix(text, "at ") || strings.HasPrefix(text, "AT ")) && strings.ContainsAny(text, "(/:."),
		strings.HasPrefix(text, "goroutine ") && strings.Contains(text, "["),
		strings.HasPrefix(text, "created by "),
		strings.HasPrefix(text, "Traceback (most recent"),
		indented && strings.HasPrefix(text, "/") && strings.Contains(text, ".go:"),
		indented && strings.HasPrefix(text, "from ") && strings.Contains(text, ":in "),
		strings.HasPrefix(text, "#") && len(text) > 4 && strings.Contains(text, " 0x"):
		return -inNoise, false
	case isBanner(text, indented):
		return -inNoise, false
	}
	if !single && isAside(text) {
		return -12, false
	}
	if !single {
		if level := levelOf(text); level < 0 {
			return level, false
		}
		if isPythonWarning(text) { // the next line is of the source
			return -inNoise, true
		}
	}
	return 0, false
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// isPythonWarning tells a warning of Python, such as "/app/a.py:2: DeprecationWarning: …". One that was
// raised as an exception has no place before its name.
func isPythonWarning(text string) bool {
	head, _, ok := strings.Cut(text, "Warning: ")
	place, name, named := strings.Cut(head, ": ")
	return ok && named && name != "" && strings.Trim(name, letters) == "" && strings.TrimRight(place, "0123456789") != place
}

// isAside tells the lines that explain the one before.
func isAside(text string) bool {
	var buf [16]byte
	head := string(phrase.LowerASCII(buf[:0], text[:min(len(text), 12)]))
	for _, aside := range [...]string{"detail:", "hint:", "context:", "line ", "statement:", "note:", "help:", "= help", "= note", "see ", "for more inf"} {
		if strings.HasPrefix(head, aside) {
			return true
		}
	}
	return false
}

// banners are how programs begin to speak of themselves and of their input.
var banners = []string{
	"ffmpeg version", "ffprobe version", "built with ", "configuration:", "Stream #", "Metadata:", "Input #", "Output #", "Press [q]", "frame=", "Stream mapping:",
	"libav", "libsw", "libpostproc", "encoder         :", "handler_name ", "Side data:", "<style", "<script", "<meta", "<link", "Duration:", "User-Agent:", "Server:",
}

// tags are what programs print, indented, about a file.
var tags = []string{
	"title ", "artist ", "album ", "comment ", "description ", "encoder ", "copyright ", "creation_time ", "major_brand ", "compatible_brands ", "minor_version ",
}

// isBanner tells what programs print about themselves and their input.
func isBanner(text string, indented bool) bool {
	return beginsWith(text, banners) || indented && beginsWith(text, tags) && strings.Contains(text, ": ")
}

func beginsWith(text string, prefixes []string) bool {
	if text == "" {
		return false
	}
	for _, prefix := range prefixes {
		if prefix[0] == text[0] && strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// levelOf looks for the level of a line of a log near its beginning.
func levelOf(text string) int8 {
	head := text[:min(len(text), 64)]
	for _, word := range [...]string{"WARN", "warn", "INFO", "info", "DEBUG", "debug", "TRACE", "trace", "NOTICE", "notice", "Warning", "warning", "WARNING"} {
		i := strings.Index(head, word)
		if i < 0 || i > 0 && isLetterOrDigit(head[i-1]) {
			continue
		}
		if end := i + len(word); end == len(head) || !isLetterOrDigit(head[end]) || strings.HasPrefix(head[end:], "ING") || strings.HasPrefix(head[end:], "ing") {
			if i == 0 || strings.IndexByte("[=:<(|\" 0123456789", head[i-1]) >= 0 && logHead(head[:i]) {
				return -18
			}
		}
	}
	return 0
}

// logHead reports whether what stands before a level looks like the head of a
// line of a log: no words but names of fields.
func logHead(head string) bool {
	words := 0
	for f := range strings.FieldsSeq(head) {
		if isLetterOrDigit(f[0]) && (f[0] < '0' || f[0] > '9') && !strings.ContainsAny(f, "=[]:.") {
			words++
		}
	}
	return words <= 1
}

func isLetterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// regions lowers what is over: earlier attempts, wrappers of a cause, what was
// the reason to try again, and the failures of tidying up.
func (r *reader) regions(m *phrase.Matcher, set *ruleset) {
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

func (r *reader) lowerAll(from, to int32, by int) {
	for k := from; k < to; k++ {
		r.lower(int(k), by)
	}
}

// says reports whether there is evidence of some weight between two symbols.
func (r *reader) says(m *phrase.Matcher, set *ruleset, from, to int32) bool {
	const marks = history | past | cleanup | readHint
	for i := range m.Found {
		f := &m.Found[i]
		rule := &set.rules[f.Rule]
		if f.Start >= from && f.End <= to && rule.trait&marks == 0 && rule.weight >= wWeak && r.adjust[f.End-1] > -inQuote {
			return true
		}
	}
	return false
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
