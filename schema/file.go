package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redrive/redrive/internal/suggest"
)

// file is the text of a schema. It reports mistakes with their line and column.
type file struct {
	name string
	text []byte
}

// Problem is a mistake in the text of a schema.
type Problem struct {
	File         string
	Line, Column int // the place of the mistake, counted from 1; the column counts characters
	Detail       string
}

func (p *Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Detail)
}

// Problems are all mistakes that Compile finds in a text.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// at returns a problem with the byte at the offset.
func (f *file) at(offset int, format string, args ...any) Problem {
	before := f.text[:max(0, min(offset, len(f.text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return Problem{f.name, line, column, fmt.Sprintf(format, args...)}
}

func (f *file) syntax(err error) error {
	offset := len(f.text)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = int(syntax.Offset) - 1
	}
	return Problems{f.at(offset, "the schema is not JSON: %s", err)}
}

// invalid returns the error for a document that is no valid schema.
func (f *file) invalid(err error) error {
	var against *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &against) && errors.As(against.Err, &invalid) {
		var all Problems
		meta := &Schema{}
		for _, leaf := range leaves(invalid) {
			m := meta.mistake(leaf)
			all = append(all, f.at(f.offset(leaf.InstanceLocation), "%s: %s", nameOf(leaf.InstanceLocation), m.Detail))
		}
		return all
	}
	return Problems{f.at(0, "%s", strings.ReplaceAll(err.Error(), location, ""))}
}

// The keywords whose values are schemas, lists of schemas, or objects with schemas as values.
var (
	inSchema = []string{"additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	inList   = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	inObject = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
	others   = []string{"$schema", "$id", "$anchor", "$dynamicAnchor", "$ref", "$dynamicRef", "$comment", "$vocabulary",
		"type", "const", "enum", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
		"maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
		"maxProperties", "minProperties", "required", "dependentRequired", "title", "description", "default",
		"deprecated", "readOnly", "writeOnly", "examples", "format", "contentEncoding", "contentMediaType", xMessage, xUnit}
	keywords = slices.Concat(inSchema, inList, inObject, others)
)

const (
	xMessage = "x-message"
	xUnit    = "x-unit"
)

var formats = []string{"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname",
	"email", "date", "time", "date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "semver", "regex", httpURL}

// check finds mistakes that JSON Schema does not find: an unknown format, a misspelled keyword,
// which would silently have no effect, and wrong values of the keywords of this package.
func (f *file) check(document any) error {
	var all Problems
	of := Schema{document: document}
	f.walk(&of, document, nil, func(path []string, format string, args ...any) {
		all = append(all, f.at(f.offset(path), "%s: %s", nameOf(path), fmt.Sprintf(format, args...)))
	})
	if len(all) == 0 {
		return nil
	}
	return all
}

func (f *file) walk(of *Schema, v any, path []string, report func(path []string, format string, args ...any)) {
	schema, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		value, at := schema[key], append(slices.Clip(path), key)
		switch {
		case slices.Contains(inSchema, key):
			f.walk(of, value, at, report)
		case slices.Contains(inList, key):
			list, _ := value.([]any)
			for i, item := range list {
				f.walk(of, item, append(slices.Clip(at), strconv.Itoa(i)), report)
			}
		case slices.Contains(inObject, key):
			named, _ := value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(named)) {
				f.walk(of, named[name], append(slices.Clip(at), name), report)
			}
		case key == "$ref":
			ref, _ := value.(string)
			switch pointer, inside := strings.CutPrefix(ref, "#"); {
			case !inside:
				report(at, "%q: %s", ref, otherDocument)
			case strings.HasPrefix(pointer, "/") && of.find(pointer) == nil:
				report(at, "%q does not exist in this schema", ref)
			}
		case key == "format":
			if name, ok := value.(string); ok && !slices.Contains(formats, name) {
				report(at, "unknown format %q%s", name, known(name, formats))
			}
		case key == xUnit:
			if unit, ok := value.(string); !ok || unit == "" {
				report(at, `want the unit as a singular noun, such as "second"`)
			}
		case key == xMessage:
			f.message(value, at, report)
		case !slices.Contains(keywords, key) && !strings.HasPrefix(key, "x-"):
			if hint := suggest.DidYouMean(key, keywords); hint != "" {
				report(at, "unknown keyword %q%s", key, hint)
			}
		}
	}
}

// known returns a hint for an unknown name: a similar name, or all names.
func known(name string, all []string) string {
	if hint := suggest.DidYouMean(name, all); hint != "" {
		return hint
	}
	return "; known are " + suggest.List(all)
}

func (f *file) message(value any, path []string, report func(path []string, format string, args ...any)) {
	switch value := value.(type) {
	case string:
		if strings.TrimSpace(value) == "" {
			report(path, "the text is empty; write the sentence that replaces the mistake's own")
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at := append(slices.Clip(path), key)
			if text, ok := value[key].(string); !ok || strings.TrimSpace(text) == "" {
				report(at, `want a sentence, such as {"minimum": "Duration must be at least 1 second"}`)
			}
			if !slices.Contains(keywords, key) {
				report(at, "unknown keyword %q%s", key, suggest.DidYouMean(key, keywords))
			}
		}
	default:
		report(path, `want a sentence, or an object with a sentence for each keyword, such as {"minimum": "Duration must be at least 1 second"}`)
	}
}

// offset returns the offset of the value at the path. For an object's field, it is the offset of
// the key. If there is no such place, it returns 0.
func (f *file) offset(path []string) int {
	found, err := f.seek(json.NewDecoder(bytes.NewReader(f.text)), path)
	if err != nil {
		return 0
	}
	return found
}

// seek reads a value, and returns the offset at which the part at the path begins.
func (f *file) seek(d *json.Decoder, path []string) (int, error) {
	start := f.next(d)
	if len(path) == 0 {
		return start, nil
	}
	open, err := d.Token()
	if err != nil {
		return 0, err
	}
	for i := 0; d.More(); i++ {
		name, at := strconv.Itoa(i), f.next(d)
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return 0, err
			}
			name, _ = key.(string)
		}
		if name == path[0] {
			if len(path) == 1 {
				return at, nil
			}
			return f.seek(d, path[1:])
		}
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return 0, err
		}
	}
	return 0, io.ErrUnexpectedEOF
}

// next returns the offset of the next token.
func (f *file) next(d *json.Decoder) int {
	offset := int(d.InputOffset())
	return len(f.text) - len(bytes.TrimLeft(f.text[offset:], " \t\r\n,:"))
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// pointerOf returns a path as a JSON Pointer (RFC 6901).
func pointerOf(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// nameOf returns a path as people read it in a message about a schema.
func nameOf(path []string) string {
	if len(path) == 0 {
		return "the schema"
	}
	return pointerOf(path)
}
