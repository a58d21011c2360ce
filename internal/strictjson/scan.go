// Package strictjson reads JSON from untrusted clients into Go values. It reports all mistakes at
// once, each with the JSON pointer of the value and, for a misspelt field, the name that was
// probably meant. It keeps the bytes of a json.RawMessage exactly as they were sent.
//
// Read checks the whole text first: the syntax, that the text is UTF-8, and the depth. The
// values are then read in one pass over the same bytes.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// SyntaxError says that a text is not one JSON value, or that the value is nested too deep.
type SyntaxError struct {
	Offset int64 // number of bytes before the mistake
	Detail string
	Depth  int // the limit of the depth, if this limit was exceeded; otherwise 0
}

func (e *SyntaxError) Error() string { return e.Detail }

// Check returns a *SyntaxError unless data is one JSON value in UTF-8 in which objects and arrays
// are nested at most the given number of times.
func Check(data []byte, depth int) error {
	if at := deeper(data, depth); at >= 0 {
		return &SyntaxError{Offset: int64(at), Depth: depth, Detail: fmt.Sprintf("the JSON text is nested too deep at byte %d: at most %d levels are allowed", at+1, depth)}
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, size := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return &SyntaxError{Offset: int64(at), Detail: fmt.Sprintf("the text is not UTF-8 at byte %d", at+1)}
	}
	if json.Valid(data) {
		return nil
	}
	return explain(data)
}

// deeper returns the position of the first bracket that is nested deeper than the given depth, or
// -1.
func deeper(data []byte, depth int) int {
	level, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if level++; level > depth {
				return i
			}
		case c == '}' || c == ']':
			level--
		}
	}
	return -1
}

// explain says why a text is not one JSON value.
func explain(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &SyntaxError{Detail: "the body is empty: it must be JSON"}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return &SyntaxError{Detail: "the text begins with a byte-order mark; send UTF-8 without this mark"}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	err := dec.Decode(&value)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &SyntaxError{Offset: syntax.Offset, Detail: fmt.Sprintf("the text is not JSON at byte %d: %s", syntax.Offset, strings.TrimPrefix(err.Error(), "json: "))}
	}
	if err == nil {
		at := dec.InputOffset()
		return &SyntaxError{Offset: at, Detail: fmt.Sprintf("there is more text after the JSON value, at byte %d", at+1)}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &SyntaxError{Offset: int64(len(data)), Detail: fmt.Sprintf("the text is not JSON: it ends too early, after %d bytes", len(data))}
	}
	return &SyntaxError{Detail: "the text is not JSON: " + err.Error()}
}

// The functions below walk over JSON that Check has accepted, so they check nothing.

// space returns the position of the first byte at or after i that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// end returns the position after the value that begins at i.
func end(b []byte, i int) int {
	switch b[i] {
	case '"':
		return textEnd(b, i)
	case '{', '[':
		level := 0
		for ; ; i++ {
			switch b[i] {
			case '"':
				i = textEnd(b, i) - 1
			case '{', '[':
				level++
			case '}', ']':
				if level--; level == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(b) && !strings.ContainsRune(",]} \n\t\r", rune(b[i])) {
		i++
	}
	return i
}

// textEnd returns the position after the string that begins at i.
func textEnd(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if slash := bytes.IndexByte(b[i:i+n], '\\'); slash >= 0 {
			i += slash + 1
			continue
		}
		return i + n + 1
	}
}

// text returns the value of a string.
func text(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1])
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		panic("read a string that was checked: " + err.Error())
	}
	return s
}

// members calls f with each member of an object: the written key and the written value.
func members(b []byte, f func(key, value []byte)) {
	for i := space(b, 1); b[i] != '}'; {
		keyEnd := textEnd(b, i)
		from := space(b, space(b, keyEnd)+1) // after the colon
		to := end(b, from)
		f(b[i:keyEnd], b[from:to])
		if i = space(b, to); b[i] == ',' {
			i = space(b, i+1)
		}
	}
}

// Elements calls f with each element of an array that Check has accepted, as it is written.
func Elements(array []byte, f func(i int, value []byte)) {
	b := array[space(array, 0):]
	n := 0
	for i := space(b, 1); b[i] != ']'; n++ {
		to := end(b, i)
		f(n, b[i:to])
		if i = space(b, to); b[i] == ',' {
			i = space(b, i+1)
		}
	}
}

// Kind returns the first byte of the value in a text that Check has accepted: '{', '[', '"', 't',
// 'f', 'n', '-' or a digit.
func Kind(data []byte) byte { return data[space(data, 0)] }
