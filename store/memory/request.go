package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/redrive/redrive/store"
)

// requestName is the scope and the key of a request.
type requestName struct{ scope, key string }

// BeginRequest implements store.Requests.
func (s *Store) BeginRequest(ctx context.Context, r store.Request) (store.Request, bool, error) {
	t, err := s.begin(ctx, "begin request")
	if err != nil {
		return store.Request{}, false, err
	}
	defer t.end()
	if err := r.Validate(); err != nil {
		return store.Request{}, false, t.errorf("%w", err)
	}
	name := requestName{r.Scope, r.Key}
	known, ok := t.requests[name]
	switch {
	case !ok || known.At <= t.now.Add(-store.RequestsKept):
		r.At, r.Status, r.Body, r.Digest = t.now, 0, nil, bytes.Clone(r.Digest)
		t.requests[name] = r
		return cloneRequest(r), false, nil
	case !bytes.Equal(known.Digest, r.Digest):
		return store.Request{}, false, t.errorf("%w", known.ReusedKey())
	}
	return cloneRequest(known), true, nil
}

// EndRequest implements store.Requests.
func (s *Store) EndRequest(ctx context.Context, scope, key string, status int, body []byte) error {
	t, err := s.begin(ctx, "end request")
	if err != nil {
		return err
	}
	defer t.end()
	if err := store.ValidateAnswer(scope, key, status, body); err != nil {
		return t.errorf("%w", err)
	}
	name := requestName{scope, key}
	r, ok := t.requests[name]
	if !ok || r.At <= t.now.Add(-store.RequestsKept) {
		return t.errorf("request %.80q: %w", key, store.ErrNotFound)
	}
	if r.Status == 0 {
		r.Status, r.Body = status, bytes.Clone(body)
		t.requests[name] = r
	}
	return nil
}

func cloneRequest(r store.Request) store.Request {
	r.Digest, r.Body = bytes.Clone(r.Digest), bytes.Clone(r.Body)
	return r
}

func (t *tx) sortedRequests() []store.Request {
	list := make([]store.Request, 0, len(t.requests))
	for _, r := range t.requests {
		list = append(list, cloneRequest(r))
	}
	slices.SortFunc(list, func(a, b store.Request) int { return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Key, b.Key)) })
	return list
}

// sweepRequests removes requests that are older than store.RequestsKept.
func (w *sweep) sweepRequests() {
	maps.DeleteFunc(w.requests, func(_ requestName, r store.Request) bool { return r.At <= w.now.Add(-store.RequestsKept) })
}
