package storetest

import (
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func requestPromises() []promise {
	return []promise{
		{"I1_RequestIsBegunOnce", requestIsBegunOnce},
		{"I1_OtherRequestIsRefused", otherRequestIsRefused},
		{"I1_RequestHasItsFirstAnswer", requestHasItsAnswer},
		{"I1_RequestIsForgottenAfterADay", requestIsForgotten},
		{"X3_RequestBounds", requestBounds},
	}
}

func (r *rig) beginRequest(q store.Request) (store.Request, bool) {
	stored, existing, err := r.BeginRequest(ctx(), q)
	r.ok(err)
	return stored, existing
}

func bulk(key string) store.Request {
	return store.Request{Scope: "alice bulk", Key: key, Digest: []byte("digest"), First: 17, N: 3, Through: 9}
}

// part of: I1
func requestIsBegunOnce(r *rig) {
	want := bulk("a")
	want.At = r.now()
	stored, existing := r.beginRequest(bulk("a"))
	same(r, "existing", existing, false)
	same(r, "stored request", stored, want)
	r.clock.Advance(time.Minute)
	r.unchanged(func() {
		other := bulk("a") // another process handles the same request again and has reserved other ids
		other.First, other.N, other.Through = 40, 5, 0
		stored, existing = r.beginRequest(other)
		same(r, "existing, the second time", existing, true)
		same(r, "stored request, the second time", stored, want)
	})
	scope := bulk("a")
	scope.Scope = "bob bulk"
	_, existing = r.beginRequest(scope)
	same(r, "existing in another scope", existing, false)
	_, existing = r.beginRequest(bulk("b"))
	same(r, "existing with another key", existing, false)
	same(r, "requests in the dump", len(r.dump().Requests), 3)
	same(r, "first request in the dump", r.dump().Requests[0], want)
}

// part of: I1
func otherRequestIsRefused(r *rig) {
	r.beginRequest(bulk("a"))
	r.unchanged(func() {
		other := bulk("a")
		other.Digest = []byte("other")
		_, _, err := r.BeginRequest(ctx(), other)
		r.is(err, store.ErrConflict)
	})
}

// part of: I1
func requestHasItsAnswer(r *rig) {
	r.is(r.EndRequest(ctx(), "alice bulk", "a", 201, nil), store.ErrNotFound)
	r.beginRequest(bulk("a"))
	r.ok(r.EndRequest(ctx(), "alice bulk", "a", 201, []byte("{}")))
	r.unchanged(func() {
		r.ok(r.EndRequest(ctx(), "alice bulk", "a", 500, []byte("late")))
		stored, existing := r.beginRequest(bulk("a"))
		same(r, "answer", []any{existing, stored.Status, string(stored.Body)}, []any{true, 201, "{}"})
	})
	r.beginRequest(bulk("empty"))
	r.ok(r.EndRequest(ctx(), "alice bulk", "empty", 204, nil))
	stored, _ := r.beginRequest(bulk("empty"))
	same(r, "answer without a body", []any{stored.Status, len(stored.Body)}, []any{204, 0})
}

// part of: I1
func requestIsForgotten(r *rig) {
	r.beginRequest(bulk("a"))
	r.beginRequest(bulk("b"))
	r.clock.Advance(store.RequestsKept - time.Microsecond)
	_, existing := r.beginRequest(bulk("a"))
	same(r, "just before", existing, true)
	r.sweep(store.Retention{}, 10)
	same(r, "requests before their time is over", len(r.dump().Requests), 2)
	r.clock.Advance(time.Microsecond)
	r.is(r.EndRequest(ctx(), "alice bulk", "a", 200, nil), store.ErrNotFound)
	other := bulk("a")
	other.Digest = []byte("other")
	stored, existing := r.beginRequest(other)
	same(r, "the key of a forgotten request", []any{existing, stored.At, string(stored.Digest)}, []any{false, r.now(), "other"})
	r.sweep(store.Retention{}, 10)
	requests := r.dump().Requests
	same(r, "number of requests after a sweep", len(requests), 1)
	same(r, "request that a sweep leaves", requests[0].Key, "a")
}

// part of: X3
func requestBounds(r *rig) {
	long := strings.Repeat("k", job.TextMax)
	largest := store.Request{Scope: long, Key: long, Digest: make([]byte, job.NameMax)}
	r.beginRequest(largest)
	r.ok(r.EndRequest(ctx(), long, long, 999, make([]byte, store.RequestBodyMax)))
	r.unchanged(func() {
		for name, change := range map[string]func(*store.Request){
			"no scope": func(q *store.Request) { q.Scope = "" }, "long scope": func(q *store.Request) { q.Scope += "k" },
			"no key": func(q *store.Request) { q.Key = "" }, "long key": func(q *store.Request) { q.Key += "k" },
			"no digest": func(q *store.Request) { q.Digest = nil }, "long digest": func(q *store.Request) { q.Digest = make([]byte, job.NameMax+1) },
			"negative id": func(q *store.Request) { q.First = -1 }, "negative number": func(q *store.Request) { q.N = -1 },
			"negative end": func(q *store.Request) { q.Through = -1 },
		} {
			q := largest
			change(&q)
			_, _, err := r.BeginRequest(ctx(), q)
			if err == nil {
				r.fail("%s: got no error, want ErrInvalid", name)
			}
			r.is(err, store.ErrInvalid)
		}
		r.is(r.EndRequest(ctx(), long, long, 0, nil), store.ErrInvalid)
		r.is(r.EndRequest(ctx(), long, long, 1000, nil), store.ErrInvalid)
		r.is(r.EndRequest(ctx(), long, "", 200, nil), store.ErrInvalid)
		r.is(r.EndRequest(ctx(), long, long, 200, make([]byte, store.RequestBodyMax+1)), store.ErrTooLarge)
	})
}
