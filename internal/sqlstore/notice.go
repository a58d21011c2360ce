package sqlstore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

var (
	selRules     = ask("selRules")
	allRules     = ask("allRules")
	selRulesHash = ask("selRulesHash")
	insRules     = ask("insRules")
	selDeadAttrs = ask("selDeadAttrs")
)

// PublishNotify implements store.Notices.
func (s *Core) PublishNotify(ctx context.Context, by store.By, body []byte) (rules store.NotifyRules, err error) {
	if err := by.Validate(); err != nil {
		return rules, err
	}
	hash, err := store.ValidNotify(body)
	if err != nil {
		return rules, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		rules, err = t.publishNotify(by, hash, body)
		return err
	})
	return rules, err
}

func (t *Txn) publishNotify(by store.By, hash string, body []byte) (rules store.NotifyRules, err error) {
	if err := t.lockName("notify"); err != nil {
		return rules, err
	}
	before, err := readRules(t.s)
	if err != nil || before.Hash == hash {
		t.reliesOnEarlier = err == nil
		return before, err
	}
	rules = store.NotifyRules{Number: before.Number + 1, Hash: hash, At: t.now, By: by.Actor, Body: body}
	set, err := rules.Set()
	if err != nil {
		return rules, err
	}
	if _, err = t.exec(insRules, num(rules.Number), text(hash), num(t.now), text(by.Actor), setBlob(body)); err != nil {
		return rules, err
	}
	t.events.Add(&event.Event{Type: event.NotifyChanged, Reason: hash})
	if err := t.audit(by, "notify.publish", rules.Target(), before.Hash, hash); err != nil {
		return rules, err
	}
	// The lanes of notices exist from now on, so that the transaction of a death makes none.
	for _, kind := range []string{notify.KindMail, notify.KindWebhook} {
		if set != nil {
			if _, err := t.lane(notify.Queue, kind, ""); err != nil {
				return rules, err
			}
		}
	}
	t.cat.rules = set
	if t.hooks.StoredTerms != nil { // so that all processes read the rules
		err = t.hooks.StoredTerms()
	}
	return rules, err
}

// NotifyRules implements store.Notices.
func (s *Core) NotifyRules(ctx context.Context) (rules store.NotifyRules, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		rules, err = readRules(c)
		return err
	})
	return rules, err
}

func readRules(c Session) (rules store.NotifyRules, err error) {
	err = c.Rows(selRules, func(r Row) error {
		rules = scanRules(r)
		return nil
	})
	return rules, err
}

func scanRules(r Row) store.NotifyRules {
	return store.NotifyRules{Number: r.Int(0), Hash: r.Text(1), At: job.Micros(r.Int(2)), By: r.Text(3), Body: r.Blob(4)}
}

// lastSet is the set of rules that a catalogue of this process has read last, whatever its store: the
// hash says what is in it.
var lastSet atomic.Pointer[notify.Set]

// readSet returns the rules with the given hash; nil for "".
func readSet(c Session, hash string) (*notify.Set, error) {
	if hash == "" {
		return nil, nil
	}
	if set := lastSet.Load(); set.Hash() == hash {
		return set, nil
	}
	rules, err := readRules(c)
	if err != nil {
		return nil, err
	}
	set, err := rules.Set()
	if err == nil {
		lastSet.Store(set)
	}
	return set, err
}

// hear collects a death that rules are about. See tell. If people who operate the system hear of it, the
// failure record gets the text notified.
func (t *Txn) hear(r *Run, reason job.Reason, f *job.Failure, notified string, first bool) {
	d := store.DeadNow(f, notify.Death{Job: r.id, Number: t.cat.deaths, Batch: r.batch, Kind: r.lane.kind, Queue: r.lane.queue, Owner: r.owner,
		Correlation: r.correlation, Key: r.key, Life: r.life, Attempts: r.counters.Attempts, Crashes: r.counters.Crashes, Reason: reason,
		First: first, At: t.diedAt()})
	if !t.cat.rules.Concerns(&d) {
		return
	}
	if notified != "" && t.cat.rules.TeamHears(&d) {
		r.notified = notified
		d.UserMessage = job.WithNotified(d.UserMessage, notified)
	}
	t.heard = append(t.heard, d)
}

// turnedOff reports whether an endpoint of webhooks is turned off. One that does not exist is not: its
// notices die, so that people see the mistake in the rules.
func (t *Txn) turnedOff(name string) (off bool, err error) {
	err = t.rows(selEndpoint, func(r Row) error {
		e, err := scanEndpoint(r)
		off = e.Off != ""
		return err
	}, text(name))
	return off, err
}

// hearOutcome collects the end or the expiry of a batch.
func (t *Txn) hearOutcome(b *store.Batch) {
	if on := store.OutcomeHeard(b.State); on != "" && t.cat.rules != nil {
		t.ends = append(t.ends, store.BatchHeard(b, on, t.now))
	}
}

// tell makes the notices that follow from the deaths and the outcomes of the transaction.
func (t *Txn) tell() error {
	if len(t.heard) == 0 && len(t.ends) == 0 {
		return nil
	}
	set := t.cat.rules
	if err := t.lockName("windows"); err != nil {
		return err
	}
	var p notify.Pending
	for i := range t.heard {
		p.Death(set, &t.heard[i])
	}
	for i := range t.ends {
		p.Outcome(set, &t.ends[i])
	}
	t.heard, t.ends = nil, nil
	made, err := p.Apply(t.now, windows{t}, subjects{t, make(map[int64]*notify.Outcome)})
	if err != nil {
		return err
	}
	return t.insertNotices(made)
}

// subjects reads what the deaths of a transaction are about.
type subjects struct {
	t       *Txn
	batches map[int64]*notify.Outcome
}

// Attrs implements notify.Subjects.
func (s subjects) Attrs(id job.ID) (attrs []byte, err error) {
	err = s.t.rows(selDeadAttrs, func(r Row) error { attrs = r.Blob(0); return nil }, num(id))
	return attrs, err
}

// Batch implements notify.Subjects.
func (s subjects) Batch(id int64) (*notify.Outcome, error) {
	if o := s.batches[id]; o != nil {
		return o, nil
	}
	b, err := oneBatch(s.t.s, readBatchRow, id, "")
	if err == nil {
		b.BatchCounts, err = s.t.countsOf(id)
	}
	o := store.BatchHeard(&b, "", s.t.now)
	s.batches[id] = &o
	return &o, err
}

// insertNotices enqueues notices, whether the queue of notices takes new jobs or not: the change
// that causes a notice must not be refused. It makes none for endpoints that are turned off.
func (t *Txn) insertNotices(all []notify.Notice) error {
	off := make(map[string]bool)
	var made []notify.Notice
	for i := range all {
		n := &all[i]
		if _, known := off[n.To]; n.Kind == notify.KindWebhook && !known {
			is, err := t.turnedOff(n.To)
			if err != nil {
				return err
			}
			off[n.To] = is
		}
		if n.Kind != notify.KindWebhook || !off[n.To] {
			made = append(made, *n)
		}
	}
	if len(made) == 0 {
		return nil
	}
	id, err := t.reserve(len(made))
	if err != nil {
		return err
	}
	for i := range made {
		n, err := made[i].New()
		if err != nil {
			return err
		}
		n.ID = id + job.ID(i)
		name := keyName{n.Owner, n.Kind, n.Key}
		held, err := t.heldKey(name)
		if err == nil && held.job != 0 {
			err = fmt.Errorf("the notice %s was made before, as job %d: %w", n.Key, held.job, store.ErrConflict)
		}
		if err == nil {
			err = t.takeKey(name, n.ID, n.Digest, n.KeyEnd(t.now), held.ended)
		}
		if err == nil {
			err = t.insert(&n)
		}
		if err != nil {
			return err
		}
	}
	crashpoint.Hit(crashpoint.InNotice)
	return nil
}

// firstOfGroup reports whether a death is the first of its group in the sense of notify.GroupFirst,
// and remembers its time.
func (t *Txn) firstOfGroup(b *groupEffect) bool {
	g := b.group
	if g == nil {
		return false
	}
	first := notify.IsFirst(g.last, t.diedAt(), g.resolved)
	g.last = t.diedAt()
	return first && b.status == job.Pending
}
