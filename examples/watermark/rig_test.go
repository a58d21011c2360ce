package main

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// stubFFmpeg stands for FFmpeg where a test is not about it. It does what the input says: "broken" ends
// as a clip that is cut off, "hold" waits until somebody opens the fifo beside the input, everything
// else is copied.
const stubFFmpeg = `#!/bin/sh
while [ "$1" != -i ]; do shift; done
in=$2
for out; do :; done
case $(cat "$in") in
broken) echo "$in: Invalid data found when processing input" >&2; exit 1 ;;
hold) cat "$in.fifo" >/dev/null ;;
esac
cp "$in" "$out"
`

// rig is the site and its worker in one process, on a clock that moves only when the test says so.
type rig struct {
	*testing.T
	*app
	site   *site
	ann    *player
	server *httptest.Server
	at     atomic.Int64 // nanoseconds since 1970
}

func (r *rig) Now() time.Time { return time.Unix(0, r.at.Load()) }

func (r *rig) AfterFunc(d time.Duration, f func()) redrive.Timer { return time.AfterFunc(d, f) }

func (r *rig) advance(d time.Duration) { r.at.Add(int64(d)) }

// newRig starts the site. Without a program, FFmpeg is a stub.
func newRig(t *testing.T, ffmpeg string) *rig {
	t.Helper()
	r := &rig{T: t}
	r.at.Store(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).UnixNano())
	dir := t.TempDir()
	if ffmpeg == "" {
		ffmpeg = filepath.Join(dir, "ffmpeg")
		r.file(ffmpeg, stubFFmpeg)
	}
	a, err := open(t.Context(), settings{dir: dir, ffmpeg: ffmpeg, ffprobe: "ffprobe", clock: r, workers: 1, log: slog.New(slog.DiscardHandler)})
	r.must(err)
	r.app = a
	a.handle()
	r.site, err = newSite(t.Context(), a)
	r.must(err)
	r.server = httptest.NewServer(r.site.handler())
	t.Cleanup(func() {
		r.site.close()
		r.server.Close()
		r.must(a.Close())
	})
	for _, name := range []string{"ann", "ben"} {
		r.must(a.addAccount(t.Context(), name, name, name+"@example.com", name))
	}
	r.ann = r.login("ann")
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// file writes a file that can be executed.
func (r *rig) file(path, text string) string {
	r.Helper()
	r.must(os.WriteFile(path, []byte(text), 0o755))
	return path
}

func (r *rig) login(name string) *player {
	r.Helper()
	p, err := newPlayer(r.server.URL)
	r.must(err)
	r.must(p.login(r.Context(), name+"@example.com", name))
	return p
}

// asset uploads a file with a text, and returns its id.
func (r *rig) asset(p *player, name, text string) string {
	r.Helper()
	return r.assetOf(p, r.file(filepath.Join(r.TempDir(), name), text))
}

func (r *rig) assetOf(p *player, path string) string {
	r.Helper()
	a, err := p.upload(r.Context(), "/assets", path, "")
	_, err = taken(a, err)
	r.must(err)
	return a.head.Get("Asset-Id")
}

// campaign makes a campaign, and returns its path.
func (r *rig) newCampaign(p *player, asset string, fields ...string) string {
	r.Helper()
	path, err := p.done(r.Context(), "/campaigns", append([]string{"name", "Premiere", "asset", asset}, fields...)...)
	r.must(err)
	return path
}

// add adds a recipient with a file, and returns the token.
func (r *rig) add(p *player, path, name, asset string) string {
	r.Helper()
	r.post(p, path+"/tokens", "recipients", name, "asset", asset)
	var token string
	r.must(r.db.QueryRowContext(r.Context(), `SELECT id FROM tokens WHERE campaign = ? AND recipient = ?`, strings.TrimPrefix(path, "/campaigns/"), name).Scan(&token))
	return token
}

// post sends a form that must be taken.
func (r *rig) post(p *player, path string, fields ...string) {
	r.Helper()
	_, err := p.done(r.Context(), path, fields...)
	r.must(err)
}

// work runs the jobs that are due.
func (r *rig) work() {
	r.Helper()
	r.must(r.client.RunUntilIdle(r.Context()))
}

// hold lets the job of an asset with the text "hold" run until the returned function is called.
func (r *rig) hold(asset string) (release func()) {
	r.Helper()
	fifo := filepath.Join(r.dir, "assets", asset+".mp4.fifo")
	r.must(syscall.Mkfifo(fifo, 0o600))
	return func() { r.must(os.WriteFile(fifo, nil, 0)) }
}

// running runs the client until the test ends, and waits until a token's job is claimed.
func (r *rig) running(token string) {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	done := make(chan error, 1)
	go func() { done <- r.client.Run(ctx) }()
	r.Cleanup(func() {
		stop()
		r.must(<-done)
	})
	j := r.jobOf(token)
	for e, err := range r.client.Events(r.Context(), event.Cursor{}, nil) {
		r.must(err)
		if e.Job == j && e.Type == event.JobClaimed {
			return
		}
	}
}

func (r *rig) jobOf(token string) (id job.ID) {
	r.Helper()
	r.must(r.db.QueryRowContext(r.Context(), `SELECT job FROM tokens WHERE id = ?`, token).Scan(&id))
	return id
}

// job returns the job of a token, and its last failure.
func (r *rig) job(token string) (job.Job, job.Failure) {
	r.Helper()
	j, err := r.client.Get(r.Context(), r.jobOf(token))
	r.must(err)
	failures, err := r.client.Failures(r.Context(), j.ID)
	r.must(err)
	if len(failures) == 0 {
		return j, job.Failure{}
	}
	return j, failures[len(failures)-1]
}
