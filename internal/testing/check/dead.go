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

// letterPast is what the events of a job say about its dead letter.
type letterPast struct {
	deaths int
	open   bool // there must be an entry
	status job.Status
	action job.DeadAction
	purged bool // the last word is that it was removed
}

// actionStatus is what an action makes of an entry.
var actionStatus = map[job.DeadAction]job.Status{
	job.ActionRetried: job.Redriven, job.ActionResolved: job.Resolved, job.ActionIgnored: job.Ignored,
	job.ActionReopened: job.Pending, job.ActionMuted: job.Ignored,
	job.ActionCompleted: job.Resolved, job.ActionCancelled: job.Resolved,
}

func (l *letterPast) did(a job.DeadAction) { l.action, l.status = a, actionStatus[a] }

// mutedAsItCame reports whether an entry is as it was when it came into a group
// that is ignored: that has no event but the death.
func (l *letterPast) mutedAsItCame(d *job.DeadLetter) bool {
	return l.status == job.Pending && l.action == "" && d.Status == job.Ignored && d.Action == job.ActionMuted
}

// add books one event.
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

// gone reports whether a job that is nowhere was removed as it should be: with
// its dead letter, or by retention after it ended.
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

// deadConservation: what died is there, or was removed by somebody with a name.
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
			broken(p.id, "has a dead letter that no event tells of, or that was removed")
		case l.open && len(p.letters) > 0:
			if got := p.letters[0]; (got.Status != l.status || got.Action != l.action) && !l.mutedAsItCame(got) {
				broken(p.id, "its dead letter is %s (%s); its events make it %s (%s)", got.Status, got.Action, l.status, l.action)
			}
		}
	}
	if n := x.stepsDone("dead_letter.purge") + x.rowsOf("dead_letter.purge") + x.stepsDone("retention.remove"); purged > n && !x.Retention {
		broken(0, "%d dead letters were removed and the audit knows of %d", purged, n)
	}
}

// stepsDone adds up what the audit rows of one action say that they did.
func (x *index) stepsDone(action string) (n int64) {
	for i := range x.Dump.Audit {
		if a := &x.Dump.Audit[i]; a.Action == action {
			n += doneOf(a)
		}
	}
	return n
}

// rowsOf counts the audit rows of an action that are about one thing each.
func (x *index) rowsOf(action string) (n int64) {
	for i := range x.Dump.Audit {
		if a := &x.Dump.Audit[i]; a.Action == action && doneOf(a) == 0 {
			n++
		}
	}
	return n
}

// doneOf is how many things one audit row is about, when it is about a step.
func doneOf(a *store.Audit) int64 {
	var after struct {
		Done int64 `json:"done"`
		N    int64 `json:"n"`
	}
	if json.Unmarshal([]byte(a.After), &after) != nil {
		return 0 // the row of one thing has a word there
	}
	return after.Done + after.N
}

// recountDead compares the counters of dead letters with the entries.
func (x *index) recountDead(broken func(job.ID, string, ...any)) {
	counted := make(map[store.DeadCount]int64)
	entries := make(map[string]int64)
	numbers := make(map[int64]job.ID)
	for i := range x.Dump.Dead {
		l := &x.Dump.Dead[i]
		counted[store.DeadCount{Status: l.Status, Reason: l.Reason, Class: l.Class, Kind: l.Kind, Queue: l.Queue}]++
		entries[l.Fingerprint]++
		if other, twice := numbers[l.Death]; twice || l.Death < 1 {
			broken(l.Job, "died as number %d, like job %d", l.Death, other)
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

// redriveNumbers demands that the numbers of a redrive fit together, and that it
// has brought each job back once.
func redriveNumbers(x *index, broken func(job.ID, string, ...any)) {
	told := x.toldReleases()
	for i := range x.Dump.Redrives {
		r := &x.Dump.Redrives[i]
		ended := r.Completed + r.Dead + r.Cancelled
		switch {
		case ended > r.Released || r.Answered > r.Released || r.Again > r.Answered || r.Released > r.Total:
			broken(0, "redrive %d: of %d jobs %d were brought back, %d answered, %d failed again, %d ended",
				r.ID, r.Total, r.Released, r.Answered, r.Again, ended)
		case r.State == store.RedriveCompleted && ended != r.Released:
			broken(0, "redrive %d is completed and %d of its %d jobs have ended", r.ID, ended, r.Released)
		}
		// The audit tells of what was brought back when the redrive's state changes.
		if n := told[r.ID]; n > r.Released || n != r.Released && !releases(r) {
			broken(0, "redrive %d is %s and has brought back %d jobs, the audit says %d", r.ID, r.State, r.Released, n)
		}
		delete(told, r.ID)
	}
	for id, n := range told {
		broken(0, "the audit says that redrive %d has brought back %d jobs, and there is none", id, n)
	}
}

// releases reports whether a redrive may bring back more jobs in its state.
func releases(r *store.Redrive) bool {
	return r.State == store.RedriveCanary || r.State == store.RedriveRamping
}

// toldReleases returns how many jobs each redrive has brought back as the audit
// says.
func (x *index) toldReleases() map[int64]int64 {
	told := make(map[int64]int64)
	for i := range x.Dump.Audit {
		a := &x.Dump.Audit[i]
		if id, err := strconv.ParseInt(a.Target, 10, 64); err == nil && a.Action == "redrive.release" {
			told[id] += doneOf(a)
		}
	}
	return told
}

// untoldReleases returns how many jobs the redrives that may go on have brought back
// since the audit has told of that.
func (x *index) untoldReleases() (n int64) {
	told := x.toldReleases()
	for i := range x.Dump.Redrives {
		if r := &x.Dump.Redrives[i]; releases(r) {
			n += max(0, r.Released-told[r.ID])
		}
	}
	return n
}
