package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The badge of attempts comes with the first retry and never passes the limit: the fourth failure shows
// 3/3.
//
// part of: U1, B1
func TestTrap27_Badges(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	now := store.Batch{State: job.BatchProcessing}
	over := store.Batch{State: job.BatchExpired}
	at := func(state job.State, attempts int32) *job.Job {
		return &job.Job{State: state, Counters: job.Counters{Attempts: attempts, Crashes: 2}}
	}
	running := at(job.Running, 1)
	running.Progress = job.Progress{Done: 3, Total: 8}
	for _, c := range []struct {
		batch     *redrive.Batch
		j         *job.Job
		downloads int64
		want      string
	}{
		{&now, nil, 0, "PENDING "},
		{&now, at(job.Waiting, 0), 0, "PENDING "},
		{&now, at(job.Running, 0), 0, "PROCESSING (0 %) "},
		{&now, running, 0, "PROCESSING (37 %) 1/3"},
		{&now, at(job.Retrying, 1), 0, "PENDING 1/3"},
		{&now, at(job.Retrying, 3), 0, "PENDING 3/3"},
		{&now, at(job.Running, 3), 0, "PROCESSING (0 %) 3/3"},
		{&now, at(job.Dead, 4), 0, "FAILED 3/3"},
		{&now, at(job.Dead, 1), 0, "FAILED "}, // a permanent failure was not retried
		{&now, at(job.Completed, 1), 0, "ACTIVE "},
		{&now, at(job.Completed, 3), 0, "ACTIVE 2/3"},
		{&now, at(job.Completed, 1), 2, "CONSUMED "},
		{&over, at(job.Completed, 1), 2, "EXPIRED "},
		{&over, at(job.Dead, 1), 0, "EXPIRED "},
	} {
		v := r.view(&campaign{MaxDownloads: 2}, c.batch, &tokenRow{downloads: c.downloads}, c.j)
		if got := v.Badge() + " " + v.Attempts(); got != c.want {
			t.Errorf("job %+v, %d downloads, campaign %s: got the badges %q, want %q", c.j, c.downloads, c.batch.State, got, c.want)
		}
	}
}

// The kind detect is not retried, does not count in its campaign and has no button, also when the
// campaign is over.
//
// proves: R7
// part of: U1
func TestR7_DetectIsAside_Trap28(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	good := r.asset(r.ann, "good.mp4", "good")
	path := r.newCampaign(r.ann, good, "expires_at", "2026-03-01T10:00")
	r.add(r.ann, path, "Zoe", "")
	file := r.file(t.TempDir()+"/found.mp4", "no clip")
	detect := func() {
		t.Helper()
		_, err := taken(r.ann.upload(t.Context(), path+"/detect", file, ""))
		r.must(err)
		r.work()
	}
	r.ffprobe = r.file(t.TempDir()+"/ffprobe", "#!/bin/sh\necho boom >&2\nexit 1\n")
	detect() // in DRAFT
	r.post(r.ann, path+"/publish")
	r.work()
	detect() // in READY
	r.advance(2 * time.Hour)
	detect() // in EXPIRED
	page, err := r.ann.get(t.Context(), path)
	r.must(err)
	b, err := r.client.BatchHandle(1).Get(t.Context())
	if err != nil || b.State != job.BatchExpired || b.Total != 1 || b.Dead != 0 || b.Outcome != 1 {
		t.Errorf("got %+v, error %v; want EXPIRED with one completed member and one outcome", b, err)
	}
	if n := strings.Count(page.text(), "found.mp4: FAILED"); n != 3 || strings.Contains(page.body, "retry-form") {
		t.Errorf("got %d failed searches: %s; want 3, and no retry button", n, page.text())
	}
	dead, err := r.client.DeadLetters(t.Context(), redrive.DeadFilter{Kind: string(detectKind)}, redrive.DeadPaging{})
	r.must(err)
	for i := range dead.Entries {
		if j, err := r.client.Get(t.Context(), dead.Entries[i].DeadLetter.Job); err != nil || j.Token != 1 || !j.Aside {
			t.Errorf("got %+v, error %v; want one execution of a job that is aside", j, err)
		}
	}
}

// What people enter is text on every page, and has bounds with a name.
//
// part of: U1
func TestPages_WhatPeopleEnter(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	asset := r.asset(r.ann, "good.mp4", "good")
	const hostile = `<script>alert(1)</script> "'&{{.}} ` + "\u202eevil\u202c"
	path, err := r.ann.done(t.Context(), "/campaigns", "name", hostile, "asset", asset)
	r.must(err)
	r.add(r.ann, path, hostile, "")
	for _, of := range []string{path, "/campaigns"} {
		page, err := r.ann.get(t.Context(), of)
		r.must(err)
		if strings.Contains(page.body, "<script>alert") || !strings.Contains(page.body, "&lt;script&gt;alert(1)") {
			t.Errorf("%s: got %s; want what was entered as a text", of, page.body)
		}
	}
	ben := r.login("ben")
	for _, c := range []struct {
		p      *player
		path   string
		fields []string
		want   string
	}{
		{r.ann, "/campaigns", []string{"name", "", "asset", asset}, "400 The name of a campaign has 1 to 200 bytes."},
		{r.ann, "/campaigns", []string{"name", "x", "asset", "NOBODY"}, "404 Not found."},
		{ben, "/campaigns", []string{"name", "x", "asset", asset}, "404 Not found."},
		{r.ann, "/campaigns", []string{"name", "x", "asset", asset, "expires_at", "2026-03-01T08:00"}, "400 The campaign would be over already: choose a later time, or none."},
		{r.ann, "/campaigns", []string{"name", "x", "asset", asset, "expires_at", "soon"}, `400 Expires at "soon": must be a time such as 2026-12-24T18:00 (UTC).`},
		{r.ann, "/campaigns", []string{"name", "x", "asset", asset, "max_downloads", "many"}, `400 Downloads "many": must be a number.`},
		{r.ann, path + "/tokens", []string{"recipients", strings.Repeat("x", 201)}, "400 A recipient of 201 bytes: at most 200 are allowed."},
		{r.ann, path + "/tokens", []string{"recipients", numbers(1000)}, "400 A campaign has at most 1000 recipients; make a second campaign."},
		{ben, path + "/tokens", []string{"recipients", "Zoe"}, "404 Not found."},
		{ben, path + "/publish", nil, "404 Not found."},
		{ben, path + "/detect", []string{"same_as", asset}, "404 Not found."},
		{r.ann, "/assets", nil, "400 Choose a file."},
		{r.ann, "/t/NOBODY", nil, "405 Method Not Allowed"},
	} {
		a, err := c.p.post(t.Context(), c.path, c.fields...)
		r.must(err)
		if got := fmt.Sprintf("%d %s", a.status, strings.TrimSpace(a.body)); got != c.want {
			t.Errorf("%s %.80q: got %q, want %q", c.path, c.fields, got, c.want)
		}
	}
	if a, err := ben.get(t.Context(), path); err != nil || a.status != http.StatusNotFound {
		t.Errorf("another person's page: got %d, error %v; want 404", a.status, err)
	}
	if b, err := r.client.BatchHandle(1).Get(t.Context()); err != nil || b.Drafts != 1 {
		t.Errorf("after what was refused: got %d drafts, error %v; want 1", b.Drafts, err)
	}
	a, err := r.ann.upload(t.Context(), "/assets", r.file(t.TempDir()+"/text.txt", "x"), "")
	if err != nil || a.status != http.StatusBadRequest {
		t.Errorf("upload of a text: got %d %s, error %v; want 400", a.status, a.body, err)
	}
}

func numbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("Recipient ", i))
	}
	return strings.Join(all, "\n")
}

// A copy can be downloaded as often as its campaign allows, until the campaign is over.
//
// part of: U1, B1
func TestPages_Downloads(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	path := r.newCampaign(r.ann, r.asset(r.ann, "good.mp4", "good"), "max_downloads", "2", "expires_at", "2026-03-01T10:00")
	token, other := r.add(r.ann, path, "Zoe", ""), r.add(r.ann, path, "Yan", "")
	download := func(of string, want int) {
		t.Helper()
		if a, err := r.ann.get(t.Context(), "/t/"+of); err != nil || a.status != want {
			t.Errorf("download: got %d %s, error %v; want %d", a.status, a.body, err, want)
		}
	}
	download("NOBODY", http.StatusNotFound)
	download(token, http.StatusNotFound) // it is not made yet
	r.post(r.ann, path+"/publish")
	r.work()
	download(token, http.StatusOK)
	download(token, http.StatusOK)
	download(token, http.StatusGone)
	r.advance(time.Hour)
	download(other, http.StatusGone)
	if page, err := r.ann.get(t.Context(), path); err != nil || strings.Count(page.body, ">EXPIRED<") < 2 {
		t.Errorf("got %s, error %v; want EXPIRED copies", page.text(), err)
	}
}
