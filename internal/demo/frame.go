package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The largest numbers of lines of the lists on the screen.
const (
	retriesShown = 4
	causesShown  = 6
)

// barColumns returns the width of a bar beside a text of the given width, in columns.
func (v *view) barColumns(beside int) int { return min(24, max(8, v.columns()-beside)) }

// frame returns the lines that the terminal shows while the demo runs.
func (s *stage) frame(ctx context.Context) []string {
	v := &s.view
	head := fmt.Sprintf("redrive demo  %d jobs, seed %d, %s", s.Jobs, s.Seed, s.Path)
	at := fmt.Sprintf("%.1f s", s.elapsed().Seconds())
	gap := max(2, v.columns()-len([]rune(head))-len(at))
	lines := []string{"", v.row(span{v.faint, head + strings.Repeat(" ", gap) + at}), v.row(span{v.bold, s.title}), ""}
	lines = append(lines, s.table()...)
	if len(s.redrives) > 0 {
		lines = append(lines, s.redriveLines()...)
	} else {
		lines = append(lines, s.retries(ctx)...)
	}
	return append(lines, s.causes()...)
}

// table returns the lines with the number of jobs by kind and state.
func (s *stage) table() []string {
	v := &s.view
	lines := []string{v.row(span{v.faint, "              waiting  retrying  running  completed  dead  "},
		span{v.green, "█"}, span{v.faint, " completed "}, span{v.yellow, "▒"}, span{v.faint, " retrying "}, span{v.red, "█"}, span{v.faint, " dead"})}
	counts := s.ledger.counts()
	some := func(paint func(string) string, width, n int) span {
		if n == 0 {
			paint = nil
		}
		return span{paint, fmt.Sprintf("%*d", width, n)}
	}
	for _, kind := range kinds {
		n := counts[kind]
		spans := []span{
			{nil, fmt.Sprintf("  %-12s", kind)}, some(nil, 7, n[job.Waiting]), some(v.yellow, 10, n[job.Retrying]),
			some(nil, 9, n[job.Running]), some(v.green, 11, n[job.Completed]), some(v.red, 6, n[job.Dead]), {nil, "  "},
		}
		lines = append(lines, v.row(append(spans, v.bar(n)...)...))
	}
	return append(lines, "")
}

// bar draws the shares of completed, retrying and dead jobs.
func (v *view) bar(n map[job.State]int) []span {
	all := 0
	for _, count := range n {
		all += count
	}
	if all == 0 {
		return nil
	}
	columns := v.barColumns(60)
	done := n[job.Completed] * columns / all
	retrying := n[job.Retrying] * columns / all
	dead := min((n[job.Dead]*columns+all-1)/all, columns-done-retrying) // the width is rounded up, so that the bar shows even a single dead job
	return []span{
		{v.green, strings.Repeat("█", done)}, {v.yellow, strings.Repeat("▒", retrying)},
		{v.faint, strings.Repeat("·", columns-done-retrying-dead)}, {v.red, strings.Repeat("█", dead)},
	}
}

// retries returns the lines with the next retries and the texts for users.
func (s *stage) retries(ctx context.Context) []string {
	v := &s.view
	now := job.At(s.Now())
	coming, due := s.ledger.retrying(now)
	title := "Next retries, and what users read meanwhile"
	if len(coming)+due == 0 {
		title = "No job waits for a retry"
	}
	if due > 0 {
		title += fmt.Sprintf(" (%d are due, and wait for a worker)", due)
	}
	lines := []string{v.row(span{v.faint, title})}
	for _, a := range coming[:min(retriesShown, len(coming))] {
		n := s.noteOf(ctx, a.id, a.run)
		lines = append(lines, v.row(
			span{nil, fmt.Sprintf("  in %4.1f s  %-14s  ", a.due.Sub(now).Seconds(), fmt.Sprintf("%s %d", a.kind, a.id))},
			span{v.yellow, fmt.Sprintf("%-21s", a.class)}, span{nil, fmt.Sprintf("  retry %d of %d  ", n.n, n.of)}, span{v.faint, n.users}))
	}
	return padded(lines, retriesShown+2)
}

// causes returns the lines with the largest groups of pending dead letters.
func (s *stage) causes() []string {
	v := &s.view
	lines := []string{v.row(span{v.faint, "Dead letters by cause"})}
	pending := s.pendingGroups()
	for i := range pending[:min(causesShown, len(pending))] {
		lines = append(lines, v.causeLine(&pending[i]))
	}
	if more := len(pending) - causesShown; more > 0 {
		lines = append(lines, v.row(span{v.faint, fmt.Sprintf("        and %d more", more)}))
	}
	return padded(lines, causesShown+2)
}

// pendingGroups returns the groups with pending dead letters, the largest first.
func (s *stage) pendingGroups() []store.Group {
	return slices.DeleteFunc(slices.Clone(s.groups), func(g store.Group) bool { return g.Pending == 0 })
}

func (v *view) causeLine(g *store.Group) string {
	return v.row(span{v.red, fmt.Sprintf("  %4d", g.Pending)}, span{nil, fmt.Sprintf("  %-10s  %-21s  ", g.Kind, g.Class)}, span{v.faint, causeOf(g)})
}

// causeOf describes what the dead letters of a group have in common.
func causeOf(g *store.Group) string {
	text, _, _ := strings.Cut(g.Message, "\n")
	if text == "" {
		return g.Code
	}
	return text
}

// redriveLines returns a line for each redrive, the oldest first.
func (s *stage) redriveLines() (lines []string) {
	v := &s.view
	for i := len(s.redrives) - 1; i >= 0; i-- {
		r := &s.redrives[i]
		paint := v.yellow
		switch r.State {
		case store.RedriveStopped, store.RedriveEnded:
			paint = v.red
		case store.RedriveCompleted:
			paint = v.green
		default:
		}
		columns := v.barColumns(68)
		full := int(r.Completed) * columns / max(int(r.Total), 1)
		lines = append(lines, v.row(
			span{v.bold, fmt.Sprintf("Redrive %d  ", r.ID)}, span{paint, fmt.Sprintf("%-9s  ", r.State)},
			span{v.green, strings.Repeat("█", full)}, span{v.faint, strings.Repeat("·", columns-full)},
			span{nil, fmt.Sprintf("  %d of %d out, %d completed, %d dead again", r.Released, r.Total, r.Completed, r.Dead)}))
	}
	return append(lines, "")
}

// padded appends empty lines until there are n lines, so that the lines below do not move.
func padded(lines []string, n int) []string {
	for len(lines) < n {
		lines = append(lines, "")
	}
	return lines
}

// seconds formats a duration as whole seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
