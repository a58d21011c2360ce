package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Encode writes a value as JSON, followed by a line end. If the indent is "", the
// value is written in one line. Control characters that a terminal would obey are
// escaped.
func Encode(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err := w.Write(Plain(text.Bytes()))
	return err
}

// Plain escapes control characters that JSON allows inside strings and that a terminal
// would obey, such as the C1 control characters. The result may share memory with the text.
func Plain(text []byte) []byte {
	if !slices.ContainsFunc(text, func(b byte) bool { return (b < ' ' || b > '~') && b != '\n' }) {
		return text // almost every text is printable ASCII
	}
	var out bytes.Buffer
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == '\n' || strconv.IsPrint(r) {
			out.Write(text[i : i+size])
		} else if r > 0xffff {
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		} else {
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += size
	}
	return out.Bytes()
}

// Payload is a payload in JSON. Only one of its three fields is set.
type Payload struct {
	Payload       json.RawMessage `json:"payload,omitempty"`
	PayloadText   string          `json:"payload_text,omitempty"`
	PayloadBase64 []byte          `json:"payload_base64,omitempty"`
}

// PayloadOf returns the JSON shape of a payload. Valid JSON is not changed, other text
// becomes a JSON string, and other bytes are encoded in base64.
func PayloadOf(b []byte) Payload {
	switch {
	case isJSON(b):
		return Payload{Payload: b}
	case utf8.Valid(b):
		return Payload{PayloadText: string(b)}
	}
	return Payload{PayloadBase64: b}
}

func isJSON(b []byte) bool { return utf8.Valid(b) && json.Valid(b) }

// raw returns valid JSON unchanged, and any other text as a JSON string.
func raw(b []byte) json.RawMessage {
	if len(b) == 0 || isJSON(b) {
		return b
	}
	return quoted(string(b))
}

func quoted(text string) json.RawMessage {
	b, err := json.Marshal(text)
	if err != nil {
		panic("encode a text as JSON: " + err.Error())
	}
	return b
}
