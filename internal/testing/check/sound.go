package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func soundStore(x *index, broken func(job.ID, string, ...any)) {
	for _, complaint := range x.Integrity {
		broken(0, "integrity check: %s", complaint)
	}
	x.recount(broken)
	x.regroup(broken)
	x.recountDead(broken)
	for _, p := range x.jobs {
		x.letter(p, broken)
	}
	drafts := make(map[job.ID]bool, len(x.Dump.Drafts))
	for i := range x.Dump.Drafts {
		drafts[x.Dump.Drafts[i].ID] = true
	}
	for _, k := range x.Dump.Keys {
		if drafts[k.Job] {
			continue
		}
		if p := x.byID[k.Job]; x.row(k.Job) == nil && (p == nil || !x.gone(p)) {
			broken(k.Job, "holds key %q of kind %q and is not stored", k.Key, k.Kind)
		}
	}
}

// recount compares the counters with the jobs.
func (x *index) recount(broken func(job.ID, string, ...any)) {
	counted := make(map[store.Count]int64)
	for i := range x.Dump.Jobs {
		j := &x.Dump.Jobs[i]
		counted[store.Count{Queue: j.Queue, Kind: j.Kind, State: j.State}]++
	}
	for _, c := range x.Dump.Counts {
		of := store.Count{Queue: c.Queue, Kind: c.Kind, State: c.State}
		if counted[of] != c.N {
			broken(0, "%d jobs of kind %q are %s in queue %q, but the counter has %d", counted[of], c.Kind, c.State, c.Queue, c.N)
		}
		delete(counted, of)
	}
	for _, c := range slices.SortedFunc(maps.Keys(counted), byPlace) {
		broken(0, "%d jobs of kind %q are %s in queue %q and are not counted", counted[c], c.Kind, c.State, c.Queue)
	}
}

func byPlace(a, b store.Count) int {
	return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State))
}

// regroup compares the groups with the dead letters and the deaths.
func (x *index) regroup(broken func(job.ID, string, ...any)) {
	pending, entries := make(map[string]int64), make(map[string]int64)
	deaths := make(map[string][]job.Micros)
	unknown := int64(0) // the number of deaths whose failure records were removed
	for i := range x.Dump.Dead {
		l := &x.Dump.Dead[i]
		entries[l.Fingerprint]++
		if l.Status == job.Pending {
			pending[l.Fingerprint]++
		}
	}
	for _, p := range x.jobs {
		for _, e := range p.events {
			switch {
			case !isTransition(e) || e.To != job.Dead:
			case x.Retention || p.row() == nil && x.gone(p) || p.purged():
				unknown++
			default:
				deaths[p.fingerprint(e)] = append(deaths[p.fingerprint(e)], e.At)
			}
		}
	}
	for _, g := range x.Dump.Groups {
		if g.Pending != pending[g.Fingerprint] {
			broken(g.Sample, "group %q counts %d pending dead letters, there are %d", g.Fingerprint, g.Pending, pending[g.Fingerprint])
		}
		least, most := since(deaths[g.Fingerprint], g.FirstAt), since(deaths[g.Fingerprint], g.FirstAt.Add(-overlap))+unknown
		if (g.N < least || g.N > most) && len(x.Dump.Events) > 0 {
			broken(g.Sample, "group %q counts %d deaths, there were %d to %d", g.Fingerprint, g.N, least, most)
		}
		delete(entries, g.Fingerprint)
	}
	delete(entries, "")
	for _, fingerprint := range slices.Sorted(maps.Keys(entries)) { // a missing group is reported only if it has entries, because retention may remove a group without entries
		broken(0, "%d dead letters have fingerprint %q, which has no group", entries[fingerprint], fingerprint)
	}
}

// overlap is how far the time of an event may be before the time of a death that was committed
// earlier, because transactions overlap, and because processes do not know the server's time
// exactly.
const overlap = time.Minute

// since returns how many of the times are not before the given one. Earlier deaths may not count,
// because a group that stays empty for long is removed, and a later death creates it again.
func since(times []job.Micros, first job.Micros) (n int64) {
	for _, at := range times {
		if at >= first {
			n++
		}
	}
	return n
}

// fingerprint returns the fingerprint of the failure by which the job died.
func (p *past) fingerprint(e *event.Event) string {
	if e.Type == event.JobExpired {
		terms := job.Terms{ExpiredClass: e.Class}
		return terms.Expiry(e.Kind).Fingerprint
	}
	for _, f := range p.failures {
		if f.Token == e.Token {
			return f.Fingerprint
		}
	}
	return ""
}

// letter compares a job with its dead letter.
func (x *index) letter(p *past, broken func(job.ID, string, ...any)) {
	if len(p.letters) > 1 {
		broken(p.id, "has %d dead letters", len(p.letters))
	}
	row := p.row()
	switch {
	case row == nil && len(p.letters) == 0:
	case row == nil && x.Retention && p.letters[0].Revived && x.gone(p): // the job was retried, has ended and was removed
	case row == nil:
		broken(p.id, "has a dead letter and is not stored")
	case row.State == job.Dead && len(p.letters) == 0:
		broken(p.id, "is dead and has no dead letter")
	case row.State == job.Dead:
		if l := p.letters[0]; l.Revived || l.Life != row.Life || l.Reason != row.Reason {
			broken(p.id, "is dead in life %d (%s) and its dead letter has life %d (%s), revived %v",
				row.Life, row.Reason, l.Life, l.Reason, l.Revived)
		}
	case len(p.letters) > 0:
		if l := p.letters[0]; !l.Revived || l.Status == job.Pending {
			broken(p.id, "is %s and its dead letter is %s, revived %v", row.State, l.Status, l.Revived)
		}
	}
}
