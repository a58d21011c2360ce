package check

import (
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

func oneLease(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		claimed, last := make(map[job.Token]bool), job.Token(0)
		open := false
		for _, e := range p.events {
			switch {
			case e.Type == event.JobClaimed:
				if open {
					broken(p.id, "run %d was claimed while run %d had the lease", e.Token, last)
				}
				if e.Token <= last {
					broken(p.id, "run %d was claimed after run %d: tokens must grow", e.Token, last)
				}
				open, last = true, max(last, e.Token)
				claimed[e.Token] = true
			case endsRun(e):
				open = false
			}
		}
		p.leasesOf(claimed, broken)
	}
}

// leasesOf checks the leases by the handlers' records: each run that a handler saw was claimed
// once, and by one handler.
func (p *past) leasesOf(claimed map[job.Token]bool, broken func(job.ID, string, ...any)) {
	seen := make(map[job.Token]*Run)
	for _, r := range p.runs {
		if len(p.events) > 0 && !claimed[r.Token] {
			broken(p.id, "a handler had run %d, which no claim gave", r.Token)
		}
		if first := seen[r.Token]; first != nil {
			broken(p.id, "run %d was given to two handlers, of %s and of %s", r.Token, first.Holder, r.Holder)
		}
		seen[r.Token] = r
	}
	if row := p.row(); row != nil && (row.State == job.Running) != (row.LeaseUntil != 0) {
		broken(p.id, "is %s and still has a lease until %d", row.State, row.LeaseUntil)
	}
}

func fencedWrite(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		current := job.Token(0)
		for _, e := range p.events {
			switch {
			case e.Type == event.JobClaimed:
				current = e.Token
			case endsRun(e) && e.Token != current:
				broken(p.id, "run %d was ended by %s while run %d had the lease", e.Token, e.Type, current)
			}
		}
		for _, w := range p.writes {
			p.fenced(w, x.Limits, broken)
		}
		p.resultOf(broken)
	}
}

// fenced compares the answer to a write with what was stored.
func (p *past) fenced(w *Write, limits map[string]Limits, broken func(job.ID, string, ...any)) {
	happened := false
	for _, e := range p.ends(w.Token) {
		happened = happened || e.Type == event.Of(w.Cause) && e.To == w.To
	}
	switch {
	case w.Answer == Written && !happened:
		broken(p.id, "the outcome %s to %s of run %d was acknowledged and did not happen", w.Cause, w.To, w.Token)
	case w.Answer == Refused && happened && !w.Again && !p.writtenToo(w) && !p.interruptedByRescue(w, limits):
		broken(p.id, "the outcome %s to %s of run %d was refused and happened", w.Cause, w.To, w.Token)
	}
}

// writtenToo reports whether another call with the same outcome was not refused.
func (p *past) writtenToo(w *Write) bool {
	for _, other := range p.writes {
		if other.Token == w.Token && other.Cause == w.Cause && other.Answer != Refused {
			return true
		}
	}
	return false
}

// interruptedByRescue reports whether a rescue may have interrupted the run of w. It does so when
// the lease of a run ends that no handler has begun, if one more crash would be the last one of the
// life. The worker's own hand-back of the run is then refused.
func (p *past) interruptedByRescue(w *Write, limits map[string]Limits) bool {
	row := p.row()
	if w.Cause != job.Interrupted || row == nil {
		return false
	}
	for _, r := range p.runs {
		if r.Token == w.Token {
			return false
		}
	}
	crashes := int32(0)
	for _, end := range p.ends(w.Token) {
		for _, e := range p.events {
			if e.Type == event.JobCrashed && e.Life == end.Life && e.Token < w.Token {
				crashes++
			}
		}
	}
	return crashes+1 >= crashLimit(limits[row.Kind])
}

// resultOf checks that the result of a job is the result of the run that completed the job.
func (p *past) resultOf(broken func(job.ID, string, ...any)) {
	row := p.row()
	if row == nil || row.State != job.Completed {
		return
	}
	for _, r := range p.runs {
		if r.Token == row.Token && r.Result != "" && r.Result != Digest(row.Result) {
			broken(p.id, "was completed by run %d with the result of another", r.Token)
		}
	}
}

func singleCompletion(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		ended := make(map[int32]*event.Event)
		for _, e := range p.events {
			if !isTransition(e) || !e.To.Terminal() {
				continue
			}
			if first := ended[e.Life]; first != nil {
				broken(p.id, "life %d ended twice: %s, then %s", e.Life, first.To, e.To)
			}
			ended[e.Life] = e
		}
	}
}

func legalTransition(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		state, last := job.None, event.Cursor{}
		for _, e := range p.events {
			if !last.Before(e.Cursor) {
				broken(p.id, "event %s comes after event %s", e.Cursor, last)
			}
			last = e.Cursor
			if !isTransition(e) {
				continue
			}
			if e.From != state || !job.Legal(e.From, e.To, job.Cause(e.Type)) {
				broken(p.id, "event %s, %s, goes from %s to %s and the job was %s", e.Cursor, e.Type, e.From, e.To, state)
			}
			state = e.To
		}
		if row := p.row(); row != nil && row.State != state {
			broken(p.id, "is %s and its events led to %s", row.State, state)
		}
	}
}
