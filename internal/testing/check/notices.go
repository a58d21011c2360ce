package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// recipient is one who hears of things: a channel and a name on it.
type recipient struct{ channel, to string }

// target returns how the key of a notice names its recipient.
func (r recipient) target() string {
	sum := sha256.Sum256([]byte(r.channel + "\x00" + r.to))
	return hex.EncodeToString(sum[:10])
}

// hearing is what one recipient has heard, and what it should have.
type hearing struct {
	recipient
	made    map[string]int // notices about one cause, by event and subject
	causes  map[string]int // what a rule wants a notice of at once, by the same names
	gathers map[string]int // what may also wait in a window or be in a digest
	digests int            // causes in digests
	waiting int            // causes in windows
	removed int            // causes that wait for the outcome of a batch and whose job may be removed before it: nobody hears of them
	unsure  bool           // whether a digest was not read, so that nobody knows how much is in it
}

// noticeKept compares the notices with the deaths and the outcomes of which the rules tell somebody:
// none is missing, none was made twice, and none is without a cause. It checks rules of the simple
// events to recipients that are named, which were published once and before all deaths.
func noticeKept(x *index, broken func(job.ID, string, ...any)) {
	x.sameNotice(broken)
	rules, since := x.rules()
	if rules == nil {
		return
	}
	heard := make(map[string]*hearing)
	for i := range rules.Rules {
		for _, to := range rules.Rules[i].To {
			r := recipient{rules.Rules[i].Channel, to}
			heard[r.target()] = &hearing{recipient: r, made: make(map[string]int), causes: make(map[string]int), gathers: make(map[string]int)}
		}
	}
	x.notices(heard, broken)
	x.windows(heard, broken)
	for i := range x.Dump.Events {
		if e := &x.Dump.Events[i]; since.Before(e.Cursor) {
			x.cause(rules, e, func(r recipient, name string, every bool) {
				if h := heard[r.target()]; every {
					h.causes[name]++
				} else {
					h.gathers[name]++
					if e.Job != 0 && e.Batch != 0 && x.row(e.Job) == nil {
						h.removed++
					}
				}
			})
		}
	}
	for _, h := range heard {
		h.compare(broken)
	}
}

// rules returns the rules of notifications and when they were published; nil if the checker cannot
// say what follows from them.
func (x *index) rules() (*notify.Rules, event.Cursor) {
	if len(x.Dump.Notify) != 1 {
		return nil, event.Cursor{}
	}
	set, err := x.Dump.Notify[0].Set()
	if err != nil || set == nil {
		return nil, event.Cursor{}
	}
	simple := []notify.Event{notify.BatchReady, notify.BatchPartial, notify.BatchFailed, notify.BatchEnd, notify.BatchExpired, notify.MemberDead, notify.JobDead}
	for i := range set.Rules().Rules {
		r := &set.Rules().Rules[i]
		named := func(to string) bool {
			return set.Rules().Channels[r.Channel].Type == notify.Webhook || strings.Contains(to, "@")
		}
		if r.Match.Code != "" || slices.ContainsFunc(r.On, func(on notify.Event) bool { return !slices.Contains(simple, on) }) ||
			slices.ContainsFunc(r.To, func(to string) bool { return !named(to) }) {
			return nil, event.Cursor{}
		}
	}
	for i := range x.Dump.Events {
		if e := &x.Dump.Events[i]; e.Type == event.NotifyChanged {
			return set.Rules(), e.Cursor
		}
	}
	return nil, event.Cursor{}
}

// cause calls the given function for each recipient that the rules tell of an event.
func (x *index) cause(rules *notify.Rules, e *event.Event, each func(r recipient, name string, every bool)) {
	on, name := notify.Event(""), ""
	var fits func(m *notify.Match) bool
	switch state, err := job.ParseBatchState(strings.ToUpper(e.Reason)); {
	case e.Type == event.BatchChanged && err == nil && state.Ended():
		on = notify.Event("batch." + e.Reason)
		name = string(on) + "/" + strconv.FormatInt(e.Batch, 10) + "/" + e.Note
		fits = func(m *notify.Match) bool {
			return *m == notify.Match{Owner: m.Owner} && (m.Owner == "" || m.Owner == x.ownerOf(e.Batch))
		}
	case isTransition(e) && e.To == job.Dead && !notify.Sends(e.Kind) && !x.concernsNobody(e):
		on = notify.JobDead
		if e.Batch != 0 {
			on = notify.MemberDead
		}
		name = string(on) + "/" + e.Job.String()
		fits = func(m *notify.Match) bool {
			return *m == notify.Match{Kind: m.Kind, Queue: m.Queue, Owner: m.Owner, Class: m.Class, Reason: m.Reason} && matches(m, e)
		}
	default:
		return
	}
	var seen []recipient
	for i := range rules.Rules {
		rule := &rules.Rules[i]
		ends := on == notify.BatchReady || on == notify.BatchPartial || on == notify.BatchFailed
		if !slices.Contains(rule.On, on) && (!ends || !slices.Contains(rule.On, notify.BatchEnd)) || !fits(&rule.Match) {
			continue
		}
		for _, to := range rule.To {
			if r := (recipient{rule.Channel, to}); !slices.Contains(seen, r) {
				seen = append(seen, r)
				each(r, name, rule.Every)
			}
		}
	}
}

func matches(m *notify.Match, e *event.Event) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return is(m.Kind, e.Kind) && is(m.Queue, e.Queue) && is(m.Owner, e.Owner) && is(m.Class, e.Class) && is(m.Reason, e.Reason)
}

func (x *index) ownerOf(batch int64) string {
	for i := range x.Dump.Batches {
		if x.Dump.Batches[i].ID == batch {
			return x.Dump.Batches[i].Owner
		}
	}
	return ""
}

// concernsNobody reports whether a death is that of a job whose kind is not retried.
func (x *index) concernsNobody(e *event.Event) bool {
	if row := x.row(e.Job); row != nil && row.Aside {
		return true
	}
	f := x.byID[e.Job].failure(e.Token)
	return f != nil && store.DeadNow(f, notify.Death{}).NoRetry
}

// notices counts the notices that were made, by their keys, which the store keeps for longer than
// the jobs.
func (x *index) notices(heard map[string]*hearing, broken func(job.ID, string, ...any)) {
	keyed := make(map[job.ID]bool)
	for i := range x.Dump.Keys {
		k := &x.Dump.Keys[i]
		if !notify.Sends(k.Kind) {
			continue
		}
		keyed[k.Job] = true
		at := strings.LastIndexByte(k.Key, '/')
		h := heard[k.Key[at+1:]]
		if h == nil {
			broken(k.Job, "the notice %q is for nobody whom the rules name", k.Key)
			continue
		}
		name := k.Key[:at]
		if strings.HasPrefix(name, string(notify.Digest)+"/") {
			n, known := x.digest(k.Job)
			h.digests, h.unsure = h.digests+n, h.unsure || !known
			continue
		}
		if !strings.HasPrefix(name, "batch.") { // the number of the death is in no event
			name = name[:strings.LastIndexByte(name, '/')]
		}
		h.made[name]++
	}
	for _, p := range x.jobs {
		if p.sends() && !keyed[p.id] {
			broken(p.id, "is a notice without a key, so that it may have been made twice")
		}
	}
}

// sends reports whether a job sends a notice. The store makes such jobs.
func (p *past) sends() bool {
	for _, e := range p.events {
		if e.Type == event.JobEnqueued {
			return notify.Sends(e.Kind)
		}
	}
	return len(p.rows) > 0 && notify.Sends(p.rows[0].Kind)
}

// digest returns how many causes a digest is about. The payload of a job that has completed is gone;
// then its handler has recorded it.
func (x *index) digest(id job.ID) (n int, known bool) {
	for i := range x.Notices {
		if s := &x.Notices[i]; s.Job == id {
			return s.Causes, true
		}
	}
	row := x.row(id)
	if row == nil {
		return 0, false
	}
	s, err := notify.Read(row.Payload)
	if err != nil {
		return 0, false
	}
	return Causes(s), true
}

// Causes returns how many deaths and outcomes a notice is about.
func Causes(n *notify.Notice) int {
	var body struct{ Data notify.Facts }
	switch {
	case n.Facts.Digest != nil:
		return int(n.Facts.Digest.N)
	case json.Unmarshal(n.Body, &body) == nil && body.Data.Digest != nil:
		return int(body.Data.Digest.N)
	}
	return 1
}

// windows adds up what waits in the windows.
func (x *index) windows(heard map[string]*hearing, broken func(job.ID, string, ...any)) {
	ended := make(map[int64]bool)
	for i := range x.Dump.Batches {
		ended[x.Dump.Batches[i].ID] = x.Dump.Batches[i].State.Ended()
	}
	for _, text := range x.Dump.Windows {
		line, items, _ := strings.Cut(text, "\n")
		w, err := notify.ReadWindow([]byte(line[strings.IndexByte(line, '{'):]))
		if err != nil {
			broken(0, "a window of notifications cannot be read: %v", err)
			continue
		}
		listed := 0
		if items != "" {
			listed = strings.Count(items, "\n") + 1
		}
		h := heard[recipient{w.Channel, w.To}.target()]
		switch {
		case h == nil:
			broken(0, "the window of %s is for nobody whom the rules name", w.Target())
			continue
		case listed != min(int(w.N), notify.ItemsMax):
			broken(0, "the window of %s counts %d causes and lists %d", w.Target(), w.N, listed)
		case ended[w.Scope]:
			broken(0, "batch %d has ended, and its window of %s is open", w.Scope, w.Target())
		}
		h.waiting += int(w.N)
	}
}

// compare compares what a recipient has heard with what it should have.
func (h *hearing) compare(broken func(job.ID, string, ...any)) {
	want, got := 0, h.digests+h.waiting
	for name, n := range h.causes {
		if h.made[name] != n {
			broken(subject(name), "%s was notified %d times of %s, which happened %d times", h.to, h.made[name], name, n)
		}
	}
	for name, n := range h.made {
		if h.causes[name] > 0 {
			continue
		}
		got += n
		if n > h.gathers[name] {
			broken(subject(name), "%s was notified %d times of %s, which happened %d times", h.to, n, name, h.gathers[name])
		}
	}
	for _, n := range h.gathers {
		want += n
	}
	if got > want || got < want-h.removed && !h.unsure {
		broken(0, "%s was notified of %d causes, of which %d are in digests, or will be sent (%d); there are %d", h.to, got, h.digests, h.waiting, want)
	}
}

// subject returns the job of a cause; 0 for an outcome.
func subject(name string) job.ID {
	if strings.HasPrefix(name, "batch.") {
		return 0
	}
	id, _ := job.ParseID(name[strings.IndexByte(name, '/')+1:])
	return id
}

// sameNotice checks that all attempts of a notice have sent it with one id, and no other notice has it.
func (x *index) sameNotice(broken func(job.ID, string, ...any)) {
	ids, jobs := make(map[job.ID]string), make(map[string]job.ID)
	for i := range x.Notices {
		s := &x.Notices[i]
		if id, known := ids[s.Job]; known && id != s.ID {
			broken(s.Job, "its notice was sent with the ids %s and %s", id, s.ID)
		}
		if other, known := jobs[s.ID]; known && other != s.Job {
			broken(s.Job, "its notice has the id %s, like that of job %d", s.ID, other)
		}
		ids[s.Job], jobs[s.ID] = s.ID, s.Job
	}
}
