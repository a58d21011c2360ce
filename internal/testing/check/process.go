package check

import (
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// strayMax is how long a child may be seen after the end of its worker. The kernel and the guard
// process kill it at once, but a busy machine needs time for that.
const strayMax = 2 * time.Second

func noStrayChild(x *index, broken func(job.ID, string, ...any)) {
	ended := make(map[string]job.Micros)
	for i := range x.Processes {
		ended[x.Processes[i].Name] = x.Processes[i].Ended
	}
	for i := range x.Children {
		c := &x.Children[i]
		from := c.First
		if end, known := ended[c.Worker]; known {
			if end == 0 {
				continue
			}
			from = end
		}
		if lived := c.Last.Sub(from); lived > strayMax {
			broken(0, "process %d of worker %q was still alive %s after the end of its worker", c.PID, c.Worker, lived)
		}
	}
}

// noFalseCrash checks that something has happened to the worker of each run that counts as a crash.
func noFalseCrash(x *index, broken func(job.ID, string, ...any)) {
	if len(x.Processes) == 0 {
		return
	}
	processes := make(map[string]*Process)
	for i := range x.Processes {
		processes[x.Processes[i].Name] = &x.Processes[i]
	}
	for _, p := range x.jobs {
		claimed := job.Micros(0)
		for _, e := range p.events {
			if e.Type == event.JobClaimed {
				claimed = e.At
			}
			if e.Type != event.JobCrashed {
				continue
			}
			f := p.failure(e.Token)
			if f == nil {
				continue // retention removed the record, or the check ErrorKept reports it
			}
			w := processes[f.Holder]
			switch {
			case w == nil:
				broken(p.id, "run %d crashed in the process %q, which is not known", e.Token, f.Holder)
			case x.Limits[e.Kind].Kills && p.run(e.Token) != nil: // it may have killed its process, which may be another one than the worker
			case w.Disturbed != 0 && w.Disturbed <= e.At:
			case !x.troubled(claimed, e.At):
				broken(p.id, "run %d counts as a crash, and nothing happened to its worker %s", e.Token, f.Holder)
			}
		}
	}
}

// troubled reports whether any process may have been kept from its work between two times.
func (x *index) troubled(from, to job.Micros) bool {
	for _, t := range x.Troubles {
		if t.From <= to && t.To >= from {
			return true
		}
	}
	return false
}

// failure returns the failure record of a run, or nil.
func (p *past) failure(token job.Token) *job.Failure {
	for _, f := range p.failures {
		if f.Token == token {
			return f
		}
	}
	return nil
}

// run returns the record of a run by its handler, or nil.
func (p *past) run(token job.Token) *Run {
	for _, r := range p.runs {
		if r.Token == token {
			return r
		}
	}
	return nil
}

// noBurnedAttempt checks that the handler of each run that used up an attempt has failed.
func noBurnedAttempt(x *index, broken func(job.ID, string, ...any)) {
	if len(x.Runs) == 0 {
		return
	}
	for _, p := range x.jobs {
		for _, e := range p.events {
			if e.Type != event.JobFailed {
				continue
			}
			f, r := p.failure(e.Token), p.run(e.Token)
			switch {
			case f == nil || f.How == job.ByTimeout: // a program may reach its time limit before it has recorded anything
			case r == nil:
				broken(p.id, "run %d used up an attempt (%s), and no handler began it", e.Token, f.Class)
			case r.Error == "":
				broken(p.id, "run %d used up an attempt (%s), and its handler did not fail", e.Token, f.Class)
			}
		}
	}
}

// ownCrash checks that a crash that ended a job was of a run that its handler had begun, and that no
// other handler ran beside it in its process. A job that may crash only once cannot have its process
// to itself.
func ownCrash(x *index, broken func(job.ID, string, ...any)) {
	if len(x.Runs) == 0 {
		return
	}
	by := make(map[string][]*Run) // the runs of each known process
	for i := range x.Processes {
		by[x.Processes[i].Name] = nil
	}
	for i := range x.Runs {
		if _, known := by[x.Runs[i].Holder]; known {
			by[x.Runs[i].Holder] = append(by[x.Runs[i].Holder], &x.Runs[i])
		}
	}
	for _, p := range x.jobs {
		for _, e := range p.events {
			if e.Type != event.JobCrashed || e.To != job.Dead {
				continue
			}
			r := p.run(e.Token)
			if r == nil {
				if !x.diedAtStart(store.Run{ID: p.id, Token: e.Token}, p.failure(e.Token)) {
					broken(p.id, "died of the crash of run %d, which no handler began", e.Token)
				}
				continue
			}
			if crashLimit(x.Limits[e.Kind]) == 1 {
				continue
			}
			for _, other := range by[r.Holder] {
				if other != r && x.beside(r, other, e.At) {
					broken(p.id, "died of the crash of run %d while run %d of job %d was in the same process", e.Token, other.Token, other.Job)
					break
				}
			}
		}
	}
}

// diedAtStart reports whether the process of a crashed run died just before it called the handler: it was killed there,
// or when it had reported to the store that the run begins. Retention may have removed the failure record, which names the
// process; then it may be any process.
func (x *index) diedAtStart(run store.Run, f *job.Failure) bool {
	reported := slices.Contains(x.Begins, run)
	return slices.ContainsFunc(x.Processes, func(w Process) bool {
		return (w.AtStart || reported && w.Disturbed > 0) && (f == nil || f.Holder == w.Name)
	})
}

// beside reports whether the handler of another run was called in the process of r while r was
// running: r began, and has not returned or crashed.
func (x *index) beside(r, other *Run, crashed job.Micros) bool {
	if other.Start > r.Start {
		return other.Start < crashed && (r.End == 0 || other.Start < r.End)
	}
	if other.End != 0 && other.End <= r.Start {
		return false
	}
	for _, e := range x.byID[other.Job].ends(other.Token) {
		if e.At <= r.Start {
			return false // a handler that does not return after the end of its run holds up no job
		}
	}
	return true
}
