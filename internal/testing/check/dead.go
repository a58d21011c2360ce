package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// letterPast is the state that a job's dead letter must have after the events of the job.
type letterPast struct {
	deaths int
	open   bool // whether the dead letter must exist now
	status job.Status
	action job.DeadAction
	purged bool // whether the last event says that the dead letter was removed
}

// actionStatus has the status of a dead letter after each action.
var actionStatus = map[job.DeadAction]job.Status{
	job.ActionRetried: job.Redriven, job.ActionResolved: job.Resolved, job.ActionIgnored: job.Ignored,
	job.ActionReopened: job.Pending, job.ActionMuted: job.Ignored,
	job.ActionCompleted: job.Resolved, job.ActionCancelled: job.Resolved,
}

func (l *letterPast) did(a job.DeadAction) { l.action, l.status = a, actionStatus[a] }

// mutedAsItCame reports whether the dead letter came into a muted group and has not changed since:
// it has no event after the death of the job.
func (l *letterPast) mutedAsItCame(d *job.DeadLetter) bool {
	return l.status == job.Pending && l.action == "" && d.Status == job.Ignored && d.Action == job.ActionMuted
}

// add applies one event to the state.
func (l *letterPast) add(e *event.Event) {
	switch {
	case isTransition(e) && e.To == job.Dead:
		*l = letterPast{deaths: l.deaths + 1, open: true, status: job.Pending}
	case e.Type == event.JobRetried:
		l.did(job.ActionRetried)
	case e.Type == event.DeadLetterChanged:
		l.did(job.DeadAction(e.Reason))
	case e.Type == event.DeadLetterPurged:
		l.open, l.purged = false, true
	case l.open && l.status == job.Redriven && isTransition(e) && e.To == job.Completed:
		l.did(job.ActionCompleted)
	case l.open && l.status == job.Redriven && isTransition(e) && e.To == job.Cancelled:
		l.did(job.ActionCancelled)
	}
}

func (p *past) letterOf() (l letterPast) {
	for _, e := range p.events {
		l.add(e)
	}
	return l
}

// purged reports whether a purge removed the dead letter and the failure records of a job. If the job was
// retried before and has completed, it is still there.
func (p *past) purged() bool { return len(p.letters) == 0 && p.letterOf().purged }

// gone reports whether a missing job was removed correctly: either together with its dead letter,
// or by retention after the end of the job.
func (x *index) gone(p *past) bool {
	l := p.letterOf()
	if l.purged {
		return true
	}
	last := job.None
	for _, e := range p.events {
		if isTransition(e) {
			last = e.To
		}
	}
	return x.Retention && (last == job.Completed || last == job.Cancelled)
}

// deadConservation checks that a job that died has a dead letter, or that an audited action removed
// it.
func deadConservation(x *index, broken func(job.ID, string, ...any)) {
	purged := int64(0)
	for _, p := range x.jobs {
		if len(p.events) == 0 {
			continue
		}
		l := p.letterOf()
		if l.purged {
			purged++
		}
		switch {
		case l.open && len(p.letters) == 0 && (!x.Retention || p.row() != nil):
			broken(p.id, "has died %d times and has no dead letter", l.deaths)
		case !l.open && len(p.letters) > 0:
			broken(p.id, "has a dead letter without an event, or one that was removed")
		case l.open && len(p.letters) > 0:
			if got := p.letters[0]; (got.Status != l.status || got.Action != l.action) && !l.mutedAsItCame(got) {
				broken(p.id, "its dead letter is %s (%s); by its events it should be %s (%s)", got.Status, got.Action, l.status, l.action)
			}
		}
	}
	if n := x.stepsDone("dead_letter.purge") + x.rowsOf("dead_letter.purge") + x.stepsDone("retention.remove"); purged > n && !x.Retention {
		broken(0, "%d dead letters were removed and the audit has %d", purged, n)
	}
}

// stepsDone returns the sum of the numbers in the audit rows that the steps of one action have
// written.
func (x *index) stepsDone(action string) (n int64) {
	for i := range x.Dump.Audit {
		if a := &x.Dump.Audit[i]; a.Action == action {
			n += doneOf(a)
		}
	}
	return n
}

// rowsOf counts the audit rows of an action that are about a single object.
func (x *index) rowsOf(action string) (n int64) {
	for i := range x.Dump.Audit {
		if a := &x.Dump.Audit[i]; a.Action == action && doneOf(a) == 0 {
			n++
		}
	}
	return n
}

// doneOf returns the number of objects that the audit row of a step counts.
func doneOf(a *store.Audit) int64 {
	var after struct {
		Done int64 `json:"done"`
		N    int64 `json:"n"`
	}
	if json.Unmarshal([]byte(a.After), &after) != nil {
		return 0 // the audit row of a single object has a text instead of a number
	}
	return after.Done + after.N
}

// recountDead compares the counters of dead letters with the dead letters.
func (x *index) recountDead(broken func(job.ID, string, ...any)) {
	counted := make(map[store.DeadCount]int64)
	entries := make(map[string]int64)
	numbers := make(map[int64]job.ID)
	for i := range x.Dump.Dead {
		l := &x.Dump.Dead[i]
		counted[store.DeadCount{Status: l.Status, Reason: l.Reason, Class: l.Class, Kind: l.Kind, Queue: l.Queue}]++
		entries[l.Fingerprint]++
		if other, twice := numbers[l.Death]; twice || l.Death < 1 {
			broken(l.Job, "has the death number %d, like job %d", l.Death, other)
		}
		numbers[l.Death] = l.Job
	}
	for _, c := range x.Dump.DeadCounts {
		n := c.N
		c.N = 0
		if counted[c] != n {
			broken(0, "%d dead letters are %+v, the counter says %d", counted[c], c, n)
		}
		delete(counted, c)
	}
	if len(counted) > 0 {
		broken(0, "dead letters are not counted: %v", slices.Collect(maps.Keys(counted)))
	}
	for _, g := range x.Dump.Groups {
		if g.Entries != entries[g.Fingerprint] {
			broken(g.Sample, "group %q counts %d dead letters, there are %d", g.Fingerprint, g.Entries, entries[g.Fingerprint])
		}
	}
}

// redriveNumbers checks that the counters of a redrive are consistent, and that the redrive has
// retried each job only once.
func redriveNumbers(x *index, broken func(job.ID, string, ...any)) {
	audited := x.auditedReleases()
	for i := range x.Dump.Redrives {
		r := &x.Dump.Redrives[i]
		ended := r.Completed + r.Dead + r.Cancelled
		switch {
		case ended > r.Released || r.Answered > r.Released || r.Again+r.Other > r.Answered || r.Released > r.Total:
			broken(0, "redrive %d: of %d jobs %d were brought back, %d answered, %d failed again, %d failed otherwise, %d ended",
				r.ID, r.Total, r.Released, r.Answered, r.Again, r.Other, ended)
		case r.State == store.RedriveCompleted && r.Live == nil && r.Completed != r.Released:
			broken(0, "redrive %d is completed and %d of its %d jobs have completed", r.ID, r.Completed, r.Released)
		case r.State == store.RedriveEnded && (ended != r.Released || r.Completed == r.Released):
			broken(0, "redrive %d has ended, %d of its %d jobs have, and %d have completed", r.ID, ended, r.Released, r.Completed)
		}
		// The audit rows count all released jobs only after the redrive has changed its state.
		if n := audited[r.ID]; n > r.Released || n != r.Released && !releases(r) {
			broken(0, "redrive %d is %s and has brought back %d jobs, but the audit has %d", r.ID, r.State, r.Released, n)
		}
		delete(audited, r.ID)
	}
	for id, n := range audited {
		broken(0, "the audit has a redrive %d with %d released jobs that does not exist", id, n)
	}
}

// releases reports whether a redrive in its state may release more jobs.
func releases(r *store.Redrive) bool {
	return r.State == store.RedriveCanary || r.State == store.RedriveRamping
}

// auditedReleases returns, by redrive, how many jobs were released according to the audit log.
func (x *index) auditedReleases() map[int64]int64 {
	audited := make(map[int64]int64)
	for i := range x.Dump.Audit {
		a := &x.Dump.Audit[i]
		if id, err := strconv.ParseInt(a.Target, 10, 64); err == nil && a.Action == "redrive.release" {
			audited[id] += doneOf(a)
		}
	}
	return audited
}

// released returns how many jobs all redrives together have released. If act is 0, it counts the
// redrives of dead letters, otherwise the redrives that apply this act to live jobs.
func (x *index) released(do store.LiveAct) (n int64) {
	audited := x.auditedReleases()
	for i := range x.Dump.Redrives {
		r := &x.Dump.Redrives[i]
		if r.Live != nil && r.Live.Do != do || r.Live == nil && do != 0 {
			continue
		}
		if n += audited[r.ID]; releases(r) {
			n += max(0, r.Released-audited[r.ID])
		}
	}
	return n
}
