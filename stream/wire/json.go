package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// member is a field of a JSON object.
type member struct {
	name  string
	value json.RawMessage
	at    int // position of the value in the record's value
}

// kind returns the first byte of the value, which tells its type.
func (m *member) kind() byte { return m.value[0] }

func (m *member) null() bool { return m.kind() == 'n' }

// checkJSON returns an error if the text is not exactly one JSON value in UTF-8 of at most
// DepthMax levels.
func checkJSON(text []byte) error {
	if !utf8.Valid(text) {
		return malformed(invalidUTF8(text), "the value is not UTF-8")
	}
	if !json.Valid(text) {
		var any json.RawMessage
		err := json.Unmarshal(text, &any)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return malformed(max(0, min(int(syntax.Offset)-1, len(text))), "the value is not JSON: %s", syntax)
		}
		return malformed(0, "the value is not JSON")
	}
	if at := tooDeep(text); at >= 0 {
		return malformed(at, "the value has more than %d levels", DepthMax)
	}
	return nil
}

func invalidUTF8(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(text)
}

// tooDeep returns the position at which valid JSON passes DepthMax levels, or -1.
func tooDeep(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > DepthMax {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// members returns the fields of a JSON object, whose text is valid, in their order. A name that
// occurs twice is an error. The text begins at the position base of the record's value.
func members(text []byte, base int, what string) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, malformed(base, "%s is not JSON", what)
	}
	var all []member
	seen := make(map[string]bool)
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		var value json.RawMessage
		at := base + int(d.InputOffset())
		if err == nil && ok {
			err = d.Decode(&value)
		}
		if err != nil || !ok {
			return nil, malformed(at, "%s is not JSON", what)
		}
		if seen[name] {
			return nil, malformed(at, "%s has the field %s twice", what, quote(name))
		}
		seen[name] = true
		all = append(all, member{name, value, base + int(d.InputOffset()) - len(value)})
	}
	return all, nil
}

// object returns the fields as the text of a JSON object, or nil if all is empty.
func object(all []member) json.RawMessage {
	if len(all) == 0 {
		return nil
	}
	text := []byte{'{'}
	for i := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, quoted(all[i].name)...), ':'), all[i].value...)
	}
	return append(text, '}')
}

// quoted returns a text as JSON. Unlike json.Marshal it does not write <, > and & as escapes.
func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text is always JSON
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// quote returns a text for a message: in quotes, at most 64 bytes of it.
func quote(text string) string {
	const most = 64
	if len(text) > most {
		cut := most
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strconv.Quote(text)
}
