package preset_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// transient returns failures of a call that can succeed when the call is sent again.
var transient = []figures{
	{name: "429", runs: []run{failing("upstream said no", status(429)), failing("Rate limit exceeded")}, class: failure.RateLimitExceeded},
	{name: "5xx", runs: []run{
		failing("upstream said no", status(500)), failing("upstream said no", status(502)), failing("upstream said no", status(503)),
	}, class: failure.TemporaryServiceError},
	{name: "504", runs: []run{failing("upstream said no", status(504)), failing("connection reset by peer")}, class: failure.NetworkTimeout},
}

// proves: P3
func TestP3_OcrCalls(t *testing.T) {
	t.Parallel()
	p := load(t, "ocr", "").Policy
	for kind, ceilings := range map[string][]time.Duration{
		"openai": seconds(2, 4, 8), "google_vision": seconds(1, 2, 4), "storage": seconds(1, 2, 4),
	} {
		for _, f := range transient {
			f.life.kind, f.waits, f.bounds, f.reason = kind, ceilings, upTo, exhausted
			f.check(t, p)
		}
	}
	// The default number of retries is too small for the waits to reach their caps, so this job
	// allows nine retries.
	for kind, capped := range map[string]time.Duration{"openai": 30 * time.Second, "google_vision": 15 * time.Second, "storage": 10 * time.Second} {
		many := 9
		got := nominal(life{kind: kind, message: &policy.Override{MaxRetries: &many}}.execute(t, p, failing("upstream said no", status(503))))
		if len(got) != 9 || got[8] != capped {
			t.Errorf("%s: got the waits %v, want nine waits, the last equal to the cap %v", kind, got, capped)
		}
	}
}

// proves: P3
//
// part of: F6
func TestP3_WhatEndsACallAtOnce_F6(t *testing.T) {
	t.Parallel()
	p := load(t, "ocr", "").Policy
	known := []int{400, 401, 402, 403, 404, 409, 410, 413, 422} // HTTP statuses that have a more specific class
	for _, kind := range []string{"openai", "google_vision", "storage", "document"} {
		for s := 400; s < 500; s++ {
			if s == 429 {
				continue
			}
			all := life{kind: kind}.execute(t, p, failing("the server said no", status(s)))
			if len(all) != 1 || all[0].Reason != permanent || (all[0].Class == "ClientError") == slices.Contains(known, s) {
				t.Errorf("%s, status %d: got %d attempts and the class %s by the rule %s, want one attempt and a permanent failure", kind, s, len(all), all[0].Class, all[0].By.Rule)
			}
		}
		for _, r := range []run{failing("something odd happened"), failing("")} {
			if all := (life{kind: kind}).execute(t, p, r); len(all) != 1 || all[0].Reason != permanent || all[0].Class != failure.UnknownError {
				t.Errorf("%s, unknown failure: got %d attempts and the class %s, want 1 attempt and UnknownError", kind, len(all), all[0].Class)
			}
		}
	}
}

// When a call has used up its retries, its job is due again after 300 s plus a short random
// time. This happens at most three times for a job.
// proves: P3
func TestP3_OcrJobs(t *testing.T) {
	t.Parallel()
	p := load(t, "ocr", "").Policy
	for _, f := range transient {
		f.life.kind, f.waits, f.bounds, f.reason = "document", seconds(300, 300, 300), plus(30*time.Second, time.Hour), exhausted
		f.check(t, p)
	}
	mixed := life{kind: "document"}.execute(t, p, transient[0].runs[0], transient[1].runs[0], transient[2].runs[0], transient[0].runs[0])
	if len(mixed) != 4 {
		t.Errorf("calls that fail with different classes and hand their job over: got %d attempts, want 4", len(mixed))
	}
}

// A call waits as long as a hint asks for, up to the cap of the call. A longer hint ends the
// call, and the job waits instead. Hints are never shortened.
// proves: P3
// part of: R3
func TestP3_HintsOfCalls_R3(t *testing.T) {
	t.Parallel()
	p := load(t, "ocr", "").Policy
	hinted := func(d time.Duration) run {
		return failing("slow down", status(429), func(e *failure.Evidence) { e.RetryAfter = d })
	}
	for kind, most := range map[string]time.Duration{"openai": 30 * time.Second, "google_vision": 15 * time.Second, "storage": 10 * time.Second} {
		if got := waits(life{kind: kind}.execute(t, p, hinted(most))); len(got) != 3 || got[0] != most {
			t.Errorf("%s, a hint of %v: got the waits %v, want three waits, the first equal to the hint", kind, most, got)
		}
		for _, d := range []time.Duration{most + time.Microsecond, 120 * time.Second} {
			if all := (life{kind: kind}).execute(t, p, hinted(d)); len(all) != 1 || all[0].Reason != job.HintTooLong {
				t.Errorf("%s, a hint of %v: got %d attempts and the reason %s, want 1 attempt and hint_too_long", kind, d, len(all), all[0].Reason)
			}
		}
	}
	if got := waits(life{kind: "document"}.execute(t, p, hinted(600*time.Second))); len(got) != 3 || got[0] != 600*time.Second {
		t.Errorf("the job with a hint of 10m: got the waits %v, want three waits, the first of 10m", got)
	}
	// With this setting, the preset behaves exactly like the OCR system that it was made for.
	p = load(t, "ocr", "kinds: {google_vision: {hint: {mode: cap}}}").Policy
	if got := waits(life{kind: "google_vision"}.execute(t, p, hinted(120*time.Second))); len(got) != 3 || got[0] != 15*time.Second {
		t.Errorf("a hint with the mode cap: got the waits %v, want three waits, the first of 15s", got)
	}
}

// part of: R8
func TestR8_StagesOfOcr(t *testing.T) {
	t.Parallel()
	kinds := []string{"google_vision", "storage", "openai", "document"}
	for stage, enforced := range map[string]int{"ocr": 1, "storage": 2, "language-model": 3, "production": 4} {
		p := load(t, "ocr", "rollout: {stage: "+stage+"}").Policy
		for i, kind := range kinds {
			all := life{kind: kind, u: 0.5}.execute(t, p, failing("upstream said no", status(503)))
			if want := i < enforced; all[0].Observed == want || (len(all) == 4) != want {
				t.Errorf("stage %s, kind %s: got observed %v and %d attempts, want observed %v", stage, kind, all[0].Observed, len(all), !want)
			}
		}
	}
}
