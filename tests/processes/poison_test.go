//go:build linux

package processes

import (
	"flag"
	"fmt"
	"testing"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/processes/line"
)

var (
	poisonJobs    = flag.Int("poison.jobs", 300, "number of jobs beside those that kill their process; one more in a hundred kills")
	poisonCrashes = flag.Int("poison.crashes", 2, "number of crashes that end a job")
)

// Every hundredth job kills its process, which has ten slots and is started again at once. All
// other jobs complete.
//
// part of: Q3
func TestQ3_APoisonousJobTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	poisonous := max(1, *poisonJobs/100)
	for range poisonous {
		f.enqueue("short", *poisonJobs/poisonous/2)
		f.enqueue("poison", 1)
		f.enqueue("short", *poisonJobs/poisonous/2)
	}
	innocent := int64(*poisonJobs / poisonous / 2 * 2 * poisonous)
	kills, most := 0, poisonous**poisonCrashes
	for over := false; !over; {
		name := fmt.Sprintf("process-%d", kills+1)
		p := f.start(name, "-kinds", "short,poison", "-workers", "10", "-lease", "3s", "-scan", "1s", "-crashes", fmt.Sprint(*poisonCrashes))
		f.stored("all jobs have ended, or the process is dead", func() bool {
			select {
			case <-p.ended:
				return true
			default:
			}
			c := f.counts()
			over = c[job.Waiting]+c[job.Retrying]+c[job.Running] == 0
			return over
		})
		if !over {
			if kills++; kills > most {
				t.Fatalf("%d processes were killed by %d jobs with a limit of %d crashes, want at most %d", kills, poisonous, *poisonCrashes, most)
			}
		}
	}
	by := make(map[string]int64)
	counts, err := f.store.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		by[c.Kind+" "+c.State.String()] += c.N
	}
	lines, _ := f.all()
	t.Logf("%d kills; dead: %d of %d jobs that kill and %d of %d others; %d runs", kills, by["poison dead"], poisonous,
		by["short dead"], innocent, count(lines, line.Begin, ""))
	if by["poison dead"] != int64(poisonous) || by["short dead"] != 0 || by["short completed"] != innocent {
		t.Errorf("got the jobs %v, want %d dead jobs of kind poison and %d completed ones of kind short", by, poisonous, innocent)
	}
	dump, err := f.store.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range dump.Dead {
		checkStalled(t, &dump.Dead[i], dump)
	}
}

// checkStalled fails the test unless each dead letter is of a job that has crashed as often as its
// crash limit allows.
func checkStalled(t *testing.T, d *job.DeadLetter, dump *store.Dump) {
	t.Helper()
	for i := range dump.Jobs {
		if j := &dump.Jobs[i]; j.ID == d.Job && (d.Reason != job.Stalled || int(j.Counters.Crashes) != *poisonCrashes) {
			t.Errorf("job %d is dead as %s after %d crashes, want %s after %d", d.Job, d.Reason, j.Counters.Crashes, job.Stalled, *poisonCrashes)
		}
	}
}
