package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// life is the sum of the events in one life of a job: the time until a manual retry begins the next life.
type life struct {
	number   int32
	counters job.Counters
	claims   int32
	stopped  int32 // the number of runs that were cancelled
	running  int32 // 1 if the last run has not ended, else 0
}

// accounted returns how many claims the life must have according to its counters.
func (l *life) accounted() int32 { return l.counters.Sum() + l.stopped + l.running }

// add adds one event to the life.
func (l *life) add(e *event.Event) {
	switch {
	case e.Type == event.JobClaimed:
		l.claims++
		l.running = 1
	case endsRun(e):
		l.running = 0
		l.counters.Count(job.Cause(e.Type))
		if job.Cause(e.Type) == job.Cancel {
			l.stopped++
		}
	}
}

// lives adds up the events of each life. After it has added an event, it calls the given function
// with the event and the life.
func (p *past) lives(visit func(l *life, e *event.Event)) []*life {
	var lives []*life
	for _, e := range p.events {
		if !isTransition(e) {
			continue
		}
		if len(lives) == 0 || e.Type == event.JobRetried {
			lives = append(lives, &life{number: int32(len(lives)) + 1})
		}
		l := lives[len(lives)-1]
		l.add(e)
		visit(l, e)
	}
	return lives
}

func attemptAccounting(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		total := int32(0)
		lives := p.lives(func(l *life, e *event.Event) {
			if e.Life != l.number || e.Attempt != l.counters.Attempts {
				broken(p.id, "event %s, %s, has life %d with %d attempts; by the earlier events it is life %d with %d",
					e.Cursor, e.Type, e.Life, e.Attempt, l.number, l.counters.Attempts)
			}
		})
		for _, l := range lives {
			total += l.claims
			if l.claims != l.accounted() {
				broken(p.id, "life %d has %d claims and %d runs that ended or run", l.number, l.claims, l.accounted())
			}
		}
		row := p.row()
		if row == nil || len(lives) == 0 {
			continue
		}
		last := lives[len(lives)-1]
		if row.Counters != last.counters || row.Life != last.number {
			broken(p.id, "the counters are %+v in life %d; by its events they should be %+v in life %d", row.Counters, row.Life, last.counters, last.number)
		}
		if row.Token != job.Token(total) {
			broken(p.id, "has token %d after %d claims", row.Token, total)
		}
	}
}

func boundedRetry(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		row := p.row()
		if row == nil {
			continue
		}
		limits := x.Limits[row.Kind]
		x.startsInTime(p, broken)
		for _, l := range p.lives(func(_ *life, e *event.Event) {
			if e.Type == event.JobClaimed && row.Deadline != 0 && e.At >= row.Deadline {
				broken(p.id, "run %d started after the deadline", e.Token)
			}
		}) {
			if limits.Attempts > 0 && l.counters.Attempts > limits.Attempts {
				broken(p.id, "life %d has %d attempts, at most %d are allowed", l.number, l.counters.Attempts, limits.Attempts)
			}
			if most := crashLimit(limits); l.counters.Crashes > most {
				broken(p.id, "life %d has %d crashes, at most %d are allowed", l.number, l.counters.Crashes, most)
			}
		}
	}
}

// startSlack is the longest time between the moment in which a worker decides to begin a run and the
// time that the handler records.
const startSlack = 100 * time.Millisecond

// startsInTime checks that no handler began a job after its deadline. A retry by hand removes the
// deadline, so only the first life is checked.
func (x *index) startsInTime(p *past, broken func(job.ID, string, ...any)) {
	e := x.origin(p)
	if e == nil || e.Deadline == 0 || e.Existing {
		return
	}
	for _, r := range p.runs {
		late := r.Start.Sub(e.Deadline)
		busy := func(t Trouble) bool { return t.What == Busy && t.From <= r.Start && t.To >= e.Deadline }
		if r.Life == 1 && late > startSlack && !slices.ContainsFunc(x.Troubles, busy) {
			broken(p.id, "the handler began run %d %s after the deadline", r.Token, late)
		}
	}
}

func crashLimit(l Limits) int32 {
	if l.Crashes > 0 {
		return min(l.Crashes, job.MaxCrashes)
	}
	return job.MaxCrashes
}

func errorKept(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		if p.row() == nil && x.gone(p) && len(p.letters) == 0 {
			continue // sweeps or a purge removed the failure records together with the job, so they cannot be compared
		}
		if p.purged() {
			continue // see purged
		}
		kept := make(map[job.Token]*job.Failure)
		for _, f := range p.failures {
			if kept[f.Token] != nil {
				broken(p.id, "run %d has two failure records", f.Token)
			}
			kept[f.Token] = f
		}
		for _, e := range p.events {
			if !endsRun(e) {
				continue
			}
			f := kept[e.Token]
			delete(kept, e.Token)
			if f == nil && x.expires(p) {
				continue
			}
			p.errorOf(e, f, broken)
		}
		if len(p.events) == 0 {
			continue
		}
		for _, token := range slices.Sorted(maps.Keys(kept)) {
			broken(p.id, "run %d has a failure record of class %q and did not end", token, kept[token].Class)
		}
	}
}

// expires reports whether retention may remove the failure records of the job: the job is not live
// and has no dead letter.
func (x *index) expires(p *past) bool {
	row := p.row()
	return x.Retention && len(p.letters) == 0 && (row == nil || row.State.Terminal())
}

// errorOf compares the end of a run with the failure record of the run, which may be nil.
func (p *past) errorOf(e *event.Event, f *job.Failure, broken func(job.ID, string, ...any)) {
	attempt := e.Attempt
	if e.Type != event.JobFailed {
		attempt++ // number of the attempt that was running
	}
	crashed := e.Type == event.JobCrashed
	switch {
	case f == nil:
		if crashed || e.Type == event.JobFailed {
			broken(p.id, "run %d ended with %s and has no failure record", e.Token, e.Type)
		}
		return
	case e.Type == event.JobSucceeded:
		broken(p.id, "run %d succeeded and has a failure record", e.Token)
	case f.Class == "" || f.Message == "":
		broken(p.id, "the failure record of run %d has class %q and message %q", f.Token, f.Class, f.Message)
	case f.Life != e.Life || f.Attempt != attempt:
		broken(p.id, "the failure record of run %d has life %d, attempt %d; the event has %d, %d",
			f.Token, f.Life, f.Attempt, e.Life, attempt)
	case crashed != (f.How == job.ByCrash):
		broken(p.id, "run %d ended with %s and its failure record has %s", f.Token, e.Type, f.How)
	}
	for _, r := range p.runs {
		if r.Token == f.Token && !crashed && !strings.Contains(f.Message, r.Error) {
			broken(p.id, "run %d failed with %q and its record says %q", f.Token, r.Error, f.Message)
		}
	}
}

// keysAudited checks that each change of an access key has one audit row, and that the last row says
// whether the key was revoked.
func keysAudited(x *index, broken func(job.ID, string, ...any)) {
	rows, last := make(map[string]int64), make(map[string]string)
	for i := range x.Dump.Audit {
		if a := &x.Dump.Audit[i]; strings.HasPrefix(a.Action, "access.") {
			rows[a.Target]++
			last[a.Target] = a.Action
		}
	}
	for i := range x.Dump.Access {
		k := &x.Dump.Access[i]
		if rows[k.ID] != k.Version {
			broken(0, "the access key %s was changed %d times and has %d audit rows", k.ID, k.Version, rows[k.ID])
		} else if revoked := last[k.ID] == "access.revoke"; revoked != (k.RevokedAt > 0) && k.Version > 1 {
			broken(0, "the access key %s is revoked: %v, but its last audit row is %q", k.ID, k.RevokedAt > 0, last[k.ID])
		}
	}
}

func auditComplete(x *index, broken func(job.ID, string, ...any)) {
	keysAudited(x, broken)
	rows := make(map[string]int) // the numbers of audit rows, by the text "action target"
	for _, a := range x.Dump.Audit {
		rows[a.Action+" "+a.Target]++
	}
	var inSteps acts   // the actions whose jobs were selected by a filter and not by ids
	var byBatch acts   // those of them that the task of a batch may have done, with one audit row for the batch
	var some [3]job.ID // one job of each sum of inSteps, whose history the report shows
	for _, p := range x.jobs {
		if len(p.events) == 0 {
			continue
		}
		done, before := p.acts(), inSteps
		if n := rows["job.retry "+p.id.String()]; n > done.retries {
			broken(p.id, "was retried by hand %d times and has %d audit rows", done.retries, n)
		} else {
			inSteps.retries += done.retries - n
		}
		if n := rows["job.alter "+p.id.String()]; n > done.changes {
			broken(p.id, "was changed by hand %d times and has %d audit rows", done.changes, n)
		} else {
			inSteps.changes += done.changes - n
		}
		inSteps.cancels += max(0, done.cancels-rows["job.cancel "+p.id.String()])
		for i, more := range [...]bool{inSteps.retries > before.retries, inSteps.cancels > before.cancels, inSteps.changes > before.changes} {
			if more {
				some[i] = p.id
			}
		}
		batch := store.BatchTarget(p.events[0].Batch)
		if rows["batch.publish "+batch] > 0 {
			byBatch.retries += inSteps.retries - before.retries
		}
		if rows["batch.cancel "+batch] > 0 { // a batch that a program started has no row of its publication
			byBatch.cancels += inSteps.cancels - before.cancels
		}
	}
	for i, s := range []struct {
		what    string
		did     int
		audited int64
		byBatch int
	}{
		{"retried", inSteps.retries, x.stepsDone("dead_letter.retry") + x.released(0), byBatch.retries},
		{"cancelled", inSteps.cancels, x.stepsDone("jobs.cancel") + x.released(store.LiveCancel), byBatch.cancels},
		{"changed", inSteps.changes, x.stepsDone("jobs.alter") + x.released(store.LiveAlter), 0},
	} {
		if did := int64(s.did); did < s.audited || did > s.audited+int64(s.byBatch) {
			broken(some[i], "%d jobs were %s without audit rows of their own, but the audit rows of the steps add up to %d", s.did, s.what, s.audited)
		}
	}
}

// acts counts actions of people on jobs, by the kind of action.
type acts struct{ retries, cancels, changes int }

func (p *past) acts() (done acts) {
	asked := job.Token(0) // the last run that was asked to stop
	closing := false      // whether the last run ended with an outcome that would have made the job ready without the request to cancel
	for _, e := range p.events {
		switch {
		case e.Type == event.JobRetried:
			done.retries++
		case e.Type == event.JobAltered:
			done.changes++
		case e.Type == event.JobCancelAsked:
			done.cancels++
			asked = e.Token
		case e.Type == event.JobCancelled && e.From.Ready() && !closing:
			done.cancels++
		}
		closing = e.From == job.Running && e.To.Ready() && e.Token == asked
	}
	return done
}

func eventualProgress(x *index, broken func(job.ID, string, ...any)) {
	if !x.Drained {
		return
	}
	for _, p := range x.jobs {
		if row := p.row(); row != nil && !row.State.Terminal() {
			broken(p.id, "is still %s after the faults have stopped", row.State)
		}
	}
}
