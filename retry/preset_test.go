package retry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// on returns a copy of the strategy p that uses the test's clock and the random number u.
func on(t *testing.T, p *retry.Strategy, u float64) *rig {
	t.Helper()
	r := newRig(t, u, retry.Options{})
	q, err := p.With(func(o *retry.Options) {
		o.Clock, o.Rand, o.Logger = r.clock, func() float64 { return u }, quiet
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Strategy = q
	return r
}

func preset(t *testing.T, name string, environ ...string) *retry.Strategy {
	t.Helper()
	if environ == nil {
		environ = []string{}
	}
	p, err := retry.Preset(name, environ)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// proves: P3
//
// proves: L2
func TestP3_CallsOfThePresets_L2(t *testing.T) {
	t.Parallel()
	second := time.Second
	for name, want := range map[string][]time.Duration{
		"openai": {2 * second, 4 * second, 8 * second}, "google-vision": {second, 2 * second, 4 * second}, "storage": {second, 2 * second, 4 * second},
	} {
		p := preset(t, name)
		r := on(t, p, 0.9999999999)
		s := always(unavailable)
		_, err := retry.Do(first(inJob(t)), r.Strategy, s.op)
		e := failedWith(t, err)
		if s.calls != 4 || e.Reason != retry.Exhausted {
			t.Errorf("%s: got %d sends and the error %v, want 4 sends and exhausted retries", name, s.calls, err)
		}
		for i, w := range want {
			if got := e.Attempts[i].Wait; got > w || got < w-time.Millisecond {
				t.Errorf("%s: wait %d with the largest random number is %v, want %v", name, i+1, got, w)
			}
		}
		if e.HandOver < 300*second || e.HandOver > 330*second {
			t.Errorf("%s: got the hand-over %v, want 300s to 330s", name, e.HandOver)
		}
		for code := 400; code < 500; code++ {
			s := always(&status{code: code})
			_, _ = retry.Do(t.Context(), r.Strategy, s.op)
			if (code == 429) != (s.calls == 4) || s.calls != 1 && s.calls != 4 {
				t.Errorf("%s: a request with status %d was sent %d times; want 4 times for 429, else once", name, code, s.calls)
			}
		}
		if s := always(errors.New("something odd")); true {
			_, err := retry.Do(t.Context(), r.Strategy, s.op)
			if s.calls != 1 || !errors.Is(err, retry.ErrPermanent) {
				t.Errorf("%s: a request with an unknown error was sent %d times, want 1", name, s.calls)
			}
		}
	}
	caps := map[string]time.Duration{"openai": 30 * second, "google-vision": 15 * second, "storage": 10 * second}
	for name, most := range caps {
		o := preset(t, name).Options()
		if o.Backoff.Cap != most || o.HintCap != most {
			t.Errorf("%s: got the caps %v of the back-off and %v of hints, want %v", name, o.Backoff.Cap, o.HintCap, most)
		}
	}
	if got := preset(t, "openai").Options().AttemptTimeout; got != 600_000*time.Millisecond {
		t.Errorf("the time limit of a call to a language model is %v, want 10m", got)
	}
}

// proves: L2
func TestL2_TheEnvironmentOverrides(t *testing.T) {
	t.Parallel()
	p := preset(t, "openai", "HOME=/", "OPENAI_API_KEY=x", "OPENAI_RETRY_MAX=5", "OPENAI_RETRY_BASE_MS=250", "OPENAI_RETRY_MAX_BACKOFF_MS=60000", "STORAGE_RETRY_MAX=9")
	o := p.Options()
	if o.Retries != 5 || o.Backoff.First != 250*time.Millisecond || o.Backoff.Cap != time.Minute || o.HintCap != time.Minute {
		t.Errorf("got the options %+v, want the options that the environment variables set", o)
	}
	text := p.String()
	for _, want := range []string{
		"Retries         5  (OPENAI_RETRY_MAX)", "full jitter, cap 1m  (OPENAI_RETRY_", "HintCap         1m  (OPENAI_RETRY_MAX_BACKOFF_MS)",
		"AttemptTimeout  10m  (preset)", "HandOver        5m  (default)", "Statuses        400-428 permanent, 430-499 permanent  (preset)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text of the strategy does not contain %q, want it there:\n%s", want, text)
		}
	}
	if strings.Contains(text, "x\n") {
		t.Error("the text of the strategy contains a variable that is not a setting, want only settings")
	}
	s := always(unavailable)
	if _, _ = retry.Do(t.Context(), on(t, preset(t, "storage", "STORAGE_RETRY_MAX=0"), 0).Strategy, s.op); s.calls != 1 {
		t.Errorf("with MAX=0 the request was sent %d times, want 1", s.calls)
	}
}

// An invalid number is an error when the strategy is made, not a loop that never runs.
//
// proves: L2
func TestL2_ABrokenEnvironmentIsRefused(t *testing.T) {
	t.Parallel()
	prefixes := map[string]string{"openai": "OPENAI_RETRY_", "google-vision": "GOOGLE_VISION_RETRY_", "storage": "STORAGE_RETRY_", "http": "HTTP_RETRY_"}
	for name, prefix := range prefixes {
		for _, key := range []string{"MAX", "BASE_MS", "MAX_BACKOFF_MS"} {
			for _, value := range []string{"3abc", "", "-1", "1e9", "+3", " 3", "3 ", "3.0", "0x3", "1_000", "99999999999999999999", "NaN", "٣", "2147483648"} {
				_, err := retry.Preset(name, []string{prefix + key + "=" + value})
				if err == nil || !strings.Contains(err.Error(), prefix+key) || !strings.Contains(err.Error(), fmt.Sprintf("%q", value)) {
					t.Errorf("%s%s=%q: got the error %v, want an error that names the variable and the value", prefix, key, value, err)
				}
			}
		}
	}
	_, err := retry.Preset("openai", []string{"OPENAI_RETRY_MAX=x", "OPENAI_RETRY_BASE_MS=0", "OPENAI_RETRY_MAXIMUM=3"})
	for _, want := range []string{"OPENAI_RETRY_MAX is", "OPENAI_RETRY_BASE_MS is", "OPENAI_RETRY_MAXIMUM: there is no such variable"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not contain %q, want it there", err, want)
		}
	}
	if _, err := retry.Preset("openai", []string{"OPENAI_RETRY_BASE_MS=60000"}); err == nil || !strings.Contains(err.Error(), "MAX_BACKOFF_MS") {
		t.Errorf("a base above the cap: got the error %v, want an error that names MAX_BACKOFF_MS", err)
	}
	if _, err := retry.Preset("opnai", nil); err == nil || !strings.Contains(err.Error(), "google-vision, http, openai, storage") {
		t.Error(err)
	}
}

func FuzzPreset(f *testing.F) {
	for _, s := range []string{"3", "3abc", "", "-1", "1e9", "100", "101"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		p, err := retry.Preset("storage", []string{"STORAGE_RETRY_MAX=" + value})
		if err != nil {
			return
		}
		n := p.Options().Retries
		if strings.Trim(value, "0123456789") != "" || value == "" || n == 0 || n > 100 || n < retry.None {
			t.Errorf("the value %q was accepted as %d retries, want an error", value, n)
		}
	})
}

// proves: L2
func TestL2_PresetsCanBeChangedAtTheCall(t *testing.T) {
	t.Parallel()
	p := preset(t, "storage")
	q, err := p.With(func(o *retry.Options) {
		o.Operation, o.Retries = "page download", 1
		o.Statuses[503] = failure.VerdictPermanent
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := q.Options(); o.Operation != "page download" || o.Retries != 1 || o.Dependency != "storage" {
		t.Errorf("got the options %+v after the change; want the operation page download, 1 retry and the dependency storage", o)
	}
	if o := p.Options(); o.Retries != 3 || o.Statuses[503] != "" {
		t.Errorf("a change of a copy also changed the preset, want no change; it is now %+v", o)
	}
	if text := q.String(); !strings.Contains(text, "Retries         1  (options)") || !strings.Contains(text, "HintCap         10s  (preset)") {
		t.Error(text)
	}
	if _, err := p.With(func(o *retry.Options) { o.Backoff.Cap = 0 }); err == nil {
		t.Error("a growing back-off without a cap was accepted, want an error")
	}
}

func TestNew_AllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	growing := backoff.Backoff{Formula: backoff.Exponential, First: time.Second}
	for name, c := range map[string]struct {
		o    retry.Options
		want []string
	}{
		"no cap":           {retry.Options{Backoff: growing}, []string{"Backoff.cap", "set Cap"}},
		"no delay":         {retry.Options{Backoff: backoff.Backoff{Waits: []time.Duration{0}}}, []string{"never waits", "Immediate"}},
		"negative":         {retry.Options{AttemptTimeout: -1, MaxElapsed: -1, Retries: -2}, []string{"AttemptTimeout", "MaxElapsed", "Retries -2"}},
		"endless":          {retry.Options{Retries: 1 << 40}, []string{"Retries", "1000"}},
		"a verdict":        {retry.Options{Statuses: map[int]failure.Verdict{503: "again"}, Classes: map[failure.Class]failure.Verdict{"X": failure.VerdictCrash}}, []string{"Statuses[503]", "Classes[X]"}},
		"a status":         {retry.Options{Statuses: map[int]failure.Verdict{99: failure.VerdictRetry}}, []string{"Statuses[99]"}},
		"the lease":        {retry.Options{Lease: 10 * time.Second, AttemptTimeout: time.Second}, []string{"Lease 10s", "a call can take"}},
		"a lease, no end":  {retry.Options{Lease: time.Hour}, []string{"Lease 1h", "needs AttemptTimeout"}},
		"a lease, elapsed": {retry.Options{Lease: time.Minute, MaxElapsed: 50 * time.Second}, []string{"Lease 1m", "needs AttemptTimeout"}},
		"a lease, cut hints": {retry.Options{Lease: 5 * time.Minute, AttemptTimeout: time.Second, CutHints: true, HintCap: time.Hour},
			[]string{"Lease 5m", "a call can take 3h"}},

		"hints":  {retry.Options{HintCap: 48 * time.Hour}, []string{"HintCap 2d", "HandOverCap 24h"}},
		"useful": {retry.Options{MinUseful: time.Minute, MaxElapsed: time.Second}, []string{"MinUseful 1m", "MaxElapsed 1s"}},
	} {
		_, err := retry.New("ocr", c.o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not contain %q, want it there: %v", name, want, err)
			}
		}
	}
	if _, err := retry.New("", retry.Options{Retries: -5, MinUseful: -1}); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("New with three mistakes: got the error %v, want one line for each mistake", err)
	}
	for name, o := range map[string]retry.Options{
		"nothing": {}, "immediate": {Immediate: true}, "lease": {Lease: time.Hour, AttemptTimeout: time.Minute},
		"lease, elapsed": {Lease: time.Minute, MaxElapsed: 50 * time.Second, AttemptTimeout: 9 * time.Second}, "none": {Retries: retry.None},
	} {
		if _, err := retry.New("ocr", o); err != nil {
			t.Errorf("%s: New returned the error %v for valid options, want none", name, err)
		}
	}
}

func TestPresets_AreNamed(t *testing.T) {
	t.Parallel()
	if got := retry.Presets(); !slices.Equal(got, []string{"google-vision", "http", "openai", "storage"}) {
		t.Error(got)
	}
	for _, name := range retry.Presets() {
		if p := preset(t, name); p.Name() != name {
			t.Errorf("the strategy of preset %s has the name %s, want the name of the preset", name, p.Name())
		}
	}
}
