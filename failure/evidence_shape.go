package failure

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redrive/redrive/internal/plaintext"
)

// shape is what the type of an error says, before one looks at the error: the
// name that it goes by, and which of its methods and fields to ask.
type shape struct {
	of     uintptr  // where the type is, which no other is
	names  []string // the one for Types; nil where it says nothing
	has    ability
	adapts []adapter
	fields []field                               // in the order in which they are read
	header func(err reflect.Value) reflect.Value // calls the method that returns headers
}

// shapes keeps the shape of each type of error that was met. It is a cache and
// nothing else: what it returns depends on the type alone. There are as many
// entries as the program has types of errors.
var shapes sync.Map // reflect.Type to *shape

// latest has the shape that was asked for last, for each of some types: nearly
// always the one that is asked for next.
var latest [latestShapes]atomic.Pointer[shape]

const latestShapes = 64

// shapeOf returns the shape of errors of type t.
func shapeOf(t reflect.Type) *shape {
	of := reflect.ValueOf(t).Pointer()
	at := &latest[of/latestShapes%latestShapes] // types are some dozens of bytes long
	if s := at.Load(); s != nil && s.of == of {
		return s
	}
	s, ok := shapes.Load(t)
	if !ok {
		made := newShape(t)
		made.of = of
		s, _ = shapes.LoadOrStore(t, made)
	}
	at.Store(s.(*shape))
	return s.(*shape)
}

func newShape(t reflect.Type) *shape {
	name := typeName(t)
	s := &shape{has: abilities(t) | knownTypes[name]}
	if s.has&(onlyText|onlyWraps) != 0 {
		return s
	}
	if s.has&nameless == 0 {
		s.names = []string{name}
	}
	if s.has&delegates != 0 {
		s.has &^= isTimeout
	}
	s.adapts = adaptersOf(t, name, s.has)
	s.fields = fieldsOf(t)
	s.header = headerMethod(t)
	return s
}

// typeName is the name of a type, with its package's and without a pointer's
// star and type arguments.
func typeName(t reflect.Type) string {
	name := strings.TrimPrefix(t.String(), "*")
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	return plaintext.Clip(name, CodeMax)
}
