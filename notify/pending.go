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
	causes []*Death
	deaths []heard // for a recipient each
	ends   []heard
}

// heard is a death or an outcome of which one recipient hears.
type heard struct {
	rule  *Rule
	on    Event
	to    string
	wait  int64 // the scope of the window
	death *Death
	item  Item // of an outcome
	at    job.Micros
}

// Subjects reads what a death or its batch is about, when a notice needs it.
type Subjects interface {
	// Attrs returns the attributes of a job that has died, as a JSON object, or nil.
	Attrs(id job.ID) ([]byte, error)
	// Batch returns the facts of a batch whose member died. On is not used.
	Batch(id int64) (*Outcome, error)
}

// Death adds a death. It must not change until Apply returns.
func (p *Pending) Death(s *Set, d *Death) {
	if s != nil && !Sends(d.Kind) {
		p.set = s
		p.causes = append(p.causes, d)
	}
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
func (p *Pending) Apply(now job.Micros, windows Windows, subjects Subjects) (made []Notice, err error) {
	for _, d := range p.causes {
		if err := p.resolve(d, subjects); err != nil {
			return nil, err
		}
	}
	// Transactions take windows in one order, so that they do not wait for one another in a circle.
	slices.SortStableFunc(p.deaths, func(a, b heard) int {
		return cmp.Or(cmp.Compare(a.wait, b.wait), cmp.Compare(a.rule.Channel, b.rule.Channel), cmp.Compare(a.to, b.to))
	})
	for rest := p.deaths; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].same(&rest[0]) {
			n++
		}
		more, err := p.deathsOf(rest[:n], now, windows, subjects)
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

// resolve finds out who hears of a death. It reads attributes only if a recipient may be in them.
func (p *Pending) resolve(d *Death, subjects Subjects) (err error) {
	if p.set.byAttr(d) {
		if err := d.readAttrs(subjects); err != nil {
			return err
		}
		if d.Batch > 0 {
			b, err := subjects.Batch(d.Batch)
			if err != nil {
				return err
			}
			d.batchAttrs = b.Attrs
		}
	}
	events, n := d.events()
	p.set.heard(events[:n], func(r *Rule) bool { return r.Match.fits(d) },
		func(r *Rule) []string { return p.set.targets(r, d.Owner, d.HoldNotify, d.batchAttrs, d.attrs) },
		func(rule *Rule, on Event, to string) {
			h := heard{rule: rule, on: on, to: to, at: d.At, wait: Plain, death: d}
			if on == MemberDead {
				h.wait = d.Batch
			}
			p.deaths = append(p.deaths, h)
		})
	return nil
}

// fill makes the facts of a death. Most deaths of a flood are only counted, so it comes late.
func (p *Pending) fill(h *heard, subjects Subjects) error {
	d := h.death
	if h.item.Job != nil {
		return nil
	}
	if err := d.readAttrs(subjects); err != nil {
		return err
	}
	h.item = Item{Subject: Subject{Batch: max(0, d.Batch), Job: d.Job, Death: d.Number, Group: d.Group}, Job: p.set.jobFacts(h.rule, d)}
	return nil
}

func (h *heard) same(of *heard) bool {
	return h.wait == of.wait && h.rule.Channel == of.rule.Channel && h.to == of.to
}

// deathsOf handles the deaths that wait in one window.
func (p *Pending) deathsOf(all []heard, now job.Micros, windows Windows, subjects Subjects) (made []Notice, err error) {
	var w *Window
	var facts *BatchFacts
	var last *heard // whose class and code were made ready to be counted
	class, code, changed := "", "", false
	for i := range all {
		h := &all[i]
		if h.wait != Plain && facts == nil {
			o, err := subjects.Batch(h.wait)
			if err != nil {
				return nil, err
			}
			facts = p.set.batchFacts(o)
		}
		if h.rule.Every {
			if err := p.fill(h, subjects); err != nil {
				return nil, err
			}
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
					if err := p.fill(h, subjects); err != nil {
						return nil, err
					}
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
		if w.lists() {
			if err := p.fill(h, subjects); err != nil {
				return nil, err
			}
		}
		if last == nil || last.rule != h.rule || last.death.Class != h.death.Class || last.death.Code != h.death.Code {
			class, code = h.death.cause(h.rule.Team)
		}
		last = h
		w.add(h.item, h.at)
		w.count(class, code)
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
