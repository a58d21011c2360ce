package classify_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

func classOf(e failure.Evidence) classify.Classification { return classify.Builtin().Classify(&e, "") }

// proves: F2
func TestF2_MarksBeforeEverything(t *testing.T) {
	t.Parallel()
	refused := errors.New("connect: connection refused")
	tests := []struct {
		name    string
		err     error
		class   failure.Class
		verdict failure.Verdict
		rule    string
	}{
		{"class", failure.WithClass("Storage", refused), "Storage", failure.VerdictUnknown, "mark.class"},
		{"built-in class", failure.WithClass(failure.InvalidInput, refused), failure.InvalidInput, failure.VerdictPermanent, "mark.class"},
		{"permanent", failure.Permanent(refused), failure.TemporaryServiceError, failure.VerdictPermanent, "mark.permanent"},
		{"permanent with a class", failure.Permanent(failure.WithClass(failure.NotFound, refused)), failure.NotFound, failure.VerdictPermanent, "mark.permanent"},
		{"dependency", failure.DependencyDown("s3", errors.New("404 Not Found")), failure.TemporaryServiceError, failure.VerdictDependencyDown, "mark.dependency"},
		{"cancel", fmt.Errorf("stop: %w", failure.Cancel("obsolete")), failure.Cancelled, failure.VerdictCancelled, "mark.cancel"},
	}
	for _, tt := range tests {
		got := classOf(failure.Of(tt.err))
		if got.Class != tt.class || got.Verdict != tt.verdict || got.Rule != tt.rule || got.Rank != classify.RankMark {
			t.Errorf("%s: %+v, want %s, %s by %s", tt.name, got, tt.class, tt.verdict, tt.rule)
		}
	}
	got := classOf(failure.Evidence{Class: "Storage", HTTPStatus: 503})
	if got.Outranked[0].Rule != "http.503" || got.Outranked[0].Class != failure.TemporaryServiceError {
		t.Errorf("a mark beats the text, and tells: %+v", got.Outranked)
	}
}

// proves: F2
func TestF2_TheMoreSpecificDecides(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		e    failure.Evidence
		want failure.Class
	}{
		{"429 for a quota", failure.Evidence{HTTPStatus: 429, ServiceCode: "insufficient_quota"}, failure.QuotaExceeded},
		{"429 for a quota, in the text", failure.Evidence{HTTPStatus: 429, Message: `{"error":{"code":"insufficient_quota"}}`}, failure.QuotaExceeded},
		{"429 for a request over the limit", failure.Evidence{HTTPStatus: 429, Message: "Request too large for m-4: Limit 30000, Requested 30601"}, failure.InputExceedsLimits},
		{"429 for more than the limit alone", failure.Evidence{HTTPStatus: 429, Message: "tokens per min: Limit 30000, Requested 40000"}, failure.InputExceedsLimits},
		{"429 for less than the limit", failure.Evidence{HTTPStatus: 429, Message: "tokens per min: Limit 30000, Used 29000, Requested 4000"}, failure.RateLimitExceeded},
		{"401 for a quota", failure.Evidence{HTTPStatus: 401, Message: `{"status": "quota_exceeded"}`}, failure.QuotaExceeded},
		{"454", failure.Evidence{Message: "454 4.7.0 Temporary authentication failure"}, failure.TemporaryServiceError},
		{"403 for a rate", failure.Evidence{HTTPStatus: 403, Message: "API rate limit exceeded"}, failure.RateLimitExceeded},
		{"resource exhausted by a message", failure.Evidence{GRPC: "RESOURCE_EXHAUSTED", Message: "grpc: received message larger than max (5 vs. 4)"}, failure.InputExceedsLimits},
		{"resource exhausted", failure.Evidence{GRPC: "RESOURCE_EXHAUSTED"}, failure.RateLimitExceeded},
		{"400 with a phrase", failure.Evidence{HTTPStatus: 400, Message: "Your credit balance is too low"}, failure.PaymentRequired},
		{"500 with a phrase", failure.Evidence{HTTPStatus: 500, Message: "duplicate key value violates unique constraint"}, failure.BusinessLogicError},
		{"a loose word against a status", failure.Evidence{HTTPStatus: 422, Message: "this timed out in validation"}, failure.BusinessLogicError},
		{"exit 1 with a phrase", failure.Evidence{Exit: new(1), Stderr: []byte("moov atom not found\nConversion failed!")}, failure.InvalidInput},
		{"exit 137 with words", failure.Evidence{Exit: new(137), Message: "conversion failed"}, failure.ResourceConstraint},
		{"SQLSTATE", failure.Evidence{SQLState: "40001", Message: "query failed"}, failure.TemporaryServiceError},
		{"SQLSTATE in the text", failure.Evidence{Message: "ERROR: something (SQLSTATE 23505)"}, failure.BusinessLogicError},
		{"errno", failure.Evidence{Errno: "ECONNRESET", Message: "not found"}, failure.NetworkTimeout},
		{"errno in the text", failure.Evidence{Message: "open: os error 28"}, failure.ResourceConstraint},
		{"typed timeout", failure.Evidence{Timeout: true, Message: "call failed"}, failure.NetworkTimeout},
		{"typed timeout beside a typed quota", failure.Evidence{Timeout: true, ServiceCode: "DailyLimitExceeded"}, failure.QuotaExceeded},
		{"signal", failure.Evidence{Signal: "SIGKILL"}, failure.ResourceConstraint},
		{"the handler's code before the status", failure.Evidence{Code: "RENDER_TIMEOUT", HTTPStatus: 404}, failure.NetworkTimeout},
	}
	for _, tt := range tests {
		if got := classOf(tt.e); got.Class != tt.want {
			t.Errorf("%s: %s by %s (saw %q, beat %v), want %s", tt.name, got.Class, got.Rule, got.Saw, got.Outranked, tt.want)
		}
	}
}

// proves: F2
func TestF2_TypeNamesOfAnyLanguage(t *testing.T) {
	t.Parallel()
	for name, retriable := range map[string]bool{
		"TimeoutError": true, "ConnectionError": true, "ServiceUnavailable": true, "RateLimitExceeded": true,
		"KafkaError": true, "MongoNetworkError": true, "WeaviateTimeoutError": true,
		"ValidationError": false, "AuthenticationError": false, "PermissionError": false, "NotFoundError": false, "BusinessLogicError": false,
	} {
		for _, e := range []failure.Evidence{
			{Types: []string{name}, Message: "call failed"},
			{Types: []string{"app.errors." + name}},
			{Message: name + ": call failed"},
			{Message: strings.ToLower(name)},
			{ServiceCode: name},
		} {
			if got := classOf(e); got.Verdict.Retriable() != retriable || got.Rule == "" {
				t.Errorf("%+v: %s by %s, want retriable %v", e, got.Class, got.Rule, retriable)
			}
		}
	}
}

// proves: F6
func TestF6_Statuses(t *testing.T) {
	t.Parallel()
	want := map[failure.Class][]int{
		failure.NetworkTimeout:        {408, 504},
		failure.TemporaryServiceError: {500, 502, 503, 425, 529},
		failure.RateLimitExceeded:     {429},
		failure.InvalidInput:          {400},
		failure.AuthenticationFailure: {401, 403},
		failure.PaymentRequired:       {402},
		failure.NotFound:              {404, 410},
		failure.BusinessLogicError:    {409, 422},
		failure.InputExceedsLimits:    {413},
		failure.ValidationError:       {501, 505},
	}
	for class, statuses := range want {
		for _, status := range statuses {
			for _, e := range []failure.Evidence{
				{HTTPStatus: status},
				{Message: fmt.Sprintf("request failed with status code %d", status)},
				{Message: fmt.Sprintf("HTTP/1.1 %d", status)},
				{Message: fmt.Sprintf(`{"statusCode":%d}`, status)},
				{Message: fmt.Sprintf("upload: server returned %d", status)},
			} {
				got := classOf(e)
				if got.Class != class || got.Rule != fmt.Sprintf("http.%d", status) || got.Code != got.Rule {
					t.Errorf("%+v: %s by %s, code %s, want %s", e, got.Class, got.Rule, got.Code, class)
				}
			}
		}
	}
	for _, status := range []int{0, 200, 299} {
		if got := classOf(failure.Evidence{HTTPStatus: status}); got.Class != failure.UnknownError || got.Rank != classify.RankNone {
			t.Errorf("%d: %+v, want nothing", status, got)
		}
	}
}

// proves: F7
func TestF7_MediaTools(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Class{
		"Invalid data found when processing input": failure.InvalidInput,
		"moov atom not found":                      failure.InvalidInput,
		"in.mp4: No such file or directory":        failure.NotFound,
		"unknown job type: 'transmogrify'":         failure.ValidationError,
		"ffmpeg: exit status 137":                  failure.ResourceConstraint,
		"context deadline exceeded":                failure.NetworkTimeout,
		"av_interleaved_write_frame(): No space left on device\nout.mp4: Invalid data found when processing input": failure.ResourceConstraint,
		"bad: Invalid data found when processing input\nwrite: disk full":                                          failure.ResourceConstraint,
	} {
		if got := classOf(failure.Evidence{Message: "ffmpeg failed", Exit: new(1), Stderr: []byte(text)}); got.Class != want {
			t.Errorf("%q: %s by %s, want %s", text, got.Class, got.Rule, want)
		}
	}
	own, problems := classify.NewClassifier(classify.Rules{Phrases: []classify.PhraseRule{
		{Match: "invalid data found", Class: failure.TemporaryServiceError, Kinds: []string{"thumbnail"}},
	}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e := failure.Evidence{Message: "Invalid data found when processing input"}
	if a, b := own.Classify(&e, "thumbnail").Class, own.Classify(&e, "render").Class; a != failure.TemporaryServiceError || b != failure.InvalidInput {
		t.Errorf("of two kinds: %s and %s", a, b)
	}
}

// part of: F8
func TestF8_WordsNotSubstrings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Class{
		"job 14041 stopped":                 failure.UnknownError,
		"order 503":                         failure.UnknownError,
		"port 8429, line 401":               failure.UnknownError,
		"a film in memory of my dog":        failure.UnknownError,
		"retimeouted":                       failure.UnknownError,
		"The video is private":              failure.InvalidInput,
		"This is a private video":           failure.InvalidInput,
		"monthly quota exceeded":            failure.QuotaExceeded,
		"quota exceeded, retry in 60s":      failure.RateLimitExceeded,
		"quota exceeded":                    failure.QuotaExceeded,
		"no such job 429":                   failure.NotFound,
		"'timeout' must be a whole number":  failure.ValidationError,
		"unknown field \"timeout_seconds\"": failure.ValidationError,
		"2026-11-20 16:04:29 failed":        failure.UnknownError,
		"v4.2.9 build 502":                  failure.UnknownError,
	} {
		if got := classOf(failure.Evidence{Message: text}); got.Class != want {
			t.Errorf("%q: %s by %s (saw %q), want %s", text, got.Class, got.Rule, got.Saw, want)
		}
	}
}

// proves: F13
func TestF13_TheTimeLimitIsAClassOfItsOwn(t *testing.T) {
	t.Parallel()
	e := failure.Evidence{Class: failure.AttemptTimeout, Message: "timed out after 5m0s", Timeout: true}
	if got := classOf(e); got.Class != failure.AttemptTimeout || got.Rule != "mark.class" {
		t.Errorf("%+v, want AttemptTimeout", got)
	}
	if got := classOf(failure.Of(fmt.Errorf("call: %w", context.DeadlineExceeded))); got.Class != failure.NetworkTimeout {
		t.Errorf("a call's deadline: %+v", got)
	}
}

// proves: F5
func TestF5_NothingMatches(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[object Object]", "42", "\x00\xff", "x"} {
		got := classOf(failure.Evidence{Message: text})
		if got.Class != failure.UnknownError || got.Verdict != failure.VerdictUnknown {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestClassify_Hints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"rate limit exceeded, retry in 53s":           53 * time.Second,
		"Please try again in 6m0s.":                   6 * time.Minute,
		"Please try again in 644ms":                   644 * time.Millisecond,
		"Please try again in 1m26.4s. Visit the page": 86400 * time.Millisecond,
		"try again in 23h41m12s":                      23*time.Hour + 41*time.Minute + 12*time.Second,
		"Retry-After: 120":                            2 * time.Minute,
		`{"retry_after":35}`:                          35 * time.Second,
		`{"retry_after_ms":500}`:                      500 * time.Millisecond,
		`"retryDelay":"53s"`:                          53 * time.Second,
		"Too Many Requests: retry after 14":           14 * time.Second,
		"please wait 10 minutes before you try again": 10 * time.Minute,
		"try again after 2 hours":                     2 * time.Hour,
		"Inténtelo de nuevo en 30 segundos":           30 * time.Second,
		"try again later":                             0,
		"try again in a few minutes":                  0,
		"retry after 99999999999999999999":            0,
		"Retry-After: Wed, 21 Oct 2026 07:28:00 GMT":  0,
		"slept 30s": 0,
		"the retry in line 12 of main.go is misplaced": 0,
	} {
		if got := classOf(failure.Evidence{Message: text}); got.Hint != want {
			t.Errorf("%q: hint %v, want %v", text, got.Hint, want)
		}
	}
}

func TestClassify_Codes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e    failure.Evidence
		want string
	}{
		{failure.Evidence{Code: "OWN", HTTPStatus: 500}, "OWN"},
		{failure.Evidence{SQLState: "40001"}, "pg.40001"},
		{failure.Evidence{SQLState: "ZZ999"}, "pg.ZZ999"},
		{failure.Evidence{GRPC: "UNAVAILABLE"}, "grpc.UNAVAILABLE"},
		{failure.Evidence{Errno: "ECONNRESET"}, "errno.ECONNRESET"},
		{failure.Evidence{ServiceCode: "SlowDown", HTTPStatus: 503}, "SlowDown"},
		{failure.Evidence{HTTPStatus: 503}, "http.503"},
		{failure.Evidence{Signal: "SIGKILL"}, "signal.SIGKILL"},
		{failure.Evidence{Exit: new(65)}, "exit.65"},
		{failure.Evidence{Message: "rpc error: code = Unavailable desc = x"}, "grpc.UNAVAILABLE"},
		{failure.Evidence{Message: "ERROR: deadlock detected (SQLSTATE 40P01)"}, "pg.40P01"},
		{failure.Evidence{Message: "HTTP 502"}, "http.502"},
		{failure.Evidence{Message: "nothing"}, ""},
	} {
		if got := classOf(tt.e).Code; got != tt.want {
			t.Errorf("%+v: code %q, want %q", tt.e, got, tt.want)
		}
	}
}

// The innermost of several errors decides, and what is over does not.
//
// proves: F2
func TestF2_WhichOfSeveral(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Class{
		"attempt 1: connection refused; attempt 2: 404 Not Found":                      failure.NotFound,
		"attempt 1: 404 Not Found; attempt 2: connection refused":                      failure.TemporaryServiceError,
		"giving up after 5 retries (rate limited twice): 401 Unauthorized":             failure.AuthenticationFailure,
		"404 Not Found (while retrying after timeout, attempt 3)":                      failure.NotFound,
		"write a: no space left on device; cleanup: remove a: permission denied":       failure.ResourceConstraint,
		"a.B: permission denied\n\tat a.B.c(B.java:1)\nCaused by: x.Y: read timed out": failure.NetworkTimeout,
		"WARN connection reset by peer\nERROR permission denied":                       failure.PermissionError,
	} {
		if got := classOf(failure.Evidence{Message: text}); got.Class != want {
			t.Errorf("%q: %s by %s (beat %v), want %s", text, got.Class, got.Rule, got.Outranked, want)
		}
	}
}

func TestClassify_IsTotalAndBounded(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", " ", "\x00", "\xff\xfe\xfd", strings.Repeat("a", 10<<20), strings.Repeat("not ", 200_000), strings.Repeat("connection ", 100_000),
		strings.Repeat(`"`, 100_000), strings.Repeat("{", 100_000), strings.Repeat(`{"a":`, 50_000), strings.Repeat("error 503 ", 100_000),
		strings.Repeat("超时", 100_000), strings.Repeat("\n", 100_000), strings.Repeat("attempt 1 ", 100_000), strings.Repeat("1", 100_000),
		strings.Repeat("is not a the in of to (", 50_000), strings.Repeat("\\\"", 100_000), strings.Repeat("Caused by: ", 50_000),
	}
	for _, text := range texts {
		for _, e := range []failure.Evidence{{Message: text}, {Stderr: []byte(text)}, {Details: []byte(text)}, {Code: text[:min(len(text), 1<<16)]}, {ServiceCode: text[:min(len(text), 1<<16)]}, {Types: []string{text}}} {
			a, b := classOf(e), classOf(e)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%.40q: %+v, then %+v", text, a, b)
			}
			if a.Class == "" || a.Verdict == "" {
				t.Errorf("%.40q: no class", text)
			}
		}
	}
	if got := classOf(failure.Evidence{}); got.Class != failure.UnknownError {
		t.Errorf("nothing: %+v", got)
	}
	joined := errors.Join(fs.ErrNotExist, errors.New("x"), failure.WithClass(failure.QuotaExceeded, errors.New("y")))
	if got := classOf(failure.Of(joined)); got.Class != failure.QuotaExceeded {
		t.Errorf("joined: %+v", got)
	}
}

func TestClassify_AllocatesNothing(t *testing.T) {
	e := failure.Evidence{Message: "render clip 4: Post \"https://api.example.com/v1\": upstream said that the service is overloaded, please try again in 30s"}
	c := classify.Builtin()
	if n := testing.AllocsPerRun(100, func() { c.Classify(&e, "render") }); n > poolDrops {
		t.Errorf("%v allocations", n)
	}
}

func FuzzClassify(f *testing.F) {
	for _, seed := range []string{"connection refused", `{"error":{"code":429,"message":"x"}}`, "attempt 1: a; attempt 2: b", "retry in 5m", "ERROR 1213 (40001)", "4.7.1 \"'`", "the sensor of the mill reports an odd angle"} {
		f.Add(seed, "CODE", 503, "TimeoutError", []byte("exit status 1"))
	}
	f.Fuzz(func(t *testing.T, text, code string, status int, name string, stderr []byte) {
		e := failure.Evidence{Message: text, ServiceCode: code, HTTPStatus: status, Types: []string{name}, Stderr: stderr}
		got := classOf(e)
		if got.Class == "" || got.Verdict == "" || got.Hint < 0 || (got.Rule == "") != (got.Rank == classify.RankNone) {
			t.Errorf("%+v: %+v", e, got)
		}
		if again := classOf(e); !reflect.DeepEqual(again, got) { // a weighing is behind a pointer
			t.Errorf("not the same twice: %+v, %+v", got, again)
		}
	})
}

func FuzzPhrase(f *testing.F) {
	for _, seed := range []string{"a b", "(a|b c)? d", "a ... b", "!(x) a !y", "error <number>", "((((a))))", "a|b", "=cannot a", "超时"} {
		f.Add(seed, "a b c d")
	}
	f.Fuzz(func(t *testing.T, phrase, text string) {
		c, problems := classify.NewClassifier(classify.Rules{NoBuiltin: true, Phrases: []classify.PhraseRule{{Match: phrase, Class: "Own"}}})
		got := c.Classify(&failure.Evidence{Message: text}, "")
		if len(problems) > 0 && got.Class == "Own" {
			t.Errorf("%q has %v and matches %q", phrase, problems, text)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	texts := map[string]failure.Evidence{
		"typed":              {Message: "Get \"https://api.example.com/v1\": dial tcp 10.0.0.1:443: connect: connection refused", Errno: "ECONNREFUSED", Types: []string{"net.OpError"}},
		"200 bytes":          {Message: "render clip 4 of job 14041: open /srv/jobs/w/in/clip-4.mp4: the file was written by an older worker and it is not what the next step of the pipeline would need, so the connection was reset after a while"},
		"200 bytes, strong":  {Message: "render clip 4 of job 14041: POST https://api.example.com/v1/clips/4: HTTP 429 Too Many Requests: the clip will be taken again when the window of this minute is over, which is in a while, says the server"},
		"200 bytes, weighed": {Message: "render clip 4 of job 14041: the courier came to the door of the customer twice and found that nobody lives at this address any longer, so that the parcel is on its way back to where it was sent from"},
		"10 MiB":             {Message: strings.Repeat("render clip 4 of job 14041: the connection was reset by the peer after a while; ", 10<<20/80)},
	}
	for name, e := range texts {
		b.Run(name, func(b *testing.B) {
			c := classify.Builtin()
			b.ReportAllocs()
			for b.Loop() {
				c.Classify(&e, "render")
			}
		})
	}
}
