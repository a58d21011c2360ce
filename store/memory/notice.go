package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// notices are the rules of notifications and the open windows.
type notices struct {
	rules   []store.NotifyRules // the rules with number n have index n-1
	set     *notify.Set         // the rules in force; nil without rules
	windows map[windowName]*window
}

type windowName struct {
	scope  int64
	target string
}

// window is a window of notifications in its encoded form, so that nobody shares memory with it.
type window struct {
	due   job.Micros
	body  []byte
	items [][]byte
}

// heardIn are the deaths and the ends of batches of one call.
type heardIn struct {
	deaths []notify.Death
	ends   []notify.Outcome
}

// PublishNotify implements store.Notices.
func (s *Store) PublishNotify(ctx context.Context, by store.By, body []byte) (rules store.NotifyRules, err error) {
	t, err := s.begin(ctx, "publish rules of notifications")
	if err != nil {
		return rules, err
	}
	defer t.end()
	hash, err := store.ValidNotify(body)
	if err = cmp.Or(by.Validate(), err); err != nil {
		return rules, t.errorf("%w", err)
	}
	before := t.notifyRules()
	if before.Hash == hash {
		return before, nil
	}
	rules = store.NotifyRules{Number: before.Number + 1, Hash: hash, At: t.now, By: by.Actor, Body: bytes.Clone(body)}
	if t.notices.set, err = rules.Set(); err != nil {
		return rules, t.errorf("%w", err)
	}
	t.notices.rules = append(t.notices.rules, rules)
	t.emit(event.Event{Type: event.NotifyChanged, Reason: hash})
	t.note(by, "notify.publish", rules.Target(), before.Hash, hash)
	if t.notices.set != nil {
		t.lane(laneName{notify.Queue, notify.KindMail, ""})
		t.lane(laneName{notify.Queue, notify.KindWebhook, ""})
	}
	return t.notifyRules(), nil
}

// NotifyRules implements store.Notices.
func (s *Store) NotifyRules(ctx context.Context) (store.NotifyRules, error) {
	t, err := s.begin(ctx, "rules of notifications")
	if err != nil {
		return store.NotifyRules{}, err
	}
	defer t.end()
	return t.notifyRules(), nil
}

func (t *tx) notifyRules() store.NotifyRules {
	if len(t.notices.rules) == 0 {
		return store.NotifyRules{}
	}
	rules := t.notices.rules[len(t.notices.rules)-1]
	rules.Body = bytes.Clone(rules.Body)
	return rules
}

// CloseWindows implements store.Notices.
func (s *Store) CloseWindows(ctx context.Context, limit int) (answer store.WindowStep, err error) {
	t, err := s.begin(ctx, "close windows")
	if err != nil {
		return answer, err
	}
	defer t.end()
	if limit < 1 || limit > store.StepMax {
		return answer, t.errorf("up to %d windows: the number must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	names := slices.SortedFunc(maps.Keys(t.notices.windows), func(a, b windowName) int {
		return cmp.Or(cmp.Compare(t.notices.windows[a].due, t.notices.windows[b].due), cmp.Compare(a.scope, b.scope), cmp.Compare(a.target, b.target))
	})
	for _, name := range names {
		w, err := t.Window(name.scope, name.target)
		if err != nil {
			return answer, err
		}
		if w == nil || w.DueAt == 0 || job.Micros(w.DueAt) > t.now || answer.Closed == limit {
			continue
		}
		made, err := notify.Close(w, t.now, t)
		if err == nil {
			err = t.insertNotices(made)
		}
		if err != nil {
			return answer, err
		}
		answer.Closed++
		answer.Notices += len(made)
	}
	answer.Wait = store.Never
	for _, w := range t.notices.windows {
		if w.due != 0 {
			answer.Wait = min(answer.Wait, max(0, w.due.Sub(t.now)))
		}
	}
	return answer, nil
}

// hear collects a death that rules are about. If people who operate the system hear of it, the
// failure record gets the text notified.
func (t *tx) hear(r *record, e *entry, cause job.Cause, first bool, notified string) {
	var f *job.Failure
	if cause != job.Expired { // the last failure of an expired job is not why it died
		f = t.failureOf(r)
	}
	d := store.DeadNow(f, notify.Death{Class: e.Class, Group: e.Fingerprint, Job: r.ID, Number: e.Death, Batch: r.Batch, Kind: r.Kind, Queue: r.Queue, Owner: r.Owner,
		Correlation: r.Correlation, Key: r.Key, Life: r.Life, Attempts: r.Counters.Attempts, Crashes: r.Counters.Crashes, Reason: e.Reason,
		First: first && e.Status == job.Pending, At: t.now})
	if r.Aside {
		d.Batch = -d.Batch
	}
	if !t.notices.set.Concerns(&d) {
		return
	}
	if f != nil && notified != "" && t.notices.set.TeamHears(&d) {
		f.UserMessage = job.WithNotified(f.UserMessage, notified)
		d.UserMessage = f.UserMessage
	}
	t.heard.deaths = append(t.heard.deaths, d)
}

// hearOutcome collects the end or the expiry of a batch.
func (t *tx) hearOutcome(b *store.Batch) {
	if on := store.OutcomeHeard(b.State); on != "" && t.notices.set != nil {
		t.heard.ends = append(t.heard.ends, store.BatchHeard(b, on, t.now))
	}
}

// tell makes the notices that follow from the deaths and the outcomes of the call.
func (t *tx) tell() {
	if len(t.heard.deaths) == 0 && len(t.heard.ends) == 0 {
		return
	}
	var p notify.Pending
	for i := range t.heard.deaths {
		p.Death(t.notices.set, &t.heard.deaths[i])
	}
	for i := range t.heard.ends {
		p.Outcome(t.notices.set, &t.heard.ends[i])
	}
	t.heard = heardIn{}
	made, err := p.Apply(t.now, t, t)
	if err == nil {
		err = t.insertNotices(made)
	}
	if err != nil {
		panic(err) // what is in memory can be read
	}
}

// Attrs implements notify.Subjects.
func (t *tx) Attrs(id job.ID) ([]byte, error) { return t.jobs[id].Attrs, nil }

// Batch implements notify.Subjects.
func (t *tx) Batch(id int64) (*notify.Outcome, error) {
	o := store.BatchHeard(&t.batches[id].Batch, "", t.now)
	return &o, nil
}

// turnedOff reports whether an endpoint is turned off. One that does not exist is not: its notices
// die, so that people see the mistake in the rules.
func (t *tx) turnedOff(endpoint string) bool { return t.endpoints[endpoint].Off != "" }

// insertNotices enqueues notices, except those to endpoints that are turned off.
func (t *tx) insertNotices(made []notify.Notice) error {
	for i := range made {
		if made[i].Kind == notify.KindWebhook && t.turnedOff(made[i].To) {
			continue
		}
		n, err := made[i].New()
		if err != nil {
			return err
		}
		name := keyName{n.Owner, n.Kind, n.Key}
		if k := t.keys[name]; k != nil && t.holds(k) {
			return fmt.Errorf("the notice %s was made before: %w", n.Key, store.ErrConflict)
		}
		n.ID = t.nextID
		t.nextID++
		t.keys[name] = keyOf(&n, t.now)
		t.insertJob(&n)
	}
	return nil
}

// Window implements notify.Windows.
func (t *tx) Window(scope int64, target string) (*notify.Window, error) {
	if w := t.notices.windows[windowName{scope, target}]; w != nil {
		return notify.ReadWindow(w.body)
	}
	return nil, nil
}

// Of implements notify.Windows.
func (t *tx) Of(batch int64) (all []*notify.Window, err error) {
	for _, name := range t.windowNames() {
		if name.scope == batch && err == nil {
			var w *notify.Window
			w, err = t.Window(name.scope, name.target)
			all = append(all, w)
		}
	}
	return all, err
}

// Items implements notify.Windows.
func (t *tx) Items(w *notify.Window) (all []notify.Item, err error) {
	for _, body := range t.notices.windows[windowName{w.Scope, w.Target()}].items {
		var i notify.Item
		if err := json.Unmarshal(body, &i); err != nil {
			return nil, err
		}
		life := int32(0)
		if r := t.jobs[i.Subject.Job]; r != nil {
			life = r.Life
		}
		if i.Since(life) {
			all = append(all, i)
		}
	}
	return all, nil
}

// Keep implements notify.Windows.
func (t *tx) Keep(w *notify.Window) error {
	name := windowName{w.Scope, w.Target()}
	kept := &window{due: job.Micros(w.DueAt), body: w.Encode()}
	if before := t.notices.windows[name]; before != nil && !w.Cleared() {
		kept.items = before.items
	}
	for _, i := range w.Fresh() {
		body, err := json.Marshal(&i)
		if err != nil {
			return err
		}
		kept.items = append(kept.items, body)
	}
	if t.notices.windows == nil {
		t.notices.windows = make(map[windowName]*window)
	}
	t.notices.windows[name] = kept
	return nil
}

// Drop implements notify.Windows.
func (t *tx) Drop(w *notify.Window) error {
	delete(t.notices.windows, windowName{w.Scope, w.Target()})
	return nil
}

func (t *tx) windowNames() []windowName {
	return slices.SortedFunc(maps.Keys(t.notices.windows), func(a, b windowName) int {
		return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.target, b.target))
	})
}

func (t *tx) dumpNotify(d *store.Dump) {
	d.Notify = slices.Clone(t.notices.rules)
	for _, name := range t.windowNames() {
		w := t.notices.windows[name]
		lines := []string{fmt.Sprintf("%d %s %s", name.scope, name.target, w.body)}
		for _, item := range w.items {
			lines = append(lines, string(item))
		}
		d.Windows = append(d.Windows, strings.Join(lines, "\n"))
	}
}
