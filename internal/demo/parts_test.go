package demo

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// rendered returns the policy file of a spec without its name and with all waits set to the
// same length, so that other differences can be found.
func rendered(spec policy.Spec) string {
	eachBackoff(&spec, func(b *backoff.Backoff) {
		eachWait(b, func(d time.Duration) time.Duration { return min(d, 1) * time.Second })
	})
	spec.Name = "x"
	return string(policyfile.Render(&spec))
}

func TestShortenedPresetsDifferOnlyInWaits(t *testing.T) {
	t.Parallel()
	for i, kind := range kinds {
		preset, err := policyfile.Preset(kind)
		if err != nil {
			t.Fatal(err)
		}
		p, err := shortened(kind, divisors[i])
		if err != nil {
			t.Fatal(err)
		}
		again, err := policyfile.Parse(kind, p.Source())
		if err != nil {
			t.Fatal(err)
		}
		long, short := preset.Spec.Default.Backoff, again.Spec.Default.Backoff
		for n := 1; n <= 4; n++ {
			if short.Nominal(n)*time.Duration(divisors[i]) != long.Nominal(n) {
				t.Errorf("preset %s, retry %d: got the wait %s, want %s divided by %d", kind, n, short.Nominal(n), long.Nominal(n), divisors[i])
			}
		}
		if p.Hash() == preset.Policy.Hash() {
			t.Errorf("preset %s: the shortened policy has the same hash as the preset, want another hash", kind)
		}
		if was, is := rendered(preset.Spec), rendered(again.Spec); was != is {
			t.Errorf("preset %s: the shortened policy differs from the preset not only in its waits:\n%s\n%s", kind, was, is)
		}
	}
}

func TestSeedPicksTheJobsWithFaults(t *testing.T) {
	t.Parallel()
	for _, n := range []int{JobsMin, JobsDefault, 3 * JobsDefault} {
		one, same, other := planned(1, makeJobs(1, n)), planned(1, makeJobs(1, n)), planned(2, makeJobs(2, n))
		if !maps.Equal(one, same) {
			t.Errorf("%d jobs: two plans with the same seed differ, want equal plans", n)
		}
		if maps.Equal(one, other) {
			t.Errorf("%d jobs: two different seeds gave the same plan, want different plans", n)
		}
		count := func(p plan) map[encounter]int {
			all := map[encounter]int{}
			for _, e := range p {
				all[e]++
			}
			return all
		}
		if !maps.Equal(count(one), count(other)) {
			t.Errorf("%d jobs: two different seeds gave different numbers of faults, want equal numbers", n)
		}
		for _, kind := range kinds {
			for _, e := range encounters(kind) {
				if count(one)[e] == 0 {
					t.Errorf("%d jobs: no job gets the fault %v, want at least one", n, e)
				}
			}
		}
		if jobs := makeJobs(1, n); len(jobs) != n {
			t.Errorf("makeJobs returned %d jobs, want %d", len(jobs), n)
		}
	}
}

// A block of lines on a terminal must fit in its rows and columns, because lines that wrap
// or scroll cannot be overwritten.
func TestBlockFitsTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := view{out: &out, screen: Screen{Terminal: true, Color: true, Columns: 20, Rows: 5}}
	if line := v.row(span{v.red, "1234567890"}, span{nil, "äöüäöüäöüäöü"}); line != "\x1b[31m1234567890\x1b[0mäöüäöüäö…" {
		t.Errorf("row returned the line %q, want it cut to 20 columns", line)
	}
	v.draw(strings.Split("a b c d e f g", " "))
	if want := "a\x1b[K\nb\x1b[K\nc\x1b[K\nd\x1b[K\n\x1b[J"; out.String() != want {
		t.Errorf("the block of lines is written as %q, want %q", out.String(), want)
	}
	out.Reset()
	v.say("said")
	if want := "\x1b[4A\rsaid\x1b[K\n\x1b[J"; out.String() != want {
		t.Errorf("the line above the block is written as %q, want %q", out.String(), want)
	}
	out.Reset()
	v.draw([]string{"a"})
	if want := "a\x1b[K\n\x1b[J"; out.String() != want {
		t.Errorf("the block below that line is written as %q, want %q", out.String(), want)
	}
	if text := fit("a\x1b[31mb\nc", 20); text != "a [31mb c" {
		t.Errorf("fit returned %q, want a text without control characters", text)
	}
}

func TestToolFailsOnFaultyFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trouble trouble
		code    int
		says    string
	}{
		{"", 0, "Input"}, {fileBroken, 1, "moov atom not found"}, {fileHungry, 137, "Cannot allocate memory"}, {fileConfused, 1, "Conversion failed!"},
	} {
		folder := t.TempDir()
		in, out := folder+"/in", folder+"/out"
		if err := os.WriteFile(in, clip("k", c.trouble), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		if code := Tool(t.Context(), []string{"encode", out, in}, &stderr); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("file with fault %q: got exit code %d and output %q, want exit code %d and an output that contains %q", c.trouble, code, stderr.String(), c.code, c.says)
		}
	}
	var stderr bytes.Buffer
	if code := Tool(t.Context(), nil, &stderr); code != 2 {
		t.Errorf("without arguments the tool returned exit code %d, want 2", code)
	}
	if err := fmt.Sprint(&UntrueError{[]string{"a", "b"}}); !strings.HasSuffix(err, "\n  a\n  b") {
		t.Errorf("got the error %q, want an error that lists the two unmet expectations", err)
	}
}
