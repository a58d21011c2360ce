package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// How much of each list a frame shows.
const (
	retriesShown = 4
	causesShown  = 6
	barColumns   = 24
)

// frame is what a terminal shows while the story goes on.
func (s *stage) frame(ctx context.Context) []string {
	v := &s.view
	head := fmt.Sprintf("redrive demo  %d jobs, seed %d, %s", s.Jobs, s.Seed, s.Path)
	at := fmt.Sprintf("%.1f s", s.elapsed().Seconds())
	gap := max(2, v.columns()-len([]rune(head))-len(at))
	lines := []string{"", v.faint(fit(head+strings.Repeat(" ", gap)+at, v.columns())), v.bold(fit(s.title, v.columns())), ""}
	lines = append(lines, s.table()...)
	lines = append(lines, s.retries(ctx)...)
	lines = append(lines, s.causes()...)
	return append(lines, s.redriveLines()...)
}

// table is the jobs by kind and state.
func (s *stage) table() []string {
	v := &s.view
	lines := []string{v.faint("              waiting  retrying  running  completed  dead")}
	counts := s.ledger.counts()
	for _, kind := range kinds {
		n := counts[kind]
		all := 0
		for _, count := range n {
			all += count
		}
		lines = append(lines, fmt.Sprintf("  %-12s%7d  %s  %7d  %s  %s  %s", kind, n[job.Waiting],
			v.some(v.yellow, 8, n[job.Retrying]), n[job.Running], v.some(v.green, 9, n[job.Completed]), v.some(v.red, 4, n[job.Dead]),
			v.bar(n, all)))
	}
	return append(lines, "")
}

// some is a number in a colour, unless it is zero.
func (v *view) some(paint func(string) string, width, n int) string {
	text := fmt.Sprintf("%*d", width, n)
	if n == 0 {
		return text
	}
	return paint(text)
}

// bar draws how many of the jobs have completed, are dead, and wait for a retry.
func (v *view) bar(n map[job.State]int, all int) string {
	if all == 0 {
		return ""
	}
	done := n[job.Completed] * barColumns / all
	retrying := n[job.Retrying] * barColumns / all
	dead := (n[job.Dead]*barColumns + all - 1) / all // a single one is seen
	rest := max(0, barColumns-done-retrying-dead)
	return v.green(strings.Repeat("█", done)) + v.yellow(strings.Repeat("▒", retrying)) +
		v.faint(strings.Repeat("·", rest)) + v.red(strings.Repeat("█", dead))
}

// retries are the retries that come next, and what users read meanwhile.
func (s *stage) retries(ctx context.Context) []string {
	v := &s.view
	lines := []string{v.faint("Next retries, and what users read meanwhile")}
	now := job.At(s.Now())
	for _, a := range s.ledger.retrying(retriesShown) {
		n := s.noteOf(ctx, a.id, a.run)
		in := max(0, a.due.Sub(now)).Seconds()
		text := fmt.Sprintf("  %4.1f s  %-14s  %-21s  retry %d of %d", in, fmt.Sprintf("%s %d", a.kind, a.id), a.class, n.n, n.of)
		lines = append(lines, v.yellow(text)+"  "+v.faint(fit(n.users, v.columns()-len([]rune(text))-2)))
	}
	for len(lines) < retriesShown+1 {
		lines = append(lines, "")
	}
	return append(lines, "")
}

// causes are the largest groups of dead letters.
func (s *stage) causes() []string {
	v := &s.view
	lines := []string{v.faint("Dead letters by cause")}
	more := 0
	for i := range s.groups {
		g := &s.groups[i]
		if len(lines) > causesShown {
			more++
			continue
		}
		text := fmt.Sprintf("  %4d  %-10s  %-21s", g.Pending, g.Kind, g.Class)
		lines = append(lines, v.red(text)+"  "+fit(causeOf(g), v.columns()-len([]rune(text))-2))
	}
	if more > 0 {
		lines = append(lines, v.faint(fmt.Sprintf("        and %d more causes", more)))
	}
	for len(lines) < causesShown+2 {
		lines = append(lines, "")
	}
	return lines
}

// causeOf is what the dead letters of a group have in common.
func causeOf(g *store.Group) string {
	text, _, _ := strings.Cut(g.Message, "\n")
	if text == "" {
		return g.Code
	}
	return text
}

// redriveLines are the redrives, the oldest first.
func (s *stage) redriveLines() (lines []string) {
	v := &s.view
	for i := len(s.redrives) - 1; i >= 0; i-- {
		r := &s.redrives[i]
		paint := v.yellow
		switch r.State {
		case store.RedriveStopped:
			paint = v.red
		case store.RedriveCompleted:
			paint = v.green
		default:
		}
		full := int(r.Completed * barColumns / max(r.Total, 1))
		lines = append(lines, fmt.Sprintf("Redrive %d  %s  %s%s  %d of %d brought back, %d completed, %d dead again",
			r.ID, paint(fmt.Sprintf("%-9s", r.State)), v.green(strings.Repeat("█", full)), v.faint(strings.Repeat("·", barColumns-full)),
			r.Released, r.Total, r.Completed, r.Dead))
	}
	return lines
}

// seconds writes a duration for people.
func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
