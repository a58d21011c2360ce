package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// namesShown is the maximum number of names in a series that a terminal shows. It is also the
// maximum number of queues and kinds.
const namesShown = 20

// series prints figures over time: lines on a terminal, otherwise a row for each step.
func (p *page) series(s *stats) {
	switch {
	case !p.style.terminal:
		p.seriesRows(s)
	case s.q.By == "":
		p.chart(s)
	default:
		p.namedChart(s)
	}
	if s.retries != nil {
		p.retriesDue(s.retries)
	}
	p.heads(s.heads)
}

// room returns how many columns remain for a line beside other columns of a table.
func (p *page) room(beside int) int {
	if p.style.columns == 0 {
		return chartColumns
	}
	return max(p.style.columns-beside, 1)
}

func (p *page) chartTitle(c *words.Chart) {
	p.title(fmt.Sprintf("%s to %s, %s in a column", words.Time(c.Since), words.Time(c.Until), human.Duration(c.Column)))
}

// chart prints a line for each figure.
func (p *page) chart(s *stats) {
	beside := 0
	var c words.Chart
	for range 2 { // the first round measures the other columns, the second uses their widths
		c = words.ChartOf(s.points, s.q.Since, s.q.Until, s.q.Step, p.room(beside))
		beside = len("cancelled") + 3*len(columnGap)
		sum, most := len("TOTAL"), len("MOST")
		for _, l := range c.Lines {
			sum, most = max(sum, words.Width(l.Sum)), max(most, words.Width(l.Most), words.Width(l.Sum))
		}
		beside += sum + most
	}
	p.chartTitle(&c)
	t := table{columns: []column{{title: "FIGURE"}, {title: "TOTAL", right: true}, {title: "MOST", right: true}, {title: ""}}}
	for _, l := range c.Lines {
		t.add(l.Name, l.Sum, l.Most, words.Sparkline(l.Values))
	}
	t.print(p.w, p.style)
}

// namedChart prints one line for each name: the attempts of each queue or kind, or the failed
// attempts of each class, with the share of retried jobs that succeeded.
func (p *page) namedChart(s *stats) {
	name, classes := strings.ToUpper(string(s.q.By)), s.q.By == redrive.ByClass
	row := func(l *words.ChartLine) []string {
		f := &l.Total
		cells := []string{middleCut(words.Clean(orDash(l.Name)), 24)}
		if !classes {
			cells = append(cells, words.Number(f.Completed))
		}
		cells = append(cells, words.Number(f.Failed), words.Number(f.Dead))
		if classes {
			cells = append(cells, words.Succeed(f.Recovered, f.Exhausted).Text)
		}
		return cells
	}
	titles := []string{name, "COMPLETED", "FAILED", "DEAD"}
	if classes {
		titles = []string{name, "FAILED", "DEAD", "SUCCEED"}
	}
	c := words.NamedChartOf(s.points, s.q.Since, s.q.Until, s.q.Step, p.room(0))
	beside := 0
	for i, title := range titles {
		width := len(title)
		for n := range c.Lines {
			width = max(width, words.Width(row(&c.Lines[n])[i]))
		}
		beside += width + len(columnGap)
	}
	c = words.NamedChartOf(s.points, s.q.Since, s.q.Until, s.q.Step, p.room(beside))
	p.chartTitle(&c)
	t := table{columns: []column{{title: titles[0]}}}
	for _, title := range titles[1:] {
		t.columns = append(t.columns, column{title: title, right: true})
	}
	t.columns = append(t.columns, column{title: map[bool]string{false: "ATTEMPTS", true: "FAILED ATTEMPTS"}[classes]})
	for i := range c.Lines[:min(len(c.Lines), namesShown)] {
		t.add(append(row(&c.Lines[i]), words.Sparkline(c.Lines[i].Values))...)
	}
	t.print(p.w, p.style)
	p.more(len(c.Lines), "name")
}

// more says how many rows the terminal does not show.
func (p *page) more(rows int, noun string) {
	if n := rows - namesShown; p.style.terminal && n > 0 {
		fmt.Fprintf(p.w, "%s\n", p.style.faint(fmt.Sprintf("and %s more; --json has all", words.Count(int64(n), noun))))
	}
}

// seriesRows prints a row for each point.
func (p *page) seriesRows(s *stats) {
	if len(s.points) == 0 {
		fmt.Fprintln(p.w, p.style.faint(fmt.Sprintf("nothing happened from %s to %s", words.Time(s.q.Since), words.Time(s.q.Until))))
		return
	}
	t := table{columns: []column{{title: "FROM"}}}
	named, classes := s.q.By != "", s.q.By == redrive.ByClass
	if named {
		t.columns = append(t.columns, column{title: strings.ToUpper(string(s.q.By))})
	}
	titles := []string{"ENQUEUED", "COMPLETED", "FAILED", "DEAD", "CRASHED", "CANCELLED", "MEAN RUN", "MEAN WAIT"}
	if classes {
		titles = []string{"FAILED", "DEAD", "RETRIES", "RECOVERED", "EXHAUSTED", "RETRY COST"}
	}
	for _, title := range titles {
		t.columns = append(t.columns, column{title: title, right: true})
	}
	for i := range s.points {
		f := &s.points[i]
		cells := []string{words.Time(f.At)}
		if named {
			cells = append(cells, orDash(f.Name))
		}
		if classes {
			t.add(append(cells, words.Number(f.Failed), words.Number(f.Dead), words.Number(f.Retries), words.Number(f.Recovered),
				words.Number(f.Exhausted), words.Dollars(f.RetryCost))...)
			continue
		}
		t.add(append(cells, words.Number(f.Enqueued), words.Number(f.Completed), words.Number(f.Failed), words.Number(f.Dead),
			words.Number(f.Crashed), words.Number(f.Cancelled), words.Span(f.MeanRun()), words.Span(f.MeanWait()))...)
	}
	t.print(p.w, p.style)
}

// retriesDue prints how many retries fall due in the next minutes.
func (p *page) retriesDue(d *redrive.DueRetries) {
	const label = 10
	next := int64(0)
	for _, n := range d.Minutes {
		next += n
	}
	least := ""
	if d.Capped {
		least = "at least "
	}
	minutes, each := words.Grouped(d.Minutes, p.room(label))
	span := time.Duration(len(d.Minutes)) * time.Minute
	text := fmt.Sprintf("%s%s overdue, %s due in the next %s", least, words.Number(d.Overdue), words.Number(next), human.Duration(span))
	fmt.Fprintf(p.w, "\n%-*s%s\n", label, "retries", text)
	if p.style.terminal && next > 0 {
		fmt.Fprintf(p.w, "%*s%s\n%*s%s\n", label, "", words.Sparkline(minutes), label, "",
			p.style.faint(human.Duration(time.Duration(each)*time.Minute)+" in a column"))
	}
}

// heads prints when the first jobs of each queue and kind are due. The queue and kind that
// wait longest come first.
func (p *page) heads(list []redrive.Head) {
	if len(list) == 0 {
		return
	}
	waits := func(at job.Micros) int64 { // jobs that are not due come last
		if at == 0 {
			return 1<<63 - 1
		}
		return int64(at)
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b redrive.Head) int { return cmp.Compare(waits(a.Due), waits(b.Due)) })
	t := table{columns: []column{{title: "QUEUE", loose: true}, {title: "KIND", loose: true}, {title: "OLDEST DUE"}, {title: "NEXT"}}}
	shown := list
	if p.style.terminal {
		shown = list[:min(len(list), namesShown)]
	}
	for _, h := range shown {
		due, later := "-", "-"
		if h.Due != 0 {
			due = words.Away(h.Due, p.now)
		}
		if h.Later != 0 {
			later = words.Away(h.Later, p.now)
		}
		t.add(h.Queue, h.Kind, due, later)
	}
	fmt.Fprintln(p.w)
	t.print(p.w, p.style)
	p.more(len(list), "row")
}
