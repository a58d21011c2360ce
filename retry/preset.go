package retry

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// preset holds the settings for one kind of service.
type preset struct {
	prefix  string // prefix of the preset's environment variables
	base    time.Duration
	most    time.Duration // the cap of the back-off and of hints
	timeout time.Duration // time limit of each attempt
	only429 bool          // whether 429 is the only status from 400 to 499 that is retried
}

// presets contains the presets by name. All retry three times, with full jitter.
var presets = map[string]preset{
	"openai":        {"OPENAI_RETRY_", 2 * time.Second, 30 * time.Second, 10 * time.Minute, true},
	"google-vision": {"GOOGLE_VISION_RETRY_", time.Second, 15 * time.Second, time.Minute, true},
	"storage":       {"STORAGE_RETRY_", time.Second, 10 * time.Second, time.Minute, true},
	"http":          {"HTTP_RETRY_", time.Second, 10 * time.Second, time.Minute, false},
}

// Presets returns the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// Limits on the values of environment variables.
const (
	envRetriesMax = 100
	envMillisMax  = 86_400_000 // one day in milliseconds
)

// Preset returns the strategy for a kind of service: "openai" for language models,
// "google-vision" for OCR, "storage" for uploads to and downloads from object storage,
// "http" for others. Environment variables may change it: OPENAI_RETRY_MAX is the number of
// retries (0 means none), OPENAI_RETRY_BASE_MS is the first wait, and
// OPENAI_RETRY_MAX_BACKOFF_MS is the cap of the waits and the longest hint that is slept.
// The variables of the other presets begin with GOOGLE_VISION_RETRY_, STORAGE_RETRY_ and
// HTTP_RETRY_.
//
// environ has the form of os.Environ; nil means the environment of the process. A value that
// is empty or not a whole number within its limits is an error, and so is a variable with
// the prefix but an unknown name. The error has all mistakes.
func Preset(name string, environ []string) (*Strategy, error) {
	s, ok := presets[name]
	if !ok {
		return nil, fmt.Errorf("retry preset %q: unknown preset; use one of %s", name, strings.Join(Presets(), ", "))
	}
	if environ == nil {
		environ = os.Environ()
	}
	env := environment{prefix: s.prefix, from: map[string]string{}}
	retries := RetriesDefault
	base, most := s.base.Milliseconds(), s.most.Milliseconds()
	env.read(environ, map[string]func(key, value string){
		"MAX": func(key, value string) {
			n := int64(retries)
			env.number(key, value, 0, envRetriesMax, &n, "Retries")
			retries = int(n)
		},
		"BASE_MS":        func(key, value string) { env.number(key, value, 1, envMillisMax, &base, "Backoff") },
		"MAX_BACKOFF_MS": func(key, value string) { env.number(key, value, 1, envMillisMax, &most, "Backoff", "HintCap") },
	})
	if base > most && len(env.errs) == 0 {
		env.errs = append(env.errs, fmt.Errorf("%sBASE_MS: %d ms is above %sMAX_BACKOFF_MS, %d ms: lower it, or raise the cap",
			s.prefix, base, s.prefix, most))
	}
	if len(env.errs) > 0 {
		return nil, fmt.Errorf("retry preset %q: %w", name, errors.Join(env.errs...))
	}
	if retries == 0 {
		retries = None
	}
	o := Options{
		Retries: retries, AttemptTimeout: s.timeout, HintCap: time.Duration(most) * time.Millisecond, Keyed: true,
		Backoff: backoff.Backoff{
			Formula: backoff.Exponential, First: time.Duration(base) * time.Millisecond, Factor: 2,
			Cap: time.Duration(most) * time.Millisecond, Jitter: backoff.Full,
		},
	}
	if s.only429 {
		o.Statuses = map[int]failure.Verdict{}
		for status := 400; status < 500; status++ {
			o.Statuses[status] = failure.VerdictPermanent
		}
		delete(o.Statuses, 429)
	}
	from := sourcesOf(&o, fromPreset)
	maps.Copy(from, env.from)
	return build(name, o, from)
}

// environment reads environment variables strictly.
type environment struct {
	prefix string
	from   map[string]string // the name of the variable for each option
	errs   []error
}

// read calls, for each variable with the prefix, the function that the map has for the rest
// of its name. When a variable is set twice, the last value counts, as in a process.
func (e *environment) read(environ []string, known map[string]func(key, value string)) {
	values := map[string]string{}
	for _, variable := range environ {
		if key, value, ok := strings.Cut(variable, "="); ok && strings.HasPrefix(key, e.prefix) {
			values[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		set, ok := known[strings.TrimPrefix(key, e.prefix)]
		if !ok {
			e.errs = append(e.errs, fmt.Errorf("%s: there is no such variable; there are %sMAX, %sBASE_MS and %sMAX_BACKOFF_MS",
				key, e.prefix, e.prefix, e.prefix))
			continue
		}
		set(key, values[key])
	}
}

// number reads a whole number, which must consist of digits only.
func (e *environment) number(key, value string, least, most int64, into *int64, fields ...string) {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || int64(n) < least || int64(n) > most {
		e.errs = append(e.errs, fmt.Errorf("%s is %q: must be a whole number from %d to %d, digits only; leave it out for the default",
			key, value[:min(len(value), nameMax)], least, most))
		return
	}
	*into = int64(n)
	for _, f := range fields {
		e.from[f] = key
	}
}
