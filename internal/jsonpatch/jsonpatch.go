// Package jsonpatch applies JSON Patches (RFC 6902). All bytes outside the changed values stay
// as they are: white space, the order of fields, the escapes of strings, the digits of numbers.
package jsonpatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/canonical"
)

// Limits of a patch.
const (
	BytesMax      = 64 << 10 // maximum size of the text of a patch
	OperationsMax = 1_000    // maximum number of operations
)

// ErrDoesNotApply is the error of Apply when an operation does not fit the document: a path
// does not exist, a test fails, or the result is too large.
var ErrDoesNotApply = errors.New("the patch does not apply")

// Patch is a list of operations.
type Patch struct{ operations []operation }

type operation struct {
	Op    string          `json:"op"`
	Path  *string         `json:"path"`
	From  *string         `json:"from"`
	Value json.RawMessage `json:"value"`
}

// Parse reads a patch. An operation with a field that its op does not use is an error.
func Parse(text []byte) (Patch, error) {
	var p Patch
	if len(text) > BytesMax {
		return p, fmt.Errorf("patch of %d bytes: at most %d bytes are allowed", len(text), BytesMax)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p.operations); err != nil {
		return p, fmt.Errorf("patch: want a JSON array of operations such as {\"op\":\"replace\",\"path\":\"/bucket\",\"value\":\"b\"}: %w", err)
	}
	if d.More() {
		return p, errors.New("patch: there is more text after the array of operations")
	}
	if len(p.operations) == 0 || len(p.operations) > OperationsMax {
		return p, fmt.Errorf("patch of %d operations: it must have 1 to %d", len(p.operations), OperationsMax)
	}
	for i := range p.operations {
		if err := p.operations[i].validate(); err != nil {
			return p, fmt.Errorf("patch: operation %d: %w", i+1, err)
		}
	}
	return p, nil
}

func (o *operation) validate() error {
	if o.Path == nil {
		return errors.New("the field \"path\" is missing")
	}
	needsValue, needsFrom := false, false
	switch o.Op {
	case "add", "replace", "test":
		needsValue = true
	case "move", "copy":
		needsFrom = true
	case "remove":
	default:
		return fmt.Errorf("op %.40q is unknown: it must be add, remove, replace, move, copy or test", o.Op)
	}
	switch {
	case needsValue && o.Value == nil:
		return fmt.Errorf("%s needs the field \"value\"", o.Op)
	case needsFrom && o.From == nil:
		return fmt.Errorf("%s needs the field \"from\"", o.Op)
	case o.Op == "move" && strings.HasPrefix(*o.Path, *o.From+"/"):
		return fmt.Errorf("move from %q to %q: a value cannot be moved into itself", *o.From, *o.Path)
	}
	for _, path := range []*string{o.Path, o.From} {
		if path != nil && *path != "" && (*path)[0] != '/' {
			return fmt.Errorf("path %.80q: it must be empty or begin with a slash", *path)
		}
	}
	return nil
}

// Apply returns the document after all operations. An operation fails if it makes the document
// larger than the limit in bytes.
func (p Patch) Apply(document []byte, limit int) ([]byte, error) {
	if !json.Valid(document) {
		return nil, fmt.Errorf("the document is not JSON: %w", ErrDoesNotApply)
	}
	text := document
	for i := range p.operations {
		o := &p.operations[i]
		next, err := o.apply(text)
		if err == nil && len(next) > limit {
			err = fmt.Errorf("the document grows to %d bytes: at most %d bytes are allowed", len(next), limit)
		}
		if err != nil {
			return nil, fmt.Errorf("operation %d, %s %s: %w: %w", i+1, o.Op, *o.Path, err, ErrDoesNotApply)
		}
		text = next
	}
	return text, nil
}

func (o *operation) apply(text []byte) ([]byte, error) {
	switch o.Op {
	case "add":
		return add(text, *o.Path, o.Value)
	case "remove":
		return remove(text, *o.Path)
	case "replace":
		at, err := find(text, *o.Path)
		if err != nil {
			return nil, err
		}
		return splice(text, at.begin, at.end, o.Value), nil
	case "test":
		at, err := find(text, *o.Path)
		if err != nil {
			return nil, err
		}
		if got := text[at.begin:at.end]; !bytes.Equal(canonical.JSON(got), canonical.JSON(o.Value)) {
			return nil, fmt.Errorf("the value is %.80s, want %.80s", got, o.Value)
		}
		return text, nil
	}
	from, err := find(text, *o.From)
	if err != nil {
		return nil, fmt.Errorf("find the value at \"from\" %s: %w", *o.From, err)
	}
	value := bytes.Clone(text[from.begin:from.end])
	if o.Op == "move" {
		if *o.From == *o.Path {
			return text, nil
		}
		if text, err = remove(text, *o.From); err != nil {
			return nil, err
		}
	}
	return add(text, *o.Path, value)
}

// splice replaces the bytes of the text between the two positions by the given slices.
func splice(text []byte, begin, end int, with ...[]byte) []byte {
	return slices.Concat(text[:begin], bytes.Join(with, nil), text[end:])
}

// element is the position of a value in an object or array. In an object, it includes the position
// of the value's key.
type element struct {
	key        string
	from       int // position of the first byte of the key; in an array: of the value
	begin, end int // positions of the first byte of the value, and of the byte after it
}

// find returns the value at a path.
func find(text []byte, path string) (element, error) {
	at := whole(text)
	for _, name := range split(path) {
		all, err := elements(text, at)
		if err != nil {
			return at, err
		}
		i, err := index(text, at, all, name)
		if err == nil && i >= len(all) {
			err = fmt.Errorf("%.80q does not exist", name)
		}
		if err != nil {
			return at, err
		}
		at = all[i]
	}
	return at, nil
}

// add adds a value, or replaces the value of a field.
func add(text []byte, path string, value []byte) ([]byte, error) {
	if path == "" {
		at := whole(text)
		return splice(text, at.begin, at.end, value), nil
	}
	at, all, name, i, err := place(text, path)
	if err != nil {
		return nil, err
	}
	var key []byte
	if text[at.begin] == '{' {
		if i < len(all) {
			return splice(text, all[i].begin, all[i].end, value), nil
		}
		if key, err = json.Marshal(name); err != nil {
			return nil, err
		}
		key = append(key, ':')
	}
	switch {
	case len(all) == 0:
		return splice(text, at.begin+1, at.begin+1, key, value), nil
	case i == len(all):
		return splice(text, all[i-1].end, all[i-1].end, []byte{','}, key, value), nil
	}
	return splice(text, all[i].from, all[i].from, value, []byte{','}), nil
}

// remove removes the element at a path, with the comma that separates it from its neighbour.
func remove(text []byte, path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("the whole document cannot be removed")
	}
	_, all, name, i, err := place(text, path)
	switch {
	case err != nil:
		return nil, err
	case i >= len(all):
		return nil, fmt.Errorf("%.80q does not exist", name)
	case i+1 < len(all):
		return splice(text, all[i].from, all[i+1].from), nil
	case i > 0:
		return splice(text, all[i-1].end, all[i].end), nil
	}
	return splice(text, all[i].from, all[i].end), nil
}

// place finds the parent of a path: the object or array that contains the last name of the path.
// It returns the parent, its elements, the last name, and the position of this name, see index.
func place(text []byte, path string) (at element, all []element, name string, i int, err error) {
	parent, name := cut(path)
	if at, err = find(text, parent); err != nil {
		return at, nil, name, 0, err
	}
	if all, err = elements(text, at); err != nil {
		return at, nil, name, 0, err
	}
	i, err = index(text, at, all, name)
	return at, all, name, i, err
}

// index returns the position of a name among the elements of an object or array. It returns
// len(all) for a field that the object does not have yet, and for "-", the end of an array.
func index(text []byte, at element, all []element, name string) (int, error) {
	if text[at.begin] == '{' {
		for i, e := range slices.Backward(all) { // if several fields have the same name, the last of them is used
			if e.key == name {
				return i, nil
			}
		}
		return len(all), nil
	}
	if name == "-" {
		return len(all), nil
	}
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || strconv.Itoa(i) != name || i > len(all) {
		return 0, fmt.Errorf("%.80q is not an index of an array with %d elements", name, len(all))
	}
	return i, nil
}

// whole returns the document without the white space around it.
func whole(text []byte) element {
	begin := skip(text, 0)
	return element{from: begin, begin: begin, end: len(bytes.TrimRight(text, " \t\r\n"))}
}

// split returns the names in a path.
func split(path string) []string {
	if path == "" {
		return nil
	}
	names := strings.Split(path[1:], "/")
	for i := range names {
		names[i] = unescape(names[i])
	}
	return names
}

// cut splits a path into the path of the parent and the last name.
func cut(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], unescape(path[i+1:])
}

func unescape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
}

// elements returns the elements of the object or array at a position. The text is valid JSON.
func elements(text []byte, at element) (all []element, err error) {
	object := text[at.begin] == '{'
	if !object && text[at.begin] != '[' {
		return nil, errors.New("the path leads into a value that is neither an object nor an array")
	}
	for i := skip(text, at.begin+1); text[i] != '}' && text[i] != ']'; {
		e := element{from: i}
		if object {
			end := valueEnd(text, i)
			if err := json.Unmarshal(text[i:end], &e.key); err != nil {
				return nil, err
			}
			i = skip(text, skip(text, end)+1) // skip the colon after the key
		}
		e.begin, e.end = i, valueEnd(text, i)
		all = append(all, e)
		if i = skip(text, e.end); text[i] == ',' {
			i = skip(text, i+1)
		}
	}
	return all, nil
}

// skip returns the position of the next byte that is not white space.
func skip(text []byte, i int) int {
	for i < len(text) && strings.IndexByte(" \t\r\n", text[i]) >= 0 {
		i++
	}
	return i
}

// valueEnd returns the end of the value that begins at i.
func valueEnd(text []byte, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
			if depth < 0 {
				return i
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			if depth == 0 {
				for i+1 < len(text) && strings.IndexByte(",:]} \t\r\n", text[i+1]) < 0 {
					i++
				}
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}
