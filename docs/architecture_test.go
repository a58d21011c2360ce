package docs_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
)

func TestArchitecture_ShowsEveryTransition(t *testing.T) {
	t.Parallel()
	counters := map[job.Counters]string{
		{}: "", {Attempts: 1}: "attempt", {Crashes: 1}: "crash", {Deferrals: 1}: "deferral", {Snoozes: 1}: "snooze",
		{Interrupts: 1}: "interrupt",
	}
	var want, got [][4]string
	for _, tr := range job.Transitions {
		var c job.Counters
		c.Count(tr.Cause)
		want = append(want, [4]string{tr.From.String(), tr.To.String(), tr.Cause.String(), counters[c]})
	}
	row := regexp.MustCompile(`(?m)^\| (none|waiting|retrying|running|dead) \| (\w+) \| (\w+) \| ?(\w*) \|$`)
	for _, m := range row.FindAllStringSubmatch(read(t, "../ARCHITECTURE.md"), -1) {
		got = append(got, [4]string(m[1:]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the transitions in ARCHITECTURE.md differ from the code (-job.Transitions +ARCHITECTURE.md):\n%s", diff)
	}
}
