package preset_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

// renderFailures are failures of the render worker: its error codes with various causes,
// and messages of FFmpeg.
var renderFailures = []figures{
	{name: "IMAGE_DOWNLOAD_FAILED", runs: []run{
		failing("GET https://img.example.org/a.png: 404 Not Found", code("IMAGE_DOWNLOAD_FAILED"), status(404)),
		failing("GET https://img.example.org/a.png: 403 Forbidden", code("IMAGE_DOWNLOAD_FAILED"), status(403)),
		failing("lookup img.example.org: no such host", code("IMAGE_DOWNLOAD_FAILED")),
	}, class: "ImageDownloadFailed"},
	{name: "FFMPEG_ERROR", runs: []run{
		failing("exit 0 without the output file", code("FFMPEG_ERROR"), exit(0)),
		failing("exit status 1", code("FFMPEG_ERROR"), exit(1)),
		failing("a.mp4: Invalid data found when processing input", code("FFMPEG_ERROR"), exit(183)),
		failing("Unrecognized option 'foo'", code("FFMPEG_ERROR"), exit(1)),
		failing("[mov] moov atom not found\na.mp4: Invalid data found when processing input"),
	}, class: "FFmpegError"},
	{name: "FFMPEG_TIMEOUT", runs: []run{
		failing("killed after 300000 ms", code("FFMPEG_TIMEOUT")), timeLimit(),
	}, class: failure.AttemptTimeout},
	{name: "STORAGE_UPLOAD_FAILED", runs: []run{
		failing("AccessDenied", code("STORAGE_UPLOAD_FAILED"), status(403)), failing("SlowDown", code("STORAGE_UPLOAD_FAILED"), status(503)),
	}, class: "StorageUploadFailed"},
	{name: "unknown", runs: []run{failing("something odd happened")}, class: failure.UnknownError},
	{name: "transient", runs: []run{failing("upstream said no", status(503))}, class: failure.TemporaryServiceError},
}

// proves: P2, F12
func TestP2_Render_F12(t *testing.T) {
	t.Parallel()
	p := load(t, "render", "").Policy
	for _, f := range renderFailures {
		f.waits, f.bounds, f.reason = seconds(1, 2), exact, exhausted
		f.check(t, p)
	}
	for _, s := range []int{400, 401, 403, 404, 409, 410, 413, 422} {
		if all := (life{}).execute(t, p, failing("the server said no", status(s))); len(all) != 1 || all[0].Reason != permanent {
			t.Errorf("status %d without an error code of the worker: got %d attempts, want one attempt and a permanent failure", s, len(all))
		}
	}
}

// proves: P2
func TestP2_AFourthExecution(t *testing.T) {
	t.Parallel()
	p := load(t, "render", "default: {max_attempts: 4}").Policy
	for _, f := range renderFailures {
		f.waits, f.bounds, f.reason = seconds(1, 2, 4), exact, exhausted
		f.check(t, p)
	}
	three := 3
	l := life{message: &policy.Override{MaxRetries: &three}}
	if got := waits(l.execute(t, load(t, "render", "").Policy, failing("x"))); len(got) != 3 || got[2] != 4*time.Second {
		t.Errorf("with the job's own settings: got the waits %v, want three waits, the last of 4s", got)
	}
}

// The attempts of a job are counted together: a failure of another class does not start a
// new count.
// proves: P2
func TestP2_AllFailuresCount(t *testing.T) {
	t.Parallel()
	p := load(t, "render", "").Policy
	all := life{}.execute(t, p, renderFailures[0].runs[0], renderFailures[1].runs[0], renderFailures[3].runs[0])
	if len(all) != 3 || all[0].Wait != time.Second || all[1].Wait != 2*time.Second {
		t.Errorf("got %d attempts with the waits %v, want 3 attempts with the waits 1s and 2s", len(all), waits(all))
	}
}

// part of: Q14
func TestQ14_WordsOfRender(t *testing.T) {
	t.Parallel()
	w := load(t, "render", "").Spec.Words
	states(t, w, map[string]string{"waiting": "QUEUED", "running": "PROCESSING", "retrying": "PROCESSING", "completed": "COMPLETED", "dead": "FAILED", "dead/stalled": "FAILED"})
	values := policy.ErrorValues{Class: "FFmpegError", Code: "FFMPEG_ERROR", Message: "exit status 1", Attempt: 3}
	errorObject(t, w, values, `{"code":"FFMPEG_ERROR","message":"exit status 1"}`)
	values.Details, values.Stack = []byte(`{"clip":3}`), "main.go:1"
	errorObject(t, w, values, `{"code":"FFMPEG_ERROR","message":"exit status 1","details":{"clip":3},"stack":"main.go:1"}`)
}
