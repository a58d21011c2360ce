package failure

import "reflect"

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
