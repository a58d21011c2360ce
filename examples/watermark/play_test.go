package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain lets the test binary be the worker's process, which is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "work" {
		if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// needFFmpeg skips a test where FFmpeg is not installed.
func needFFmpeg(t *testing.T) {
	t.Helper()
	for _, name := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s is installed (on Debian: apt-get install ffmpeg fonts-dejavu-core): FFmpeg makes the copies", name)
		}
	}
}

// The play checks each of its steps: 46 of 50 completed and 4 dead after one execution each, PARTIAL,
// one banner, each mail and webhook once, the exact waits of a transient failure, a killed worker, READY after a click.
//
// proves: B5, Y4
//
// part of: N2, N3, B1, B2, B4, R7, N1, U1, U2
func TestB5_Y4_ThePlayOfTheCampaign(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 60 copies with FFmpeg")
	}
	needFFmpeg(t)
	t.Parallel()
	var out, log strings.Builder
	if err := run(t.Context(), []string{"play", "-dir", t.TempDir()}, &out, &log); err != nil {
		t.Fatalf("%v\nThe play said:\n%s\nThe log:\n%s", err, out.String(), log.String())
	}
	t.Log(out.String())
}
