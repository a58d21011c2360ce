package main

import (
	"strings"
	"testing"
)

// compared returns a page with three results on SQLite, with the given rates: one of redrive,
// and two of River, with its best settings and with its defaults. A rate of 0 stands for a
// failed run.
func compared(t *testing.T, args string, ours, best, defaults float64) page {
	t.Helper()
	o, err := parseOptions(strings.Fields(args), nil)
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	for name, rate := range map[[2]string]float64{
		{"redrive-sqlite", "defaults"}: ours, {"river-sqlite", "best"}: best, {"river-sqlite", "defaults"}: defaults,
	} {
		r := result{System: name[0], Setting: name[1], Workload: "both", PerSecond: rate}
		if rate == 0 {
			r.Error = "3 of 1000 jobs ran"
		}
		results = append(results, r)
	}
	return page{options: o, results: results}
}

func TestLeastHoldsForEachSystem(t *testing.T) {
	t.Parallel()
	const args = "-only both,redrive-sqlite,river-sqlite -least 10"
	for _, tt := range []struct {
		name                 string
		ours, best, defaults float64
		want                 []string // the expected errors
	}{
		{"enough", 20_000, 2_000, 1_000, nil},
		{"one is too fast", 20_000, 2_001, 1_000, []string{
			"Enqueue and process at once: redrive on SQLite (defaults) is 10.0 × River on SQLite (best); want at least 10 × as set with -least",
		}},
		{"one has no figure", 20_000, 2_000, 0, []string{
			"Enqueue and process at once: redrive on SQLite (defaults) cannot be compared with River on SQLite (defaults): one of the two has no figure",
		}},
		{"redrive has no figure", 0, 2_000, 1_000, []string{
			"Enqueue and process at once: redrive on SQLite (defaults) cannot be compared with River on SQLite (defaults): one of the two has no figure",
			"Enqueue and process at once: redrive on SQLite (defaults) cannot be compared with River on SQLite (best): one of the two has no figure",
		}},
	} {
		var out strings.Builder
		err := compared(t, args, tt.ours, tt.best, tt.defaults).short(&out)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != strings.Join(tt.want, "\n") {
			t.Errorf("%s: got the error %q, want %q", tt.name, got, tt.want)
		}
		if tt.want == nil && out.String() != "Enqueue and process at once: redrive on SQLite (defaults) is 20.0 × River on SQLite (defaults)\n"+
			"Enqueue and process at once: redrive on SQLite (defaults) is 10.0 × River on SQLite (best)\n" {
			t.Errorf("%s: the printed text is %q, want a text with both ratios", tt.name, &out)
		}
	}
	err := compared(t, "-only both,redrive-sqlite -least 10", 20_000, 0, 0).short(&strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "no system to compare") {
		t.Errorf("-least without another system: got the error %v, want an error that there is no system to compare redrive with", err)
	}
}
