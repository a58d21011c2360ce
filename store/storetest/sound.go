package storetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// soundDead checks that the dead letters in a dump agree with the jobs and with all counters.
func soundDead(d *store.Dump) error {
	states := make(map[job.ID]job.State, len(d.Jobs))
	for i := range d.Jobs {
		states[d.Jobs[i].ID] = d.Jobs[i].State
	}
	entries := make(map[job.ID]bool, len(d.Dead))
	deaths := make(map[int64]bool, len(d.Dead))
	for i := range d.Dead {
		l := &d.Dead[i]
		if entries[l.Job] || deaths[l.Death] || l.Death < 1 {
			return fmt.Errorf("job %d has two dead letters, or two dead letters have the death number %d; want one dead letter for each job and each number", l.Job, l.Death)
		}
		entries[l.Job], deaths[l.Death] = true, true
		if err := soundEntry(l, states[l.Job]); err != nil {
			return err
		}
	}
	for id, state := range states {
		if state == job.Dead && !entries[id] {
			return fmt.Errorf("job %d is dead but has no dead letter, want a dead letter", id)
		}
	}
	for i := range d.Originals {
		if id := d.Originals[i].Job; !entries[id] && states[id] == job.None {
			return fmt.Errorf("original values of job %d are stored, but neither the job nor its dead letter is; want no original values", id)
		}
	}
	for i := range d.Redrives {
		r := &d.Redrives[i]
		if r.Completed+r.Dead+r.Cancelled > r.Answered || r.Answered > r.Released || r.Again > r.Answered {
			return fmt.Errorf("redrive %d: got %d released, %d answered, %d failed again, %d completed, %d dead, %d cancelled; want answered <= released, failed again <= answered, and completed + dead + cancelled <= answered",
				r.ID, r.Released, r.Answered, r.Again, r.Completed, r.Dead, r.Cancelled)
		}
	}
	return soundCounts(d)
}

// soundEntry checks that a dead letter agrees with the state of its job. A removed job has the
// state None.
func soundEntry(l *job.DeadLetter, state job.State) error {
	live := state != job.None && !state.Terminal()
	switch {
	case l.Revived == (state == job.Dead):
		return fmt.Errorf("dead letter of job %d in state %s: got Revived %v, want the opposite", l.Job, state, l.Revived)
	case live != (l.Status == job.Redriven):
		return fmt.Errorf("dead letter of job %d in state %s: the status %s is not allowed with this state", l.Job, state, l.Status)
	case l.ReopenAt != 0 && l.Status != job.Ignored:
		return fmt.Errorf("dead letter of job %d has a ReopenAt time but status %s, want status ignored", l.Job, l.Status)
	case (l.Action == "") != (l.ActedAt == 0) || (l.ActedBy == "") != (l.Action == ""):
		return fmt.Errorf("dead letter of job %d: got action %q at time %d by actor %q, want all three set or none", l.Job, l.Action, l.ActedAt, l.ActedBy)
	}
	fits := map[job.DeadAction]job.Status{
		"": job.Pending, job.ActionRetried: job.Redriven, job.ActionResolved: job.Resolved, job.ActionIgnored: job.Ignored,
		job.ActionReopened: job.Pending, job.ActionMuted: job.Ignored, job.ActionCompleted: job.Resolved, job.ActionCancelled: job.Resolved,
	}
	if status, known := fits[l.Action]; !known || status != l.Status {
		return fmt.Errorf("dead letter of job %d: got status %s, want the status that the last action %q gives", l.Job, l.Status, l.Action)
	}
	return nil
}

// soundCounts counts the rows in a dump and compares the numbers with the counters in the
// dump.
func soundCounts(d *store.Dump) error {
	jobs := map[store.Count]int64{}
	for i := range d.Jobs {
		jobs[store.Count{Queue: d.Jobs[i].Queue, Kind: d.Jobs[i].Kind, State: d.Jobs[i].State}]++
	}
	for _, c := range d.Counts {
		of := c
		of.N = 0
		if jobs[of] != c.N {
			return fmt.Errorf("the counter of jobs is %d for %+v, want %d, the number of rows", c.N, of, jobs[of])
		}
		delete(jobs, of)
	}
	dead := map[store.DeadCount]int64{}
	inGroup, pending := map[string]int64{}, map[string]int64{}
	for i := range d.Dead {
		l := &d.Dead[i]
		dead[store.DeadCount{Status: l.Status, Reason: l.Reason, Class: l.Class, Kind: l.Kind, Queue: l.Queue}]++
		if l.Fingerprint == "" {
			continue
		}
		inGroup[l.Fingerprint]++
		if l.Status == job.Pending {
			pending[l.Fingerprint]++
		}
	}
	counted := map[store.DeadCount]int64{}
	for _, c := range d.DeadCounts {
		n := c.N
		c.N = 0
		counted[c] += n
	}
	if diff := cmp.Diff(dead, counted, equal); diff != "" {
		return fmt.Errorf("the counters of dead letters differ from the numbers of rows (-rows +counters):\n%s", diff)
	}
	for i := range d.Groups {
		g := &d.Groups[i]
		if g.Entries != inGroup[g.Fingerprint] || g.Pending != pending[g.Fingerprint] || g.N < g.Entries {
			return fmt.Errorf("group %q counts %d deaths, %d dead letters and %d pending; want %d dead letters and %d pending as in the rows",
				g.Fingerprint, g.N, g.Entries, g.Pending, inGroup[g.Fingerprint], pending[g.Fingerprint])
		}
		delete(inGroup, g.Fingerprint)
		if g.Helped > g.Retried || (g.ResolvedAt == 0) != (g.ResolvedBy == "") || g.RegressedAt != 0 && g.RegressedAt < g.ResolvedAt ||
			g.RegressedAt != 0 && g.ResolvedAt == 0 || (g.Assignee == "") != (g.AssignedAt == 0) {
			return fmt.Errorf("group %q has values that contradict each other: %d of %d retries helped; resolved at %d by %q, regressed at %d; assigned to %q at %d",
				g.Fingerprint, g.Helped, g.Retried, g.ResolvedAt, g.ResolvedBy, g.RegressedAt, g.Assignee, g.AssignedAt)
		}
		if g.Muted == (g.MutedUntil == 0 && g.MutedFor == 0) {
			return fmt.Errorf("group %q: got muted %v until time %d and for %d deaths; want a time or a number of deaths if and only if the group is muted", g.Fingerprint, g.Muted, g.MutedUntil, g.MutedFor)
		}
	}
	if len(jobs)+len(inGroup) > 0 {
		return fmt.Errorf("jobs %v and groups %v have rows but no counter, want a counter for each of them", jobs, inGroup)
	}
	return nil
}
