package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Dump implements store.Reader.
func (s *Store) Dump(ctx context.Context) (*store.Dump, error) {
	t, err := s.begin(ctx, "dump")
	if err != nil {
		return nil, err
	}
	defer t.end()
	d := &store.Dump{
		Now:    t.now,
		Counts: t.counts(),
		Queues: t.sortedQueues(),
		Events: slices.Clone(t.events),
		Audit:  slices.Clone(t.audit),

		Policies: t.sortedPolicies(),

		Groups:     t.sortedGroups(),
		DeadCounts: t.deadCounts(),
		Originals:  t.sortedOriginals(),
		Redrives:   t.sortedRedrives(),
		Schedules:  t.sortedSchedules(),
		Processes:  t.sortedProcesses(),
		Figures:    t.dumpFigures(),
		Notes:      slices.Clone(t.notes),
		Requests:   t.sortedRequests(),
		Access:     t.sortedAccess(),
		Endpoints:  t.sortedEndpoints(),
		Secrets:    slices.Sorted(maps.Keys(t.secrets)),
		Streams:    t.sortedStreams(),
		Positions:  t.positionsOf(""),
		Sinks:      t.sinksOf(""),
		Reports:    t.reportsOf(""),
		Marks:      t.sortedMarks(),
	}
	t.dumpBatches(d)
	t.dumpNotify(d)
	for _, id := range t.ids {
		r := t.jobs[id]
		d.Jobs = append(d.Jobs, t.whole(r))
		if r.State == job.Running && r.begun == r.Token {
			d.Begun = append(d.Begun, store.Run{ID: id, Token: r.Token})
		}
		if live := r.State.Ready() || r.State == job.Running || r.State == job.Dead; live && (r.terms != "" || r.released) {
			d.Terms = append(d.Terms, store.JobTerms{Job: id, Terms: r.terms, Released: r.released})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.failures)) { // this includes the failure records of removed jobs
		d.Failures = append(d.Failures, t.failuresOf(id)...)
	}
	for _, id := range slices.Sorted(maps.Keys(t.dead)) {
		d.Dead = append(d.Dead, t.shown(t.dead[id]))
	}
	for _, k := range t.keys {
		d.Keys = append(d.Keys, k.Key)
	}
	slices.SortFunc(d.Keys, func(a, b store.Key) int { return cmp.Compare(a.Job, b.Job) })
	return d, nil
}
