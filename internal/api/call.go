package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// Call is one request to a route.
type Call struct {
	Route     *Route
	W         http.ResponseWriter
	R         *http.Request
	Caller    access.Caller
	RequestID string
	// Correlation is the correlation id of the request: from X-Correlation-Id or traceparent.
	Correlation string
	// Again returns an error when the caller may not use the route any more. Streams call it from
	// time to time.
	Again func() error
}

// Context returns the context of the request.
func (c *Call) Context() context.Context { return c.R.Context() }

// By returns who acts, for the audit log.
func (c *Call) By(reason string) redrive.By {
	via := "request " + c.RequestID
	if c.Caller.Via != "" {
		via = c.Caller.Via + ", " + via
	}
	return redrive.By{Actor: c.Caller.Actor, Reason: reason, Via: via[:min(len(via), job.TextMax)], Owner: c.Caller.Owner}
}

// Outside reports whether the caller gets the outside view of jobs, because it is restricted to an
// owner or has no role that reads.
func (c *Call) Outside() bool { return c.Caller.Owner != "" || !c.Caller.Roles.Any(access.View) }

// Sees reports whether the caller may see a job. A job that it may not see is answered with
// NotFound, as one that does not exist.
func (c *Call) Sees(j *job.Job) bool { return c.Caller.Owner == "" || c.Caller.Owner == j.Owner }

// JSON answers with a value as JSON.
func (c *Call) JSON(status int, v any) error {
	c.W.Header().Set("Content-Type", "application/json")
	c.W.WriteHeader(status)
	return c.sent(wire.Encode(c.W, v, ""))
}

// Bytes answers with bytes of a media type.
func (c *Call) Bytes(status int, media string, body []byte) error {
	c.W.Header().Set("Content-Type", media)
	c.W.WriteHeader(status)
	_, err := c.W.Write(body)
	return c.sent(err)
}

// sent turns an error of a write into ErrSent. The header was already sent, so no problem can be
// written.
func (c *Call) sent(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSent, err)
	}
	return nil
}

// ErrSent says that the server could not finish an answer that it had begun, because the client has
// disconnected or does not read.
var ErrSent = errors.New("the client did not read the answer")

// Body reads the whole JSON body and checks its syntax. The error is a *Problem.
func (c *Call) Body() ([]byte, error) { return c.body(false) }

// body does the same as Body. It returns nil for an empty body if optional is true.
func (c *Call) body(optional bool) ([]byte, error) {
	media, err := c.mediaType()
	if problem, ok := errors.AsType[*Problem](err); ok {
		return nil, problem
	}
	if given := c.R.Header.Get("Content-Type"); given != "" && (err != nil || media != "application/json" && !strings.HasSuffix(media, "+json")) {
		return nil, UnsupportedMediaType.New("The body has the media type %.100q; this path takes %s.", given, strings.Join(c.Route.media(), " or "))
	}
	body, err := c.read(BodyMax)
	if err != nil {
		return nil, err
	}
	if optional && len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	if err := strictjson.Check(body, DepthMax); err != nil {
		return nil, InvalidJSON.Mistaken(Mistake{Detail: err.Error()})
	}
	return body, nil
}

// mediaType returns the media type of the body. The error is a *Problem for a compressed body and for
// a text that is not UTF-8; any other error is about the header.
func (c *Call) mediaType() (string, error) {
	if coding := c.R.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return "", UnsupportedMediaType.New("The body has the content coding %.40q; send it without one.", coding)
	}
	media, params, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return "", UnsupportedMediaType.New("The body has the charset %.40q; send UTF-8.", charset)
	}
	return media, err //nolint:wrapcheck // callers name the header
}

// readAtOnce is the largest announced size of a body for which memory is allocated before the body
// has arrived. So a client that announces a large body and sends nothing takes no memory.
const readAtOnce = 256 << 10

func (c *Call) read(most int64) ([]byte, error) {
	if c.R.ContentLength > most {
		return nil, bodyTooLarge(most)
	}
	in := http.MaxBytesReader(c.W, c.R.Body, most)
	var body []byte
	var err error
	if n := c.R.ContentLength; n > 0 && n <= readAtOnce { // one allocation of the size that the client announces
		body = make([]byte, n)
		_, err = io.ReadFull(in, body)
	} else {
		body, err = io.ReadAll(in)
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, bodyTooLarge(most)
	case err != nil:
		return nil, InvalidJSON.New("The body was cut: %s.", err)
	}
	return body, nil
}

func bodyTooLarge(most int64) *Problem {
	p := TooLarge.Mistaken(Mistake{Detail: fmt.Sprintf("the body is larger than %d bytes; send fewer jobs in a request, or JSON lines", most), Bound: most})
	return p
}

// Read reads the JSON body into the value that v points to. The error is a *Problem with all
// mistakes. An empty body leaves v unchanged if optional is true.
func (c *Call) Read(v any, optional bool) error {
	body, err := c.body(optional)
	if err != nil || body == nil {
		return err
	}
	if mistakes := strictjson.Decode(body, v, ""); len(mistakes) > 0 {
		return bodyProblem(mistakes)
	}
	return nil
}

// media returns the media types of the body that the route takes.
func (r *Route) media() []string {
	list := []string{"application/json"}
	if r.Lines {
		list = append(list, MediaLines)
	}
	return list
}

// MediaLines is the media type of JSON lines.
const MediaLines = "application/x-ndjson"

// ID returns the job id in the path. The error is NotFound: nothing has such an id.
func (c *Call) ID() (job.ID, error) {
	id, err := job.ParseID(c.R.PathValue("id"))
	if err != nil || id.String() != c.R.PathValue("id") { // a job has one path: neither 01 nor +1
		return 0, NotFound.New("job %.40q: there is no such job", c.R.PathValue("id"))
	}
	return id, nil
}

// CheckQuery returns a *Problem for parameters that the route does not have, and for parameters
// that are given more than once although they take one value.
func (c *Call) CheckQuery() error {
	if c.R.URL.RawQuery == "" {
		return nil
	}
	query, err := parseQuery(c.R.URL.RawQuery)
	if err != nil {
		return InvalidField.Mistaken(Mistake{Parameter: "query", Detail: err.Error()})
	}
	var known []string
	many := make(map[string]bool)
	for _, p := range c.Route.Params {
		if p.In == "query" {
			known = append(known, p.Name)
			many[p.Name] = p.Many
		}
	}
	var wrong []Mistake
	for name, values := range query {
		switch {
		case !slices.Contains(known, name):
			wrong = append(wrong, Mistake{Parameter: name, Detail: suggest.Unknown("parameter", name, known)})
		case len(values) > 1 && !many[name]:
			wrong = append(wrong, Mistake{Parameter: name, Detail: fmt.Sprintf("the parameter is given %d times; give it once", len(values))})
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.SortFunc(wrong, func(a, b Mistake) int { return strings.Compare(a.Parameter, b.Parameter) })
	return InvalidField.Mistaken(wrong...)
}
