package check

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// reportMax is the number of violations that are printed with the history of their job.
const reportMax = 5

// Report prints the violations, the first ones with everything known about their jobs. Without
// violations it prints nothing.
func Report(w io.Writer, h *History, violations []Violation) error {
	x := newIndex(h)
	var b strings.Builder
	shown := make(map[job.ID]bool)
	for i, v := range violations {
		if i == reportMax {
			fmt.Fprintf(&b, "and %d more violations\n", len(violations)-reportMax)
			break
		}
		fmt.Fprintln(&b, v)
		if p := x.byID[v.Job]; p != nil && !shown[v.Job] {
			shown[v.Job] = true
			p.tell(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tell prints everything that is known about a job: its submission, its state, and the records of
// the store, the handlers and the workers.
func (p *past) tell(b *strings.Builder) {
	for _, e := range p.enqueues {
		fmt.Fprintf(b, "    submitted  %s: %s, kind %s, key %q, again %v, existing %v\n", e.Name, e.Answer, e.Kind, e.Key, e.Again, e.Existing)
	}
	for _, j := range p.rows {
		fmt.Fprintf(b, "    stored     %s %s, life %d, run %d, %+v, holder %s\n", j.State, j.Reason, j.Life, j.Token, j.Counters, j.Holder)
	}
	for _, e := range p.events {
		fmt.Fprintf(b, "    event      %s at %s: %s\n", e.Cursor, clockTime(e.At), about(e))
	}
	slices.SortStableFunc(p.runs, func(a, b *Run) int { return int(a.Token - b.Token) })
	for _, r := range p.runs {
		fmt.Fprintf(b, "    handler    run %d of life %d by %s: %s to %s, error %q\n",
			r.Token, r.Life, r.Holder, clockTime(r.Start), clockTime(r.End), r.Error)
	}
	for _, w := range p.writes {
		fmt.Fprintf(b, "    outcome    run %d %s to %s: %s, again %v\n", w.Token, w.Cause, w.To, w.Answer, w.Again)
	}
	for _, f := range p.failures {
		fmt.Fprintf(b, "    failure    run %d: %s %s: %.120q\n", f.Token, f.How, f.Class, f.Message)
	}
	for _, l := range p.letters {
		fmt.Fprintf(b, "    letter     life %d, %s, %s, revived %v\n", l.Life, l.Status, l.Reason, l.Revived)
	}
}

func about(e *event.Event) string {
	if !isTransition(e) {
		return fmt.Sprintf("%s, run %d", e.Type, e.Token)
	}
	return fmt.Sprintf("%s, %s to %s, life %d, run %d, attempts %d %s", e.Type, e.From, e.To, e.Life, e.Token, e.Attempt, e.Reason)
}

func clockTime(m job.Micros) string {
	if m == 0 {
		return "never"
	}
	return m.Time().Format("15:04:05.000000")
}

// String returns the name of the answer.
func (a Answer) String() string {
	switch a {
	case Written:
		return "written"
	case Refused:
		return "refused"
	case Unknown:
	}
	return "unknown"
}
