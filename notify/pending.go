package notify

import (
	"cmp"
	"slices"

	"github.com/redrive/redrive/job"
)

// Pending collects what happens in one transaction: the deaths and the outcomes that rules are
// about. The zero value is empty.
type Pending struct {
	set    *Set
	deaths []heard // for a recipient each
	ends   []heard
}

// heard is a death or an outcome of which one recipient hears.
type heard struct {
	rule *Rule
	on   Event
	to   string
	item Item
	wait int64 // the scope of the window
	at   job.Micros
}

// Empty reports whether nobody hears of anything.
func (p *Pending) Empty() bool { return len(p.deaths) == 0 && len(p.ends) == 0 }

// Reset empties p.
func (p *Pending) Reset() {
	if !p.Empty() {
		*p = Pending{}
	}
}

// Death adds a death.
func (p *Pending) Death(s *Set, d *Death) {
	if s == nil || Sends(d.Kind) {
		return
	}
	p.set = s
	fits := func(r *Rule) bool { return r.Match.fits(d) }
	targets := func(r *Rule) []string { return s.targets(r, d.Owner, d.HoldNotify, d.BatchAttrs, d.Attrs) }
	s.heard(d.events(), fits, targets, func(rule *Rule, on Event, to string) {
		h := heard{rule: rule, on: on, to: to, at: d.At, wait: Plain,
			item: Item{Subject: Subject{Batch: max(0, d.Batch), Job: d.Job, Death: d.Number, Group: d.Group}, Job: s.jobFacts(rule, d)}}
		if on == MemberDead {
			h.wait = d.Batch
		}
		p.deaths = append(p.deaths, h)
	})
}

// Outcome adds the end or the expiry of a batch. Call it also if no rule is about it: the end of a
// batch closes the windows of its members.
func (p *Pending) Outcome(s *Set, o *Outcome) {
	if s == nil || !s.About(o.On, MemberDead) {
		return
	}
	p.set = s
	facts := s.batchFacts(o)
	p.ends = append(p.ends, heard{on: o.On, at: o.At, item: Item{Subject: Subject{Batch: o.Batch, Outcome: o.Number}, Batch: facts}})
	fits := func(r *Rule) bool { return (r.Match.Owner == "" || r.Match.Owner == o.Owner) && !r.Match.ofJobs() }
	targets := func(r *Rule) []string { return s.targets(r, o.Owner, "", o.Attrs) }
	s.heard([]Event{o.On}, fits, targets, func(rule *Rule, on Event, to string) {
		p.ends = append(p.ends, heard{rule: rule, on: on, to: to, at: o.At,
			item: Item{Subject: Subject{Batch: o.Batch, Outcome: o.Number}, Batch: facts}})
	})
}

// Apply returns the notices to make at once, in their order, and writes the windows: first what
// deaths cause, then, for each outcome, what its members have left and the outcome itself.
// The function batch returns the facts of a batch whose member died.
func (p *Pending) Apply(now job.Micros, windows Windows, batch func(id int64) (*Outcome, error)) (made []Notice, err error) {
	// Transactions take windows in one order, so that they do not wait for one another in a circle.
	slices.SortStableFunc(p.deaths, func(a, b heard) int {
		return cmp.Or(cmp.Compare(a.wait, b.wait), cmp.Compare(a.rule.Channel, b.rule.Channel), cmp.Compare(a.to, b.to))
	})
	for rest := p.deaths; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].same(&rest[0]) {
			n++
		}
		more, err := p.deathsOf(rest[:n], now, windows, batch)
		if err != nil {
			return nil, err
		}
		made, rest = append(made, more...), rest[n:]
	}
	for i := range p.ends {
		more, err := p.end(&p.ends[i], now, windows)
		if err != nil {
			return nil, err
		}
		made = append(made, more...)
	}
	return made, nil
}

func (h *heard) same(of *heard) bool {
	return h.wait == of.wait && h.rule.Channel == of.rule.Channel && h.to == of.to
}

// deathsOf handles the deaths that wait in one window.
func (p *Pending) deathsOf(all []heard, now job.Micros, windows Windows, batch func(id int64) (*Outcome, error)) (made []Notice, err error) {
	var w *Window
	var facts *BatchFacts
	changed := false
	for i := range all {
		h := &all[i]
		if h.wait != Plain && facts == nil {
			o, err := batch(h.wait)
			if err != nil {
				return nil, err
			}
			facts = p.set.batchFacts(o)
		}
		if h.rule.Every {
			made = append(made, p.death(h, facts, now))
			continue
		}
		if w == nil {
			blank := p.window(h, facts, now)
			if w, err = windows.Window(h.wait, blank.Target()); err != nil {
				return nil, err
			}
			if w == nil {
				w = blank
				if h.wait == Plain {
					w.Sum = 1
					made = append(made, p.death(h, nil, now))
					changed = true
					continue
				}
			}
		}
		if w.Scope != Plain {
			w.Sum++
			w.Batch = facts
			if w.N == 0 {
				w.open(now)
			}
		}
		changed = true
		w.add(h.item, h.item.Job.Class, h.item.Job.Code, h.at)
	}
	if !changed {
		return made, nil
	}
	return made, windows.Keep(w)
}

func (p *Pending) window(h *heard, facts *BatchFacts, now job.Micros) *Window {
	kind := KindMail
	if p.set.rules.Channels[h.rule.Channel].Type == Webhook {
		kind = KindWebhook
	}
	w := &Window{V: 1, Scope: h.wait, Channel: h.rule.Channel, To: h.to, Kind: kind, Team: h.rule.Team, Type: h.rule.Type, Data: h.rule.Data,
		Above: h.rule.Digest.Above, Wait: h.rule.Digest.Wait, Batch: facts}
	w.open(now)
	return w
}

// death returns the notice about one death.
func (p *Pending) death(h *heard, facts *BatchFacts, now job.Micros) Notice {
	n := p.set.made(h.rule, h.on, h.to, Facts{Job: h.item.Job, Batch: facts, At: h.item.Job.At, Link: h.item.Job.Link}, now)
	n.Subject = h.item.Subject
	return n.finish(h.item.Job.ID, h.item.Subject.Death, h.rule.Type, h.rule.Data)
}

// end handles the end of a batch. Its first entry has no rule: it closes the windows of the members.
func (p *Pending) end(h *heard, now job.Micros, windows Windows) (made []Notice, err error) {
	if h.rule == nil {
		if h.on == BatchExpired {
			return nil, nil // it has ended before
		}
		all, err := windows.Of(h.item.Subject.Batch)
		for _, w := range all {
			if err != nil {
				break
			}
			w.Batch = h.item.Batch
			var more []Notice
			more, err = w.closeBatch(now, windows, true)
			made = append(made, more...)
		}
		return made, err
	}
	n := p.set.made(h.rule, h.on, h.to, Facts{Batch: h.item.Batch, At: stamp(h.at), Link: h.item.Batch.Link}, now)
	n.Subject = h.item.Subject
	n.finish(h.item.Batch.ID, h.item.Subject.Outcome, h.rule.Type, h.rule.Data)
	if !h.rule.Every {
		item := h.item
		if single, err := mayGo(&n, &item, now, windows); err != nil || !single {
			return nil, err
		}
	}
	return []Notice{n}, nil
}
