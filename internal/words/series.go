package words

import (
	"cmp"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// niceSteps are the durations from which NiceStep chooses the time between two points of a
// series.
var niceSteps = [...]time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

const day = 24 * time.Hour

// NiceStep returns the shortest of the niceSteps with which the span has at most the given
// number of columns. If figures by minute are no longer kept for the whole span, the step is at
// least an hour.
func NiceStep(span time.Duration, columns int) time.Duration {
	for _, step := range niceSteps {
		if span <= step*time.Duration(columns) && (span <= store.MinutesKept || step >= time.Hour) {
			return step
		}
	}
	days := (span + day*time.Duration(columns) - 1) / (day * time.Duration(columns))
	return min(days*day, store.SeriesStepMax)
}

// Chart shows a series as lines. A line has one value for each column of time.
type Chart struct {
	Since, Until job.Micros
	Column       time.Duration
	Lines        []ChartLine
}

// ChartLine is one line of a chart.
type ChartLine struct {
	Name   string
	Total  store.Figures
	Most   string // the largest value of a column
	Sum    string // the total, or the mean of times
	Values []int64
}

// span is the time range of a series, counted in whole steps of the series.
type span struct {
	since job.Micros
	step  job.Micros
	steps int
}

func spanOf(since, until job.Micros, step time.Duration) span {
	s := span{step: job.Micros(step / time.Microsecond)}
	s.since = since - since%s.step
	s.steps = int((max(until, since+1) - s.since + s.step - 1) / s.step)
	return s
}

// columns adds up the figures of neighbouring steps, so that at most the given number of
// columns remain. It returns the figures of each column and the number of steps in a column.
func (s *span) columns(points []store.Point, most int) (columns []store.Figures, each int) {
	each = max(1, (s.steps+most-1)/max(most, 1))
	columns = make([]store.Figures, (s.steps+each-1)/each)
	for i := range points {
		if n := int((points[i].At - s.since) / s.step); points[i].At >= s.since && n < s.steps {
			columns[n/each].Add(&points[i].Figures)
		}
	}
	return columns, each
}

// figureLines are the lines of a chart.
var figureLines = [...]struct {
	name string
	of   func(*store.Figures) int64
	mean bool // whether the value is a mean, in microseconds
}{
	{"enqueued", func(f *store.Figures) int64 { return f.Enqueued }, false},
	{"completed", func(f *store.Figures) int64 { return f.Completed }, false},
	{"failed", func(f *store.Figures) int64 { return f.Failed }, false},
	{"dead", func(f *store.Figures) int64 { return f.Dead }, false},
	{"crashed", func(f *store.Figures) int64 { return f.Crashed }, false},
	{"cancelled", func(f *store.Figures) int64 { return f.Cancelled }, false},
	{"mean run", func(f *store.Figures) int64 { return f.MeanRun().Microseconds() }, true},
	{"mean wait", func(f *store.Figures) int64 { return f.MeanWait().Microseconds() }, true},
}

// ChartOf returns the chart of the points of a series without names. It has at most the given
// number of columns.
func ChartOf(points []store.Point, since, until job.Micros, step time.Duration, most int) Chart {
	s := spanOf(since, until, step)
	columns, each := s.columns(points, most)
	c := s.chart(each)
	var total store.Figures
	for i := range columns {
		total.Add(&columns[i])
	}
	for _, l := range figureLines {
		line := ChartLine{Name: l.name, Total: total, Values: make([]int64, len(columns))}
		for i := range columns {
			line.Values[i] = l.of(&columns[i])
		}
		text := Number
		if l.mean {
			text = func(n int64) string { return Span(time.Duration(n) * time.Microsecond) }
		}
		line.Sum, line.Most = text(l.of(&total)), text(slices.Max(line.Values))
		c.Lines = append(c.Lines, line)
	}
	return c
}

// NamedChartOf returns the chart of the points of a series with names. It has one line for each
// name. A line has the attempts of each column; if the names are classes, it has the failed
// attempts. The name with the most attempts comes first.
func NamedChartOf(points []store.Point, since, until job.Micros, step time.Duration, most int) Chart {
	s := spanOf(since, until, step)
	byName := make(map[string][]store.Point)
	for i := range points {
		byName[points[i].Name] = append(byName[points[i].Name], points[i])
	}
	c := s.chart(max(1, (s.steps+most-1)/max(most, 1)))
	for name, points := range byName {
		columns, _ := s.columns(points, most)
		line := ChartLine{Name: name, Values: make([]int64, len(columns))}
		for i := range columns {
			line.Total.Add(&columns[i])
			line.Values[i] = columns[i].Attempts()
		}
		line.Sum, line.Most = Number(line.Total.Attempts()), Number(slices.Max(line.Values))
		c.Lines = append(c.Lines, line)
	}
	slices.SortFunc(c.Lines, func(a, b ChartLine) int {
		return cmp.Or(cmp.Compare(b.Total.Attempts(), a.Total.Attempts()), cmp.Compare(b.Total.Enqueued, a.Total.Enqueued), cmp.Compare(a.Name, b.Name))
	})
	return c
}

func (s *span) chart(each int) Chart {
	return Chart{Since: s.since, Until: s.since + s.step*job.Micros(s.steps), Column: time.Duration(s.step) * time.Microsecond * time.Duration(each)}
}

// Grouped adds up neighbouring numbers, so that at most the given number of sums remain. It also
// returns how many numbers each sum contains.
func Grouped(numbers []int64, most int) (groups []int64, each int) {
	each = max(1, (len(numbers)+most-1)/max(most, 1))
	for i, n := range numbers {
		if i%each == 0 {
			groups = append(groups, 0)
		}
		groups[len(groups)-1] += n
	}
	return groups, each
}
