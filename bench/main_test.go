package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestEveryPeerDoesItsJobs runs each peer for real, in all modes. What a
// setting guarantees is written here, so that a change of it is seen.
func TestEveryPeerDoesItsJobs(t *testing.T) {
	t.Parallel()
	type guarantee struct {
		durability string
		keeps      bool // completed jobs leave a row
	}
	const full, normal = "journal_mode=wal synchronous=full", "journal_mode=wal synchronous=normal"
	guarantees := map[string]guarantee{
		"redrive default":      {full, true},
		"river-sqlite default": {full, true},
		"river-sqlite tuned":   {full, true},
		"backlite full":        {full, false},
		"backlite readme":      {normal, true},
	}
	const jobs = 100
	for _, s := range settings() {
		name := s.peer + " " + s.name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, ok := guarantees[name]
			if !ok {
				t.Fatal("say in this test what the setting guarantees")
			}
			for _, r := range runJSON(t, []setting{s}, "-jobs=100", "-workers=20", "-producers=20", "-limit=5m") {
				rowsLeft, calls := jobs, int64(jobs)
				if r.Mode == enqueue {
					calls = 0
				} else if !want.keeps {
					rowsLeft = 0
				}
				if r.Error != "" || r.Seconds <= 0 || r.PerSecond <= 0 {
					t.Errorf("%s: no number: %+v", r.Mode, r)
				}
				if r.Durability != want.durability || r.RowsLeft != rowsLeft || r.HandlerCalls != calls {
					t.Errorf("%s: %+v, want %s, %d rows left, %d calls", r.Mode, r, want.durability, rowsLeft, calls)
				}
			}
		})
	}
}

// runJSON runs the command on the given settings and decodes its lines.
func runJSON(t *testing.T, all []setting, args ...string) []result {
	t.Helper()
	var out, errOut bytes.Buffer
	code := run(t.Context(), append(args, "-json", "-dir", t.TempDir()), all, &out, &errOut)
	if code != 0 || errOut.Len() > 0 {
		t.Fatalf("exit %d: %s", code, &errOut)
	}
	var results []result
	for line := range strings.Lines(out.String()) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		results = append(results, r)
	}
	modes := []mode{enqueue, process, both}
	if !slices.EqualFunc(results, modes, func(r result, m mode) bool { return r.Mode == m }) {
		t.Fatalf("want one line for each of %v, got\n%s", modes, &out)
	}
	return results
}

func TestFailedRunIsPrintedAndFailsTheCommand(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"-json", "-json=false"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			var out, errOut bytes.Buffer
			all := []setting{(&fakePeer{enqueueFails: errDisk}).setting()}
			code := run(t.Context(), []string{"-mode", "enqueue", "-dir", t.TempDir(), form}, all, &out, &errOut)
			if code != 1 || errOut.String() != "1 of 1 runs failed\n" {
				t.Errorf("exit %d, %q", code, &errOut)
			}
			if !strings.Contains(out.String(), "enqueue: disk full") {
				t.Errorf("the error is not in the output:\n%s", &out)
			}
		})
	}
}

func TestWrongCommandLineIsNotRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"-peer", "rive"}, `-peer "rive": must be all, redrive, river-sqlite, backlite`},
		{[]string{"-mode", "procces"}, `-mode "procces": must be all, enqueue, process, both`},
		{[]string{"-peer", "backlite", "-setting", "tuned"}, `-setting "tuned": -peer backlite has none of that name`},
		{[]string{"-jobs", "0"}, "-jobs 0: must be from 1 to 10000000"},
		{[]string{"-workers", "10001"}, "-workers 10001: must be from 1 to 10000"},
		{[]string{"-producers", "-1"}, "-producers -1: must be from 1 to 10000"},
		{[]string{"-payload", "65537"}, "-payload 65537: must be from 0 to 65536"},
		{[]string{"-limit", "0s"}, "-limit 0s: must be more than 0"},
		{[]string{"backlite"}, `"backlite" is no flag: everything is given by flags`},
		{[]string{"-job", "5"}, "flag provided but not defined: -job"},
		{[]string{"-jobs", "0", "-payload", "-1"}, "-jobs 0: must be from 1 to 10000000\n-payload -1: must be from 0 to 65536"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			var out, errOut bytes.Buffer
			code := run(t.Context(), tt.args, settings(), &out, &errOut)
			if code != 2 || errOut.String() != tt.want+"\n" || out.Len() > 0 {
				t.Errorf("exit %d, %q, %q; want 2, %q", code, &errOut, &out, tt.want)
			}
		})
	}
}

func TestHelpNamesThePeers(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, settings(), &out, &errOut); code != 0 {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(errOut.String(), "river-sqlite, backlite") {
		t.Errorf("help:\n%s", &errOut)
	}
}
