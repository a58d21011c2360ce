package classify

import (
	"strings"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// quoteMax is the length of a quoted name in tokens; what is longer is a text.
const quoteMax = 9

// quotes finds names in quotes, and the values of fields.
func (r *reader) quotes(m *phrase.Matcher) {
	tokens := m.Tokens
	sym := 0
	for i := 0; i < len(tokens); i++ {
		t := &tokens[i]
		if t.Kind != scan.Punct || !scan.OpensQuote(t.Hash) {
			continue
		}
		for sym < len(m.Syms) && int(m.Syms[sym].Token) < i {
			sym++
		}
		end := closing(tokens, i)
		if end < 0 {
			continue
		}
		if end+1 < len(tokens) && tokens[end+1].Kind == scan.Punct && tokens[end+1].Hash == ':' {
			r.field(m, sym, i, end)
			continue
		}
		name := i > 0 && !t.Glued && tokens[i-1].Kind == scan.Word && !saysSomething(m.Text[tokens[i-1].Start:tokens[i-1].End])
		if name || i > 0 && tokens[i-1].Kind == scan.Punct && tokens[i-1].Hash == '=' || isValue(m.Text[tokens[end].End:]) {
			for k := sym; k < len(m.Syms) && int(m.Syms[k].Token) < end; k++ {
				r.lower(k, inQuote)
			}
			i = end
		}
	}
}

// isValue reports whether what follows a quotation says that it was a value: "'low' is not one of".
func isValue(rest string) bool {
	for _, says := range [...]string{" is not one of", " is not in the list"} {
		if strings.HasPrefix(rest, says) {
			return true
		}
	}
	return false
}

func (r *reader) lower(sym, by int) {
	r.adjust[sym] = int8(max(-inNoise, int(r.adjust[sym])-by))
}

// closing returns the token that closes a short quotation, -1 for none.
func closing(tokens []scan.Token, open int) int {
	want := tokens[open].Hash
	switch want {
	case '“':
		want = '”'
	case '‘':
		want = '’'
	case '«':
		want = '»'
	case '`':
		want = '`'
	}
	for i := open + 1; i < len(tokens) && i <= open+quoteMax && tokens[i].Kind != scan.Newline; i++ {
		if tokens[i].Kind == scan.Punct && (tokens[i].Hash == want || want == '`' && tokens[i].Hash == '\'') {
			return i
		}
	}
	return -1
}

// saysSomething reports whether what a word announces in quotes is a message and
// no name.
func saysSomething(word string) bool {
	if len(word) > 12 {
		return true
	}
	var buf [12]byte
	switch string(phrase.LowerASCII(buf[:0], word)) {
	case "error", "errors", "message", "msg", "reason", "said", "says", "returned", "response", "text", "desc", "description", "details", "detail",
		"status", "exception", "cause", "str", "saying", "with", "output", "stderr", "reads", "from", "reply", "answer", "warning", "failed", "code", "err",
		"state", "because", "contains", "got", "fatal", "failure", "result", "errmsg", "info", "and", "or", "type", "u", "b", "f":
		return true
	}
	return false
}

// field looks at a field in quotes, from token key to token end, and at its
// value: a short value of a code field counts as a code; what was sent to the
// other side says nothing about the failure.
func (r *reader) field(m *phrase.Matcher, sym, key, end int) {
	kind := plainField
	for i := key + 1; i < end; i++ {
		if m.Tokens[i].Kind == scan.Word {
			kind = fieldKind(m.Text[m.Tokens[i].Start:m.Tokens[i].End])
		}
	}
	for ; sym < len(m.Syms) && int(m.Syms[sym].Token) < end; sym++ {
		r.lower(sym, inQuote) // the name of the field itself
	}
	if kind == plainField {
		return
	}
	from := end + 2
	to := valueEnd(m.Tokens, from)
	for k := sym; k < len(m.Syms) && int(m.Syms[k].Token) < to; k++ {
		switch {
		case kind == dataField:
			r.lower(k, inHistory)
		case to-from <= quoteMax+2 && r.adjust[k] > -inQuote:
			r.adjust[k] += inCode
		}
	}
}

type fieldType uint8

const (
	plainField fieldType = iota
	codeField
	dataField
)

func fieldKind(name string) fieldType {
	if len(name) > 12 {
		return plainField
	}
	var buf [12]byte
	switch string(phrase.LowerASCII(buf[:0], name)) {
	case "code", "type", "status", "reason", "error", "errcode", "exception", "kind", "err", "errno", "errortype", "errorcode", "subcode", "category", "ecode":
		return codeField
	case "input", "prompt", "payload", "params", "title", "caption", "filename", "user", "sql", "command", "args", "env", "query", "headers", "config", "options", "settings":
		return dataField
	}
	return plainField
}

// valueMax bounds how far a value is followed, in tokens.
const valueMax = 400

// valueEnd returns the token behind the value that begins at token from.
func valueEnd(tokens []scan.Token, from int) int {
	if from >= len(tokens) {
		return from
	}
	last := min(len(tokens), from+valueMax)
	first := &tokens[from]
	switch {
	case first.Kind == scan.Punct && scan.OpensQuote(first.Hash):
		for i := from + 1; i < last; i++ {
			if tokens[i].Kind == scan.Punct && tokens[i].Hash == first.Hash && (tokens[i-1].Kind != scan.Punct || tokens[i-1].Hash != '\\') {
				return i
			}
		}
	case first.Kind == scan.Punct && (first.Hash == '{' || first.Hash == '['):
		depth := 0
		for i := from; i < last; i++ {
			if tokens[i].Kind != scan.Punct {
				continue
			}
			switch tokens[i].Hash {
			case '{', '[':
				depth += int(tokens[i].End - tokens[i].Start)
			case '}', ']':
				if depth -= int(tokens[i].End - tokens[i].Start); depth <= 0 {
					return i
				}
			}
		}
	default:
		for i := from; i < last; i++ {
			if tokens[i].Kind == scan.Punct && (tokens[i].Hash == ',' || tokens[i].Hash == '}') {
				return i
			}
		}
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
