// Package apidoc makes the OpenAPI document of the HTTP API from the table of routes. The schemas
// are reflected from the Go types of the bodies, and their descriptions are the comments of these
// types. The document is checked in as internal/api/openapi.yaml; `go generate ./scripts/openapi`
// writes it, and a test fails when it is out of date.
package apidoc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server/access"
)

// object is a JSON object whose fields keep their order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// set adds a field unless its value is empty.
func (o *object) set(name string, value any) {
	if v := reflect.ValueOf(value); v.IsValid() && !v.IsZero() {
		*o = append(*o, field{name, value})
	}
}

const description = `The HTTP API of redrive, a durable job engine.

Ids are strings. Times are RFC 3339 in UTC, with microseconds. Unknown fields in a request are refused. A problem is
application/problem+json (RFC 9457) from one registry, GET /problems, and lists all mistakes of the request. Lists have
cursors: next of a page is the cursor of the next one. Changes of this API only add to it.`

// Document returns the document as YAML. The argument is the folder of the module, whose comments
// become descriptions.
func Document(root string) ([]byte, error) {
	s, err := newSchemas(root)
	if err != nil {
		return nil, err
	}
	doc := object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "redrive"}, {"version", "1"}, {"description", description},
			{"license", object{{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}},
		}},
		{"servers", []any{object{{"url", "/"}}}},
		{"tags", tags()},
		{"paths", paths(s)},
		{"components", object{
			{"securitySchemes", object{{"key", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "An access key: rdk_…"}}}}},
			{"schemas", s.components()},
		}},
	}
	if s.err != nil {
		return nil, s.err
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	var ordered yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &ordered, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	out, err := yaml.MarshalWithOptions(ordered, yaml.UseLiteralStyleIfMultiline(true), yaml.Indent(2))
	if err != nil {
		return nil, fmt.Errorf("write the document as YAML: %w", err)
	}
	return append([]byte("# Made from the table of routes by `go generate ./scripts/openapi`. Do not edit.\n"), out...), nil
}

func tags() []any {
	var list []any
	var seen []string
	for _, r := range api.Routes() {
		if !slices.Contains(seen, r.Group) {
			seen = append(seen, r.Group)
			list = append(list, object{{"name", r.Group}})
		}
	}
	return list
}

func paths(s *schemas) object {
	var all object
	for _, r := range api.Routes() {
		i := slices.IndexFunc(all, func(f field) bool { return f.name == r.Path })
		if i < 0 {
			i = len(all)
			all = append(all, field{r.Path, object{}})
		}
		all[i].value = append(all[i].value.(object), field{strings.ToLower(r.Method), operation(s, &r)})
	}
	return all
}

func operation(s *schemas, r *api.Route) object {
	o := object{{"operationId", r.Name}, {"summary", r.Doc}, {"tags", []string{r.Group}}}
	o.set("description", who(r))
	if r.Roles != 0 || r.AnyCaller {
		o = append(o, field{"security", []any{object{{"key", []string{}}}}})
		o.set("x-roles", r.Roles.Names())
	}
	var params []any
	for _, p := range r.Params {
		params = append(params, parameter(&p))
	}
	o.set("parameters", params)
	o.set("requestBody", requestBody(s, r))
	return append(o, field{"responses", responses(s, r)})
}

// who says which callers may use a route.
func who(r *api.Route) string {
	var b strings.Builder
	switch {
	case r.Roles != 0:
		fmt.Fprintf(&b, "Roles: %s.", strings.Join(wider(r.Roles), ", "))
	case r.AnyCaller:
		b.WriteString("Any caller with valid credentials.")
	default:
		b.WriteString("No credentials are needed.")
	}
	if r.Local {
		b.WriteString(" Callers on the machine of the server need no credentials.")
	}
	if r.Owner == api.Own {
		b.WriteString(" A caller with an owner reaches its own jobs only.")
	}
	return b.String()
}

// wider returns the names of the roles of which a caller needs one, with those that include them.
func wider(roles access.Roles) []string {
	var list []string
	for _, name := range access.RoleNames() {
		if role, _ := access.ParseRole(name); role.Any(roles) {
			list = append(list, name)
		}
	}
	return list
}

func parameter(p *api.Param) object {
	schema := object{{"type", cmp.Or(p.Type, "string")}}
	switch p.Type {
	case "date-time":
		schema = object{{"type", "string"}, {"format", "date-time"}}
	case "integer":
		schema.set("minimum", p.Min)
		schema.set("maximum", p.Max)
	case "":
		schema.set("maxLength", p.Max)
	}
	schema.set("enum", p.Enum)
	o := object{{"name", p.Name}, {"in", p.In}, {"description", p.Doc}}
	o.set("required", p.Required)
	if p.Many {
		schema = object{{"type", "array"}, {"items", schema}}
		o = append(o, field{"style", "form"}, field{"explode", false})
	}
	return append(o, field{"schema", schema})
}

func requestBody(s *schemas, r *api.Route) object {
	if r.In == nil {
		return nil
	}
	schema := s.of(r.In)
	if r.OrIn != nil {
		schema = object{{"oneOf", []any{schema, s.of(r.OrIn)}}}
	}
	content := object{{cmp.Or(r.InMedia, "application/json"), object{{"schema", schema}}}}
	if r.Lines {
		content = append(content, field{api.MediaLines, object{{"schema", object{{"type", "string"}, {"format", "binary"}, {"description", "One JSON object of the same form in each line."}}}}})
	}
	return object{{"required", !r.InOptional}, {"content", content}}
}

// common are the problems that every route can have.
func common(r *api.Route) []*api.Kind {
	list := []*api.Kind{api.InvalidField, api.HeaderTooLarge, api.URLTooLong, api.HostUnknown, api.RateLimited, api.Internal, api.StoreUnavailable, api.StoreReadOnly, api.Starting, api.Stopping}
	if r.Roles != 0 || r.AnyCaller {
		list = append(list, api.Unauthenticated, api.Forbidden)
	}
	if r.In != nil {
		list = append(list, api.InvalidJSON, api.UnknownField, api.TooLarge, api.UnsupportedMediaType)
	}
	if slices.ContainsFunc(r.Params, func(p api.Param) bool { return p.Name == "If-Match" }) {
		list = append(list, api.PreconditionFailed)
	}
	if r.Method != http.MethodGet {
		list = append(list, api.StoreFull, api.OutcomeUnknown, api.Forbidden)
	}
	return list
}

func responses(s *schemas, r *api.Route) object {
	byStatus := make(map[int]object)
	for _, a := range r.Out {
		o := object{{"description", a.Doc}}
		media := cmp.Or(a.Media, "application/json")
		if a.Body != nil {
			o = append(o, field{"content", object{{media, object{{"schema", s.of(a.Body)}}}}})
		} else if a.Media != "" {
			o = append(o, field{"content", object{{media, object{}}}})
		}
		if old, ok := byStatus[a.Status]; ok { // the same status with another media type
			o = mergeContent(old, o)
		}
		byStatus[a.Status] = o
	}
	problems := make(map[int][]string)
	for _, k := range append(common(r), r.Problem...) {
		if !slices.Contains(problems[k.Status], k.Name) {
			problems[k.Status] = append(problems[k.Status], k.Name)
		}
	}
	for status, names := range problems {
		slices.Sort(names)
		o := object{{"description", "Problem: " + strings.Join(names, ", ") + "."},
			{"content", object{{"application/problem+json", object{{"schema", s.of(api.Problem{})}}}}}}
		if old, ok := byStatus[status]; ok {
			o = mergeContent(old, o)
		}
		byStatus[status] = o
	}
	var all object
	for status := range 600 {
		if o, ok := byStatus[status]; ok {
			all = append(all, field{strconv.Itoa(status), o})
		}
	}
	return all
}

// mergeContent adds the contents of the second response to the first. JSON comes first: generators of
// clients read each answer by the first form.
func mergeContent(a, b object) object {
	a[0].value = a[0].value.(string) + " " + b[0].value.(string)
	if len(b) < 2 {
		return a
	}
	if len(a) < 2 {
		return append(a, b[1])
	}
	content := append(a[1].value.(object), b[1].value.(object)...)
	slices.SortStableFunc(content, func(x, y field) int {
		return -cmp.Compare(strings.Count(x.name, "application/json"), strings.Count(y.name, "application/json"))
	})
	a[1].value = content
	return a
}
