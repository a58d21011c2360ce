// Package schema checks the payloads of jobs against JSON Schemas (draft 2020-12). Its errors are
// sentences for people: they name the field, the bound and the unit.
//
//	render, err := schema.Compile("render.json", text)
//	client, err := redrive.New(st, &redrive.Config{PayloadChecks: map[string]redrive.PayloadCheck{"render": render}})
//
// The keyword format is always checked. Formats of this package, beside those of the draft, are
// "http-url", an absolute URL with the scheme http or https and a host, and the formats that
// the library knows in addition, such as "semver".
//
// Keywords of this package that other programs ignore:
//
//   - x-message replaces the sentence of a mistake. Its value is a text for all keywords of its
//     schema, or an object with a text for each keyword: {"minimum": "Use 1 second or more"}. The
//     text for a missing field belongs to the schema of that field, under "required".
//   - x-unit is the unit of a number, as a singular noun: "second".
//
// The name of a field in a sentence is its title, or else its key.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redrive/redrive"
)

// The limits of this package.
const (
	BytesMax  = 64 << 10 // maximum size of the text of a schema
	DigitsMax = 1_000    // maximum number of digits of a number in a payload
)

// location is the address under which a schema is compiled. It has no effect on payloads.
const location = "redrive:///schema"

// Schema checks payloads. It is safe for concurrent use.
type Schema struct {
	text     []byte
	document any // the decoded text
	compiled *jsonschema.Schema
}

var _ redrive.PayloadCheck = (*Schema)(nil)

// Compile reads a schema of at most BytesMax bytes. The error is a Problems with all
// mistakes that Compile finds in the text. The name is the name of the file in these messages.
// References to other documents are not allowed.
func Compile(name string, text []byte) (*Schema, error) {
	f := file{name: name, text: text}
	if len(text) > BytesMax {
		return nil, Problems{f.at(0, "schema of %d bytes: at most %d bytes are allowed", len(text), BytesMax)}
	}
	document, err := decode(text)
	if err != nil {
		return nil, f.syntax(err)
	}
	if err := f.check(document); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	c.RegisterFormat(&jsonschema.Format{Name: httpURL, Validate: validHTTPURL})
	if err := c.AddResource(location, document); err != nil {
		return nil, f.invalid(err)
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, f.invalid(err)
	}
	return &Schema{text: bytes.Clone(text), document: document, compiled: compiled}, nil
}

// Text returns the text from which the schema was compiled. It must not be changed.
func (s *Schema) Text() []byte { return s.text }

// CheckPayload returns the mistakes of a payload, in the order of their places. A payload has one
// mistake if it is not JSON, if an object in it has the same key twice, or if a number in it has
// more than DigitsMax digits.
func (s *Schema) CheckPayload(payload []byte) []redrive.PayloadMistake {
	if m, found := ambiguous(payload); found {
		return []redrive.PayloadMistake{m}
	}
	value, err := decode(payload)
	if err != nil {
		return []redrive.PayloadMistake{{Detail: "the payload is not JSON: " + err.Error()}}
	}
	var invalid *jsonschema.ValidationError
	switch err := s.compiled.Validate(value); {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		return []redrive.PayloadMistake{{Detail: "the payload cannot be checked: " + err.Error()}}
	}
	return s.mistakes(invalid)
}

// decode returns the value of a JSON text. Its numbers keep all digits.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if err := d.Decode(new(any)); err == nil || !isEOF(err) {
		return nil, errors.New("there is more text after the JSON value")
	}
	return value, nil
}

// ambiguous returns the first mistake of a text that programs would read differently, or that is
// slow to check: a key that an object has twice, or a number with very many digits. It finds no
// mistake in a text that is not JSON.
func ambiguous(text []byte) (redrive.PayloadMistake, bool) {
	type level struct {
		keys  map[string]bool // the keys so far; nil in an array
		key   string          // the present key of an object
		index int             // the index of the next item of an array
		value bool            // in an object: the next token is a value
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var levels []level
	mistake := func(detail, bound string) (redrive.PayloadMistake, bool) {
		path := make([]string, len(levels))
		for i, l := range levels {
			if path[i] = l.key; l.keys == nil {
				path[i] = strconv.Itoa(l.index - 1)
			}
		}
		return redrive.PayloadMistake{Pointer: pointerOf(path), Detail: detail, Bound: bound}, true
	}
	for {
		token, err := d.Token()
		if err != nil {
			return redrive.PayloadMistake{}, false
		}
		top := len(levels) - 1
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			levels = levels[:top]
			continue
		}
		if top >= 0 && levels[top].keys != nil && !levels[top].value {
			key, _ := token.(string)
			twice := levels[top].keys[key]
			levels[top].keys[key], levels[top].key, levels[top].value = true, key, true
			if twice {
				return mistake("the payload has this key twice; keep one of them", "")
			}
			continue
		}
		if top >= 0 {
			levels[top].value = false
			levels[top].index++
		}
		switch token := token.(type) {
		case json.Number:
			if digits(string(token)) > DigitsMax {
				return mistake(fmt.Sprintf("the number has more than %d digits; send it as a text", DigitsMax), strconv.Itoa(DigitsMax))
			}
		case json.Delim:
			if token == '{' {
				levels = append(levels, level{keys: map[string]bool{}})
			} else {
				levels = append(levels, level{})
			}
		}
	}
}

// digits returns the number of digits of a number when it is written without an exponent, or a
// larger number.
func digits(number string) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	n, err := strconv.Atoi(exponent)
	if exponent != "" && err != nil {
		return math.MaxInt
	}
	return len(mantissa) + max(n, -n)
}

// noLoader refuses all references to other documents.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New(otherDocument)
}

const otherDocument = "other documents are not read: put the schema under $defs, and refer to it as #/$defs/NAME"

const httpURL = "http-url"

func validHTTPURL(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"http", "https"}, u.Scheme) || u.Hostname() == "" || strings.ContainsAny(s, " \t\r\n") {
		return errors.New("want http or https and a host")
	}
	return nil
}
