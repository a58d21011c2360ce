package fingerprint

import (
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/lines"
	"github.com/redrive/redrive/internal/scan"
)

// What the parts of a text are to its shape: codes, values, frames, tags.

// isCode reports whether the number or id at i is a code, which tells causes
// apart, and no quantity.
func (s *shaper) isCode(i int) bool {
	t := &s.tokens[i]
	if t.Kind == scan.ID {
		return t.End-t.Start <= 8 && s.codeBefore(i, false)
	}
	if t.Num < 0 || t.Num > 1<<31 {
		return false
	}
	if joiner, touches := s.touches(i); touches {
		return joiner != "" && s.kind(i-1) == scan.Word && codePrefix(s.part(i-1))
	}
	status := t.Num >= 400 && t.Num < 600
	if status && (len(s.out) == 0 || s.reasonAfter(i)) {
		return true
	}
	if s.code > 0 && s.code == i-2 && s.char(i-1) == '(' { // the SQLSTATE of an error's number
		return true
	}
	return s.codeBefore(i, t.Num >= 100 && t.Num < 600)
}

// reasonAfter reports whether a status is followed by its reason, as in 502 Bad
// Gateway.
func (s *shaper) reasonAfter(i int) bool {
	if s.kind(i+1) != scan.Word || s.tokens[i+1].Glued {
		return false
	}
	c := s.text[s.tokens[i+1].Start]
	return 'A' <= c && c <= 'Z'
}

// codeBefore looks for a word before i that a code follows; of a status there
// are more.
func (s *shaper) codeBefore(i int, status bool) bool {
	for k := i - 1; k >= max(0, i-4); k-- {
		switch s.kind(k) {
		case scan.Punct:
			if c := s.char(k); c != ':' && c != '=' && c != '(' && c != '[' && c != '"' && c != '\'' && c != '#' {
				return false
			}
		case scan.Word:
			switch strings.ToLower(s.part(k)) {
			case "status", "code", "http", "error", "errno", "exit", "exitcode", "sqlstate", "errcode", "signal", "statuscode":
				return true
			case "returned", "got", "replied", "received", "responded", "answered", "with":
				return status
			case "is", "was", "state":
			default:
				return false
			}
		default:
			return false
		}
	}
	return false
}

// codePrefix reports whether a word in front of a number makes a code of it, as
// in ORA-00942.
func codePrefix(word string) bool {
	switch word {
	case "ORA", "TNS", "PLS", "SP", "DPY", "DPI", "ERR", "ERROR", "HTTP", "TS", "SQL", "SQLCODE", "MSB", "NU", "CS", "http", "status", "error", "code":
		return true
	}
	return false
}

// opens reports whether the quote at i can be an opening one: no word is right
// before it.
func (s *shaper) opens(i int) bool { return !s.tokens[i].Glued || s.kind(i-1) == scan.Punct }

// closing returns the token with the quote that closes the one at i, on the same
// line; i when there is no such token. If white space is inside of the quotes, they must be
// around a name, see isTitle.
func (s *shaper) closing(i int) int {
	want := s.char(i)
	switch want {
	case '“':
		want = '”'
	case '‘':
		want = '’'
	case '«':
		want = '»'
	}
	if s.tokens[i].End-s.tokens[i].Start > 2 {
		return i
	}
	blank := false
	for k := i + 1; k < min(len(s.tokens), i+24); k++ {
		if s.kind(k) == scan.Newline || !s.tokens[k].Glued && (k == i+1 || s.char(k) == want) {
			return i
		}
		if s.char(k) == want {
			if blank && (s.kind(k+1) == scan.Word && s.tokens[k+1].Glued || !s.isTitle(i, k)) {
				return i
			}
			return k
		}
		blank = blank || !s.tokens[k].Glued
	}
	return i
}

// isTitle reports whether several words between two quotes are the name of something that
// differs from failure to failure, such as "Li Wei" and "final v2.xlsx", and not a message: they
// are few, have digits, letters beyond ASCII, a file, or more than one capital, and no word of
// failure.
func (s *shaper) isTitle(open, end int) bool {
	const most = 64 // bytes
	inner := s.text[s.tokens[open].End:s.tokens[end].Start]
	if len(inner) > most || s.namesBefore(open) || lines.TellsFailure(inner) || strings.Contains(strings.ToLower(inner), "timeout") {
		return false
	}
	capitals := 0
	for k := open + 1; k < end; k++ {
		switch t := &s.tokens[k]; t.Kind {
		case scan.Number, scan.ID, scan.File, scan.Path:
			return true
		case scan.Word:
			if c := s.text[t.Start]; !t.Glued && 'A' <= c && c <= 'Z' || k == open+1 && 'A' <= c && c <= 'Z' {
				capitals++
			}
			if part := s.part(k); strings.ContainsFunc(part, func(r rune) bool { return r >= utf8.RuneSelf || isDigit(byte(r)) }) {
				return true
			}
		case scan.Punct:
			if c := s.char(k); c == ':' || c == '=' {
				return false
			}
		default:
		}
	}
	return capitals > 1
}

// list returns the token behind a list of names that begins at i; i when there is no list. A list
// follows the plural of what a program names, "columns: a, b", or stands in brackets, "[a, b]".
func (s *shaper) list(i int) int {
	if s.kind(i) != scan.Word && !scan.OpensQuote(s.char(i)) || i == 0 || s.kind(i-1) != scan.Punct {
		return i
	}
	bracket := s.char(i-1) == '[' || s.char(i-1) == '{'
	if !s.pluralBefore(i) && !bracket {
		return i
	}
	items, k := 0, i
	for {
		end := s.item(k)
		if end == k {
			return i
		}
		items++
		k = end
		if s.char(k) != ',' {
			break
		}
		k++
	}
	switch {
	case s.kind(k) == scan.Newline, s.char(k) == ';', s.char(k) == ']', s.char(k) == ')', s.char(k) == '}', s.char(k) == '.':
	default:
		return i
	}
	if items < 2 && !s.pluralBefore(i) {
		return i
	}
	return k
}

// item returns the token behind a name, in quotes or not; i when there is no name.
func (s *shaper) item(i int) int {
	quote := s.char(i)
	k := i
	if scan.OpensQuote(quote) {
		k++
	}
	first := k
	for k < len(s.tokens) && s.inName(k) && (k == first || s.tokens[k].Glued && s.kind(k-1) != scan.Punct) {
		k++
	}
	switch {
	case k == first:
		return i
	case !scan.OpensQuote(quote):
		return k
	case s.char(k) == quote && s.tokens[k].Glued:
		return k + 1
	}
	return i
}

// pluralBefore reports whether the tokens in front of i are a plural name and then punctuation.
func (s *shaper) pluralBefore(i int) bool {
	k := i - 1
	for k >= max(0, i-3) && s.kind(k) == scan.Punct && s.char(k) != ',' && s.char(k) != '.' {
		k--
	}
	if s.kind(k) != scan.Word || k == i-1 {
		return false
	}
	word := s.part(k)
	if last := word[len(word)-1]; last != 's' && last != 'S' {
		return false
	}
	switch strings.ToLower(word) {
	case "columns", "fields", "keys", "names", "values", "options", "parameters", "params", "arguments", "attributes", "properties", "files",
		"tables", "variables", "modules", "packages", "items", "rows", "ids", "hosts", "users", "headers", "flags", "tags", "types", "labels":
		return true
	}
	return false
}

// isValue reports whether what is between two quotes is a value that differs
// from failure to failure, and no name or code that tells the cause.
func (s *shaper) isValue(open, end int) bool {
	if s.char(end+1) == ':' && s.char(open) != '\'' || s.char(end+1) == ':' && s.tokens[end+1].Glued && s.jsonBefore(open) {
		return false // the name of a member
	}
	if end == open+2 && s.kind(open+1) != scan.Word && s.kind(open+1) != scan.Number && s.kind(open+1) != scan.ID {
		return false // has a mark of its own
	}
	inner := s.text[s.tokens[open].End:s.tokens[end].Start]
	switch {
	case !isName(inner):
		return true
	case strings.ToUpper(inner) == inner && len(inner) > 2:
		return false
	}
	return !s.namesBefore(open)
}

func (s *shaper) jsonBefore(open int) bool {
	c := s.char(open - 1)
	return c == '{' || c == ','
}

// isName reports whether text could be the name of something in a program: it
// has letters, and no more than '_' and '.' beside them.
func isName(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'a' || 'z' < c) && (c < 'A' || 'Z' < c) && c != '_' && c != '.' {
			return false
		}
	}
	return len(text) <= 48
}

// namesBefore reports whether one of the two words before says that a name
// follows which belongs to the cause: a column, a field, the code of an error.
func (s *shaper) namesBefore(i int) bool {
	words := 0
	for k := i - 1; k >= max(0, i-6) && words < 2; k-- {
		switch s.kind(k) {
		case scan.Punct:
		case scan.Word:
			switch strings.ToLower(s.part(k)) {
			case "column", "table", "relation", "field", "key", "function", "type", "constraint", "parameter", "param", "property", "attribute",
				"argument", "option", "module", "package", "command", "index", "schema", "operator", "extension", "method", "variable",
				"code", "error", "reason", "status", "name", "title", "message", "encoder", "decoder", "codec", "format", "scheme", "protocol":
				return true
			}
			words++
		default:
			return false
		}
	}
	return false
}

// frame reports whether the line at i is of a stack: where it happened, not
// what.
func (s *shaper) frame(i int) bool {
	s.lines++
	t := &s.tokens[i]
	indent := s.indent(int(t.Start))
	if s.source {
		s.source = false
		if indent >= 4 {
			return true
		}
	}
	switch t.Kind {
	case scan.Word:
		switch s.part(i) {
		case "at":
			return s.lines > 1 && indent > 0
		case "File":
			if scan.OpensQuote(s.char(i+1)) && indent > 0 {
				s.source = true
				return true
			}
		case "Traceback", "goroutine":
			return true
		case "from":
			return s.lines > 1 && indent > 0 && s.kind(i+1) == scan.Path
		}
		return s.goFrame(i)
	case scan.Path:
		return s.lines > 1 && indent > 0
	case scan.Punct:
		switch t.Hash {
		case '^', '~':
			return true
		case '#':
			return s.kind(i+1) == scan.Number && s.tokens[i+1].Glued && s.lines > 1
		}
	default:
	}
	return false
}

// goFrame reports whether the line after the one at i is an indented path: then
// this one names a function of Go.
func (s *shaper) goFrame(i int) bool {
	if s.lines == 1 {
		return false
	}
	next := s.nextLine(i)
	return s.kind(next) == scan.Path && s.indent(int(s.tokens[next].Start)) > 0 && s.text[s.tokens[next].Start-1] == '\t'
}

// indent returns how many blanks are in front of the text at i.
func (s *shaper) indent(i int) int {
	n := 0
	for n < i && n < 8 && (s.text[i-1-n] == ' ' || s.text[i-1-n] == '\t') {
		n++
	}
	return n
}

func (s *shaper) nextLine(i int) int {
	for i < len(s.tokens) && s.tokens[i].Kind != scan.Newline {
		i++
	}
	return i + 1
}

// tag returns the token behind a tag of HTML or XML at i, or i. What is in style
// and script goes with it.
func (s *shaper) tag(i int) int {
	next := i + 1
	if c := s.char(next); c == '/' || c == '!' || c == '?' {
		next++
	}
	if s.kind(next) != scan.Word || !s.tokens[next].Glued || !s.tagName(next+1) {
		return i
	}
	hidden := next == i+1 && (strings.EqualFold(s.part(next), "style") || strings.EqualFold(s.part(next), "script"))
	for k := next; k < min(len(s.tokens), i+64); k++ {
		if s.char(k) != '>' {
			continue
		}
		if hidden {
			return s.afterTag(k + 1)
		}
		return k + 1
	}
	return i
}

// tagName reports whether what is at i may follow the name of a tag: its end, or
// an attribute.
func (s *shaper) tagName(i int) bool {
	switch c := s.char(i); {
	case c == '>' || c == '/' || c == '?':
		return s.tokens[i].Glued
	case s.kind(i) == scan.Word:
		return !s.tokens[i].Glued
	}
	return s.kind(i) == scan.Newline && i < len(s.tokens)
}

// afterTag returns the next "</".
func (s *shaper) afterTag(i int) int {
	for ; i < len(s.tokens); i++ {
		if s.char(i) == '<' && s.char(i+1) == '/' {
			return i
		}
	}
	return i
}
