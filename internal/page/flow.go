package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/words"
)

// flow is the chart of completed jobs above the line, and of failed attempts and dead jobs below it.
type flow struct {
	Completed, Failed, Dead int64  // the sums
	Width                   int    // the number of columns; the box is Width x 184
	Area, Top               string // paths
	Retried, Buried         string
	Grid                    []gridLine
	Axis                    []string
	Root                    bool // the upper part has a square-root scale, because one column hides the others
	Desc                    string
	Rows                    []flowRow
}

// flowRow is a row of the table under a chart: some columns.
type flowRow struct {
	From                    string
	Completed, Failed, Dead int64
	Run, Wait               string
}

// tableRows is how many rows the table under a chart has at most; axisMarks is the number of times
// under a chart.
const (
	tableRows = 24
	axisMarks = 5
)

// scale maps numbers to heights.
type scale struct {
	most int64
	root bool
}

// scaleOf returns the scale of numbers. It is a square root if the largest number is more than 20
// times the middle one of those above zero.
func scaleOf(numbers []int64) scale {
	var most, above, sum int64
	for _, n := range numbers {
		most = max(most, n)
		if n > 0 {
			above++
			sum += n
		}
	}
	s := scale{most: niceMost(max(most, 1))}
	s.root = above > 2 && most/20 > (sum-most)/(above-1)
	return s
}

// of returns the height of n in a part of a chart.
func (s scale) of(n int64, height float64) float64 {
	if s.root && n > 0 {
		return height * math.Sqrt(float64(n)/float64(s.most))
	}
	return barHeight(n, s.most, height)
}

// middle is the number at half of the height, as text.
func (s scale) middle() string {
	if !s.root {
		return half(s.most)
	}
	if s.most%4 != 0 {
		return ""
	}
	return words.Number(s.most / 4)
}

// flowOf returns the chart of the columns. Its times are in the given zone.
func flowOf(zone *time.Location, c *columns) flow {
	n := len(c.list)
	completed, failed, dead, lost := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	f := flow{Width: n}
	for i := range c.list {
		one := &c.list[i]
		lost[i] = one.Failed + one.Crashed
		dead[i] = min(one.Dead, lost[i])
		completed[i], failed[i] = one.Completed, lost[i]-dead[i]
		f.Completed, f.Failed, f.Dead = f.Completed+completed[i], f.Failed+failed[i], f.Dead+dead[i]
	}
	top, low := scaleOf(completed), scaleOf(lost)
	f.Root = top.root || low.root
	var line, retried, buried strings.Builder
	for i := range n {
		y := baseTop - top.of(completed[i], baseTop-2)
		fmt.Fprintf(&line, "%s%s %s", map[bool]string{true: "M", false: "L"}[i == 0], num(float64(i)+0.5), num(y))
		all := low.of(lost[i], lowHeight)
		under := all
		if dead[i] > 0 && lost[i] > 0 {
			under = all * float64(failed[i]) / float64(lost[i])
		}
		bar(&retried, float64(i), baseLow, under)
		bar(&buried, float64(i), baseLow-under, all-under)
	}
	f.Top = line.String()
	f.Area = fmt.Sprintf("%sL%s %dL0.5 %dz", f.Top, num(float64(n)-0.5), baseTop, baseTop)
	f.Retried, f.Buried = retried.String(), buried.String()
	each := words.Span(c.step)
	f.Grid = []gridLine{
		{Y: 2, TextY: 12, Text: words.Number(top.most) + " in " + each},
		{Y: baseTop - (baseTop-2)/2.0, TextY: baseTop - (baseTop-2)/2.0 - 3, Text: top.middle()},
		{Y: baseLow - lowHeight, TextY: baseLow - lowHeight + 11, Text: words.Count(low.most, "failure") + " in " + each},
	}
	f.Axis = c.axis(zone)
	f.Desc = fmt.Sprintf("%s completed, %s failed and were retried, %s ended dead; a column is %s.",
		words.Count(f.Completed, "job"), words.Count(f.Failed, "attempt"), words.Count(f.Dead, "job"), each)
	f.Rows = c.table(zone)
	return f
}

// axis returns the times under a chart.
func (c *columns) axis(zone *time.Location) (marks []string) {
	for i := range axisMarks {
		marks = append(marks, c.at(zone, i*len(c.list)/(axisMarks-1)))
	}
	return marks
}

// table adds up neighbouring columns, so that at most tableRows remain.
func (c *columns) table(zone *time.Location) (rows []flowRow) {
	each := (len(c.list) + tableRows - 1) / tableRows
	for from := 0; from < len(c.list); from += each {
		sum := c.list[from]
		for _, one := range c.list[from+1 : min(from+each, len(c.list))] {
			sum.Add(&one)
		}
		r := flowRow{From: c.long(zone, from), Completed: sum.Completed, Failed: sum.Failed + sum.Crashed, Dead: sum.Dead, Run: "-", Wait: "-"}
		if sum.Attempts() > 0 {
			r.Run = words.Span(sum.MeanRun())
		}
		if sum.Started > 0 {
			r.Wait = words.Span(sum.MeanWait())
		}
		rows = append(rows, r)
	}
	return rows
}

// times is the chart of mean times: of a run, and from when a job is due until it starts.
type times struct {
	Width     int
	Run, Wait string // paths in a box of Width x timesHeight
	Most      string // the time at the upper edge
	Mean      string // of all runs, and of all waits
	MeanWait  string
	Axis      []string
	Desc      string
}

const timesHeight = 100

// timesOf draws the mean times of columns. A column without runs interrupts its line.
func timesOf(zone *time.Location, c *columns) times {
	n := len(c.list)
	t := times{Width: n, Axis: c.axis(zone), Mean: "-", MeanWait: "-"}
	most := time.Millisecond
	for i := range c.list {
		most = max(most, c.list[i].MeanRun(), c.list[i].MeanWait())
	}
	y := func(d time.Duration) string { return num(timesHeight - (timesHeight-2)*float64(d)/float64(most)) }
	var run, wait strings.Builder
	point := func(out *strings.Builder, i int, value time.Duration, there, before bool) {
		switch {
		case there && before:
			fmt.Fprintf(out, "L%s %s", num(float64(i)+0.5), y(value))
		case there: // a single point is a short line
			fmt.Fprintf(out, "M%s %sh.5", num(float64(i)+0.25), y(value))
		}
	}
	for i := range c.list {
		one := &c.list[i]
		point(&run, i, one.MeanRun(), one.Attempts() > 0, i > 0 && c.list[i-1].Attempts() > 0)
		point(&wait, i, one.MeanWait(), one.Started > 0, i > 0 && c.list[i-1].Started > 0)
	}
	t.Run, t.Wait, t.Most = run.String(), wait.String(), words.Span(most)
	if c.sum.Attempts() > 0 {
		t.Mean = words.Span(c.sum.MeanRun())
	}
	if c.sum.Started > 0 {
		t.MeanWait = words.Span(c.sum.MeanWait())
	}
	t.Desc = fmt.Sprintf("A run took %s on average, and a job that was due waited %s for its start; the largest mean of a column is %s.", t.Mean, t.MeanWait, t.Most)
	return t
}

// barsOf draws the course of a number in parts of a window, as a spark.
func barsOf(numbers []int64, what string, part time.Duration) spark {
	s := sparkOf(numbers)
	var sum, most int64
	for _, n := range numbers {
		sum, most = sum+n, max(most, n)
	}
	s.Label = "none " + what
	if sum > 0 {
		s.Label = fmt.Sprintf("%s %s, at most %s in %s", words.Number(sum), what, words.Number(most), words.Span(part))
	}
	return s
}

// percent writes a share of a whole in percent.
func percent(n, of int64) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(of, 1))) }
