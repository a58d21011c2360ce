//go:build linux

package processes

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/processes/line"
)

// reachMax is the longest time that a change by a person may take to reach all processes. Usually
// it takes milliseconds; the limit allows for a busy machine. A process that gets no notification
// checks for changes only rarely.
const (
	reachMax = 20 * time.Second
	seldom   = "10m"
)

var ann = store.By{Actor: "ann", Reason: "test"}

func (f *fleet) set(c store.QueueChange) {
	f.Helper()
	c.Name = "default"
	if _, err := f.store.SetQueue(f.Context(), ann, c); err != nil {
		f.Fatal(err)
	}
}

// most returns the highest number of jobs that ran concurrently after a given time, and the last
// time at which more than limit jobs ran.
func most(lines []line.Line, from time.Time, limit int) (n int, last time.Time) {
	type change struct {
		at int64
		by int
	}
	var changes []change
	for i := range lines {
		switch lines[i].Op {
		case line.Begin:
			changes = append(changes, change{lines[i].At, 1})
		case line.End:
			changes = append(changes, change{lines[i].At, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	running := 0
	for i, c := range changes {
		running += c.by
		if c.at >= from.UnixMicro() {
			n = max(n, running)
		}
		if running > limit {
			last = time.Now()
			if i+1 < len(changes) {
				last = time.UnixMicro(changes[i+1].at)
			}
		}
	}
	return n, last
}

// begun counts the runs that began at or after a given time.
func begun(lines []line.Line, from string, at time.Time) (n int) {
	for i := range lines {
		if l := &lines[i]; l.Op == line.Begin && (from == "" || l.From == from) && l.At >= at.UnixMicro() {
			n++
		}
	}
	return n
}

// proves: Q7
func TestQ7_APauseReachesAllProcesses(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	processes := f.up(3, "-kinds", "short", "-poll", seldom)
	f.enqueue("short", 3_000)
	f.busy("short", "all processes work", func(lines []line.Line) bool {
		return !slices.ContainsFunc(processes, func(p *process) bool { return count(lines, line.Begin, p.name) < 5 })
	})
	f.enqueue("short", 3_000)
	paused, active := store.Paused, store.Open
	f.set(store.QueueChange{Mode: &paused})
	said := time.Now()
	f.stored("nothing runs", func() bool { return f.counts()[job.Running] == 0 })
	if waiting := f.counts()[job.Waiting]; waiting == 0 {
		t.Fatal("no job was left during the pause, so the pause was not tested")
	}
	completed := int(f.counts()[job.Completed])
	lines := f.await("all have said what ran", func(lines []line.Line) bool { return count(lines, line.End, "") == completed })
	reach := time.Duration(0)
	for i := range lines {
		if lines[i].Op == line.Begin {
			reach = max(reach, since(said, &lines[i]))
		}
	}
	still := count(lines, line.Begin, "")
	f.enqueue("short", 10) // the new jobs wake all processes
	f.up(1, "-kinds", "short", "-poll", seldom)
	if lines, _ = f.all(); count(lines, line.Begin, "") != still {
		t.Errorf("%d jobs in a paused queue began to run, want 0", count(lines, line.Begin, "")-still)
	}

	f.set(store.QueueChange{Mode: &active})
	resumed := time.Now()
	f.busy("short", "all processes work again", func(lines []line.Line) bool {
		return !slices.ContainsFunc(processes, func(p *process) bool { return begun(lines, p.name, resumed) == 0 })
	})
	lines, _ = f.all()
	again := time.Duration(0)
	for _, p := range processes {
		first := slices.IndexFunc(lines, func(l line.Line) bool {
			return l.Op == line.Begin && l.From == p.name && l.At >= resumed.UnixMicro()
		})
		again = max(again, since(resumed, &lines[first]))
	}
	t.Logf("the pause reached all processes within %s, and its end within %s", reach, again)
	if reach > reachMax || again > reachMax {
		t.Errorf("the pause reached all processes within %s, and its end within %s; want at most %s", reach, again, reachMax)
	}
}

// proves: Q7
func TestQ7_ALimitReachesAllProcesses(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	processes := f.up(3, "-kinds", "short", "-poll", seldom)
	f.busy("short", "all processes work", func(lines []line.Line) bool {
		return !slices.ContainsFunc(processes, func(p *process) bool { return count(lines, line.Begin, p.name) < 20 })
	})
	const limit = 2
	lines, _ := f.all()
	if n, _ := most(lines, time.UnixMicro(0), limit); n <= limit {
		t.Fatalf("at most %d jobs ran at a time without a limit, which is too few to test the limit", n)
	}
	n := limit
	f.set(store.QueueChange{Limit: &n})
	said := time.Now()
	reach := time.Duration(0)
	f.busy("short", "jobs run under the limit for long", func(lines []line.Line) bool {
		_, last := most(lines, said, limit)
		reach = max(0, last.Sub(said))
		return begun(lines, "", said.Add(reach)) >= 100
	})
	t.Logf("the limit was kept after %s", reach)
	if reach > reachMax {
		t.Errorf("more than %d jobs still ran at a time %s after the limit was set, want at most %s", limit, reach, reachMax)
	}
}

const (
	patient = "version: 1\nname: patient\ndefault: {max_retries: 3, backoff: {waits: [1h]}, verdict: retry}\n"
	strict  = "version: 1\nname: strict\ndefault: {max_retries: 3, backoff: {waits: [1h]}, verdict: permanent}\n"
)

// part of: F9
func TestF9_APolicyFileReachesAllProcesses(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(patient)
	const processes, jobs = 3, 12
	f.up(processes, "-kinds", "broken", "-policy", path, "-poll", seldom)
	f.enqueue("broken", jobs)
	f.stored("all wait for their retry", func() bool { return f.counts()[job.Retrying] == jobs })

	write(strict)
	changed := time.Now()
	lines := f.await("all have the new policy", func(lines []line.Line) bool { return count(lines, line.Policy, "") == processes })
	reach := time.Duration(0)
	for i := range lines {
		if lines[i].Op == line.Policy {
			reach = max(reach, since(changed, &lines[i]))
		}
	}
	t.Logf("the policy file reached all processes within %s", reach)
	if reach > reachMax {
		t.Errorf("the policy file reached all processes within %s, want at most %s", reach, reachMax)
	}
	f.enqueue("broken", jobs)
	f.stored("all of the later jobs are dead", func() bool { return f.counts()[job.Dead] == jobs })
	if n := f.counts()[job.Retrying]; n != jobs {
		t.Errorf("got %d jobs that wait for a retry, want the %d jobs that failed under the first policy", n, jobs)
	}
}

// proves: Q7
func TestQ7_ALimitHoldsOverAllProcesses(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	const processes, limit, jobs = 4, 3, 150
	f.up(processes, "-kinds", "short", "-workers", "4", "-limit", fmt.Sprint(limit))
	f.enqueue("short", jobs)
	lines := f.await("all jobs ran", func(lines []line.Line) bool { return count(lines, line.End, "") == jobs })
	n, _ := most(lines, time.UnixMicro(0), limit)
	if n != limit {
		t.Errorf("at most %d jobs ran at a time in %d processes, want %d", n, processes, limit)
	}
	f.stored("all are completed", func() bool { return f.counts()[job.Completed] == jobs })
}
