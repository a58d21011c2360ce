package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
)

// shownMax is the maximum number of bytes of a name or a value of the schema in a sentence.
const shownMax = 100

// mistakes returns the first mistakes of a payload, sorted by their places.
func (s *Schema) mistakes(invalid *jsonschema.ValidationError) []redrive.PayloadMistake {
	type placed struct {
		path    []string
		missing bool // the field at the path is missing
		leaf    *jsonschema.ValidationError
	}
	var all []placed
	for _, leaf := range leaves(invalid) {
		if r, ok := leaf.ErrorKind.(*kind.Required); ok {
			for _, name := range r.Missing {
				all = append(all, placed{append(slices.Clip(leaf.InstanceLocation), name), true, leaf})
			}
			continue
		}
		all = append(all, placed{leaf.InstanceLocation, false, leaf})
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(slices.CompareFunc(a.path, b.path, compareNames), cmp.Compare(keyword(a.leaf), keyword(b.leaf)))
	})
	var found []redrive.PayloadMistake
	for _, p := range all {
		if len(found) == redrive.PayloadMistakesMax {
			break
		}
		m := redrive.PayloadMistake{}
		if p.missing {
			m = s.missing(p.leaf, p.path)
		} else {
			m = s.mistake(p.leaf)
		}
		m.Pointer = pointerOf(p.path)
		if !slices.Contains(found, m) { // several branches of a schema may report the same mistake
			found = append(found, m)
		}
	}
	return found
}

// keyword returns the keyword of a mistake.
func keyword(e *jsonschema.ValidationError) string {
	return strings.Join(e.ErrorKind.KeywordPath(), "/")
}

// compareNames compares two names in paths. The indexes of arrays are compared as numbers.
func compareNames(a, b string) int {
	x, badX := strconv.Atoi(a)
	y, badY := strconv.Atoi(b)
	if badX == nil && badY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// leaves returns the mistakes that have no causes of their own. Of alternatives (anyOf, oneOf), it
// returns the mistakes of the only one with the type of the value, or else the alternatives as one
// mistake.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		fitting := slices.DeleteFunc(slices.Clone(e.Causes), func(cause *jsonschema.ValidationError) bool {
			return slices.ContainsFunc(leaves(cause), func(leaf *jsonschema.ValidationError) bool {
				if len(leaf.InstanceLocation) > len(e.InstanceLocation)+1 {
					return false
				}
				switch leaf.ErrorKind.(type) {
				case *kind.Type:
					return len(leaf.InstanceLocation) == len(e.InstanceLocation)
				case *kind.Const: // the field that names the alternative
					return true
				}
				return false
			})
		})
		if len(fitting) != 1 {
			return []*jsonschema.ValidationError{e}
		}
		return leaves(fitting[0])
	case *kind.Contains, *kind.Not, *kind.PropertyNames:
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// mistake returns the sentence and the bound of a mistake. Its Pointer is empty.
func (s *Schema) mistake(e *jsonschema.ValidationError) redrive.PayloadMistake {
	schema := s.at(e.SchemaURL)
	name := s.name(schema, e.InstanceLocation)
	say := func(bound, format string, args ...any) redrive.PayloadMistake {
		text := own(schema, e.ErrorKind.KeywordPath())
		return redrive.PayloadMistake{Detail: cmp.Or(text, name+" "+fmt.Sprintf(format, args...)), Bound: bound}
	}
	atLeast := func(most bool, want int, unit string) redrive.PayloadMistake {
		how := "at least"
		if most {
			how = "at most"
		}
		return say(strconv.Itoa(want), "must have %s %s", how, plural(strconv.Itoa(want), unit))
	}
	number := func(how string, want *big.Rat) redrive.PayloadMistake {
		unit, _ := schema[xUnit].(string)
		bound := decimal(want)
		return say(bound, "must be %s %s", how, plural(bound, unit))
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return say("", "must be %s, found %s", alternatives(k.Want), article(k.Got))
	case *kind.Minimum:
		return number("at least", k.Want)
	case *kind.Maximum:
		return number("at most", k.Want)
	case *kind.ExclusiveMinimum:
		return number("more than", k.Want)
	case *kind.ExclusiveMaximum:
		return number("less than", k.Want)
	case *kind.MultipleOf:
		return number("a multiple of", k.Want)
	case *kind.MinLength:
		if k.Want == 1 {
			return say("1", "must not be empty")
		}
		return atLeast(false, k.Want, "character")
	case *kind.MaxLength:
		return atLeast(true, k.Want, "character")
	case *kind.MinItems:
		return atLeast(false, k.Want, "item")
	case *kind.MaxItems:
		return atLeast(true, k.Want, "item")
	case *kind.MinProperties:
		return atLeast(false, k.Want, "field")
	case *kind.MaxProperties:
		return atLeast(true, k.Want, "field")
	case *kind.MinContains:
		return say(strconv.Itoa(k.Want), "must have at least %s of the wanted form", plural(strconv.Itoa(k.Want), "item"))
	case *kind.MaxContains:
		return say(strconv.Itoa(k.Want), "must have at most %s of the wanted form", plural(strconv.Itoa(k.Want), "item"))
	case *kind.Contains:
		return say("1", "must have an item of the wanted form")
	case *kind.UniqueItems:
		return say("", "must not have the same item twice, found it at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Pattern:
		return say(k.Want, "must match the pattern %s", clip(k.Want))
	case *kind.Format:
		return say(k.Want, "must be %s", cmp.Or(formatWords[k.Want], "a valid "+k.Want))
	case *kind.Enum:
		return say("", "must be one of %s", list(k.Want))
	case *kind.Const:
		return say("", "must be %s", list([]any{k.Want}))
	case *kind.AdditionalProperties:
		properties, _ := schema["properties"].(map[string]any)
		all := slices.Sorted(maps.Keys(properties))
		unknown := slices.Sorted(slices.Values(k.Properties))[0]
		return say("", "must not have the field %q%s", clip(unknown), suggest.DidYouMean(clip(unknown), all))
	case *kind.DependentRequired:
		return say("", "needs the field %q beside %q", clip(k.Missing[0]), clip(k.Prop))
	case *kind.PropertyNames:
		return say("", "must not have a field with the name %q", clip(k.Property))
	case *kind.FalseSchema, *kind.Not:
		return say("", "is not allowed here")
	case *kind.AnyOf, *kind.OneOf:
		return say("", "has none of the allowed forms, or more than one of them")
	}
	return say("", "is invalid: %s", e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}

// missing returns the sentence for a missing field at the path.
func (s *Schema) missing(e *jsonschema.ValidationError, path []string) redrive.PayloadMistake {
	object := s.at(e.SchemaURL)
	properties, _ := object["properties"].(map[string]any)
	field := s.resolve(properties[path[len(path)-1]])
	text := cmp.Or(own(field, []string{"required"}), own(object, []string{"required"}))
	return redrive.PayloadMistake{Detail: cmp.Or(text, s.name(field, path)+" is required")}
}

// own returns the sentence of x-message for a keyword, or "".
func own(schema map[string]any, keyword []string) string {
	switch given := schema[xMessage].(type) {
	case string:
		if slices.Equal(keyword, []string{"required"}) {
			return "" // the sentence is about the value, not about the fields in it
		}
		return given
	case map[string]any:
		if len(keyword) > 0 {
			text, _ := given[keyword[0]].(string)
			return text
		}
	}
	return ""
}

// at returns the part of the schema's text at an address that the library reports.
func (s *Schema) at(address string) map[string]any {
	_, pointer, _ := strings.Cut(address, "#") // the address itself depends on $id
	return s.resolve(s.find(pointer))
}

// find returns the value at a JSON Pointer in the schema's text, or nil.
func (s *Schema) find(pointer string) any {
	at := s.document
	for _, name := range strings.Split(pointer, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch parent := at.(type) {
		case map[string]any:
			at = parent[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			at = parent[i]
		default:
			return nil
		}
	}
	return at
}

// resolve returns a schema together with the annotations of the schema to which it refers.
func (s *Schema) resolve(v any) map[string]any {
	schema, _ := v.(map[string]any)
	ref, ok := schema["$ref"].(string)
	if pointer, inside := strings.CutPrefix(ref, "#"); ok && inside {
		if target, ok := s.find(pointer).(map[string]any); ok {
			merged := maps.Clone(target)
			maps.Copy(merged, schema)
			return merged
		}
	}
	return schema
}

// name returns how a sentence calls the value at a path: by its title, or else by its key.
func (s *Schema) name(schema map[string]any, path []string) string {
	if title, ok := schema["title"].(string); ok && title != "" && len(path) > 0 {
		return clip(title)
	}
	if len(path) == 0 {
		return "The payload"
	}
	last := path[len(path)-1]
	if i, err := strconv.Atoi(last); err == nil {
		if len(path) == 1 {
			return fmt.Sprintf("Item %d", i+1)
		}
		return fmt.Sprintf("Item %d of %s", i+1, strings.ToLower(readable(path[len(path)-2])))
	}
	return readable(last)
}

// readable returns a key in words: "Image url" for image_url and imageUrl.
func readable(key string) string {
	var b strings.Builder
	lower := false
	for i, c := range clip(key) {
		switch {
		case c == '_' || c == '-' || c == ' ':
			b.WriteByte(' ')
			lower = false
			continue
		case unicode.IsUpper(c) && lower:
			b.WriteByte(' ')
			b.WriteRune(unicode.ToLower(c))
			lower = false
			continue
		case i == 0:
			b.WriteRune(unicode.ToUpper(c))
		default:
			b.WriteRune(c)
		}
		lower = unicode.IsLower(c) || unicode.IsDigit(c)
	}
	return cmp.Or(strings.TrimSpace(b.String()), `The field ""`)
}

// clip shortens a text of a caller for a sentence, and removes what would break its line.
func clip(s string) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == utf8.RuneError {
			return ' '
		}
		return c
	}, s)
	if len(s) <= shownMax {
		return s
	}
	end := shownMax
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// decimal returns a number without an exponent if it has at most 20 decimal places.
func decimal(r *big.Rat) string {
	if places, exact := r.FloatPrec(); exact && places <= 20 {
		return r.FloatString(places)
	}
	return r.RatString()
}

// plural returns a number with its unit, such as "1 second" or "2 seconds".
func plural(n, unit string) string {
	switch {
	case unit == "":
		return n
	case n == "1":
		return n + " " + unit
	}
	return n + " " + unit + "s"
}

func alternatives(types []string) string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = article(t)
	}
	return strings.Join(words, " or ")
}

func article(name string) string {
	switch name {
	case "null":
		return name
	case "array", "integer", "object":
		return "an " + name
	case "boolean":
		return "true or false"
	}
	return "a " + name
}

// list returns values of a schema as JSON, with commas.
func list(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		text, _ := json.Marshal(v)
		texts[i] = clip(string(text))
	}
	return suggest.List(texts)
}

// formatWords are the formats in words. For every other format, a sentence has its name.
var formatWords = map[string]string{
	httpURL:     "a valid URL that begins with http:// or https://",
	"uri":       "a valid URL",
	"iri":       "a valid URL",
	"date-time": "a time such as 2026-03-01T12:00:00Z",
	"date":      "a date such as 2026-03-01",
	"time":      "a time of day such as 12:00:00Z",
	"duration":  "a duration such as PT30S",
	"email":     "a valid e-mail address",
	"uuid":      "a valid UUID",
	"ipv4":      "a valid IPv4 address",
	"ipv6":      "a valid IPv6 address",
	"hostname":  "a valid host name",
	"regex":     "a valid regular expression",
}
