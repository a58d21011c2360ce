package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// JSON does for the strings of a JSON value, and for the names in its objects, what Text does for a text. A member
// that is named like a secret loses its value, whatever it is. The result is valid JSON of at most JSONMax bytes, with
// numbers and the order of names as they were; a value that is too long is replaced by a note that says so. What is
// not JSON becomes a string.
func JSON(value []byte, o *Options) []byte {
	if len(value) == 0 {
		return value
	}
	if !json.Valid(value) {
		return fitJSON(encode(Text(string(value), o)))
	}
	w := jsonWriter{src: value, options: o}
	w.value(false)
	if w.from == 0 {
		return fitJSON(value)
	}
	w.out = append(w.out, value[w.from:]...)
	return fitJSON(w.out)
}

func fitJSON(value []byte) []byte {
	if len(value) <= JSONMax {
		return value
	}
	return encode(map[string]string{"note": fmt.Sprintf("(%d bytes, too long to be kept)", len(value))})
}

// jsonWriter copies valid JSON and replaces strings in it.
type jsonWriter struct {
	src     []byte
	options *Options
	out     []byte
	from, i int // what is not written yet; where the reader is
}

// replace writes a string in place of what is between i and the reader.
func (w *jsonWriter) replace(i int, text string) {
	w.out = append(w.out, w.src[w.from:i]...)
	w.out = append(w.out, encode(text)...)
	w.from = w.i
}

func (w *jsonWriter) space() {
	for w.i < len(w.src) && (w.src[w.i] == ' ' || w.src[w.i] == '\n' || w.src[w.i] == '\t' || w.src[w.i] == '\r') {
		w.i++
	}
}

// value reads one value. Within a secret one, everything is.
func (w *jsonWriter) value(secret bool) {
	w.space()
	switch start := w.i; w.src[w.i] {
	case '{':
		w.object(secret)
	case '[':
		arguments := w.arguments()
		w.i++
		for n := 0; ; n++ {
			if w.space(); w.src[w.i] == ']' {
				break
			}
			if w.src[w.i] == ',' {
				w.i++
				w.space()
			}
			if at := w.i; n < len(arguments) && arguments[n] != "" {
				w.text()
				w.replace(at, arguments[n])
				continue
			}
			w.value(secret)
		}
		w.i++
	case '"':
		text, clean := w.text(), ""
		if clean = Text(text, w.options); secret && text != "" && !w.kept(text) {
			clean = Secret
		}
		if clean != text {
			w.replace(start, clean)
		}
	default:
		for w.i < len(w.src) && !bytes.ContainsRune([]byte(" \n\t\r,]}"), rune(w.src[w.i])) {
			w.i++
		}
		if c := w.src[start]; secret && c != 'n' && c != 't' && c != 'f' && !w.kept(string(w.src[start:w.i])) {
			w.replace(start, Secret)
		}
	}
}

// argumentsMax is the largest size in bytes of a list of arguments.
const argumentsMax = 16 << 10

// arguments returns the members of a list of strings in which the other members show which member
// is a secret, as in ["curl", "-u", "anna:x"], without the secret. It returns "" for all other
// members.
func (w *jsonWriter) arguments() []string {
	text := listOfStrings(w.src[w.i:min(len(w.src), w.i+argumentsMax)])
	var raw, clean []string
	if text == "" || json.Unmarshal([]byte(text), &raw) != nil || len(raw) < 2 {
		return nil
	}
	if json.Unmarshal([]byte(Text(text, w.options)), &clean) != nil || len(clean) != len(raw) {
		return nil
	}
	for i := range clean {
		if clean[i] == raw[i] || clean[i] == "" {
			clean[i] = ""
		} else {
			clean[i] = Text(clean[i], w.options)
		}
	}
	return clean
}

// listOfStrings returns the list of strings at the beginning of a JSON text, or "" if the list has
// other members or does not end.
func listOfStrings(src []byte) string {
	quoted := false
	for i := 1; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ']':
			return string(src[:i+1])
		case c != ',' && c != ' ' && c != '\n' && c != '\t' && c != '\r':
			return ""
		}
	}
	return ""
}

func (w *jsonWriter) kept(text string) bool {
	return w.options != nil && slices.Contains(w.options.Keep, text)
}

// object reads an object. In {"name": "PASSWORD", "value": …} the first member
// names the second.
func (w *jsonWriter) object(secret bool) {
	w.i++
	named := ""
	for w.space(); w.src[w.i] != '}'; w.space() {
		if w.src[w.i] == ',' {
			w.i++
			w.space()
		}
		start := w.i
		name := w.text()
		if clean := Text(name, w.options); clean != name {
			w.replace(start, clean)
		}
		w.space()
		w.i++ // the colon
		w.space()
		isSecret := secret || scan.SecretMember(name, w.peek())
		switch strings.ToLower(name) {
		case "name", "key", "header":
			named = w.peek()
		case "value":
			isSecret = isSecret || scan.SecretMember(named, w.peek())
		}
		w.value(isSecret)
	}
	w.i++
}

// text reads a string.
func (w *jsonWriter) text() string {
	start, plain := w.i, true
	for w.i++; w.src[w.i] != '"'; w.i++ {
		if w.src[w.i] == '\\' {
			plain = false
			w.i++
		} else if w.src[w.i] >= 0x80 {
			plain = false
		}
	}
	w.i++
	if plain {
		return string(w.src[start+1 : w.i-1])
	}
	var text string
	if err := json.Unmarshal(w.src[start:w.i], &text); err != nil {
		return Secret // cannot happen: the whole text is valid JSON
	}
	return text
}

// peek returns the next value as plain text, without quotes or brackets. For a list
// it returns the first item, for an object a text that is no word.
func (w *jsonWriter) peek() string {
	from := w.i
	defer func() { w.i = from }()
	for w.space(); w.src[w.i] == '['; w.space() {
		w.i++
	}
	switch w.src[w.i] {
	case '"':
		return w.text()
	case '{', ']':
		return "{}"
	}
	start := w.i
	for w.i < len(w.src) && !bytes.ContainsRune([]byte(" \n\t\r,]}"), rune(w.src[w.i])) {
		w.i++
	}
	return string(w.src[start:w.i])
}

// encode returns a text, or an object of texts, as JSON.
func encode(v any) []byte {
	b, _ := json.Marshal(v) // texts have no errors
	return b
}
