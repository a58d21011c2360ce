package failure_test

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/typed"
)

// noon is the local time of the tests of hints.
var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// proves: R3
func TestR3_RetryAfterIsDigitsOrAnHTTPDate(t *testing.T) {
	t.Parallel()
	const longest = time.Duration(math.MaxInt64)
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"120", 2 * time.Minute, true},
		{"0", 0, true},
		{" 7\t", 7 * time.Second, true},
		{"2026", 2026 * time.Second, true}, // never a year
		{"00000000000000000000005", 5 * time.Second, true},
		{"9223372036", 9223372036 * time.Second, true},
		{"9223372037", longest, true}, // the first that does not fit
		{"18446744073709551616", longest, true},
		{strings.Repeat("9", 1000), longest, true},

		{"Fri, 20 Nov 2026 12:02:00 GMT", 2 * time.Minute, true},
		{"Friday, 20-Nov-26 12:02:00 GMT", 2 * time.Minute, true},
		{"Fri Nov 20 12:02:00 2026", 2 * time.Minute, true},
		{"Tue Dec  1 12:00:00 2026", 11 * 24 * time.Hour, true},
		{"Fri, 20 Nov 2026 11:59:59 GMT", 0, true}, // in the past
		{"Fri, 31 Dec 9999 23:59:59 GMT", longest, true},
		{"Friday, 20-Nov-76 12:00:00 GMT", noon.AddDate(50, 0, 0).Sub(noon), true}, // 50 years ahead
		{"Friday, 20-Nov-76 12:00:01 GMT", 0, true},                                // more: 1976
		{"Sunday, 06-Nov-94 08:49:37 GMT", 0, true},                                // 1994
		{"Monday, 29-Feb-28 00:00:00 GMT", time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC).Sub(noon), true},

		{"", 0, false},
		{" ", 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1.5", 0, false},
		{"1e3", 0, false},
		{"0x10", 0, false},
		{"5s", 0, false},
		{"1 2", 0, false},
		{"١٢", 0, false},
		{"soon", 0, false},
		{"2026-11-20T12:02:00Z", 0, false},
		{"Fri, 20 Nov 2026 12:02:00 CET", 0, false},
		{"Fri, 20 Nov 2026 12:02:00 +0100", 0, false},
		{"Fri, 20 Nov 2026 12:02:00.5 GMT", 0, false},
		{"Fri, 32 Nov 2026 12:02:00 GMT", 0, false},
		{"Friday, 20-Nov-2026 12:02:00 GMT", 0, false},
		{"Friday, 20-Nov-26 12:02:00,5 GMT", 0, false},
		{"Someday, 20-Nov-26 12:02:00 GMT", 0, false},
		{"Fri Nov 20 12:02:00 2026 GMT", 0, false},
		{"20 Nov 2026 12:02:00 GMT", 0, false},
	}
	for _, tt := range tests {
		if got, ok := failure.ParseRetryAfter(tt.value, noon, time.Time{}); got != tt.want || ok != tt.ok {
			t.Errorf("%.40q: %v, %v, want %v, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

// A wait until a date counts from the response's own clock.
//
// part of: R3
func TestR3_ClocksMayDiffer(t *testing.T) {
	t.Parallel()
	const until = "Fri, 20 Nov 2026 12:02:00 GMT"
	for name, tt := range map[string]struct {
		now, date time.Time
		want      time.Duration
		ok        bool
	}{
		"our clock is fast": {noon.Add(time.Hour), noon, 2 * time.Minute, true},
		"our clock is slow": {noon.Add(-time.Hour), noon, 2 * time.Minute, true},
		"no date":           {noon, time.Time{}, 2 * time.Minute, true},
		"no clock at all":   {time.Time{}, time.Time{}, 0, false},
	} {
		if got, ok := failure.ParseRetryAfter(until, tt.now, tt.date); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %v, %v, want %v, %v", name, got, ok, tt.want, tt.ok)
		}
	}
	if got, ok := failure.ParseRetryAfter("7", time.Time{}, time.Time{}); got != 7*time.Second || !ok {
		t.Errorf("seconds need no clock: %v, %v", got, ok)
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, seed := range []string{
		"120", "-1", "99999999999999999999", "Fri, 20 Nov 2026 12:02:00 GMT", "Friday, 20-Nov-26 12:02:00 GMT",
		"Fri Nov 20 12:02:00 2026", "Monday, 29-Feb-00 00:00:00 GMT", "5.5", "1e9", "soon",
	} {
		f.Add(seed, int64(1795176000), int64(0))
	}
	f.Fuzz(func(t *testing.T, value string, now, date int64) {
		got, ok := failure.ParseRetryAfter(value, time.Unix(now, 0), time.Unix(date, 0))
		if got < 0 || !ok && got != 0 {
			t.Fatalf("%q: %v, %v", value, got, ok)
		}
		if _, isDate := parseOther(strings.Trim(value, " \t")); ok && !isDate && !digits(strings.Trim(value, " \t")) {
			t.Fatalf("%q was taken for a hint", value)
		}
		h := http.Header{"Retry-After": {value}, "Date": {value}, "X-Ratelimit-Reset": {value}, "Ratelimit": {"r=0;t=" + value}}
		if wait, _ := failure.HintFromHeader(429, h.Get, time.Unix(now, 0)); wait < 0 {
			t.Fatalf("%q: %v", value, wait)
		}
		checkEvidence(t, value, failure.Of(&headerError{429, h}))
	})
}

// parseOther is a second opinion on what a date is.
func parseOther(s string) (time.Time, bool) {
	for _, layout := range []string{http.TimeFormat, time.RFC850, time.ANSIC} {
		if d, err := time.Parse(layout, s); err == nil {
			return d, true
		}
	}
	return time.Time{}, false
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// headerError is an error of a client that keeps the headers.
type headerError struct {
	StatusCode int
	Header     http.Header
}

func (e *headerError) Error() string { return "status " + strconv.Itoa(e.StatusCode) }

// proves: R3
func TestR3_OtherCarriersOfAWait(t *testing.T) {
	t.Parallel()
	const date = "Fri, 20 Nov 2026 11:00:00 GMT" // the other side's clock is an hour slow
	tests := []struct {
		name   string
		status int
		header string // lines "name: value"
		want   time.Duration
		ok     bool
	}{
		{"none", 429, "", 0, false},
		{"seconds", 429, "Retry-After: 20", 20 * time.Second, true},
		{"a date", 503, "Retry-After: Fri, 20 Nov 2026 12:00:20 GMT", 20 * time.Second, true},
		{"a date, by its own clock", 503, "Retry-After: Fri, 20 Nov 2026 11:00:20 GMT\nDate: " + date, 20 * time.Second, true},
		{"too large", 413, "Retry-After: 20", 20 * time.Second, true},
		{"overloaded", 529, "Retry-After: 20", 20 * time.Second, true},
		{"redirect", 302, "Retry-After: 20", 20 * time.Second, true},
		{"no status", 0, "Retry-After: 20", 20 * time.Second, true},
		{"success", 200, "Retry-After: 20", 0, false},
		{"not to be retried", 400, "Retry-After: 20", 0, false},
		{"a server error that says no more", 500, "Retry-After: 20", 0, false},
		{"malformed", 429, "Retry-After: soon", 0, false},

		{"milliseconds", 429, "Retry-After-Ms: 1500.5\nRetry-After: 2", 1500500 * time.Microsecond, true},
		{"milliseconds of Azure", 429, "X-Ms-Retry-After-Ms: 30", 30 * time.Millisecond, true},
		{"milliseconds of AWS", 503, "X-Amz-Retry-After: 250", 250 * time.Millisecond, true},
		{"milliseconds that are negative", 429, "Retry-After-Ms: -5\nRetry-After: 2", 2 * time.Second, true},
		{"pushback", 0, "Grpc-Retry-Pushback-Ms: 80", 80 * time.Millisecond, true},
		{"pushback that says no", 0, "Grpc-Retry-Pushback-Ms: -1", 0, false},

		{"OpenAI", 429, "X-Ratelimit-Reset-Requests: 6m0s\nX-Ratelimit-Remaining-Requests: 0", 6 * time.Minute, true},
		{"OpenAI, tokens", 429, "X-Ratelimit-Reset-Requests: 6m0s\nX-Ratelimit-Remaining-Requests: 3\n" +
			"X-Ratelimit-Reset-Tokens: 120ms\nX-Ratelimit-Remaining-Tokens: 0", 120 * time.Millisecond, true},
		{"both used up", 429, "X-Ratelimit-Reset-Requests: 1s\nX-Ratelimit-Reset-Tokens: 2s", 2 * time.Second, true},
		{"much is left", 429, "X-Ratelimit-Reset-Requests: 6m0s\nX-Ratelimit-Remaining-Requests: 3", 0, false},
		{"Retry-After comes first", 429, "Retry-After: 1\nX-Ratelimit-Reset-Requests: 6m0s", time.Second, true},
		{"Anthropic", 429, "Anthropic-Ratelimit-Tokens-Reset: 2026-11-20T12:00:30Z\nAnthropic-Ratelimit-Tokens-Remaining: 0", 30 * time.Second, true},
		{"since 1970", 429, "X-Ratelimit-Reset: " + strconv.FormatInt(noon.Add(40*time.Second).Unix(), 10), 40 * time.Second, true},
		{"milliseconds since 1970", 429, "X-Ratelimit-Reset: " + strconv.FormatInt(noon.UnixMilli()+1500, 10), 1500 * time.Millisecond, true},
		{"since 1970, by its own clock", 429, "Date: " + date + "\nX-Ratelimit-Reset: " + strconv.FormatInt(noon.Add(-59*time.Minute).Unix(), 10), time.Minute, true},
		{"since 1970, in the past", 429, "X-Ratelimit-Reset: 1000000000", 0, true},
		{"from now", 429, "Ratelimit-Reset: 50", 50 * time.Second, true},
		{"a negative duration", 429, "X-Ratelimit-Reset: -5s", 0, false},
		{"without end", 429, "X-Ratelimit-Reset: 99999999999999999999999", 0, false},
		{"IETF", 429, `Ratelimit: "default";r=0;t=30`, 30 * time.Second, true},
		{"IETF, two", 429, `Ratelimit: "minute";r=0;t=30, "hour";r=5;t=3000`, 30 * time.Second, true},
		{"IETF, older", 429, "Ratelimit: limit=100, remaining=0, reset=30", 30 * time.Second, true},
		{"IETF, much is left", 429, `Ratelimit: "default";r=5;t=30`, 0, false},
	}
	for _, tt := range tests {
		h := http.Header{}
		for line := range strings.Lines(tt.header) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			h.Add(name, value)
		}
		if got, ok := failure.HintFromHeader(tt.status, h.Get, noon); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
		if tt.status == 0 {
			continue
		}
		e := failure.Of(typed.Wrap(&headerError{tt.status, h}))
		wait := e.RetryAfter
		if !e.NotBefore.IsZero() {
			wait = max(0, e.NotBefore.Sub(noon))
		}
		if wait != tt.want {
			t.Errorf("%s: evidence of a wait of %v until %v, want %v", tt.name, e.RetryAfter, e.NotBefore, tt.want)
		}
	}
}

// part of: R3
func TestR3_WaitsOfErrorsThatKeepTheResponse(t *testing.T) {
	t.Parallel()
	const until = "Fri, 20 Nov 2026 12:02:00 GMT"
	lower := &headerError{429, http.Header{"retry-after": {"9"}}}
	tests := map[string]struct {
		err   error
		wait  time.Duration
		until time.Time
	}{
		"seconds":             {&headerError{429, http.Header{"Retry-After": {"9"}}}, 9 * time.Second, time.Time{}},
		"names in lower case": {lower, 9 * time.Second, time.Time{}},
		"a date with a date": {&headerError{429, http.Header{"Retry-After": {until}, "Date": {"Fri, 20 Nov 2026 12:00:00 GMT"}}},
			2 * time.Minute, time.Time{}},
		"a date alone":        {&headerError{429, http.Header{"Retry-After": {until}}}, 0, noon.Add(2 * time.Minute)},
		"a status that fails": {&headerError{404, http.Header{"Retry-After": {"9"}}}, 0, time.Time{}},
		"no headers":          {&headerError{429, nil}, 0, time.Time{}},
		"nil":                 {(*headerError)(nil), 0, time.Time{}},
		"the longest counts":  {failure.RetryAfter(time.Second, lower), 9 * time.Second, time.Time{}},
	}
	for name, tt := range tests {
		e := failure.Of(tt.err)
		if e.RetryAfter != tt.wait || !e.NotBefore.Equal(tt.until) {
			t.Errorf("%s: wait %v until %v, want %v until %v", name, e.RetryAfter, e.NotBefore, tt.wait, tt.until)
		}
	}
}
