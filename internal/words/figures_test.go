package words_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestSparkline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   []int64
		want string
	}{
		{nil, ""}, {[]int64{0, 0}, "▁▁"}, {[]int64{0, 1}, "▁▂"}, {[]int64{0, 1, 500, 1000}, "▁▂▅█"}, {[]int64{7, 0, 7}, "█▁█"},
	} {
		if got := words.Sparkline(tt.in); got != tt.want {
			t.Errorf("Sparkline(%v) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// part of: M4
func TestM4_FiguresOfAWindow(t *testing.T) {
	t.Parallel()
	hour := job.Micros(time.Hour / time.Microsecond)
	now := 500_000*hour + hour/2
	stats := &store.DeadStats{At: now, Hours: []store.Hour{
		{At: now - hour/2 - 30*hour, Completed: 1, Recovered: 1, Dead: 1000, Exhausted: 1000, Retries: 1, RetryCost: 9e9},
		{At: now - hour/2 - hour, Completed: 70, Recovered: 5, Dead: 1, Exhausted: 1, Retries: 8, RetryCost: 400_000, Cost: 800_000},
		{At: now - hour/2, Completed: 29, Recovered: 2, Dead: 0, Retries: 2, RetryCost: 400_000, Cost: 500_000},
	}}
	got := words.Figures(stats, 24*time.Hour)
	var texts []string
	for _, f := range got {
		if f.Target == "-" && f.Met == nil { // this figure is not compared with a target
			texts = append(texts, f.Text)
			continue
		}
		if f.Met == nil || f.Formula == "" || f.Window != "the last 24h" || f.Target == "" {
			t.Errorf("got the figure %+v, want no empty field and a window of 24h", f)
			continue
		}
		texts = append(texts, f.Text+map[bool]string{true: " met", false: " missed"}[*f.Met])
	}
	if diff := cmp.Diff([]string{"87.5 % met", "1.0 % met", "$0.0800 met", "$0.0130"}, texts); diff != "" {
		t.Error(diff)
	}
	for _, f := range words.Figures(stats, 48*time.Hour) {
		if f.Met != nil && *f.Met {
			t.Errorf("the figure %q has the value %s over two days and meets its target, want a missed target", f.Name, f.Text)
		}
	}
	for _, f := range words.Figures(&store.DeadStats{At: now}, time.Hour) {
		if f.Met != nil || f.Text != "-" {
			t.Errorf("without data the figure is %+v, want the text - and no verdict", f)
		}
	}
}

// Each target has a figure just inside and one just outside.
//
// part of: M4
func TestM4_TargetsAreThoseOfTheCatalogue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		hour store.Hour
		met  []string // the verdicts of the first three figures, in their order
	}{
		{store.Hour{Completed: 981, Recovered: 61, Dead: 19, Exhausted: 39, Retries: 100, RetryCost: 9_990_000}, []string{"met", "met", "met"}},
		{store.Hour{Completed: 980, Recovered: 60, Dead: 20, Exhausted: 40, Retries: 100, RetryCost: 10_000_000}, []string{"missed", "missed", "missed"}},
	} {
		var got []string
		for _, f := range words.Figures(&store.DeadStats{At: 1, Hours: []store.Hour{tt.hour}}, time.Hour)[:3] {
			got = append(got, f.Verdict())
		}
		if !slices.Equal(got, tt.met) {
			t.Errorf("%+v: the figures are %v, want %v", tt.hour, got, tt.met)
		}
	}
}

// proves: R11
func TestR11_AverageCosts(t *testing.T) {
	t.Parallel()
	s := &store.DeadStats{At: 1, Hours: []store.Hour{{Completed: 3, Dead: 1, Retries: 2, RetryCost: 100_000, Cost: 1_000_000}}}
	for _, f := range words.Figures(s, time.Hour) {
		switch f.Name {
		case "average cost of a retry":
			if f.Text != "$0.0500" || f.Verdict() != "met" {
				t.Errorf("got %s and %s for a retry, want $0.0500 and met", f.Text, f.Verdict())
			}
		case "average cost of a job":
			if f.Text != "$0.2500" || f.Verdict() != "-" {
				t.Errorf("got %s and %s for a job, want $0.2500 and no verdict", f.Text, f.Verdict())
			}
		}
	}
	if n := len(words.Figures(&store.DeadStats{}, time.Hour)); n != 4 {
		t.Errorf("got %d figures, want 4", n)
	}
}
