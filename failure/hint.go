package failure

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter reads the value of a Retry-After header (RFC 9110, 10.2.3):
// a number of seconds, or a date in one of the three forms that HTTP knows, and
// nothing else. A date is a wait from date, the response's own Date header, so
// that a clock that differs from ours does no harm; without one (the zero time)
// from now; with neither it is no wait. The wait is never negative: a date in the
// past asks for none, and a number that is too large gives the longest duration.
func ParseRetryAfter(value string, now, date time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if isDigits(value) { // decided by its form: a number is never tried as a date
		return seconds(number(value)), true
	}
	if date.IsZero() {
		date = now
	}
	until, ok := parseHTTPDate(value, date)
	if !ok || date.IsZero() {
		return 0, false
	}
	return max(0, until.Sub(date)), true
}

// HintFromHeader returns the wait that a response asks for by Retry-After or by
// one of the headers that are in use beside it. They count with the statuses
// 429, 503, 413, 529 and 3xx, and with 0, where there is no status (trailers of
// gRPC). now is the local time, for dates in responses that have no Date.
//
// Read are, and the first that is well formed counts: Retry-After-Ms,
// X-Ms-Retry-After-Ms and X-Amz-Retry-After (milliseconds), Retry-After, and
// Grpc-Retry-Pushback-Ms. Without these it is the longest wait of the limits
// that are used up: X-RateLimit-Reset and its like for requests and tokens, in
// seconds, durations such as "6m0s", dates or seconds since 1970, by magnitude;
// and RateLimit of the IETF. get returns "" for a header that is missing, as
// the method Get of http.Header does.
func HintFromHeader(status int, get func(name string) string, now time.Time) (time.Duration, bool) {
	h, ok := hintOf(status, get, now)
	if !h.until.IsZero() {
		h.wait = max(h.wait, h.until.Sub(now))
	}
	return h.wait, ok
}

// hint is a wait, or the time until which to wait.
type hint struct {
	wait  time.Duration
	until time.Time
}

// readHint keeps the wait that headers ask for. There is no clock here: a date
// is a wait where the response says what time it was, else it is kept as it is.
func (e *Evidence) readHint(status int, get func(name string) string) {
	h, ok := hintOf(status, get, time.Time{})
	if !ok {
		return
	}
	e.RetryAfter = max(e.RetryAfter, h.wait)
	if h.until.After(e.NotBefore) && h.until.Year() <= 9999 { // what can be written as JSON
		e.NotBefore = h.until
	}
}

// hintOf reads the headers. now may be zero.
func hintOf(status int, get func(name string) string, now time.Time) (hint, bool) {
	if !asksToWait(status) {
		return hint{}, false
	}
	for _, name := range [...]string{"Retry-After-Ms", "X-Ms-Retry-After-Ms", "X-Amz-Retry-After"} {
		if wait, ok := decimal(get(name), time.Millisecond); ok {
			return hint{wait: wait}, true
		}
	}
	date, _ := parseHTTPDate(strings.Trim(get("Date"), " \t"), now)
	if value := get("Retry-After"); value != "" {
		if h, ok := retryAfterHint(value, now, date); ok {
			return h, true
		}
	}
	if wait, ok := decimal(get("Grpc-Retry-Pushback-Ms"), time.Millisecond); ok {
		return hint{wait: wait}, true
	}
	return limitHint(get, date)
}

// asksToWait reports whether a response with this status can ask for a wait.
func asksToWait(status int) bool {
	switch status {
	case 0, 413, 429, 503, 529:
		return true
	}
	return status >= 300 && status < 400
}

func retryAfterHint(value string, now, date time.Time) (hint, bool) {
	if !date.IsZero() || !now.IsZero() {
		wait, ok := ParseRetryAfter(value, now, date)
		return hint{wait: wait}, ok
	}
	value = strings.Trim(value, " \t")
	if isDigits(value) {
		return hint{wait: seconds(number(value))}, true
	}
	until, ok := parseHTTPDate(value, time.Time{})
	return hint{until: until}, ok
}

// limits are the headers that tell when a limit starts anew, each with the one
// that tells how much is left of it: only those of which nothing is left count.
var limits = [...]struct{ reset, remaining string }{
	{"X-Ratelimit-Reset-Requests", "X-Ratelimit-Remaining-Requests"},
	{"X-Ratelimit-Reset-Tokens", "X-Ratelimit-Remaining-Tokens"},
	{"X-Ratelimit-Reset", "X-Ratelimit-Remaining"},
	{"X-Rate-Limit-Reset", "X-Rate-Limit-Remaining"},
	{"Ratelimit-Reset", "Ratelimit-Remaining"},
	{"Anthropic-Ratelimit-Requests-Reset", "Anthropic-Ratelimit-Requests-Remaining"},
	{"Anthropic-Ratelimit-Tokens-Reset", "Anthropic-Ratelimit-Tokens-Remaining"},
	{"Anthropic-Ratelimit-Input-Tokens-Reset", "Anthropic-Ratelimit-Input-Tokens-Remaining"},
	{"Anthropic-Ratelimit-Output-Tokens-Reset", "Anthropic-Ratelimit-Output-Tokens-Remaining"},
}

// limitHint is the longest wait of all limits that are used up.
func limitHint(get func(name string) string, date time.Time) (longest hint, found bool) {
	for _, l := range limits {
		reset := get(l.reset)
		if reset == "" {
			continue
		}
		if left := get(l.remaining); left != "" && left != "0" {
			continue
		}
		if h, ok := parseReset(reset, date); ok {
			longest, found = longest.longer(h), true
		}
	}
	if wait, ok := parseRateLimit(get("Ratelimit")); ok {
		longest, found = longest.longer(hint{wait: wait}), true
	}
	return longest, found
}

func (h hint) longer(other hint) hint {
	h.wait = max(h.wait, other.wait)
	if other.until.After(h.until) {
		h.until = other.until
	}
	return h
}

// parseReset reads when a limit starts anew: a duration such as "6m0s" or
// "120ms", a time of RFC 3339, or a number, which by its magnitude is seconds
// from now, seconds since 1970 or milliseconds since 1970.
func parseReset(value string, date time.Time) (hint, bool) {
	value = strings.Trim(value, " \t")
	if n, ok := decimal(value, time.Second); ok {
		switch whole := n / time.Second; {
		case whole < 1e9: // 31 years
			return hint{wait: n}, true
		case n < math.MaxInt64: // before the year 2262
			return untilHint(time.Unix(0, int64(n)), date), true
		}
		ms, _ := decimal(value, time.Millisecond)
		return untilHint(time.Unix(0, int64(ms)), date), ms < math.MaxInt64
	}
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return untilHint(t, date), true
	}
	d, err := time.ParseDuration(value)
	return hint{wait: d}, err == nil && d >= 0
}

// untilHint is a wait from the response's date, or the time itself without one.
func untilHint(until, date time.Time) hint {
	if date.IsZero() {
		return hint{until: until.UTC()}
	}
	return hint{wait: max(0, until.Sub(date))}
}

// parseRateLimit reads the RateLimit header in both forms that its drafts had:
// `"default";r=0;t=30` and `limit=100, remaining=0, reset=30`. Nothing may be
// left of what is waited for.
func parseRateLimit(value string) (longest time.Duration, found bool) {
	left := ""
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ';' || r == ',' }) {
		key, v, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch key {
		case "r", "remaining":
			left = v
		case "t", "reset":
			if wait, ok := decimal(v, time.Second); ok && left == "0" {
				longest, found = max(longest, wait), true
			}
		}
	}
	return longest, found
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// number is the value of digits, at most the largest one.
func number(digits string) uint64 {
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}

// seconds is a number of seconds, at most the longest duration.
func seconds(n uint64) time.Duration { return units(n, time.Second) }

func units(n uint64, unit time.Duration) time.Duration {
	if n > uint64(math.MaxInt64/unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}

// decimal reads a number of units, digits with or without a fraction; it
// rounds up.
func decimal(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.Trim(s, " \t")
	if isDigits(s) {
		return units(number(s), unit), true
	}
	whole, part, ok := strings.Cut(s, ".")
	if !ok || !isDigits(whole) || !isDigits(part) {
		return 0, false
	}
	f, err := strconv.ParseFloat("0."+part, 64)
	d, rest := units(number(whole), unit), fraction(f, unit)
	if d > math.MaxInt64-rest {
		return math.MaxInt64, err == nil
	}
	return d + rest, err == nil
}

// fraction is a number of units that need not be whole, rounded up; the
// longest duration where that is too large, 0 where it is negative or none.
func fraction(f float64, unit time.Duration) time.Duration {
	ns := math.Ceil(f * float64(unit))
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns > 0: // not NaN
		return time.Duration(ns)
	}
	return 0
}

// parseHTTPDate reads a date of HTTP (RFC 9110, 5.6.7). Their lengths are fixed
// and looked at, because time.Parse takes more than what they allow. A year of
// two digits is the last one with these digits that is at most 50 years after
// near; the zero near takes time.Parse's word for it, 1969 to 2068.
func parseHTTPDate(s string, near time.Time) (time.Time, bool) {
	const fix, asc, short = "Mon, 02 Jan 2006 15:04:05 GMT", "Mon Jan _2 15:04:05 2006", "02-Jan-06 15:04:05 GMT"
	switch len(s) {
	case len(fix):
		if t, err := time.Parse(fix, s); err == nil {
			return t, true
		}
	case len(asc):
		if t, err := time.Parse(asc, s); err == nil {
			return t, true
		}
	}
	day, rest, ok := strings.Cut(s, ", ")
	if !ok || len(rest) != len(short) || !isWeekday(day) {
		return time.Time{}, false
	}
	t, err := time.Parse(short, rest)
	if err != nil {
		return time.Time{}, false
	}
	return nearCentury(t, near), true
}

func isWeekday(s string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()) {
			return true
		}
	}
	return false
}

// nearCentury moves t by centuries to the last time that is at most 50 years
// after near.
func nearCentury(t, near time.Time) time.Time {
	if near.IsZero() {
		return t
	}
	limit := near.UTC().AddDate(50, 0, 0)
	past := ((limit.Year()-t.Year())%100 + 100) % 100
	t = t.AddDate(limit.Year()-past-t.Year(), 0, 0)
	if t.After(limit) {
		t = t.AddDate(-100, 0, 0)
	}
	return t
}

// headers are those of a response, whatever case their names are in.
type headers map[string][]string

// headerOf returns what net/http, or something like it, has as headers.
func headerOf(v reflect.Value) (headers, bool) {
	t := reflect.TypeFor[headers]()
	if !v.IsValid() || v.Kind() != reflect.Map || !v.CanInterface() || !v.CanConvert(t) {
		return nil, false
	}
	h, ok := reflect.TypeAssert[headers](v.Convert(t))
	return h, ok && len(h) > 0
}

func (h headers) get(name string) string {
	values := h[name]
	if values == nil {
		values = h[strings.ToLower(name)]
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
