package httpretry

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// StatusError is a response that counts as a failure. Its text has the method, the address
// without secrets, and the status; failure.Of reads the other fields.
type StatusError struct {
	Method, URL string
	StatusCode  int
	Header      http.Header // headers of the response; may hold secrets
	Body        string      // the beginning of the body, at most DiscardMax bytes; may hold secrets
}

func newStatusError(req *http.Request, resp *http.Response) *StatusError {
	return &StatusError{Method: method(req), URL: redactURL(req.URL), StatusCode: resp.StatusCode, Header: resp.Header}
}

// Error implements error.
func (e *StatusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %d %s", e.Method, e.URL, e.StatusCode, http.StatusText(e.StatusCode)), " ")
}

// marked returns the error with a mark if the response itself says whether to retry, as
// the APIs of language models do.
func (e *StatusError) marked() error {
	switch e.Header.Get("X-Should-Retry") {
	case "false":
		return retry.Stop(e)
	case "true":
		return failure.WithClass(failure.TemporaryServiceError, e)
	}
	return e
}

// BodyError says that a request would have been sent again, but its body cannot be
// rewound. It wraps the error of the only attempt.
type BodyError struct {
	Method, URL string
	Err         error
}

// Error implements error.
func (e *BodyError) Error() string {
	return fmt.Sprintf("%s %s: not sent again, its body cannot be rewound (set Request.GetBody, give http.NewRequest a bytes.Reader, or use httpretry.Rewindable): %s",
		e.Method, e.URL, e.Err)
}

// Unwrap returns the error of the attempt.
func (e *BodyError) Unwrap() error { return e.Err }

// limitError says that an attempt got no response in time.
type limitError struct {
	method, url string
	limit       time.Duration
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%s %s: no response within %s", e.method, e.url, e.limit)
}

// Timeout implements net.Error; it returns true.
func (e *limitError) Timeout() bool { return true }

// Temporary implements net.Error.
func (e *limitError) Temporary() bool { return true }

// redact removes secrets from the address in an error of net/http.
func redact(err error) error {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // only the outermost error can be replaced
		return &url.Error{Op: e.Op, URL: redactText(e.URL), Err: e.Err}
	}
	return err
}

func redactText(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return failure.RedactedSecret
	}
	return redactURL(u)
}

// redactURL returns scheme, host and path of an address, without user, query and
// fragment. Parts of the path that look like secrets are removed, too.
func redactURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	path := u.EscapedPath()
	if u.Opaque != "" {
		path = ""
	}
	host := u.Scheme + "://" + u.Host
	return host + failure.Sanitize(path, &failure.SanitizeOptions{KeepPaths: true})
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}
