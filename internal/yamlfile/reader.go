// Package yamlfile reads settings in YAML strictly. It returns a tree of values with
// their positions and reports all errors of a file at once, each with the bound that
// was exceeded and a remedy. Tables of fields define which keys a file may have.
package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/suggest"
)

// About describes a sort of file for messages.
type About struct {
	Noun    string // the sort of file with its article, such as "a configuration"
	Example string // an example of a setting, such as "database: jobs.db"
	Start   string // a text that says how to correct an empty file, such as `define at least one kind under "kinds"`
	Depth   int    // the greatest depth of nesting that a correct file needs
	Days    bool   // whether messages write long durations in days (24 hours)
	// Renamed maps former keys to their present names. A former key is reported as
	// unknown, and the message names the present key.
	Renamed map[string]string
}

// Reader reads one file and collects its problems.
type Reader struct {
	// OnFields, if not nil, is called with each table of fields that is used, so that
	// tests and schemas can list all keys.
	OnFields func(path string, keys []string)

	file     string
	about    About
	problems Problems
	// seen contains the problems that were reported, so that a problem behind an anchor is
	// reported only once and not for each alias.
	seen   map[Problem]bool
	source []rune // the text of the file without a byte order mark
}

// NewReader returns a reader. The first argument is the name of the file in messages.
func NewReader(file string, about About) *Reader {
	return &Reader{file: file, about: about, seen: map[Problem]bool{}}
}

// Value is a node and its path, such as "log.level", which names it in messages.
type Value struct {
	*Node
	Path string
}

// Field is a key that a mapping may have, and the function that reads its value.
type Field = struct {
	Key  string
	Read func(Value)
}

// Fields reads the keys of a mapping in the order of known and reports unknown keys. An
// empty value is read as an empty mapping.
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
	if strings.IndexByte(e.Key, ' ') > 0 && (e.Value == nil || e.Value.Shape == Null) { // of {message: Above 10,000 call us}
		r.Addf(e.Pos, "unknown key %s; if it belongs to the text before the comma, put that text in quotes", Quote(e.Key))
		return
	}
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

// NameMax is the longest name of a queue or kind, in bytes.
const NameMax = 64

// Named reads a mapping whose keys are names chosen by the user: 1 to NameMax
// characters of a-z, 0-9, '_', '.' and '-'.
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

// IsName reports whether s is a valid name of a queue or kind.
func IsName(s string) bool {
	if s == "" || len(s) > NameMax || strings.ContainsRune("_.-", rune(s[0])) {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// ListOf reads a list. For each item, it calls the given function with the place where the
// item is stored.
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

// Item returns the value of the i-th item of a list.
func (v Value) Item(i int) Value {
	return Value{v.Items[i], fmt.Sprintf("%s[%d]", v.Path, i)}
}

// NoRepeats reports items that occur twice in a list.
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

// Is reports whether v has the wanted shape. If v has another shape, Is adds a problem, unless
// v is invalid and so already has a problem.
func (r *Reader) Is(v Value, s Shape, want string) bool {
	if v.Shape == s {
		return true
	}
	r.Mismatch(v, want, "")
	return false
}

// unquoted returns the cure for a word with a colon in a list of words, such as [run, img:latest]: it is
// read as a mapping. For other values it returns "".
func unquoted(v Value, want string) string {
	if v.Shape != Mapping || len(v.Entries) != 1 || want != "text" || v.Entries[0].Value.Shape == List || v.Entries[0].Value.Shape == Mapping {
		return ""
	}
	return fmt.Sprintf("; put it in quotes: %q", v.Entries[0].Key+":"+v.Entries[0].Value.Text)
}

// Mismatch adds the problem that v does not have the wanted form. The cure says how to correct
// v; it may be empty. Mismatch marks v as reported, so that a value behind an anchor is
// reported only once and not for each alias.
func (r *Reader) Mismatch(v Value, want, cure string) {
	switch v.Shape {
	case Invalid:
	case Null:
		r.Addf(v.Pos, "%s has no value; set it to %s, or remove it", v.Path, want)
	default:
		r.Addf(v.Pos, "%s must be %s, found %s%s", v.Path, want, v.Describe(), cmp.Or(cure, unquoted(v, want)))
	}
	v.Shape = Invalid
}

// Join returns the path of a key in the mapping at path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Limits on the size of any file and on the work to read it.
const (
	// MaxBytes is the size of the largest file that is read, in bytes.
	MaxBytes = 1 << 20

	// The YAML parser needs quadratic time for wide mappings and for blank
	// lines that end a block of text, and quadratic memory for deep nesting,
	// so all three are bounded before it runs.
	maxTokens     = 50_000
	maxDepth      = 32
	maxBlankLines = 100 // the largest allowed number of blank lines in a row
	// maxExpanded is the largest number of values that all aliases together may repeat.
	maxExpanded = 50_000
)
