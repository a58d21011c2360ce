package selfbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

const (
	groupListMax  = 50 * time.Millisecond
	filterListMax = 100 * time.Millisecond
	exportLeast   = 50_000 // lowest accepted rate of the export, in rows a second
	exportMemory  = 100    // highest accepted memory of the export, in MB
	retryLeast    = 80_000 // lowest accepted rate of the bulk retry, in jobs a second

	deadCalls = 5 // number of measured calls of each list
)

// deadFigures measures how fast many dead letters are listed, exported and retried.
func (b *bencher) deadFigures(ctx context.Context, p *printer, rows int) (err error) {
	path := filepath.Join(b.dir, "dead.db")
	if err := seedDead(ctx, path, rows); err != nil {
		return err
	}
	fmt.Fprintf(b.log, "the database has %d dead letters\n", rows)
	if err := b.deadExport(ctx, p, path, rows); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), os.Remove(path)) }()
	if err := deadLists(ctx, p, s, rows); err != nil {
		return err
	}
	return deadRetry(ctx, p, s, rows)
}

// deadLists measures two queries: the list of groups, and the list of dead letters with
// many different filters.
func deadLists(ctx context.Context, p *printer, s *sqlite.Store, rows int) error {
	groups, err := timed(ctx, 4*deadCalls, 0, func() error {
		page, err := s.Groups(ctx, store.GroupFilter{Pending: true, Limit: 50})
		if err == nil && len(page.Groups) != 50 {
			err = fmt.Errorf("the list of groups has %d groups, want 50", len(page.Groups))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.below(fmt.Sprintf("list of groups over %d dead letters, the slowest", rows), groups.at(1), groupListMax); err != nil {
		return err
	}
	var all latencies
	partial := 0
	for _, f := range deadFilters(rows) {
		for range deadCalls {
			begin := time.Now()
			page, err := s.DeadLetters(ctx, f, store.DeadPaging{})
			if err != nil {
				return err
			}
			all = append(all, time.Since(begin))
			if page.Next != 0 && len(page.Entries) < 50 {
				partial++
			}
		}
	}
	slices.Sort(all)
	name := fmt.Sprintf("list by %d filters over %d dead letters, p99, %d of them partial", len(all)/deadCalls, rows, partial/deadCalls)
	return p.below(name, all.at(0.99), filterListMax)
}

// deadFilters returns the filters that are measured: each field alone, common
// pairs of fields, texts, and values that match few dead letters or nothing.
func deadFilters(rows int) []store.DeadFilter {
	span := job.Micros(rows) * 1000
	now := job.At(time.Now())
	recent, old := now-span/100, now-span*9/10
	pending := []job.Status{job.Pending}
	return []store.DeadFilter{
		{}, {Statuses: pending}, {Statuses: []job.Status{job.Resolved}}, {Statuses: []job.Status{job.Ignored, job.Redriven}},
		{Reason: job.NonRetriable}, {Reason: job.Stalled}, {Class: "Class3"}, {Class: "none"}, {Kind: deadKind(7)}, {Kind: "none"},
		{Queue: deadQueue}, {Queue: "none"}, {Owner: "tenant-17"}, {Owner: "none"}, {Group: "cause 42"}, {Group: "none"},
		{Since: recent}, {Until: old}, {Since: old, Until: old + span/1000},
		{Statuses: pending, Group: "cause 42"}, {Statuses: pending, Owner: "tenant-17", Class: "Class3"},
		{Kind: deadKind(7), Class: "Class7"}, {Kind: deadKind(7), Owner: "tenant-17"}, {Class: "Class3", Since: recent},
		{Owner: "tenant-17", Until: old}, {Kind: deadKind(3), Reason: job.MaxRetries, Since: old},
		{Text: "cause 42"}, {Text: "nowhere to be found"}, {Text: "renditions/77/", Class: "Class3"},
		{Owner: "tenant-17", Text: "503"}, {Kind: deadKind(7), Class: "Class3", Reason: job.Stalled},
	}
}

// deadExport measures the command that exports all dead letters.
func (b *bencher) deadExport(ctx context.Context, p *printer, path string, rows int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "dlq", "export", "--db", path, "--format", "jsonl", "-o", os.DevNull)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	peak, err := peakOf(cmd)
	if err != nil {
		return fmt.Errorf("export: %w: %s", err, out.String())
	}
	took := time.Since(begin)
	rate := float64(rows) / took.Seconds()
	memory := float64(peak) / 1e6
	return errors.Join(
		p.print(Figure{fmt.Sprintf("export of %d dead letters", rows), fmt.Sprintf(">= %d/s", exportLeast),
			round(rate), "rows/s", 0, rate >= exportLeast}),
		p.print(Figure{"memory of the export", fmt.Sprintf("< %d MB", exportMemory), memory, "MB", 0, memory < exportMemory}),
	)
}

// deadRetry measures a bulk retry of all dead letters while nothing else runs.
func deadRetry(ctx context.Context, p *printer, s *sqlite.Store, rows int) error {
	by := store.By{Actor: "bench"}
	a := store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}}
	frozen, err := s.Preview(ctx, a)
	if err != nil {
		return err
	}
	a.Through = frozen.Through
	done, begin := int64(0), time.Now()
	for {
		step, err := s.Act(ctx, by, a)
		if err != nil {
			return err
		}
		done += step.Done
		if a.After = step.Next; a.After == 0 {
			break
		}
	}
	rate := float64(done) / time.Since(begin).Seconds()
	if done != int64(rows) {
		return fmt.Errorf("bulk retry: only %d of %d dead letters were retried", done, rows)
	}
	return p.print(Figure{fmt.Sprintf("bulk retry of %d dead letters, alone", rows), fmt.Sprintf(">= %d/s", retryLeast),
		round(rate), "jobs/s", 0, rate >= retryLeast})
}
