package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

const hoursADay = 24

// spark is a row of bars: the failures of 24 hours.
type spark struct {
	Quiet, Bars string // the paths of the bars of hours without and with failures
	Label       string // the same in words
}

// The size of a spark in the units of its drawing: 24 bars of 3 with a gap of 1.
const (
	sparkHeight = 22
	sparkStep   = 4
	sparkBar    = 3
)

// sparkOf draws numbers as bars. Any number above zero has a bar that can be seen.
func sparkOf(numbers []int64) spark {
	var s spark
	var quiet, bars strings.Builder
	most, sum, last := int64(0), int64(0), -1
	for i, n := range numbers {
		most = max(most, n)
		if sum += n; n > 0 {
			last = i
		}
	}
	for i, n := range numbers {
		height, out := 1.0, &quiet
		if n > 0 {
			height, out = max(2, barHeight(n, most, sparkHeight)), &bars
		}
		fmt.Fprintf(out, "M%d %sh%dv%sh-%dz", i*sparkStep, num(sparkHeight-height), sparkBar, num(height), sparkBar)
	}
	s.Quiet, s.Bars = quiet.String(), bars.String()
	switch {
	case sum == 0:
		s.Label = "none in 24 hours"
	case last == len(numbers)-1:
		s.Label = fmt.Sprintf("%s in 24 hours, at most %s an hour, %s in this hour", words.Number(sum), words.Number(most), words.Number(numbers[last]))
	default:
		s.Label = fmt.Sprintf("%s in 24 hours, at most %s an hour, the last %s ago", words.Number(sum), words.Number(most), words.Count(int64(len(numbers)-1-last), "hour"))
	}
	return s
}

// barHeight returns the height of a bar for n of most.
func barHeight(n, most int64, height float64) float64 {
	if most <= 0 || n <= 0 {
		return 0
	}
	return height * float64(n) / float64(most)
}

// num writes a coordinate with at most two decimals.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// hours is the chart of the hour behind and the hour ahead: attempts that ended above the line, and
// retries that fall due.
type hours struct {
	Completed, Failed, Dead, Due int64  // the sums
	Later                        int64  // waiting jobs that fall due in the next hour
	LaterMore                    bool   // there are more than Later
	From, Now, Until             string // the bounds of both hours, for links
	Overdue                      int64
	Planned                      int64 // dead jobs that active redrives retry at their present pace
	Redrives                     int64
	Capped                       bool // at least one number of due retries is larger than shown

	Area, Top, Retried, Buried, Coming, Plan, Waiting string // paths in a box of 120 x 184
	Grid                                              []gridLine
	Axis                                              [5]string
	Desc                                              string
	Rows                                              []hourRow
}

// gridLine is a line of the chart with its number.
type gridLine struct {
	Y, TextY float64
	Text     string
	Below    bool // of the lower part
}

// hourRow is a row of the table under the chart: ten minutes.
type hourRow struct {
	From                                         string
	Ahead                                        bool
	Completed, Failed, Dead, Due, Later, Planned int64
}

// The box of the chart: completed attempts stand on baseTop, failures on baseLow.
const (
	hourMinutes = 60
	baseTop     = 112
	baseLow     = 184
	lowHeight   = 60
)

// hoursOf draws the minutes of the last hour, and the retries, the waiting jobs and the redrives of the next. Times are
// written in the zone.
func hoursOf(zone *time.Location, now job.Micros, last *api.LastHours, redrives []redrive.Redrive) hours {
	points, due := last.Minutes, &last.Due
	var completed, failed, dead [hourMinutes]int64
	minute := job.Micros(time.Minute / time.Microsecond)
	first := now/minute - (hourMinutes - 1)
	exact := func(at job.Micros) string { return at.Time().UTC().Format(time.RFC3339Nano) }
	h := hours{Overdue: due.Overdue, Capped: due.Capped, Later: int64(len(last.Later)), LaterMore: last.LaterMore,
		From: exact(first * minute), Now: exact(due.At), Until: exact(due.At.Add(time.Hour))}
	for i := range points {
		at := int(points[i].At/minute - first)
		if at < 0 || at >= hourMinutes {
			continue
		}
		died := min(points[i].Dead, points[i].Failed+points[i].Crashed)
		completed[at] += points[i].Completed
		failed[at] += points[i].Failed + points[i].Crashed - died
		dead[at] += died
	}
	var coming [hourMinutes]int64
	copy(coming[:], due.Minutes)
	var later [hourMinutes]int64
	for _, at := range last.Later {
		later[min(max(int((at-due.At)/minute), 0), hourMinutes-1)]++
	}
	plan := planned(now, redrives, &h)
	mostTop, mostLow := int64(1), int64(1)
	for i := range hourMinutes {
		h.Completed, h.Failed, h.Dead, h.Due = h.Completed+completed[i], h.Failed+failed[i], h.Dead+dead[i], h.Due+coming[i]
		mostTop, mostLow = max(mostTop, completed[i], coming[i]+later[i]+plan[i]), max(mostLow, failed[i]+dead[i])
	}
	mostTop, mostLow = niceMost(mostTop), niceMost(mostLow)
	var area, top, retried, buried, ahead, waiting strings.Builder
	for i := range hourMinutes {
		y := baseTop - barHeight(completed[i], mostTop, baseTop-2)
		fmt.Fprintf(&top, "%s%s %s", map[bool]string{true: "M", false: "L"}[i == 0], num(float64(i)+0.5), num(y))
		low := barHeight(failed[i], mostLow, lowHeight)
		bar(&retried, float64(i), baseLow, low)
		bar(&buried, float64(i), baseLow-low, barHeight(dead[i], mostLow, lowHeight))
		base := barHeight(plan[i], mostTop, baseTop-2)
		retries := barHeight(coming[i], mostTop, baseTop-2)
		bar(&ahead, float64(hourMinutes+i), baseTop-base, retries)
		bar(&waiting, float64(hourMinutes+i), baseTop-base-retries, barHeight(later[i], mostTop, baseTop-2))
	}
	fmt.Fprintf(&area, "%sL%s %dL0.5 %dz", top.String(), num(hourMinutes-0.5), baseTop, baseTop)
	h.Area, h.Top, h.Retried, h.Buried, h.Coming = area.String(), top.String(), retried.String(), buried.String(), ahead.String()
	h.Plan, h.Waiting = outline(plan[:], mostTop), waiting.String()
	h.Grid = []gridLine{
		{Y: 2, TextY: 12, Text: words.Number(mostTop) + " a minute"},
		{Y: baseTop - (baseTop-2)/2.0, TextY: baseTop - (baseTop-2)/2.0 - 3, Text: half(mostTop)},
		{Y: baseLow - lowHeight, TextY: baseLow - lowHeight + 4, Text: words.Count(mostLow, "failure") + " a minute", Below: true},
	}
	for i := range h.Axis {
		at := now.Add(time.Duration(i-2) * 30 * time.Minute)
		h.Axis[i] = at.Time().In(zone).Format("15:04")
	}
	h.Axis[2] += " now"
	h.Desc = fmt.Sprintf("In the last hour %s completed, %s failed and were retried, %s ended dead. In the next hour %s and %s that wait fall due.",
		words.Count(h.Completed, "job"), words.Count(h.Failed, "attempt"), words.Count(h.Dead, "job"), words.Count(h.Due, "retry"), words.Count(h.Later, "job"))
	if more := words.PlannedSentence(h.Planned, h.Redrives); more != "" {
		h.Desc += " " + more
	}
	const step = 10
	for i := 0; i < hourMinutes; i += step {
		r := hourRow{From: ((first + job.Micros(i)) * minute).Time().In(zone).Format("15:04")}
		for k := i; k < i+step; k++ {
			r.Completed, r.Failed, r.Dead = r.Completed+completed[k], r.Failed+failed[k], r.Dead+dead[k]
		}
		h.Rows = append(h.Rows, r)
	}
	for i := 0; i < hourMinutes; i += step {
		r := hourRow{From: now.Add(time.Duration(i) * time.Minute).Time().In(zone).Format("15:04"), Ahead: true}
		for k := i; k < i+step; k++ {
			r.Due, r.Later, r.Planned = r.Due+coming[k], r.Later+later[k], r.Planned+plan[k]
		}
		h.Rows = append(h.Rows, r)
	}
	return h
}

// planned returns how many dead jobs the active redrives will retry in each of the next minutes if they
// keep their present pace, which their own limit bounds.
func planned(now job.Micros, redrives []redrive.Redrive, h *hours) (minutes [hourMinutes]int64) {
	for i := range redrives {
		r := &redrives[i]
		left := r.Total - r.Released - r.Refused
		if r.State != redrive.RedriveCanary && r.State != redrive.RedriveRamping || r.Live != nil || left <= 0 {
			continue
		}
		pace := left // nothing says yet how fast it goes
		if elapsed := now.Sub(r.CreatedAt); r.Released > 0 && elapsed > 0 {
			pace = max(1, int64(float64(r.Released)/elapsed.Minutes()))
		}
		if r.Rate > 0 {
			pace = min(pace, 60*int64(r.Rate))
		}
		h.Redrives++
		for m := 0; m < hourMinutes && left > 0; m++ {
			n := min(pace, left)
			minutes[m] += n
			left -= n
			h.Planned += n
		}
	}
	return minutes
}

// outline draws the upper edge of bars of one minute each, in the hour ahead, as a closed shape. It is ""
// if there is nothing to draw.
func outline(numbers []int64, most int64) string {
	last := -1
	for i, n := range numbers {
		if n > 0 {
			last = i
		}
	}
	if last < 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "M%d %d", hourMinutes, baseTop)
	for i := range last + 1 {
		fmt.Fprintf(&out, "V%sh1", num(baseTop-barHeight(numbers[i], most, baseTop-2)))
	}
	fmt.Fprintf(&out, "V%dz", baseTop)
	return out.String()
}

// bar adds a bar of one minute that stands on a base.
func bar(out *strings.Builder, x, base, height float64) {
	if height > 0 {
		height = max(height, 1)
		fmt.Fprintf(out, "M%s %sh.7v%sh-.7z", num(x+0.15), num(base-height), num(height))
	}
}

// niceMost returns the smallest of 1, 2, 4, 10, 20, 40, 100 and so on that is at least n.
func niceMost(n int64) int64 {
	for most := int64(1); ; most *= 10 {
		for _, k := range [...]int64{1, 2, 4} {
			if k*most >= n {
				return k * most
			}
		}
	}
}

// half writes half of a number, "" if it is not whole.
func half(n int64) string {
	if n%2 != 0 {
		return ""
	}
	return words.Number(n / 2)
}
