package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// printJSON prints an object over several lines.
func (a *app) printJSON(v any) error { return a.encode(v, "  ") }

// printJSONLine prints an object on one line.
func (a *app) printJSONLine(v any) error { return a.encode(v, "") }

func (a *app) encode(v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err := a.out.Write(plainJSON(text.Bytes()))
	return err
}

// plainJSON escapes what JSON allows in texts and terminals act on, such as the
// C1 control characters.
func plainJSON(text []byte) []byte {
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
