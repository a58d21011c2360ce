package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// someStats returns the statistics of the day before the time now, in which many attempts failed
// within a short time.
func someStats(by redrive.SeriesBy, columns int) *stats {
	s := &stats{q: redrive.SeriesQuery{Since: job.At(now.Add(-24 * time.Hour)), Until: job.At(now), By: by}}
	s.q.Step = words.NiceStep(24*time.Hour, columns-chartBeside)
	names := map[redrive.SeriesBy][]string{"": {""}, redrive.ByQueue: {"default", "a-queue-with-a-name-of-many-characters"}, redrive.ByClass: {"NetworkTimeout", ""}}[by]
	for i := range int64(24*time.Hour/s.q.Step) + 1 {
		for n, name := range names {
			f := redrive.Figures{Enqueued: 1000 + 10*i, Started: 1000, Completed: 990 + 5*i, RunTime: (200_000 + 1000*i) * 1000, WaitTime: 5_000_000}
			if i > 20 && i < 30 {
				f.Failed, f.Dead, f.Crashed, f.Completed = (30-i)*100, 30-i, i%2, 100
			}
			if n > 0 {
				f.Completed /= 10
				f.Failed /= 10
			}
			if by == redrive.ByClass {
				f = redrive.Figures{Failed: f.Failed, Dead: f.Dead, Recovered: int64(1 - n), Exhausted: f.Dead / 9}
			}
			s.points = append(s.points, redrive.Point{At: s.q.Since + job.Micros(i*s.q.Step.Microseconds()), Name: name, Figures: f})
		}
	}
	if by == "" {
		d := redrive.DueRetries{At: s.q.Until, Overdue: 1234, Minutes: make([]int64, 120)}
		for i := range d.Minutes {
			d.Minutes[i] = int64(120-i) * 2
		}
		s.retries = &d
	}
	s.heads = []redrive.Head{
		{Queue: "default", Kind: "mail", Later: job.At(now.Add(3 * time.Second))},
		{Queue: "default", Kind: "resize", Due: job.At(now.Add(-4 * time.Minute)), Later: job.At(now.Add(time.Hour))},
		{Queue: "slow", Kind: "render", Due: job.At(now.Add(-time.Hour))},
	}
	return s
}

// part of: M4, M6
func TestM4_M6_StatsAreDrawnInTheTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		by      redrive.SeriesBy
		columns int
		column  string // the time that one column of the chart stands for
		want    string
	}{
		{"", 80, "30m", chart80}, {"", 120, "20m", chart120}, {redrive.ByQueue, 80, "1h", queues80}, {redrive.ByClass, 120, "20m", classes120},
	} {
		var out bytes.Buffer
		p := &page{w: &out, style: style{terminal: true, columns: tt.columns}, now: job.At(now)}
		p.series(someStats(tt.by, tt.columns))
		title, rest, _ := strings.Cut(out.String(), "\n\n")
		wantTitle := fmt.Sprintf("%s to %s, %s in a column", words.Time(job.At(now.Add(-24*time.Hour))), words.Time(job.At(now)), tt.column)
		if title != wantTitle {
			t.Errorf("statistics by %q on %d columns: got the title %q, want %q", tt.by, tt.columns, title, wantTitle)
		}
		if diff := cmp.Diff(tt.want, rest); diff != "" {
			t.Errorf("statistics by %q on %d columns (-want +got):\n%s", tt.by, tt.columns, diff)
		}
		for line := range strings.Lines(out.String()) {
			if n := words.Width(strings.TrimSuffix(line, "\n")); n > tt.columns {
				t.Errorf("a line has %d columns, want at most the %d of the terminal: %q", n, tt.columns, line)
			}
		}
	}
}

// part of: M6
func TestM6_StatsFitEveryTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 60, 100, 200, 400} {
		for _, by := range []redrive.SeriesBy{"", redrive.ByQueue, redrive.ByClass} {
			var out bytes.Buffer
			p := &page{w: &out, style: style{terminal: true, columns: columns}, now: job.At(now)}
			s := someStats(by, 80)
			p.series(s)
			for line := range strings.Lines(out.String()) {
				drawn := strings.ContainsAny(line, "▁▂▃▄▅▆▇█")
				if n := words.Width(strings.TrimSuffix(line, "\n")); drawn && columns > 60 && n > columns {
					t.Errorf("statistics by %q: a line has %d columns, want at most the %d of the terminal: %q", by, n, columns, line)
				}
			}
		}
	}
}

// A terminal shows the first names and queues only; other outputs have all.
//
// part of: M6
func TestM6_StatsOfManyNames(t *testing.T) {
	t.Parallel()
	s := &stats{q: redrive.SeriesQuery{Since: job.At(now.Add(-time.Hour)), Until: job.At(now), By: redrive.ByKind, Step: time.Hour}}
	for i := range 30 {
		name := fmt.Sprintf("kind-%02d", i)
		s.points = append(s.points, redrive.Point{At: s.q.Since, Name: name, Figures: redrive.Figures{Completed: int64(i)}})
		s.heads = append(s.heads, redrive.Head{Queue: "q", Kind: name, Due: job.At(now.Add(-time.Duration(i) * time.Second))})
	}
	for terminal, want := range map[bool]int{true: 2 * namesShown, false: 60} {
		var out bytes.Buffer
		p := &page{w: &out, style: style{terminal: terminal, columns: 100}, now: job.At(now)}
		p.series(s)
		if n := strings.Count(out.String(), "kind-"); n != want {
			t.Errorf("statistics of many kinds, on a terminal: %v: got %d rows, want %d rows:\n%s", terminal, n, want, out.String())
		}
		if more := strings.Count(out.String(), " more; --json has all"); (more == 2) != terminal {
			t.Errorf("on a terminal: %v: got %d lines that more rows exist, want 2 of them exactly on a terminal", terminal, more)
		}
	}
}

const (
	chart80 = `FIGURE      TOTAL   MOST
enqueued   59,280  1,470  ▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇█████████████████████
completed  44,025  1,225  ▇▇▇▇▇▇▇▇▇▇▇▇▇████████▂▂▂▂▂▂▂▂▂██████████████████
failed      4,500    900  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁██▇▆▅▅▄▃▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
dead           45      9  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▇▆▅▅▄▃▂▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
crashed         5      1  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▁▂▁▂▁▂▁▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
cancelled       0      0  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
mean run    221ms   1.1s  ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▄▄▅▆█▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃
mean wait     5ms    5ms  ████████████████████████████████████████████████

retries   1,234 overdue, 14,520 due in the next 2h
          █████████▇▇▇▇▇▇▇▇▆▆▆▆▆▆▆▆▆▅▅▅▅▅▅▅▅▅▄▄▄▄▄▄▄▄▃▃▃▃▃▃▃▃▃▂▂▂▂▂▂▂▂
          2m in a column

QUEUE    KIND    OLDEST DUE  NEXT
slow     render  1h ago      -
default  resize  4m ago      in 1h
default  mail    -           in 3s
`
	chart120 = `FIGURE      TOTAL   MOST
enqueued   97,560  1,710  ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇█████████████████████████
completed  74,925  1,345  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▂▂▂▂▂▂▂▂▂▇▇▇███████████████████████████████████████
failed      4,500    900  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁██▇▆▅▅▄▃▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
dead           45      9  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▇▆▅▅▄▃▂▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
crashed         5      1  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▁▂▁▂▁▂▁▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
cancelled       0      0  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
mean run    213ms   1.1s  ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▄▄▅▆█▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃
mean wait     5ms    5ms  ████████████████████████████████████████████████████████████████████████

retries   1,234 overdue, 14,520 due in the next 2h
          █████████▇▇▇▇▇▇▇▇▆▆▆▆▆▆▆▆▆▅▅▅▅▅▅▅▅▅▄▄▄▄▄▄▄▄▃▃▃▃▃▃▃▃▃▂▂▂▂▂▂▂▂
          2m in a column

QUEUE    KIND    OLDEST DUE  NEXT
slow     render  1h ago      -
default  resize  4m ago      in 1h
default  mail    -           in 3s
`
	queues80 = `QUEUE                     COMPLETED  FAILED  DEAD  ATTEMPTS
default                      44,025   4,500    45  ▇▇▇▇▇▇████▇▆▅▄▃█████████
a-queue-wit…y-characters      4,393     450    45  ▇▇▇▇▇▇▇███▇▆▅▄▃█████████

QUEUE    KIND    OLDEST DUE  NEXT
slow     render  1h ago      -
default  resize  4m ago      in 1h
default  mail    -           in 3s
`
	classes120 = `CLASS           FAILED  DEAD  SUCCEED  FAILED ATTEMPTS
NetworkTimeout   4,500    45   98.6 %  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁██▇▆▅▅▄▃▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
-                  450    45    0.0 %  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁██▇▆▅▅▄▃▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁

QUEUE    KIND    OLDEST DUE  NEXT
slow     render  1h ago      -
default  resize  4m ago      in 1h
default  mail    -           in 3s
`
)
