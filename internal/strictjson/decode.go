package strictjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/suggest"
)

// Mistake is a wrong value in a JSON text.
type Mistake struct {
	Pointer string // JSON pointer (RFC 6901) of the value; "" is the whole text
	Detail  string
	Unknown bool // the field is not known
}

// Decode reads a JSON value that Check has accepted into the value that v points to, and returns
// the mistakes. The last argument is the pointer of the value, for the pointers of the mistakes.
//
// A field of a struct is read by the name of its json tag; a name that the struct does not have, a
// name that occurs twice, a value of another type and null are mistakes. A json.RawMessage takes
// every value and keeps its bytes; the value shares memory with data. A type with UnmarshalJSON or
// UnmarshalText reads itself; its error becomes the detail. In a map[string]any numbers are
// json.Number.
func Decode(data []byte, v any, at string) []Mistake {
	d := decoder{}
	from := space(data, 0)
	d.value(data[from:end(data, from)], reflect.ValueOf(v).Elem(), path{text: at})
	return d.mistakes
}

type decoder struct{ mistakes []Mistake }

// path is the position of a value. Its text is made only for a mistake.
type path struct {
	up   *path
	text string
}

func (p *path) String() string {
	if p.up == nil {
		return p.text
	}
	return p.up.String() + "/" + Escape(p.text)
}

// Escape returns a name as it is written in a JSON pointer.
func Escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

func (d *decoder) add(p *path, format string, args ...any) {
	d.mistakes = append(d.mistakes, Mistake{Pointer: p.String(), Detail: fmt.Sprintf(format, args...)})
}

var (
	rawType   = reflect.TypeFor[json.RawMessage]()
	bytesType = reflect.TypeFor[[]byte]()
	anyMap    = reflect.TypeFor[map[string]any]()
)

// value decodes the JSON text b into v.
func (d *decoder) value(b []byte, v reflect.Value, p path) {
	t := v.Type()
	if t == rawType {
		v.SetBytes(b)
		return
	}
	if v.Kind() == reflect.Pointer {
		into := reflect.New(t.Elem())
		if b[0] == 'n' {
			d.wrong(b, into.Elem(), &p)
			return
		}
		v.Set(into)
		v = into.Elem()
		t = v.Type()
	}
	if v.CanAddr() {
		switch own := v.Addr().Interface().(type) {
		case json.Unmarshaler:
			if err := own.UnmarshalJSON(b); err != nil {
				d.add(&p, "%s", err)
			}
			return
		case encoding.TextUnmarshaler:
			if b[0] != '"' {
				d.wrong(b, v, &p)
			} else if err := own.UnmarshalText([]byte(text(b))); err != nil {
				d.add(&p, "%s", err)
			}
			return
		}
	}
	switch {
	case t == anyMap && b[0] == '{':
		v.Set(reflect.ValueOf(d.object(b, &p)))
	case t == bytesType && b[0] == '"':
		decoded, err := base64.StdEncoding.DecodeString(text(b))
		if err != nil {
			d.add(&p, "must be base64: %s", err)
		}
		v.SetBytes(decoded)
	case v.Kind() == reflect.Struct && b[0] == '{':
		d.structure(b, v, &p)
	case v.Kind() == reflect.Slice && b[0] == '[':
		d.list(b, v, &p)
	case v.Kind() == reflect.String && b[0] == '"':
		v.SetString(text(b))
	case v.Kind() == reflect.Bool && (b[0] == 't' || b[0] == 'f'):
		v.SetBool(b[0] == 't')
	case v.CanInt() && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		n, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil || v.OverflowInt(n) {
			d.wrong(b, v, &p)
			return
		}
		v.SetInt(n)
	case v.CanFloat() && (b[0] == '-' || b[0] >= '0' && b[0] <= '9'):
		n, err := strconv.ParseFloat(string(b), 64)
		if err != nil || math.IsInf(n, 0) {
			d.wrong(b, v, &p)
			return
		}
		v.SetFloat(n)
	default:
		d.wrong(b, v, &p)
	}
}

// foundMax is the largest number of bytes of a wrong value that a mistake shows.
const foundMax = 40

func (d *decoder) wrong(b []byte, v reflect.Value, p *path) {
	found := string(b)
	if len(b) > foundMax {
		cut := b[:foundMax]
		for !utf8.Valid(cut) {
			cut = cut[:len(cut)-1]
		}
		found = string(cut) + "…"
	}
	hint := ""
	if found == "null" {
		hint = "; leave the field out"
	}
	d.add(p, "must be %s, found %s%s", describe(v), found, hint)
}

// Describer is a type that says which values it takes, for messages such as "must be …".
type Describer interface{ JSONForm() string }

// describe says which values a Go value takes.
func describe(v reflect.Value) string {
	if v.CanAddr() {
		if own, ok := reflect.TypeAssert[Describer](v.Addr()); ok {
			return own.JSONForm()
		}
		if _, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
			return "a string"
		}
	}
	switch {
	case v.Kind() == reflect.Struct || v.Kind() == reflect.Map:
		return "an object"
	case v.Type() == bytesType:
		return "a string in base64"
	case v.Kind() == reflect.Slice:
		return "an array"
	case v.Kind() == reflect.String:
		return "a string"
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.CanInt():
		return "a whole number"
	}
	return "a number"
}

// object reads an object with any fields. A name that occurs twice is a mistake.
func (d *decoder) object(b []byte, p *path) map[string]any {
	all := make(map[string]any)
	members(b, func(key, value []byte) {
		name := text(key)
		if _, twice := all[name]; twice {
			d.add(&path{p, name}, "the field is given twice; keep one of them")
			return
		}
		all[name] = d.anything(value, path{p, name})
	})
	return all
}

func (d *decoder) anything(b []byte, p path) any {
	switch b[0] {
	case '{':
		return d.object(b, &p)
	case '[':
		list := []any{}
		Elements(b, func(i int, value []byte) { list = append(list, d.anything(value, path{&p, strconv.Itoa(i)})) })
		return list
	case '"':
		return text(b)
	case 't', 'f':
		return b[0] == 't'
	case 'n':
		return nil
	}
	return json.Number(b)
}

func (d *decoder) list(b []byte, v reflect.Value, p *path) {
	list := reflect.MakeSlice(v.Type(), 0, 0)
	Elements(b, func(i int, value []byte) {
		list = reflect.Append(list, reflect.Zero(v.Type().Elem()))
		d.value(value, list.Index(i), path{p, strconv.Itoa(i)})
	})
	v.Set(list)
}

// plan has the fields of a struct by their names.
type plan struct {
	index map[string]int // the position of the field in fields
	names []string
	at    [][]int
}

var plans sync.Map // the plans of struct types, by reflect.Type

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{index: make(map[string]int)}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		p.index[name] = len(p.names)
		p.names, p.at = append(p.names, name), append(p.at, f.Index)
	}
	plans.Store(t, p)
	return p
}

func (d *decoder) structure(b []byte, v reflect.Value, p *path) {
	plan := planOf(v.Type())
	var seen uint64 // a bit for each field; no struct of a request has more than 64 fields
	members(b, func(key, value []byte) {
		var n int
		var known bool
		if inner := key[1 : len(key)-1]; strings.IndexByte(string(inner), '\\') < 0 {
			n, known = lookup(plan, inner)
		} else {
			n, known = lookup(plan, []byte(text(key)))
		}
		switch {
		case !known:
			name := text(key)
			d.mistakes = append(d.mistakes, Mistake{Pointer: (&path{p, name}).String(), Detail: suggest.Unknown("field", name, plan.names), Unknown: true})
		case seen&(1<<n) != 0:
			d.add(&path{p, plan.names[n]}, "the field is given twice; keep one of them")
		default:
			seen |= 1 << n
			d.value(value, v.FieldByIndex(plan.at[n]), path{p, plan.names[n]})
		}
	})
}

func lookup(p *plan, name []byte) (int, bool) {
	n, ok := p.index[string(name)]
	return n, ok
}
