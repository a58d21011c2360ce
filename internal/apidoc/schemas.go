package apidoc

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// schemas collects the schemas of Go types as components.
type schemas struct {
	reflector *jsonschema.Reflector
	found     map[string]json.RawMessage
	types     map[string]reflect.Type
	err       error
}

// module is the path of the module.
const module = "github.com/redrive/redrive"

// commented are the packages whose comments become descriptions.
var commented = [...]string{"internal/api", "internal/wire", "job", "store", "policy"}

// extended are the types whose objects get more fields, with names from the policy.
var extended = [...]string{"Outside", "OutsideEvent"}

func newSchemas(root string) (*schemas, error) {
	s := &schemas{found: make(map[string]json.RawMessage), types: make(map[string]reflect.Type)}
	s.reflector = &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true, Mapper: s.special, Namer: name,
	}
	back, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("read comments: %w", err)
	}
	if err := os.Chdir(root); err != nil { // AddGoComments wants paths below the module
		return nil, fmt.Errorf("read comments: %w", err)
	}
	for _, folder := range commented {
		err = errors.Join(err, s.reflector.AddGoComments(module, "./"+folder))
	}
	if err = errors.Join(err, os.Chdir(back)); err != nil {
		return nil, fmt.Errorf("read comments: %w", err)
	}
	for key, text := range s.reflector.CommentMap {
		s.reflector.CommentMap[key] = strings.Join(strings.Fields(text), " ")
	}
	return s, nil
}

// name returns the name of a type in the document. Stored forms that the API extends get another
// name than the form of the API.
func name(t reflect.Type) string {
	switch base := filepath.Base(t.PkgPath()); {
	case base == "wire" && t.Name() == "Problem":
		return "FileProblem"
	case base == "api" || base == "wire":
		return t.Name()
	case base == "job" && (t.Name() == "Job" || t.Name() == "Failure" || t.Name() == "Receipt"),
		base == "store" && (t.Name() == "Redrive" || t.Name() == "Group"):
		return "Stored" + t.Name()
	}
	return t.Name()
}

// words returns the texts of values.
func words[T fmt.Stringer](values []T) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v.String()
	}
	return list
}

// special returns the schemas of types that do not write themselves as their Go type says.
func (s *schemas) special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[job.ID]():
		return &jsonschema.Schema{Type: "string", Pattern: "^[0-9]+$", Description: "The id of a job."}
	case reflect.TypeFor[job.Micros]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[job.State]():
		return &jsonschema.Schema{Type: "string", Enum: words(job.States[:])}
	case reflect.TypeFor[job.BatchState]():
		return &jsonschema.Schema{Type: "string", Enum: words(job.BatchStates[:])}
	case reflect.TypeFor[job.Status]():
		return &jsonschema.Schema{Type: "string", Enum: words(job.Statuses[:])}
	case reflect.TypeFor[policy.Waits]():
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string", Description: "A duration such as 1m30s."}}
	case reflect.TypeFor[failure.Evidence]():
		return &jsonschema.Schema{Type: "object", Description: "The evidence of a failure, version 1: v, message, types, code, http_status, exit_code and so on."}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Description: "Any JSON value.", Extras: map[string]any{
			"type":  []string{"object", "array", "string", "number", "boolean", "null"}, // validators take null only if it is named
			"items": map[string]any{},                                                   // generators of clients want to know the items of an array
		}}
	case reflect.TypeFor[store.Cursor]():
		return &jsonschema.Schema{Type: "string"}
	}
	text := reflect.TypeFor[encoding.TextMarshaler]()
	if t.Kind() != reflect.Pointer && (t.Implements(text) || reflect.PointerTo(t).Implements(text)) && t.PkgPath() != "time" {
		return &jsonschema.Schema{Type: "string"}
	}
	own := reflect.TypeFor[json.Marshaler]()
	if t.Kind() != reflect.Pointer && t.PkgPath() != "time" && t.PkgPath() != "encoding/json" && (t.Implements(own) || reflect.PointerTo(t).Implements(own)) {
		s.err = errors.Join(s.err, fmt.Errorf("type %s writes its own JSON: name its schema in apidoc.special", t))
	}
	return nil
}

// of returns the schema of a value's type: a reference to a component, or the schema itself.
func (s *schemas) of(value any) any {
	if forms, ok := value.(api.OneOf); ok {
		var list []any
		for _, form := range forms {
			list = append(list, s.of(form))
		}
		return object{{"anyOf", list}}
	}
	t := reflect.TypeOf(value)
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		return object{{"type", "array"}, {"items", s.of(reflect.Zero(t.Elem()).Interface())}}
	}
	schema := s.reflector.ReflectFromType(t)
	for name, definition := range schema.Definitions {
		if slices.Contains(extended[:], name) {
			definition.AdditionalProperties = jsonschema.TrueSchema
		}
		text, err := json.Marshal(definition)
		if err != nil {
			s.err = errors.Join(s.err, fmt.Errorf("schema %s: %w", name, err))
		}
		text = []byte(strings.ReplaceAll(string(text), `"#/$defs/`, `"#/components/schemas/`))
		if old, ok := s.found[name]; ok && string(old) != string(text) {
			s.err = errors.Join(s.err, fmt.Errorf("two types have the name %s in the document: name one of them in apidoc.name", name))
		}
		s.found[name] = text
	}
	if schema.Ref != "" {
		return object{{"$ref", strings.Replace(schema.Ref, "#/$defs/", "#/components/schemas/", 1)}}
	}
	schema.Version, schema.Definitions = "", nil
	return schema
}

// components returns all schemas by their names, sorted.
func (s *schemas) components() object {
	var all object
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		all = append(all, field{name, s.found[name]})
	}
	return all
}
