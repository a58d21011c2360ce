package preset_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

// proves: P4
//
// part of: F7
func TestP4_Watermark_F7(t *testing.T) {
	t.Parallel()
	p := load(t, "watermark", "").Policy
	for _, f := range []figures{
		{name: "killed", runs: []run{failing("exit status 137", exit(137)), failing("signal: killed", func(e *failure.Evidence) { e.Signal = "SIGKILL" })}, class: failure.ResourceConstraint},
		{name: "disk full", runs: []run{
			failing("av_interleaved_write_frame(): No space left on device"),
			failing("out.mp4: No space left on device\nin.mp4: Invalid data found when processing input"),
			failing("in.mp4: Invalid data found when processing input\nError writing trailer of out.mp4: No space left on device", exit(228)),
		}, class: failure.ResourceConstraint},
		{name: "time limit", runs: []run{timeLimit()}, class: failure.AttemptTimeout},
		{name: "unknown", runs: []run{failing("something odd happened"), failing("exit status 1", exit(1))}, class: failure.UnknownError},
	} {
		f.waits, f.bounds, f.reason = seconds(60, 300, 900), exact, exhausted
		f.check(t, p)
	}
	for _, r := range []run{ // the preset does not list these failures as permanent, so they are retried, whatever their class is
		failing("context deadline exceeded"), failing("open /out/a.mp4: permission denied"), failing("write /out/a.mp4: input/output error"),
		failing(`exec: "ffmpeg": executable file not found in $PATH`), failing("/usr/bin/env: 'python3': No such file or directory", exit(127)),
		failing("fork/exec /opt/input/watermark: no such file or directory"), failing("upstream said no", status(404)), failing("401 Unauthorized"),
		failing("can't open the font file for input text"),
	} {
		all := life{}.execute(t, p, r)
		if got := waits(all); len(got) != 3 || got[0] != time.Minute || got[1] != 5*time.Minute || got[2] != 15*time.Minute {
			t.Errorf("%s: got the waits %v with the class %s by the rule %s, want 1m, 5m and 15m", r.evidence.Message, got, all[0].Class, all[0].By.Rule)
		}
	}
	for _, f := range []figures{
		{name: "broken", runs: []run{
			failing("in.mp4: Invalid data found when processing input", exit(1)), failing("[mov,mp4] moov atom not found"),
		}, class: "BrokenInput"},
		{name: "missing", runs: []run{failing("stat /data/in.mp4: no such file or directory", code("INPUT_MISSING"))}, class: "MissingInput"},
		{name: "unknown job", runs: []run{failing("unknown job type: blur"), failing("x", code("UNKNOWN_JOB_TYPE"))}, class: "UnknownJobType"},
	} {
		f.bounds, f.reason = exact, permanent
		f.check(t, p)
	}
}

// One limit applies to all failures together: a failure of another class does not start a
// new count, and no kind has a limit of its own.
// proves: P4
func TestP4_TheLimitIsSystemWide(t *testing.T) {
	t.Parallel()
	p := load(t, "watermark", "").Policy
	all := life{kind: "other"}.execute(t, p, failing("exit status 137", exit(137)), failing("something odd happened"), failing("upstream said no", status(503)), timeLimit())
	if got := waits(all); len(all) != 4 || got[0] != time.Minute || got[1] != 5*time.Minute || got[2] != 15*time.Minute {
		t.Errorf("got the waits %v, want 1m, 5m and 15m", got)
	}
}

// part of: R7
func TestR7_DetectIsNotRetried(t *testing.T) {
	t.Parallel()
	p := load(t, "watermark", "").Policy
	for _, r := range []run{failing("something odd happened"), failing("upstream said no", status(503)), timeLimit(), failing("moov atom not found")} {
		if all := (life{kind: "detect"}).execute(t, p, r); len(all) != 1 || all[0].Action != policy.Die {
			t.Errorf("%s: got %d attempts, want one attempt and a dead job", r.evidence.Message, len(all))
		}
	}
}

// part of: F7
func TestF7_TheSameEvidenceByKind(t *testing.T) {
	t.Parallel()
	p := load(t, "watermark", `
classify:
  phrases: [{match: moov atom not found, class: TemporaryServiceError, kinds: live}]
`).Policy
	for kind, want := range map[string]int{"live": 4, "vod": 1} {
		if all := (life{kind: kind}).execute(t, p, failing("moov atom not found")); len(all) != want {
			t.Errorf("kind %s: got %d attempts, want %d", kind, len(all), want)
		}
	}
}

// part of: Q14
func TestQ14_WordsOfWatermark(t *testing.T) {
	t.Parallel()
	w := load(t, "watermark", "").Spec.Words
	states(t, w, map[string]string{"waiting": "PENDING", "retrying": "PENDING", "running": "RUNNING", "completed": "COMPLETED", "dead": "FAILED"})
	values := policy.ErrorValues{Class: "BrokenInput", Retries: 1, MaxRetries: 3}
	errorObject(t, w, values, `{"retry_count":1,"max_retries":3,"next_retry_at":null}`)
	values.NextRetryAt = time.Date(2026, 11, 20, 14, 8, 0, 0, time.UTC)
	errorObject(t, w, values, `{"retry_count":1,"max_retries":3,"next_retry_at":"2026-11-20T14:08:00Z"}`)
}
