package failure

import "reflect"

// readFields reads the fields of one error.
func (e *Evidence) readFields(err error, s *shape) {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	e.readStruct(v, s.fields, s.has)
}

func (e *Evidence) readStruct(v reflect.Value, fields []field, has ability) {
	for i := range fields {
		f, err := v.FieldByIndexErr(fields[i].index)
		if err != nil { // within an embedded pointer that is nil
			continue
		}
		e.readField(fields[i].tells, inner(f), has)
	}
}

func (e *Evidence) readField(tells topic, v reflect.Value, has ability) {
	switch tells {
	case tellsStatus:
		if v.CanInt() {
			e.setStatus(int(v.Int()))
		}
	case tellsResponse:
		e.readResponse(v)
	case tellsSQLState:
		e.setSQLState(textOf(v))
	case tellsCode:
		e.readCode(v, has)
	case tellsReason:
		if v.Kind() == reflect.String {
			e.setServiceCode(v.String())
		}
	case tellsItems:
		e.readItems(v)
	case tellsStatusWord:
		if v.CanInt() {
			e.setStatus(int(v.Int()))
		} else if v.Kind() == reflect.String {
			e.setGRPC(v.String())
		}
	case tellsBody:
		e.readBody(textOf(v))
	case tellsDetails:
		e.readDetails(v)
	case tellsWait:
		e.RetryAfter = max(e.RetryAfter, waitOf(v))
	case tellsHeader:
		e.readHeader(v, e.HTTPStatus)
	case tellsStderr:
		if isBytes(v, reflect.Slice) {
			e.setStderr(v.Bytes())
		}
	case tellsNested:
		if v.Kind() == reflect.Struct {
			e.readStruct(v, fieldsOf(v.Type()), has)
		}
	}
}

// readCode reads a code that may be a word, a number with a name, or an HTTP
// status.
func (e *Evidence) readCode(v reflect.Value, has ability) {
	switch {
	case v.Kind() == reflect.String:
		e.setServiceCode(v.String())
	case v.CanInt() || v.CanUint():
		n := numberOf(v)
		if name := nameOf(v); rpcName(name) != "" {
			e.setGRPC(rpcName(name))
			return
		} else if name != "" {
			e.setServiceCode(name)
			return
		}
		if has&notHTTP == 0 && n >= 400 {
			e.setStatus(int(n))
		}
		e.setServiceNumber(n)
	}
}

// readResponse reads the status and the headers of a response, as net/http has
// them.
func (e *Evidence) readResponse(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	status := 0
	if f := fieldByName(v, "StatusCode"); f.IsValid() && f.CanInt() {
		status = int(f.Int())
		e.setStatus(status)
	}
	e.readHeader(fieldByName(v, "Header"), status)
}

// readHeader reads the wait that a response asks for.
func (e *Evidence) readHeader(v reflect.Value, status int) {
	if h, ok := headerOf(v); ok {
		e.readHint(status, h.get)
	}
}

// readItems reads the first reason in a list of structs, as APIs of Google give
// it.
func (e *Evidence) readItems(v reflect.Value) {
	if v.Kind() != reflect.Slice || v.Len() == 0 {
		return
	}
	if item := inner(v.Index(0)); item.Kind() == reflect.Struct {
		if f := fieldByName(item, "Reason"); f.IsValid() && f.Kind() == reflect.String {
			e.setServiceCode(f.String())
		}
	}
}
