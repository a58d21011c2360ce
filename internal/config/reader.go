package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/suggest"
)

// value is a node with the path that names it in messages, such as "log.level".
type value struct {
	*node
	path string
}

// field is a key that a mapping may hold, with what reads its value.
type field struct {
	key  string
	read func(value)
}

// fields reads a mapping key by key, in the order of known, and reports the
// keys that are not known. A mapping left empty holds no keys.
func (r *reader) fields(v value, want string, known []field) {
	if v.shape == shapeNull || !r.is(v, shapeMapping, want) {
		return
	}
	keys := make([]string, len(known))
	for i, f := range known {
		keys[i] = f.key
	}
	for _, e := range v.entries {
		if !slices.Contains(keys, e.key) {
			r.unknownKey(e, keys)
		}
	}
	for _, f := range known {
		if child := v.get(f.key); child != nil {
			f.read(value{child, join(v.path, f.key)})
		}
	}
}

func (r *reader) unknownKey(e entry, keys []string) {
	if hint := suggest.DidYouMean(e.key, keys); hint != "" {
		r.addf(e.pos, "unknown key %s%s", quote(e.key), hint)
		return
	}
	r.addf(e.pos, "unknown key %s; the keys here are %s", quote(e.key), suggest.List(keys))
}

// named reads a mapping whose keys are names that the user chooses.
func (r *reader) named(v value, want, thing string, read func(name string, at position, v value)) {
	if v.shape == shapeNull || !r.is(v, shapeMapping, want) {
		return
	}
	for _, e := range v.entries {
		shown := e.key
		if !isName(e.key) {
			shown = quote(e.key)
			r.addf(e.pos, "%s name %s must be 1 to %d of a-z, 0-9, '_', '.' and '-', starting with a letter or digit",
				thing, shown, nameLengthMax)
		}
		read(e.key, e.pos, value{e.value, join(v.path, shown)})
	}
}

func isName(s string) bool {
	if s == "" || len(s) > nameLengthMax || strings.ContainsRune("_.-", rune(s[0])) {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// listOf reads a list item by item with what read makes for the item's place.
func listOf[T any](r *reader, into *[]T, want string, read func(into *T) func(value)) func(value) {
	return func(v value) {
		if !r.is(v, shapeList, want) {
			return
		}
		*into = make([]T, len(v.items))
		for i, item := range v.items {
			read(&(*into)[i])(value{item, fmt.Sprintf("%s[%d]", v.path, i)})
		}
	}
}

// noRepeats reports the items of a list that occur twice.
func (r *reader) noRepeats(v value) {
	lines := map[string]int{}
	for i, item := range v.items {
		if item.shape != shapeText && item.shape != shapeNumber {
			continue
		}
		if line, ok := lines[item.text]; ok {
			r.addf(item.pos, "%s[%d] repeats %s of line %d; remove one of them", v.path, i, item.describe(), line)
			continue
		}
		lines[item.text] = item.pos.line
	}
}

// is reports a value of another shape than the one that is wanted. It is
// silent about values that were reported before.
func (r *reader) is(v value, s shape, want string) bool {
	if v.shape == s {
		return true
	}
	r.mismatch(v, want, "")
	return false
}

// mismatch reports that v is not what is wanted; cure may be empty. It marks
// the value as told, so that one behind an anchor is not told for each alias.
func (r *reader) mismatch(v value, want, cure string) {
	switch v.shape {
	case shapeInvalid:
	case shapeNull:
		r.addf(v.pos, "%s has no value; set it to %s, or remove it", v.path, want)
	default:
		r.addf(v.pos, "%s must be %s, found %s%s", v.path, want, v.describe(), cure)
	}
	v.shape = shapeInvalid
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
