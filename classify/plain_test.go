package classify_test

import (
	"fmt"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/typed"
)

// What is typed decides by itself, without the text that stands beside it, and
// costs no memory: it is the common path of every failed attempt.
//
// part of: F2
func TestF2_TypedFactsNeedNoText(t *testing.T) { // and not in parallel: what other tests allocate would count
	want := map[string]struct {
		class failure.Class
		code  string
	}{
		"reset":    {failure.NetworkTimeout, "errno.ECONNRESET"},
		"deadline": {failure.NetworkTimeout, ""},
		"status":   {failure.TemporaryServiceError, "http.503"},
		"sqlstate": {failure.TemporaryServiceError, "pg.40001"},
	}
	c := classify.Builtin()
	for _, tt := range typed.Errors {
		w, ok := want[tt.Name]
		if !ok {
			continue
		}
		var got classify.Classification
		read := func() {
			e := failure.Of(tt.Err)
			got = c.Classify(&e, "render")
		}
		if n := testing.AllocsPerRun(100, read); n > 0 {
			t.Errorf("%s: %v allocations", tt.Name, n)
		}
		if got.Class != w.class || got.Code != w.code {
			t.Errorf("%s: %s, %q by %s, want %s, %q", tt.Name, got.Class, got.Code, got.Rule, w.class, w.code)
		}
		if tt.Name == "status" {
			continue // texts of a 503 are looked at for a few words
		}
		e := failure.Of(tt.Err)
		e.Message = "permission denied: 429 insufficient_quota"
		if got := c.Classify(&e, "render"); got.Class != w.class {
			t.Errorf("%s beside other words: %s by %s, want %s", tt.Name, got.Class, got.Rule, w.class)
		}
	}
}

// A status that means many things is refined by its text, one that means one
// thing is not.
//
// part of: F6
func TestF6_WhichStatusesTextsRefine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		text   string
		want   failure.Class
	}{
		{503, "the room is full of steam", failure.TemporaryServiceError},
		{503, "reduce your request rate: rate limit exceeded", failure.RateLimitExceeded},
		{503, "Slow down", failure.RateLimitExceeded},
		{504, "no such key", failure.NetworkTimeout},
		{403, "rate limit exceeded", failure.RateLimitExceeded},
		{403, "the bucket policy denies access", failure.PermissionError},
		{429, "you exceeded your current quota", failure.QuotaExceeded},
		{400, "prompt is too long: 210000 tokens", failure.InputExceedsLimits},
		{500, "violates the content policy", failure.ContentViolation},
	} {
		got := classify.Builtin().Classify(&failure.Evidence{HTTPStatus: tt.status, Message: tt.text}, "")
		if got.Class != tt.want {
			t.Errorf("%d %q: %s by %s, want %s", tt.status, tt.text, got.Class, got.Rule, tt.want)
		}
	}
}

// The names of types are read once; what is remembered changes no answer.
func TestClassify_SilentTypesStaySilent(t *testing.T) {
	t.Parallel()
	c := classify.Builtin()
	for _, name := range []string{"app.clipGlue", "app.RateLimitError", "app.clipGlue", "app.RateLimitError"} {
		got := c.Classify(&failure.Evidence{HTTPStatus: 503, Message: "busy", Types: []string{name}}, "")
		want := failure.TemporaryServiceError
		if name == "app.RateLimitError" {
			want = failure.RateLimitExceeded
		}
		if got.Class != want {
			t.Errorf("%s: %s by %s, want %s", name, got.Class, got.Rule, want)
		}
	}
}

func BenchmarkOfAndClassify(b *testing.B) {
	c := classify.Builtin()
	for _, tt := range typed.Errors {
		b.Run(tt.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e := failure.Of(tt.Err)
				c.Classify(&e, "render")
			}
		})
	}
}

// A typed fact has one class, whether a policy has rules of its own, and whether the type of the error was seen before.
func TestClassify_AFactHasOneClass(t *testing.T) {
	t.Parallel()
	own, problems := classify.NewClassifier(classify.Rules{Phrases: []classify.PhraseRule{{Match: "zebra crossing", Class: failure.BusinessLogicError}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	fresh := classify.Builtin()
	texts := []string{"insufficient quota", "permission denied by the bucket policy", "no such key", "rate limit exceeded, retry in 30s", "busy", ""}
	for _, fact := range []failure.Evidence{{HTTPStatus: 502}, {HTTPStatus: 504}, {HTTPStatus: 408}, {HTTPStatus: 503}, {Timeout: true}, {Errno: "ECONNREFUSED"}, {SQLState: "40001"}} {
		for i, text := range texts {
			e := fact
			e.Message, e.Types = text, []string{fmt.Sprintf("app.Wrapped%d_%d%s", i, e.HTTPStatus, e.Errno)}
			first := fresh.Classify(&e, "")
			for name, got := range map[string]classify.Classification{"the second time": fresh.Classify(&e, ""), "with a phrase of a policy": own.Classify(&e, "")} {
				if got.Class != first.Class || got.Rule != first.Rule {
					t.Errorf("%+v: %s %s by %s, at first %s by %s", e, name, got.Class, got.Rule, first.Class, first.Rule)
				}
			}
		}
	}
}
