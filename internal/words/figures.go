package words

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/store"
)

// The targets of the figures.
const (
	recoveredLeast = 0.60
	deadMost       = 0.02
	costMost       = 0.10 // the largest cost that meets the target, in US dollars
)

// noTarget is the target of a figure that is not compared with a value.
const noTarget = "-"

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
	case f.Target == noTarget:
		return noTarget
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
		sum.Cost += h.Cost
	}
	figures := []Figure{
		Succeed(sum.Recovered, sum.Exhausted),
		compare(Figure{Name: "jobs that end dead", Formula: "dead / (completed + dead)",
			Part: float64(sum.Dead), Of: float64(sum.Completed + sum.Dead), Target: "< 2 %"}, share, func(v float64) bool { return v < deadMost }),
		costOf(sum.RetryCost, sum.Retries),
		costOfJob(sum.Cost, sum.Completed+sum.Dead),
	}
	for i := range figures {
		figures[i].Window = "the last " + Span(window)
	}
	return figures
}

// ClassRetries has the results of the retries after the failures of one class.
type ClassRetries struct {
	Class                string
	Recovered, Exhausted int64 // jobs that completed, and that died, after such a retry
	Retries              int64
	Succeed, Cost        Figure
}

// RetriesByClass computes the results of the retries of each class. The points are a series by
// class. The class with the most retries comes first; classes without retries are left out.
func RetriesByClass(points []store.Point) (list []ClassRetries) {
	var sum store.Figures
	for i := range points {
		p := &points[i]
		c := sum.Class(p.Name)
		c.Recovered += p.Recovered
		c.Exhausted += p.Exhausted
		c.Retries += p.Retries
		c.RetryCost += p.RetryCost
	}
	for _, c := range sum.Classes {
		if c.Recovered+c.Exhausted+c.Retries > 0 {
			list = append(list, ClassRetries{Class: c.Class, Recovered: c.Recovered, Exhausted: c.Exhausted, Retries: c.Retries,
				Succeed: Succeed(c.Recovered, c.Exhausted), Cost: costOf(c.RetryCost, c.Retries)})
		}
	}
	slices.SortStableFunc(list, func(a, b ClassRetries) int { return cmp.Compare(b.Retries, a.Retries) })
	return list
}

// Succeed returns the share of retried jobs that succeed.
func Succeed(recovered, exhausted int64) Figure {
	return compare(Figure{Name: "retried jobs that succeed", Formula: "recovered / (recovered + exhausted)",
		Part: float64(recovered), Of: float64(recovered + exhausted), Target: "> 60 %"}, share, func(v float64) bool { return v > recoveredLeast })
}

// costOf is the average cost of a retry. The cost is in millionths of a US dollar.
func costOf(cost, retries int64) Figure {
	return compare(Figure{Name: "average cost of a retry", Formula: "cost of retries / retries",
		Part: float64(cost) / 1e6, Of: float64(retries), Target: "< $0.10"},
		func(v float64) string { return fmt.Sprintf("$%.4f", v) }, func(v float64) bool { return v < costMost })
}

// costOfJob is the average cost of a job that ended. It has no target. cost is in millionths of a US
// dollar.
func costOfJob(cost, jobs int64) Figure {
	f := Figure{Name: "average cost of a job", Formula: "cost of runs / (completed + dead)",
		Part: float64(cost) / 1e6, Of: float64(jobs), Target: noTarget, Text: "-"}
	if f.Of > 0 {
		f.Value = f.Part / f.Of
		f.Text = fmt.Sprintf("$%.4f", f.Value)
	}
	return f
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }

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
	return fmt.Sprintf("this minute %s so far, the last one %s, mean of 10 minutes %.1f, of %d %.1f",
		Number(v.Present), Number(v.Last), v.Mean10, store.AddedMinutes-1, v.Mean60)
}
