package words

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/store"
)

// The targets of the figures.
const (
	recoveredLeast = 0.60
	deadMost       = 0.02
	costMost       = 0.10 // the largest cost that meets the target, in US dollars
)

// Figure is a number that is compared with a target.
type Figure struct {
	Name, Formula, Window, Target string
	Part, Of                      float64 // the numerator and the denominator of the figure
	Value                         float64 // the value of the figure; 0 if the denominator is 0
	Met                           *bool   // whether the figure meets its target; nil if there is no target or no data
	Text                          string  // the value with its unit, or "-" if the denominator is 0
}

// Verdict says whether the figure meets its target.
func (f *Figure) Verdict() string {
	switch {
	case f.Met == nil:
		return "nothing yet"
	case *f.Met:
		return "met"
	}
	return "missed"
}

// Figures computes how successful retries were in a window of whole hours. The window ends
// at the time of the statistics.
func Figures(s *store.DeadStats, window time.Duration) []Figure {
	var sum store.Hour
	from := s.At.Add(-window)
	for _, h := range s.Hours {
		if h.At.Add(time.Hour) <= from {
			continue
		}
		sum.Completed += h.Completed
		sum.Recovered += h.Recovered
		sum.Dead += h.Dead
		sum.Exhausted += h.Exhausted
		sum.Retries += h.Retries
		sum.RetryCost += h.RetryCost
	}
	last := "the last " + Span(window)
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }
	dollars := func(v float64) string { return fmt.Sprintf("$%.4f", v) }
	return []Figure{
		compare(Figure{Name: "retried jobs that succeed", Formula: "recovered / (recovered + exhausted)", Window: last,
			Part: float64(sum.Recovered), Of: float64(sum.Recovered + sum.Exhausted), Target: "> 60 %"},
			share, func(v float64) bool { return v > recoveredLeast }),
		compare(Figure{Name: "jobs that end dead", Formula: "dead / (completed + dead)", Window: last,
			Part: float64(sum.Dead), Of: float64(sum.Completed + sum.Dead), Target: "< 2 %"},
			share, func(v float64) bool { return v < deadMost }),
		compare(Figure{Name: "average cost of a retry", Formula: "cost of retries / retries", Window: last,
			Part: float64(sum.RetryCost) / 1e6, Of: float64(sum.Retries), Target: "< $0.10"},
			dollars, func(v float64) bool { return v < costMost }),
	}
}

func compare(f Figure, write func(float64) string, good func(float64) bool) Figure {
	f.Text = "-"
	if f.Of > 0 {
		f.Value = f.Part / f.Of
		met := good(f.Value)
		f.Met, f.Text = &met, write(f.Value)
	}
	return f
}

// Added contains four numbers of jobs that became dead per minute: in the current minute so
// far, in the last whole minute, on average in the last 10 minutes, and on average in all whole
// minutes.
type Added struct {
	Present, Last  int64
	Mean10, Mean60 float64
}

// AddedOf computes the four numbers from the numbers of dead jobs per minute, the oldest minute
// first. The averages do not include the current minute, because it has not ended.
func AddedOf(minutes []int64) Added {
	whole := minutes[:max(len(minutes)-1, 0)]
	mean := func(n int) float64 {
		last := whole[max(len(whole)-n, 0):]
		sum := int64(0)
		for _, n := range last {
			sum += n
		}
		return float64(sum) / float64(max(len(last), 1))
	}
	v := Added{Mean10: mean(10), Mean60: mean(store.AddedMinutes)}
	if len(minutes) > 0 {
		v.Present = minutes[len(minutes)-1]
	}
	if len(whole) > 0 {
		v.Last = whole[len(whole)-1]
	}
	return v
}

// String returns the four numbers as one line of text.
func (v Added) String() string {
	return fmt.Sprintf("%s in this one so far, %s in the last, mean of 10 %.1f, of %d %.1f",
		Number(v.Present), Number(v.Last), v.Mean10, store.AddedMinutes-1, v.Mean60)
}
