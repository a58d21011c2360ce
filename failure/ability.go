package failure

import (
	"reflect"
	"time"
)

// ability is a set of what an error can be asked, and of what is known of its type.
type ability uint32

// What an error is asked. notSent is known of a type and no method, but it stands before anyMethod: it gives evidence, so a type with it
// is read like one with methods. A new one goes before it.
const (
	isTimeout  ability = 1 << iota   // Timeout() bool
	isValue                          // Is(error) bool
	httpStatus                       // one of the methods for an HTTP status
	exitCode                         // ExitCode() or ExitStatus() int
	sqlState                         // SQLState() string
	errorCode                        // ErrorCode() or Code() string, ErrorCode() int
	errorType                        // ErrorType() string
	reason                           // Reason() string
	retryWait                        // RetryAfter() time.Duration
	unsent                           // SafeToRetry() bool
	rawJSON                          // RawJSON() string
	notSent                          // known: is made before anything is sent
	anyMethod          = 1<<iota - 1 // all above

	onlyText  ability = 1 << iota // known: may be a known value, and tells nothing else
	onlyWraps                     // known: tells nothing that its causes don't
	nameless                      // known: its name tells nothing that its methods don't
	delegates                     // known: its Timeout asks its cause, which the walk does
	notHTTP                       // known: has codes that only look like HTTP statuses
)

// knownTypes are the types of which more is known than methods and fields say.
var knownTypes = map[string]ability{
	"errors.errorString":            onlyText,
	"context.deadlineExceededError": nameless,
	"poll.DeadlineExceededError":    nameless,
	"net.timeoutError":              nameless,
	"net.canceledError":             nameless,
	"net.OpError":                   delegates,
	"fs.PathError":                  delegates,
	"url.Error":                     delegates | nameless,

	"errors.fundamental":  onlyWraps,
	"errors.joinError":    onlyWraps,
	"errors.withMessage":  onlyWraps,
	"errors.withStack":    onlyWraps,
	"fmt.wrapError":       onlyWraps,
	"fmt.wrapErrors":      onlyWraps,
	"multierr.multiError": onlyWraps,
	"multierror.Error":    onlyWraps,
	"os.SyscallError":     onlyWraps,
	"retry.Error":         onlyWraps,
	"retry.stop":          onlyWraps,
	"xerrors.errorString": onlyWraps,
	"xerrors.noWrapError": onlyWraps,
	"xerrors.wrapError":   onlyWraps,

	"net.AddrError":                    notSent,
	"net.DNSError":                     notSent,
	"net.InvalidAddrError":             notSent,
	"net.ParseError":                   notSent,
	"net.UnknownNetworkError":          notSent,
	"tls.CertificateVerificationError": notSent,
	"tls.RecordHeaderError":            notSent,
	"x509.CertificateInvalidError":     notSent,
	"x509.HostnameError":               notSent,
	"x509.UnknownAuthorityError":       notSent,

	"smtp.SMTPError":  notHTTP,
	"sqlite.Error":    notHTTP,
	"sqlite3.Error":   notHTTP,
	"textproto.Error": notHTTP,
}

// abilities finds out which methods the errors of a type have.
func abilities(t reflect.Type) (a ability) {
	for _, m := range methods {
		if t.Implements(m.is) {
			a |= m.ability
		}
	}
	return a
}

var methods = [...]struct {
	is      reflect.Type
	ability ability
}{
	{reflect.TypeFor[interface{ Timeout() bool }](), isTimeout},
	{reflect.TypeFor[interface{ Is(error) bool }](), isValue},
	{reflect.TypeFor[interface{ HTTPStatus() int }](), httpStatus},
	{reflect.TypeFor[interface{ HTTPStatusCode() int }](), httpStatus},
	{reflect.TypeFor[interface{ StatusCode() int }](), httpStatus},
	{reflect.TypeFor[interface{ HTTPCode() int }](), httpStatus},
	{reflect.TypeFor[interface{ Status() int }](), httpStatus},
	{reflect.TypeFor[interface{ ExitCode() int }](), exitCode},
	{reflect.TypeFor[interface{ ExitStatus() int }](), exitCode},
	{reflect.TypeFor[interface{ SQLState() string }](), sqlState},
	{reflect.TypeFor[interface{ ErrorCode() string }](), errorCode},
	{reflect.TypeFor[interface{ ErrorCode() int }](), errorCode},
	{reflect.TypeFor[interface{ Code() string }](), errorCode},
	{reflect.TypeFor[interface{ ErrorType() string }](), errorType},
	{reflect.TypeFor[interface{ Reason() string }](), reason},
	{reflect.TypeFor[interface{ RetryAfter() time.Duration }](), retryWait},
	{reflect.TypeFor[interface{ SafeToRetry() bool }](), unsent},
	{reflect.TypeFor[interface{ RawJSON() string }](), rawJSON},
	{reflect.TypeFor[interface{ HasErrorLabel(string) bool }](), notHTTP}, // MongoDB
}
