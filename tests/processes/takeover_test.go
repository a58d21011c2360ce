//go:build linux

package processes

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/processes/line"
)

// takeover is the longest time until the jobs of a killed process run elsewhere: their leases
// expire, a process scans for expired leases, and a process polls for jobs.
func takeover(lease, scan, poll time.Duration) time.Duration { return lease + scan + poll }

// takeoverMax is the longest takeover that the defaults may allow. A process looks for leases at
// most lookMax after the end of the earliest one. It knows each lease, because a lease is at least
// as long as the time between two signs of life, whose answers tell the earliest one.
const (
	takeoverMax = 15 * time.Second
	lookMax     = 1500 * time.Millisecond
)

// proves: Q3
func TestQ3_JobsOfAKilledProcessRunElsewhereInTime(t *testing.T) {
	t.Parallel()
	if d := takeover(engine.LeaseDefault, lookMax, engine.PollDefault); d > takeoverMax || store.PresentEvery > engine.LeaseDefault {
		t.Errorf("with the defaults a takeover can take %s, want at most %s, and signs of life that are no rarer than leases", d, takeoverMax)
	}
	f := newFleet(t)
	const lease, scan, poll, jobs = 10 * time.Second, time.Second, 15 * time.Second, 8
	args := []string{"-kinds", "stuck", "-workers", fmt.Sprint(jobs), "-lease", lease.String(), "-scan", scan.String(), "-poll", poll.String()}
	victim := f.start("victim", args...)
	victim.isUp()
	f.enqueue("stuck", jobs)
	f.await("all jobs run", func(lines []line.Line) bool { return count(lines, line.Begin, "victim") == jobs })
	heir := f.start("heir", args...)
	heir.isUp()
	killed := time.Now()
	victim.kill()
	lines := f.await("all jobs run elsewhere", func(lines []line.Line) bool { return count(lines, line.Begin, "heir") == jobs })
	last := time.Duration(0)
	ids := make(map[job.ID]bool)
	for i := range lines {
		if l := &lines[i]; l.Op == line.Begin && l.From == "heir" {
			last = max(last, since(killed, l))
			ids[l.ID] = true
			if l.Run != 2 {
				t.Errorf("job %d is in its run %d after the kill, want run 2", l.ID, l.Run)
			}
		}
	}
	if len(ids) != jobs {
		t.Errorf("%d different jobs ran again in another process, want %d", len(ids), jobs)
	}
	if bound := takeover(lease, scan, poll); last > bound {
		t.Errorf("the last job ran again in another process after %s, want at most %s", last, bound)
	}
	t.Logf("the last job ran again in another process %s after the kill; the limit is %s", last, takeover(lease, scan, poll))
}

// part of: Q10
func TestQ10_UnknownKindsAreLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.up(2, "-kinds", "quick")
	f.enqueue("other", 10) // these jobs come first in the queue, before the jobs of the known kind
	f.enqueue("quick", 50)
	f.await("all jobs of the known kind ran", func(lines []line.Line) bool { return count(lines, line.End, "") == 50 })
	f.stored("they are completed", func() bool { return f.counts()[job.Completed] == 50 })
	if n := f.counts()[job.Waiting]; n != 10 {
		t.Errorf("got %d waiting jobs of the unknown kind, want 10", n)
	}
	dump, err := f.store.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range dump.Jobs {
		if j := &dump.Jobs[i]; j.Kind == "other" && (j.Token != 0 || j.State != job.Waiting) {
			t.Errorf("job %d of an unknown kind has state %s after %d runs, want state waiting and no run", j.ID, j.State, j.Token)
		}
	}
	f.start("who-knows", "-kinds", "other")
	f.await("they run where they are known", func(lines []line.Line) bool { return count(lines, line.End, "who-knows") == 10 })
}

// proves: Q13
func TestQ13_EachSlotFiresOnceForAllProcesses(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	processes := f.up(4, "-kinds", "slot", "-cron", "@every 1s")
	slots := func(lines []line.Line) map[string]int {
		seen := make(map[string]int)
		for i := range lines {
			if lines[i].Op == line.Begin {
				seen[lines[i].Note]++
			}
		}
		return seen
	}
	f.await("two slots fired", func(lines []line.Line) bool { return len(slots(lines)) >= 2 })
	processes[0].kill() // the killed process may have fired a slot; the other processes continue
	f.await("five slots fired", func(lines []line.Line) bool { return len(slots(lines)) >= 5 })
	for _, p := range processes[1:] {
		p.kill()
	}
	dump, err := f.store.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slotOf := make(map[job.ID]string)
	lines, _ := f.all()
	for i := range lines {
		if lines[i].Op == line.Begin {
			slotOf[lines[i].ID] = lines[i].Note // the slot comes from the line, because a completed job no longer has its payload
		}
	}
	jobs := make(map[string]int)
	for i := range dump.Jobs {
		j := &dump.Jobs[i]
		slot, ran := slotOf[j.ID]
		if !ran {
			slot = string(j.Payload)
		}
		jobs[slot]++
	}
	for slot, n := range jobs {
		if n != 1 || slot == "" {
			t.Errorf("slot %q fired %d times, want 1", slot, n)
		}
	}
	fired := slices.Sorted(maps.Keys(jobs))
	t.Logf("%d slots were fired, from %s to %s", len(fired), fired[0], fired[len(fired)-1])
}
