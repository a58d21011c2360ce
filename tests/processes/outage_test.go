//go:build linux

package processes

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/processes/line"
)

var outageLease = flag.Duration("outage.lease", 10*time.Second, "lease of the workers, longer than the longest back-off of 5 s; the outage takes one and a half leases")

// The server cannot be reached for longer than a lease. Two workers keep running meanwhile, and a third one is
// killed meanwhile. No crash is counted for the workers that live, and the jobs of the killed one
// run again.
//
// part of: Q3
func TestQ3_AnOutageCountsNoCrashForLivingWorkers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test starts a server and processes")
	}
	lease, server := *outageLease, pgtest.New(t)
	f := fleetAt(t, server.DSN(), "redrive")
	const jobs = 3 // of each process
	args := []string{"-workers", fmt.Sprint(3 * jobs), "-lease", lease.String(), "-scan", "1s", "-kinds"}
	victim := f.start("victim", append(args, "stuck")...)
	victim.isUp()
	f.enqueue("stuck", jobs)
	f.await("the victim has its jobs", func(lines []line.Line) bool { return count(lines, line.Begin, "victim") == jobs })
	f.start("first", append(args, "stuck,held")...).isUp()
	f.start("second", append(args, "stuck,held")...).isUp()
	f.enqueue("held", 2*jobs)
	f.await("the others have their jobs", func(lines []line.Line) bool { return count(lines, line.Begin, "") == 3*jobs })
	server.Stop(servers.Immediate)
	over := time.Now().Add(lease * 3 / 2)
	victim.kill()
	<-time.After(time.Until(over)) // the outage is the fault that is tested
	server.Start()
	healed := time.Now()
	again := func(lines []line.Line) map[job.ID]bool {
		ran, victims := make(map[job.ID]bool), make(map[job.ID]bool)
		for i := range lines {
			switch l := &lines[i]; {
			case l.Op == line.Begin && l.From == "victim":
				victims[l.ID] = true
			case l.Op == line.Begin && victims[l.ID]:
				ran[l.ID] = true
			}
		}
		return ran
	}
	f.await("the jobs of the killed worker run again", func(lines []line.Line) bool { return len(again(lines)) == jobs })
	t.Logf("the jobs of the killed worker run again %s after the outage; with a lease of %s this should take at most %s",
		time.Since(healed), lease, 2*lease+5*time.Second)
	lines, _ := f.all()
	victims := again(lines)
	crashed := 0
	events, err := f.store.Events(t.Context(), event.Cursor{}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if e := &events[i]; e.Type == event.JobCrashed {
			if crashed++; !victims[e.Job] {
				t.Errorf("run %d of job %d is counted as a crash, but its worker lived through the outage", e.Token, e.Job)
			}
		}
	}
	if crashed != jobs {
		t.Errorf("%d crashes are counted, want the %d of the killed worker", crashed, jobs)
	}
}
