package failure

import (
	"math"
	"reflect"
	"time"
)

// inner follows pointers and interfaces to the value; it is invalid behind nil.
func inner(v reflect.Value) reflect.Value {
	for range 4 {
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
			break
		}
		v = v.Elem()
	}
	return v
}

// nameOf is what a number with a String method calls itself.
func nameOf(v reflect.Value) string {
	if s, ok := assert[interface{ String() string }](v); ok {
		return s.String()
	}
	return ""
}

// assert is a type assertion on the value itself, or on what an interface
// holds. It does not count what came from a field that is not exported.
func assert[T any](v reflect.Value) (t T, ok bool) {
	if !v.CanInterface() {
		return t, false
	}
	return reflect.TypeAssert[T](v)
}

func numberOf(v reflect.Value) int64 {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(min(v.Uint(), math.MaxInt64))
	}
	return 0
}

// isBytes reports whether v is an array or a slice of bytes.
func isBytes(v reflect.Value, kind reflect.Kind) bool {
	return v.Kind() == kind && v.Type().Elem().Kind() == reflect.Uint8
}

// textOf is a text, whether it is a string, a slice or an array of bytes.
func textOf(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case isBytes(v, reflect.Slice):
		return string(v.Bytes())
	case isBytes(v, reflect.Array) && v.Len() <= CodeMax:
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		return string(b)
	}
	return ""
}

// waitOf is a wait: a duration, or a number of seconds.
func waitOf(v reflect.Value) time.Duration {
	switch {
	case !v.IsValid():
		return 0
	case v.Type() == reflect.TypeFor[time.Duration]():
		return max(0, time.Duration(v.Int()))
	case v.CanInt() || v.CanUint():
		return seconds(uint64(max(0, numberOf(v))))
	case v.CanFloat():
		return fraction(v.Float(), time.Second)
	}
	return 0
}

// fieldByName is the field of that name, promoted ones included; invalid when
// there is no such field, or within an embedded pointer that is nil.
func fieldByName(v reflect.Value, name string) reflect.Value {
	f, ok := v.Type().FieldByName(name)
	if !ok {
		return reflect.Value{}
	}
	value, err := v.FieldByIndexErr(f.Index)
	if err != nil {
		return reflect.Value{}
	}
	return value
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
