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

func (e *Evidence) adapt(how adapter, err error, has ability) {
	switch how {
	case adaptOp:
		e.readOp(err)
	case adaptDNS:
		e.readDNS(err)
	case adaptURL:
		e.readURL(err)
	case adaptMySQL:
		e.readMySQL(err)
	case adaptSQLite:
		e.readSQLite(err)
	case adaptMongo:
		e.readMongo(err)
	case adaptGRPC:
		e.readGRPC(err)
	case adaptCode:
		e.readCode(reflect.ValueOf(err).MethodByName("Code").Call(nil)[0], has)
	case adaptFault:
		e.readFault(err)
	}
}

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

// structOf is the struct that an error is or points to; invalid if there is
// none.
func structOf(err error) reflect.Value {
	v := inner(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v
}

// fieldNumber and its like read one field of a struct; 0, "" and false when
// there is no such field.
func fieldNumber(v reflect.Value, name string) int64 {
	if !v.IsValid() {
		return 0
	}
	return numberOf(inner(fieldByName(v, name)))
}

func fieldText(v reflect.Value, name string) string {
	if !v.IsValid() {
		return ""
	}
	return textOf(inner(fieldByName(v, name)))
}

func fieldBool(v reflect.Value, name string) bool {
	if !v.IsValid() {
		return false
	}
	f := fieldByName(v, name)
	return f.Kind() == reflect.Bool && f.Bool()
}

// readOp tells a *net.OpError of connecting, before which nothing is sent, from
// the others.
func (e *Evidence) readOp(err error) {
	v := structOf(err)
	if !v.IsValid() || v.NumField() == 0 || v.Field(0).Kind() != reflect.String {
		return
	}
	switch v.Field(0).String() {
	case "dial", "proxyconnect", "socks connect":
		e.Sent = NotSent
	}
}

// readDNS gives what a *net.DNSError says the names that resolvers have for it.
func (e *Evidence) readDNS(err error) {
	v := structOf(err)
	switch {
	case e.Errno != "":
	case fieldBool(v, "IsNotFound"):
		e.Errno = "EAI_NONAME"
	case fieldBool(v, "IsTemporary"), fieldBool(v, "IsTimeout"):
		e.Errno = "EAI_AGAIN"
	}
}

// readURL names the type when it says something: that a URL could not be
// parsed. All that clients of net/http return is wrapped in it, too.
func (e *Evidence) readURL(err error) {
	if fieldText(structOf(err), "Op") == "parse" {
		e.addType("url.Error")
	}
}

// Types that stand for whose fault it is, by what SDKs of AWS say.
const (
	faultServer = "fault.server"
	faultClient = "fault.client"
)

// readFault reads the fault of an API error of AWS (smithy).
func (e *Evidence) readFault(err error) {
	switch reflect.ValueOf(err).MethodByName("ErrorFault").Call(nil)[0].Int() {
	case 1:
		e.addType(faultServer)
	case 2:
		e.addType(faultClient)
	}
}
