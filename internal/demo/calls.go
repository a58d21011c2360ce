package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// services is an HTTP client for the services of the upstream, as a program would write it.
// It does not retry, because the policies decide about retries.
type services struct {
	base string
	http *http.Client

	mu   sync.Mutex
	keys map[string]string // the keys in the configuration of the worker, by tenant
}

func newServices(base string, keys map[string]string) *services {
	return &services{base: base, keys: keys, http: &http.Client{
		// Keep-alive is off: with a reused connection, net/http would repeat a request by
		// itself after a reset.
		Transport: &http.Transport{DisableKeepAlives: true},
	}}
}

// setKey changes the key that the worker sends for a tenant.
func (s *services) setKey(tenant, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[tenant] = key
}

func (s *services) key(tenant string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys[tenant]
}

// StatusError is an unsuccessful response of a service. It keeps the response, as errors of
// many SDKs do, because status and Retry-After are evidence.
type StatusError struct {
	Service  string
	Response *http.Response // the response of the service; its body is already closed
	Text     string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %d %s: %s", e.Service, e.Response.StatusCode, http.StatusText(e.Response.StatusCode), e.Text)
}

// request describes a call of a service.
type request struct {
	method, path string
	tenant       string // the tenant whose key is sent with the request; "" means that no key is sent
	bucket       string
	body         []byte
	limit        time.Duration // timeout of the call; 0 means no timeout
}

// do calls a service and returns the body of the response.
func (s *services) do(ctx context.Context, q request) ([]byte, error) {
	if q.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.limit)
		defer cancel()
	}
	service, _, _ := strings.Cut(q.path, "/")
	r, err := http.NewRequestWithContext(ctx, q.method, s.base+"/"+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	if q.tenant != "" {
		r.Header.Set("X-Tenant", q.tenant)
		r.Header.Set("Authorization", "Bearer "+s.key(q.tenant))
	}
	if q.bucket != "" {
		r.Header.Set("X-Bucket", q.bucket)
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("receive the response of %s: %w", service, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &StatusError{Service: service, Response: resp, Text: strings.TrimSpace(string(body))}
	}
	return body, nil
}

// fetch downloads a file into a folder and returns its name.
func (s *services) fetch(ctx context.Context, path, folder, name string) (string, error) {
	body, err := s.do(ctx, request{method: http.MethodGet, path: path})
	if err != nil {
		return "", err
	}
	name = filepath.Join(folder, name)
	return name, os.WriteFile(name, body, 0o600)
}

// store uploads a file. This is the last step of a job.
func (s *services) store(ctx context.Context, path, bucket, file string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, err = s.do(ctx, request{method: http.MethodPut, path: path, bucket: bucket, body: body})
	return err
}
