package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
)

// films makes files as people upload them, by name.
func films(r *rig) (dir string) {
	r.Helper()
	needFFmpeg(r.T)
	dir = r.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	r.must(r.makeClip(r.Context(), path("clip.mp4"), "320x180", 2))
	r.must(r.makePicture(r.Context(), path("picture.png")))
	whole, err := os.ReadFile(path("clip.mp4"))
	r.must(err)
	picture, err := os.ReadFile(path("picture.png"))
	r.must(err)
	for name, data := range map[string][]byte{
		"cut.mp4": whole[:len(whole)/2], "text.mp4": []byte("This is no clip.\n"), "empty.mp4": nil, "cut.png": picture[:500], "removed.mp4": whole,
	} {
		r.must(os.WriteFile(path(name), data, 0o600))
	}
	return dir
}

// What FFmpeg says of damaged uploads is permanent. What a machine does is not: a kill, a missing
// interpreter, exit code 0 without an output.
//
// part of: F7, P4
func TestF7_WhatFFmpegSays_P4(t *testing.T) {
	t.Parallel()
	r := newRig(t, "ffmpeg")
	dir := films(r)
	for _, c := range []struct {
		file, ffmpeg, stamp, class string
		dead                       bool
	}{
		{file: "cut.mp4", class: "BrokenInput", dead: true},
		{file: "text.mp4", class: "BrokenInput", dead: true},
		{file: "empty.mp4", class: "BrokenInput", dead: true},
		{file: "cut.png", class: "BrokenInput", dead: true},
		{file: "removed.mp4", class: "MissingInput", dead: true},
		{file: "clip.mp4", ffmpeg: "#!/bin/sh\nkill -9 $$\n", class: "ResourceConstraint"},
		{file: "clip.mp4", ffmpeg: "#!/bin/sh\nexit 137\n", class: "ResourceConstraint"},
		{file: "clip.mp4", ffmpeg: "#!/bin/sh\nexit 0\n", class: "UnknownError"},
		{file: "clip.mp4", ffmpeg: "#!/usr/bin/env no-such-interpreter\n", class: "NotFound"},
		{file: "picture.png", stamp: "#!/usr/bin/env no-such-interpreter\n", class: "NotFound"},
	} {
		t.Run(strings.TrimSpace(c.file+" "+strings.TrimPrefix(c.ffmpeg+c.stamp, "#!")), func(t *testing.T) {
			r.T = t
			r.ffmpeg, r.stamp = "ffmpeg", filepath.Join(r.dir, "stamp")
			if c.ffmpeg != "" {
				r.ffmpeg = r.file(filepath.Join(t.TempDir(), "ffmpeg"), c.ffmpeg)
			}
			if c.stamp != "" {
				r.stamp = r.file(filepath.Join(t.TempDir(), "stamp"), c.stamp)
			}
			asset := r.assetOf(r.ann, filepath.Join(dir, c.file))
			if c.file == "removed.mp4" {
				r.must(os.Remove(filepath.Join(r.dir, "assets", asset+".mp4")))
			}
			path := r.newCampaign(r.ann, asset, "visible", "on", "invisible", "on")
			token := r.add(r.ann, path, "Zoe: 100% <b>'\"\\", "")
			r.post(r.ann, path+"/publish")
			r.work()
			j, f := r.job(token)
			if f.Class != c.class || (j.State == job.Dead) != c.dead {
				t.Fatalf("got %s, class %s: %s\n%s; want class %s, dead %v", j.State, f.Class, f.Message, f.Stderr, c.class, c.dead)
			}
			if wait := j.RunAt.Time().Sub(f.EndedAt.Time()); !c.dead && wait != time.Minute {
				t.Errorf("got a wait of %s, want 1m", wait)
			}
			r.noParts()
			// When what was missing is there, the copy is made.
			r.ffmpeg, r.stamp = "ffmpeg", filepath.Join(r.dir, "stamp")
			if c.dead {
				_, err := taken(r.ann.upload(t.Context(), "/assets", filepath.Join(dir, "clip"+filepath.Ext(c.file)), asset))
				if filepath.Ext(c.file) == ".png" {
					_, err = taken(r.ann.upload(t.Context(), "/assets", filepath.Join(dir, "picture.png"), asset))
				}
				r.must(err)
				r.post(r.ann, path+"/tokens/"+token+"/retry")
			}
			r.advance(time.Minute)
			r.work()
			if j, f := r.job(token); j.State != job.Completed {
				t.Errorf("got %s: %s\n%s; want completed", j.State, f.Message, f.Stderr)
			}
			r.noParts()
			if found, err := readMark(filepath.Join(r.dir, "copies", token+filepath.Ext(c.file))); err != nil || found != token {
				t.Errorf("got the mark %q, error %v; want the token", found, err)
			}
		})
	}
}

// noParts checks that no part of a copy has stayed.
func (r *rig) noParts() {
	r.Helper()
	parts, err := filepath.Glob(filepath.Join(r.dir, "copies", "*part*"))
	if err != nil || len(parts) > 0 {
		r.Errorf("parts of copies have stayed: %v, error %v", parts, err)
	}
}

// The copies are on a file system of 2 MiB that is full.
//
// part of: F7
func TestF7_TheDiskOfTheCopiesIsFull(t *testing.T) {
	needFFmpeg(t)
	r := newRig(t, "ffmpeg")
	copies := filepath.Join(r.dir, "copies")
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", copies).CombinedOutput(); err != nil {
		t.Skipf("no small file system can be mounted, which needs root: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() { r.must(syscall.Unmount(copies, 0)) })
	filler := filepath.Join(copies, "filler")
	if err := os.WriteFile(filler, make([]byte, 3<<20), 0o600); err == nil {
		t.Fatal("3 MiB were written on a file system of 2 MiB")
	}
	dir := films(r)
	path := r.newCampaign(r.ann, r.assetOf(r.ann, filepath.Join(dir, "clip.mp4")), "visible", "on", "invisible", "on")
	token := r.add(r.ann, path, "Zoe", "")
	r.post(r.ann, path+"/publish")
	r.work()
	if j, f := r.job(token); j.State != job.Retrying || f.Class != "ResourceConstraint" {
		t.Errorf("got %s, class %s: %s\n%s; want it retried as ResourceConstraint", j.State, f.Class, f.Message, f.Stderr)
	}
	r.noParts()
	r.must(os.Remove(filler))
	r.advance(time.Minute)
	r.work()
	if j, f := r.job(token); j.State != job.Completed {
		t.Errorf("with room on the disk: got %s: %s; want completed", j.State, f.Message)
	}
}
