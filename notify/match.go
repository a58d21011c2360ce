package notify

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/job"
)

// Set is a set of rules that was checked, in the form in which stores use it. A nil Set has no rules.
type Set struct {
	hash  string
	rules *Rules
	on    map[Event][]int    // the rules of each event, in their order
	fixed map[*Rule][]string // the recipients of rules that name all of them
}

// NewSet prepares rules that are valid.
func NewSet(r *Rules) *Set {
	_, hash := r.Encode()
	s := &Set{hash: hash, rules: r, on: make(map[Event][]int), fixed: make(map[*Rule][]string)}
	for i := range r.Rules {
		if rule := &r.Rules[i]; r.Channels[rule.Channel].Type == Webhook || !slices.ContainsFunc(rule.To, depends) {
			s.fixed[rule] = s.targets(rule, "", "")
		}
		for _, on := range r.Rules[i].On {
			all := []Event{on}
			if on == BatchEnd {
				all = []Event{BatchReady, BatchPartial, BatchFailed}
			}
			for _, on := range all {
				if !slices.Contains(s.on[on], i) {
					s.on[on] = append(s.on[on], i)
				}
			}
		}
	}
	return s
}

// Hash returns the hash of the rules; "" for nil.
func (s *Set) Hash() string {
	if s == nil {
		return ""
	}
	return s.hash
}

// Rules returns the rules. The caller must not change them.
func (s *Set) Rules() *Rules { return s.rules }

// About reports whether a rule is about one of the events.
func (s *Set) About(events ...Event) bool {
	return s != nil && slices.ContainsFunc(events, func(on Event) bool { return len(s.on[on]) > 0 })
}

// QuietGroup is how long a group must have had no death for its next death to be a first one.
const QuietGroup = 24 * 60 * 60 * 1_000_000 // in microseconds

// IsFirst reports whether a death is the first of its group in the sense of GroupFirst. The
// arguments say when the group's last death was, 0 for none, and whether a person has marked the
// group as resolved since.
func IsFirst(last, now job.Micros, resolved bool) bool {
	return last == 0 || resolved || now-last >= QuietGroup
}

// depends reports whether a recipient depends on what a rule is about.
func depends(to string) bool {
	return to == HoldNotify || to == Owner || strings.HasPrefix(to, AttrPrefix)
}

// events returns the events that a death is, the most specific one first.
func (d *Death) events() (list [3]Event, n int) {
	is := func(on Event) { list[n], n = on, n+1 }
	if d.Reason == job.ManualReview {
		is(JobHeld)
	}
	if d.First && d.Group != "" {
		is(GroupFirst)
	}
	switch {
	case d.Batch > 0:
		is(MemberDead)
	case d.Batch == 0:
		is(JobDead)
	}
	return list, n
}

// fits reports whether a rule is about a death. A job whose kind is not retried concerns nobody but
// those who ask for the kind by its name.
func (m *Match) fits(d *Death) bool {
	fits := func(want, is string) bool { return want == "" || want == is }
	if (d.NoRetry || d.Batch < 0) && m.Kind == "" {
		return false
	}
	return fits(m.Kind, d.Kind) && fits(m.Queue, d.Queue) && fits(m.Owner, d.Owner) && fits(m.Class, d.Class) &&
		fits(m.Reason, string(d.Reason)) && fits(m.Code, d.Code)
}

// ofJobs reports whether a rule selects jobs, so that it can be about no batch.
func (m *Match) ofJobs() bool {
	return m.Kind != "" || m.Queue != "" || m.Class != "" || m.Reason != "" || m.Code != ""
}

// Concerns reports whether a rule is about a death, with any recipients.
func (s *Set) Concerns(d *Death) bool {
	if s == nil || Sends(d.Kind) {
		return false
	}
	return s.concerns(d, func(*Rule) bool { return true })
}

// byAttr reports whether a recipient who hears of a death may be in attributes.
func (s *Set) byAttr(d *Death) bool {
	return s.concerns(d, func(r *Rule) bool { return s.fixed[r] == nil })
}

// concerns reports whether one of the rules that are asked for is about a death.
func (s *Set) concerns(d *Death, asked func(*Rule) bool) bool {
	events, n := d.events()
	for _, on := range events[:n] {
		for _, i := range s.on[on] {
			if rule := &s.rules.Rules[i]; rule.Match.fits(d) && asked(rule) {
				return true
			}
		}
	}
	return false
}

// TeamHears reports whether people who operate the system hear of a death at once, or have heard of
// others in the same window. Recipients that come from attributes do not count, nor does the window
// of a batch, whose message is sent later.
func (s *Set) TeamHears(d *Death) (team bool) {
	if s == nil || Sends(d.Kind) {
		return false
	}
	events, n := d.events()
	s.heard(events[:n], func(r *Rule) bool { return r.Match.fits(d) },
		func(r *Rule) []string { return s.targets(r, d.Owner, d.HoldNotify) },
		func(rule *Rule, on Event, _ string) { team = team || rule.Team && (on != MemberDead || rule.Every) })
	return team
}

// heard calls the given function for each rule and recipient of one cause. A recipient hears of it
// once, by the first of the events and of their rules.
func (s *Set) heard(events []Event, fits func(*Rule) bool, targets func(*Rule) []string, each func(rule *Rule, on Event, to string)) {
	type recipient struct{ channel, to string }
	var few [4]recipient
	seen := few[:0]
	for _, on := range events {
		for _, i := range s.on[on] {
			rule := &s.rules.Rules[i]
			if !fits(rule) {
				continue
			}
			for _, to := range targets(rule) {
				if r := (recipient{rule.Channel, to}); !slices.Contains(seen, r) {
					seen = append(seen, r)
					each(rule, on, to)
				}
			}
		}
	}
}

// targets returns the recipients of a rule. An attribute that neither the batch nor the job has, or
// that is no text, names none.
func (s *Set) targets(rule *Rule, owner, hold string, attrs ...[]byte) (list []string) {
	if fixed := s.fixed[rule]; fixed != nil {
		return fixed
	}
	if s.rules.Channels[rule.Channel].Type == Webhook {
		return rule.To
	}
	for _, to := range rule.To {
		switch {
		case to == HoldNotify:
			list = append(list, s.people(hold)...)
		case to == Owner:
			if owner != "" {
				list = append(list, OwnerPrefix+owner)
			}
		case strings.HasPrefix(to, AttrPrefix):
			for _, of := range attrs {
				if address := attribute(of, to[len(AttrPrefix):]); address != "" {
					list = append(list, address)
					break
				}
			}
		default:
			list = append(list, s.people(to)...)
		}
	}
	return list
}

// people returns the addresses of a name of people, or the address itself.
func (s *Set) people(name string) []string {
	if strings.Contains(name, "@") {
		return []string{name}
	}
	return s.rules.People[name]
}

// made returns a notice of a rule. The caller names it and sets its body.
func (s *Set) made(rule *Rule, on Event, to string, f Facts, at job.Micros) Notice {
	n := Notice{V: 1, On: on, Channel: rule.Channel, To: to, Team: rule.Team, Facts: f, MadeAt: Time(at), Kind: KindMail}
	if s.rules.Channels[rule.Channel].Type == Webhook {
		n.Kind = KindWebhook
	}
	return n
}

// finish names a notice and writes the body of a webhook.
func (n *Notice) finish(subject string, number int64, event string, data map[string]string) Notice {
	if n.Facts.Job != nil {
		n.Correlation = n.Facts.Job.Correlation
	}
	if n.Kind == KindWebhook {
		n.Body = envelope(cmp.Or(event, string(n.On)), data, &n.Facts)
		n.Facts = Facts{At: n.Facts.At, Link: n.Facts.Link}
	}
	n.name(subject, number)
	return *n
}

// Off returns the notices that an endpoint was turned off. The number is that of the change.
func (s *Set) Off(endpoint, reason string, number int64, at job.Micros) (list []Notice) {
	if s == nil {
		return nil
	}
	s.heard([]Event{WebhookOff}, func(*Rule) bool { return true }, func(r *Rule) []string { return s.targets(r, "", "") },
		func(rule *Rule, on Event, to string) {
			n := s.made(rule, on, to, Facts{At: stamp(at), Endpoint: &EndpointFacts{Name: endpoint, Reason: line(reason)}}, at)
			n.Subject.Endpoint = endpoint
			list = append(list, n.finish(endpoint, number, "", nil))
		})
	return list
}

// Stopped returns the notices that a redrive was stopped by itself. The time is that of the stop.
func (s *Set) Stopped(id int64, r RedriveFacts, at job.Micros) (list []Notice) {
	if s == nil {
		return nil
	}
	r.ID, r.By, r.Reason, r.Why = strconv.FormatInt(id, 10), line(r.By), Clip(r.Reason, messageMax), Clip(r.Why, messageMax)
	r.Link = link(s.rules.BaseURL, "redrives", id)
	s.heard([]Event{RedriveStopped}, func(*Rule) bool { return true }, func(rule *Rule) []string { return s.targets(rule, "", "") },
		func(rule *Rule, on Event, to string) {
			facts := r
			n := s.made(rule, on, to, Facts{At: stamp(at), Redrive: &facts, Link: r.Link}, at)
			n.Subject.Redrive = id
			list = append(list, n.finish(r.ID, int64(at), rule.Type, rule.Data))
		})
	return list
}
