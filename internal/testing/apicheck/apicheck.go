// Package apicheck compares the requests and answers of tests with the document of the HTTP API.
package apicheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/goccy/go-yaml"

	"github.com/redrive/redrive/internal/api"
)

// Checker compares requests and answers with the document. It is safe for concurrent use.
type Checker struct {
	mu     sync.Mutex
	mux    *http.ServeMux
	found  *routers.Route
	params map[string]string
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// New reads a document, such as api.OpenAPI. The document allows fields that it does not name, because later versions
// may add some; the checker does not, so that each field of an answer is in the document.
func New(document []byte) (*Checker, error) {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	closeObjects(all["components"].(map[string]any)["schemas"])
	if text, err = json.Marshal(all); err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err == nil {
		err = doc.Validate(openapi3.NewLoader().Context)
	}
	if err != nil {
		return nil, fmt.Errorf("the document is not valid: %w", err)
	}
	c := &Checker{mux: http.NewServeMux()}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			route := &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: operation}
			c.mux.HandleFunc(method+" "+path, func(_ http.ResponseWriter, r *http.Request) {
				c.found, c.params = route, make(map[string]string)
				for _, name := range placeholder.FindAllStringSubmatch(path, -1) {
					c.params[name[1]] = r.PathValue(name[1])
				}
			})
		}
	}
	return c, nil
}

// closeObjects forbids unnamed fields in the objects of schemas.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			closeObjects(inner)
		}
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

// Check compares a request and its answer with the document. Requests are compared only if the
// server has accepted them. Requests to paths that the document does not have must have been
// refused.
func (c *Checker) Check(r *http.Request, sent []byte, status int, header http.Header, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = nil
	plain, err := http.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), bytes.NewReader(sent)) //nolint:gosec // the request is not sent; it is compared with the document
	if err != nil {
		return err
	}
	plain.Header = r.Header.Clone()
	c.mux.ServeHTTP(nowhere{}, plain)
	if c.found == nil {
		if r.Method == http.MethodHead || status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusMisdirectedRequest ||
			status == http.StatusRequestURITooLong {
			return nil
		}
		return fmt.Errorf("%s %s was answered with %d, but the document does not have it", r.Method, r.URL.Path, status)
	}
	lines := strings.HasPrefix(r.Header.Get("Content-Type"), api.MediaLines)
	in := &openapi3filter.RequestValidationInput{Request: plain, PathParams: c.params, Route: c.found,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true, SkipSettingDefaults: true, ExcludeRequestBody: lines}}
	if status < 300 {
		plain.Body = io.NopCloser(bytes.NewReader(sent))
		if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
			return fmt.Errorf("the document refuses a request that the server accepts: %w", short(err))
		}
	}
	media := header.Get("Content-Type")
	isJSON := strings.HasPrefix(media, "application/json") || strings.HasPrefix(media, "application/problem+json")
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: !isJSON}}
	if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
		return fmt.Errorf("the document does not have such an answer: %w", short(err))
	}
	return nil
}

// short cuts the text of a mistake, which repeats the schema and the value.
func short(err error) error {
	const most = 1500
	if text := err.Error(); len(text) > most {
		return errors.New(text[:most] + "…")
	}
	return err
}

// nowhere takes the answers of the mux.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
