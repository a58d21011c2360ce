//go:build unix

package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The worker of system V: what a job does stands in the texts of its clips.
const renderScript = `payload=$(cat)
touch "$TMPDIR/left"
case $payload in
*'"load"'*)
	echo load >>runs
	url=$(printf %s "$payload" | sed 's/.*"image":"\([^"]*\)".*/\1/')
	message=$(curl -sS --noproxy '*' "$url" 2>&1) && exit 0
	echo code IMAGE_DOWNLOAD_FAILED >&$REDRIVE_FD
	echo detail url "$url" >&$REDRIVE_FD
	echo "$message" >&2
	exit 22 ;;
*'"slow"'*)
	echo slow >>runs
	test "$REDRIVE_RUN" = 1 || exit 0
	sleep 1000 &
	echo $$ $! >children
	wait ;;
*'"once"'*) test "$REDRIVE_RUN" != 1 || { kill -KILL $PPID; sleep 60; } ;;
*'"twice"'*) kill -KILL $PPID; sleep 60 ;;
esac
`

const renderConfig = `database: redrive.db
temp_dir: tmp
lease: 3s
rescue_interval: 1s
shutdown_grace: 300ms
policy: quick.yaml
kinds:
  render: {command: [sh, render.sh], schema: timeline.json}
server:
  doors: {render: {path: /jobs, kind: render, words: render}}
`

// render is a server with the door of system V, and a worker that is started again when it is killed.
type render struct {
	*served
	dir        string
	stopWorker func()
}

func newRender(t *testing.T) *render {
	t.Helper()
	for _, name := range []string{"curl", "sh"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	timeline, err := os.ReadFile("../server/testdata/timeline.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"redrive.yaml": renderConfig, "render.sh": renderScript, "timeline.json": string(timeline),
		"quick.yaml": "version: 1\nname: quick\nextends: render\ndefault: {timeout: 1s, backoff: {waits: [10ms]}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &render{served: serve(t, dir), dir: dir}
	worker := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", "trap : TERM; while test ! -e over; do redrive work 2>>log & wait $!; done; wait")
	worker.Dir, worker.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	r.stopWorker = sync.OnceFunc(func() {
		err := os.WriteFile(filepath.Join(dir, "over"), nil, 0o600)
		if err == nil {
			err = syscall.Kill(-worker.Process.Pid, syscall.SIGTERM)
		}
		if err != nil {
			t.Error(err)
		}
		_ = worker.Wait() // the code is that of the last signal
	})
	t.Cleanup(r.stopWorker)
	return r
}

func (r *render) submit(image, text, duration string) (int, string) {
	r.Helper()
	return r.request(r.Context(), "POST", "/jobs", fmt.Sprintf(`{"timeline":{"clips":[{"image":%q,"text":%q,"duration":%s}]}}`, image, text, duration))
}

// ends waits until a job has a state of V, and returns what the API says about it.
func (r *render) ends(id int, status string) string {
	r.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for {
		_, door := r.request(r.Context(), "GET", fmt.Sprintf("/jobs/%d", id), "")
		code, body := r.request(r.Context(), "GET", fmt.Sprintf("/api/jobs/%d?wait=10s", id), "")
		if strings.Contains(door, fmt.Sprintf(`"status":%q`, status)) {
			return body
		}
		if code != http.StatusOK || time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(r.dir, "log"))
			r.Fatalf("job %d: got %s %s, want the status %s\n%s", id, door, body, status, log)
		}
	}
}

// proves: Y2
//
// System V from end to end, over its door and with real processes: no clips and a duration of 0 are refused; an image
// whose host does not answer is asked for three times; a render above its time limit is killed with its children and
// retried; a job whose worker is killed once completes, and one that kills it twice is dead. No directory is left.
func TestY2_RenderFromEndToEnd(t *testing.T) {
	t.Parallel()
	r := newRender(t)
	const image = "http://127.0.0.1:1/a.png" // nobody listens
	for _, tt := range []struct{ body, message string }{
		{`{"timeline":{"clips":[]}}`, "Timeline must have at least 1 clip"},
		{`{"timeline":{"clips":[{"image":"https://cdn.example/a.png","text":"x","duration":0}]}}`, "Duration must be at least 1 second"},
	} {
		if status, body := r.request(t.Context(), "POST", "/jobs", tt.body); status != http.StatusBadRequest || strings.TrimSpace(body) != fmt.Sprintf(`{"statusCode":400,"message":%q,"error":"Bad Request"}`, tt.message) {
			t.Errorf("%s: got %d %s, want 400 and %q", tt.body, status, body, tt.message)
		}
	}
	submit := func(want int, text string) {
		t.Helper()
		if status, body := r.submit(image, text, "5"); status != http.StatusCreated || !strings.HasPrefix(body, fmt.Sprintf(`{"id":"%d"`, want)) {
			t.Fatalf("submit %s: got %d %s, want 201 with job %d", text, status, body, want)
		}
	}
	submit(1, "once")
	r.ends(1, "COMPLETED")
	submit(2, "twice")
	if body := r.ends(2, "FAILED"); !strings.Contains(body, `"stalled"`) {
		t.Errorf("a job that kills two workers: got %s, want it stalled", body)
	}
	submit(3, "load")
	submit(4, "slow")
	if body := r.ends(3, "FAILED"); !strings.Contains(body, `"IMAGE_DOWNLOAD_FAILED"`) || !strings.Contains(body, image) {
		t.Errorf("an image that cannot be loaded: got %s, want IMAGE_DOWNLOAD_FAILED with the URL", body)
	}
	if body := r.ends(4, "COMPLETED"); !strings.Contains(body, `"FFMPEG_TIMEOUT"`) {
		t.Errorf("a render above its time limit: got %s, want FFMPEG_TIMEOUT before its success", body)
	}
	runs, err := os.ReadFile(filepath.Join(r.dir, "runs"))
	if err != nil || strings.Count(string(runs), "load") != 3 || strings.Count(string(runs), "slow") != 2 {
		t.Errorf("got the runs %q, error %v, want 3 of the image and 2 of the slow one", runs, err)
	}
	children, err := os.ReadFile(filepath.Join(r.dir, "children"))
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(children)) {
		stat, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", pid).Output() // no output: it has ended
		if state := strings.TrimSpace(string(stat)); state != "" && !strings.HasPrefix(state, "Z") {
			t.Errorf("process %s of the render is %s, want it killed", pid, state)
		}
	}
	r.stopWorker()
	sweep := exec.CommandContext(t.Context(), "redrive", "work", "--until-idle") // directories of killed processes are removed at a start
	sweep.Dir = r.dir
	if out, err := sweep.CombinedOutput(); err != nil {
		t.Errorf("the last worker ended with %v\n%s", err, out)
	}
	left, err := os.ReadDir(filepath.Join(r.dir, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("got the directories %v, error %v, want none", left, err)
	}
}
