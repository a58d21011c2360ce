package failure

import (
	"reflect"
	"strings"
)

// adapter is a way to read errors that need more than to be asked by methods and
// fields. It is a number and no function, because a call of a function that the
// compiler does not know would move all evidence to the heap.
type adapter uint8

const (
	adaptOp adapter = iota + 1
	adaptDNS
	adaptURL
	adaptMySQL
	adaptSQLite
	adaptMongo
	adaptGRPC
	adaptCode
	adaptFault
)

// adapters are by the name of the type.
var adapters = map[string]adapter{
	"net.OpError":          adaptOp,
	"net.DNSError":         adaptDNS,
	"url.Error":            adaptURL,
	"sqlite.Error":         adaptSQLite,
	"sqlite.extendedError": adaptSQLite,
	"sqlite.sqliteError":   adaptSQLite,
	"sqlite3.Error":        adaptSQLite,
}

// adaptersOf returns what errors of a type need: types are known by name, or by
// methods whose results have types of other modules. Methods are looked up by
// constant names, so that the linker can still remove the others from a program.
func adaptersOf(t reflect.Type, name string, has ability) (how []adapter) {
	if a := adapters[name]; a != 0 {
		return append(how, a)
	}
	if strings.HasSuffix(name, ".MySQLError") {
		return append(how, adaptMySQL)
	}
	if t.Implements(reflect.TypeFor[interface{ HasErrorLabel(string) bool }]()) {
		return append(how, adaptMongo)
	}
	if m, ok := t.MethodByName("GRPCStatus"); ok && returnsOne(m.Type) && m.Type.Out(0).Kind() == reflect.Pointer {
		how = append(how, adaptGRPC)
	}
	if m, ok := t.MethodByName("Code"); ok && returnsOne(m.Type) && has&errorCode == 0 {
		how = append(how, adaptCode)
	}
	if m, ok := t.MethodByName("ErrorFault"); ok && returnsOne(m.Type) && m.Type.Out(0).Kind() == reflect.Int {
		how = append(how, adaptFault)
	}
	return how
}

// returnsOne reports whether a method of this type, receiver included, takes no
// arguments and returns one value.
func returnsOne(t reflect.Type) bool { return t.NumIn() == 1 && t.NumOut() == 1 }

// headerMethod returns how to ask errors of a type for the headers of a
// response; nil if they have no such method.
func headerMethod(t reflect.Type) func(err reflect.Value) reflect.Value {
	fits := func(m reflect.Method, ok bool) bool {
		return ok && returnsOne(m.Type) && m.Type.Out(0).ConvertibleTo(reflect.TypeFor[headers]())
	}
	switch {
	case fits(t.MethodByName("Header")):
		return func(err reflect.Value) reflect.Value { return err.MethodByName("Header").Call(nil)[0] }
	case fits(t.MethodByName("Headers")):
		return func(err reflect.Value) reflect.Value { return err.MethodByName("Headers").Call(nil)[0] }
	case fits(t.MethodByName("Meta")): // of Connect: headers and trailers
		return func(err reflect.Value) reflect.Value { return err.MethodByName("Meta").Call(nil)[0] }
	}
	return nil
}
