// Package yamlfile reads files of settings in YAML strictly: into a tree of
// values that know their place, with every mistake of a file told at once, each
// with the bound it broke and a cure. What a file may hold is said by tables of
// fields.
package yamlfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/suggest"
)

// About holds the words about a file that messages need.
type About struct {
	Noun    string // what the file is: "a configuration"
	Example string // a setting that it could begin with: "database: jobs.db"
	Start   string // the cure of an empty file: `define at least one kind under "kinds"`
	Depth   int    // how deep its values are nested at most
	Days    bool   // durations have the unit d, 24 hours, too
	// Renamed maps former keys to their present names, for messages: a former key is
	// an unknown key like others.
	Renamed map[string]string
}

// Reader collects the problems of one file.
type Reader struct {
	// OnFields is told of every table of fields that is used: tests and schemas
	// learn from it which keys there are. May be nil.
	OnFields func(path string, keys []string)

	file     string
	about    About
	problems Problems
	// seen keeps a mistake behind an anchor from being told once per alias.
	seen   map[Problem]bool
	source []rune // the text, without a byte order mark
}

// NewReader returns a reader of a file that is called file in messages.
func NewReader(file string, about About) *Reader {
	return &Reader{file: file, about: about, seen: map[Problem]bool{}}
}

// Value is a node with the path that names it in messages, such as "log.level".
type Value struct {
	*Node
	Path string
}

// Field is a key that a mapping may hold, with what reads its value.
type Field = struct {
	Key  string
	Read func(Value)
}

// Fields reads a mapping key by key, in the order of known, and reports the
// keys that are not known. A mapping left empty holds no keys.
func (r *Reader) Fields(v Value, want string, known []Field) {
	keys := make([]string, len(known))
	for i, f := range known {
		keys[i] = f.Key
	}
	if r.OnFields != nil {
		r.OnFields(v.Path, keys)
	}
	if v.Shape == Null || !r.Is(v, Mapping, want) {
		return
	}
	for _, e := range v.Entries {
		if !slices.Contains(keys, e.Key) {
			r.unknownKey(e, keys)
		}
	}
	for _, f := range known {
		if child := v.Get(f.Key); child != nil {
			f.Read(Value{child, Join(v.Path, f.Key)})
		}
	}
}

func (r *Reader) unknownKey(e Entry, keys []string) {
	hint := suggest.DidYouMean(e.Key, keys)
	if now := r.about.Renamed[e.Key]; slices.Contains(keys, now) {
		hint = suggest.Is(now)
	}
	if hint != "" {
		r.Addf(e.Pos, "unknown key %s%s", Quote(e.Key), hint)
		return
	}
	r.Addf(e.Pos, "unknown key %s; the keys here are %s", Quote(e.Key), suggest.List(keys))
}

// NameMax bounds names of queues and kinds, in bytes.
const NameMax = 64

// Named reads a mapping whose keys are names that the user chooses: 1 to
// NameMax of a-z, 0-9, '_', '.' and '-'.
func (r *Reader) Named(v Value, want, thing string, read func(name string, at Position, v Value)) {
	if v.Shape == Null || !r.Is(v, Mapping, want) {
		return
	}
	for _, e := range v.Entries {
		shown := e.Key
		if !IsName(e.Key) {
			shown = Quote(e.Key)
			r.Addf(e.Pos, "%s name %s must be 1 to %d of a-z, 0-9, '_', '.' and '-', starting with a letter or digit",
				thing, shown, NameMax)
		}
		read(e.Key, e.Pos, Value{e.Value, Join(v.Path, shown)})
	}
}

// IsName tells whether s may name a queue or a kind.
func IsName(s string) bool {
	if s == "" || len(s) > NameMax || strings.ContainsRune("_.-", rune(s[0])) {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// ListOf reads a list item by item with what read makes for the item's place.
func ListOf[T any](r *Reader, into *[]T, want string, read func(into *T) func(Value)) func(Value) {
	return func(v Value) {
		if !r.Is(v, List, want) {
			return
		}
		*into = make([]T, len(v.Items))
		for i := range v.Items {
			read(&(*into)[i])(v.Item(i))
		}
	}
}

// Item returns the i-th value of a list.
func (v Value) Item(i int) Value {
	return Value{v.Items[i], fmt.Sprintf("%s[%d]", v.Path, i)}
}

// NoRepeats reports the items of a list that occur twice.
func (r *Reader) NoRepeats(v Value) {
	lines := map[string]int{}
	for i, item := range v.Items {
		if item.Shape != Text && item.Shape != Number {
			continue
		}
		if line, ok := lines[item.Text]; ok {
			r.Addf(item.Pos, "%s[%d] repeats %s of line %d; remove one of them", v.Path, i, item.Describe(), line)
			continue
		}
		lines[item.Text] = item.Pos.Line
	}
}

// Is reports a value of another shape than the one that is wanted. It is
// silent about values that were reported before.
func (r *Reader) Is(v Value, s Shape, want string) bool {
	if v.Shape == s {
		return true
	}
	r.Mismatch(v, want, "")
	return false
}

// Mismatch reports that v is not what is wanted; cure may be empty. It marks
// the value as told, so that one behind an anchor is not told for each alias.
func (r *Reader) Mismatch(v Value, want, cure string) {
	switch v.Shape {
	case Invalid:
	case Null:
		r.Addf(v.Pos, "%s has no value; set it to %s, or remove it", v.Path, want)
	default:
		r.Addf(v.Pos, "%s must be %s, found %s%s", v.Path, want, v.Describe(), cure)
	}
	v.Shape = Invalid
}

// Join adds a key to the path of a mapping.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
