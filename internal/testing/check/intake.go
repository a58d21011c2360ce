package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func noLostEnqueue(x *index, broken func(job.ID, string, ...any)) {
	for i := range x.Enqueues {
		e := &x.Enqueues[i]
		if e.Answer != Written {
			continue
		}
		row := x.row(e.ID)
		switch {
		case e.Discard == Discarded && (row != nil || x.drafted(e.ID)):
			broken(e.ID, "draft %q was discarded and is still there", e.Name)
		case row == nil && (e.Discard != Kept || x.drafted(e.ID)):
		case row == nil && x.gone(x.byID[e.ID]):
		case row == nil:
			broken(e.ID, "submission %q was acknowledged and the job is nowhere", e.Name)
		case !e.Existing && row.Correlation != "" && row.Correlation != e.Name:
			broken(e.ID, "submission %q was acknowledged as this job, which is that of %q", e.Name, row.Correlation)
		}
	}
	for _, p := range x.jobs {
		if len(p.rows) > 1 {
			broken(p.id, "is in %d places: %s and %s", len(p.rows), p.rows[0].State, p.rows[1].State)
		}
	}
}

// drafted reports whether a member of a batch is not published yet.
func (x *index) drafted(id job.ID) bool {
	return slices.ContainsFunc(x.Dump.Drafts, func(m store.Member) bool { return m.ID == id })
}

// ofStore reports whether the store itself has made a job: a notice, or a callback of a batch, both of which other
// invariants compare with their causes.
func (x *index) ofStore(p *past) bool {
	return p.sends() || len(p.events) > 0 && strings.HasPrefix(p.events[0].Correlation, "batch:")
}

func noPhantom(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		e := x.origin(p)
		switch {
		case e == nil && x.ofStore(p):
		case e == nil && len(p.rows) > 0:
			broken(p.id, "is stored and nobody submitted it")
		case e == nil && len(p.runs) > 0:
			broken(p.id, "ran and nobody submitted it")
		case e != nil && e.Answer == Refused && len(p.rows) > 0:
			broken(p.id, "submission %q was refused and the job is there", e.Name)
		}
	}
	for _, s := range x.submissions() {
		if len(s.jobs) > 1 && !s.unanswered() {
			broken(s.jobs[1].id, "submission %q was acknowledged once and made %d jobs, also %d", s.Name, len(s.jobs), s.jobs[0].id)
		}
	}
}

// unanswered reports whether a call of the submission ended without an answer.
func (s *submission) unanswered() bool { return s.Answer == Unknown || s.Again }

func (x *index) submissions() []*submission {
	return slices.SortedFunc(maps.Values(x.byName), func(a, b *submission) int { return strings.Compare(a.Name, b.Name) })
}

func unknownCommitSafe(x *index, broken func(job.ID, string, ...any)) {
	for _, s := range x.submissions() {
		if len(s.jobs) > 1 && s.unanswered() {
			broken(s.jobs[1].id, "submission %q, once without an answer, made %d jobs, also %d", s.Name, len(s.jobs), s.jobs[0].id)
		}
	}
	for _, p := range x.jobs {
		for _, w := range p.writes {
			if w.Answer != Unknown && !w.Again {
				continue
			}
			if n := len(p.ends(w.Token)); n > 1 {
				broken(p.id, "run %d, whose outcome was once without an answer, ended %d times", w.Token, n)
			}
		}
	}
}

// keyName is a key together with the scope in which the key is unique.
type keyName struct{ owner, kind, key string }

func idempotentEnqueue(x *index, broken func(job.ID, string, ...any)) {
	records := make(map[keyName]*store.Key)
	for i := range x.Dump.Keys {
		k := &x.Dump.Keys[i]
		name := keyName{k.Owner, k.Kind, k.Key}
		if first := records[name]; first != nil {
			broken(k.Job, "holds key %q of kind %q beside job %d", k.Key, k.Kind, first.Job)
		}
		records[name] = k
	}
	rows := make(map[keyName]job.ID)
	for i := range x.Dump.Jobs {
		j := &x.Dump.Jobs[i]
		name := keyName{j.Owner, j.Kind, j.Key}
		if j.Batch != 0 {
			name = keyName{store.BatchMemberKey(j.Batch), "", j.Key}
		}
		replaced := j.Batch != 0 && j.Aside && j.State == job.Cancelled // another member may have taken its place
		if j.Key == "" || job.WhileAlive(j.Key) || forgotten(records[name]) || replaced {
			continue
		}
		if first, twice := rows[name]; twice && first != j.ID {
			broken(j.ID, "has key %q of kind %q like job %d", j.Key, j.Kind, first)
		}
		rows[name] = j.ID
	}
	x.keyedEnqueues(records, broken)
	x.aliveKeys(broken)
}

// aliveKeys reports jobs that were alive at the same time with one key that is held only
// while its job is alive. It follows the order of the events.
func (x *index) aliveKeys(broken func(job.ID, string, ...any)) {
	keys := make(map[job.ID]keyName)
	for i := range x.Dump.Jobs {
		if j := &x.Dump.Jobs[i]; job.WhileAlive(j.Key) {
			keys[j.ID] = keyName{j.Owner, j.Kind, j.Key}
		}
	}
	alive := make(map[keyName]job.ID)
	for i := range x.Dump.Events {
		e := &x.Dump.Events[i]
		name, keyed := keys[e.Job]
		switch holder := alive[name]; {
		case !keyed || e.To == job.None:
		case e.To.Terminal() && holder == e.Job:
			delete(alive, name)
		case !e.To.Terminal() && holder != 0 && holder != e.Job:
			broken(e.Job, "is alive with key %q of kind %q at event %v, and so is job %d", name.key, name.kind, e.Cursor, holder)
		case !e.To.Terminal():
			alive[name] = e.Job
		}
	}
}

// forgotten reports whether a key expires, so that several jobs may have used the key one after
// the other.
func forgotten(k *store.Key) bool { return k != nil && k.Until != 0 }

func (x *index) keyedEnqueues(records map[keyName]*store.Key, broken func(job.ID, string, ...any)) {
	firsts := make(map[keyName]*Enqueue)
	made := make(map[keyName]*Enqueue)
	for i := range x.Enqueues {
		e := &x.Enqueues[i]
		if e.Key == "" || e.Answer != Written {
			continue
		}
		name := keyName{e.Owner, e.Kind, e.Key}
		record, first := records[name], firsts[name]
		switch {
		case forgotten(record) || job.WhileAlive(e.Key):
			continue
		case first == nil:
			firsts[name] = e
		case first.ID != e.ID:
			broken(e.ID, "submission %q with key %q got this job, %q got job %d", e.Name, e.Key, first.Name, first.ID)
		case first.Digest != e.Digest:
			broken(e.ID, "key %q was given two payloads, by %q and %q", e.Key, first.Name, e.Name)
		}
		if !e.Existing {
			if other := made[name]; other != nil {
				broken(e.ID, "key %q was answered as new to %q and to %q", e.Key, other.Name, e.Name)
			}
			made[name] = e
		}
		if record == nil || record.Job != e.ID {
			broken(e.ID, "key %q of submission %q is not recorded for this job", e.Key, e.Name)
		}
	}
}

func noSilentDrop(x *index, broken func(job.ID, string, ...any)) {
	for _, p := range x.jobs {
		row := p.row()
		if row == nil {
			if len(p.events) > 0 && !x.gone(p) {
				broken(p.id, "has %d events and is nowhere", len(p.events))
			}
			continue
		}
		e := x.origin(p)
		if e == nil || e.Digest == "" {
			continue
		}
		// Redrive removes the payload of a completed or cancelled job on purpose.
		if kept := row.State < job.Completed || row.State == job.Dead; kept && Digest(row.Payload) != e.Digest {
			broken(p.id, "payload of %d bytes is not the one of submission %q", len(row.Payload), e.Name)
		}
		for _, r := range p.runs {
			if r.Digest != "" && r.Digest != e.Digest {
				broken(p.id, "run %d got a payload that is not the one of submission %q", r.Token, e.Name)
			}
		}
	}
}
