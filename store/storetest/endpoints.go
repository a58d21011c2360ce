package storetest

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

func endpointPromises() []promise {
	return []promise{
		{"N3_EndpointIsStoredAsItWasPut", endpointIsStored},
		{"N3_RotatedSecretKeepsTheOldOneForATime", endpointIsRotated},
		{"N3_Trap25_EndpointIsTurnedOffByWhatItAnswers", endpointTurnsOff},
		{"N3_ChangesOfEndpointsAreAuditedWithoutSecrets", endpointsAreAudited},
		{"N3_Trap25_EndpointThatTurnsOffIsHeardOfOnce", endpointOffIsHeard},
		{"N3_NothingIsMadeForAnEndpointThatIsOff", nothingForAnEndpointThatIsOff},
		{"N3_EndpointBounds", endpointBounds},
	}
}

func endpoint(name string) store.Endpoint {
	return store.Endpoint{Name: name, URL: "https://shop.example.com/hooks?token=canary", Secret: signing(name),
		Allow: []string{"10.20.0.0/16"}, Ports: []uint16{8443}}
}

// signing returns a secret, which differs for each text.
func signing(text string) store.WebhookSecret {
	return store.WebhookSecret(text + strings.Repeat("-canary-", 4))
}

func (r *rig) endpoints() []store.Endpoint {
	list, err := r.Endpoints(ctx())
	r.ok(err)
	return list
}

func (r *rig) putEndpoint(e store.Endpoint) store.Endpoint {
	stored, err := r.PutEndpoint(ctx(), operator, e)
	r.ok(err)
	return stored
}

// part of: N3
func endpointIsStored(r *rig) {
	same(r, "number of endpoints of an empty store", len(r.endpoints()), 0)
	b, a := endpoint("b"), endpoint("a")
	a.Allow, a.Ports, a.URL, a.AllowHTTP = nil, nil, "http://shop.example.com/", true
	stored := r.putEndpoint(b)
	b.Version, b.CreatedAt, b.CreatedBy = 1, r.now(), operator.Actor
	same(r, "stored endpoint", stored, b)
	r.unchanged(func() { same(r, "stored endpoint, the second time", r.putEndpoint(endpoint("b")), b) }) // the answer was lost
	r.clock.Advance(time.Second)
	r.putEndpoint(a)
	a.Version, a.CreatedAt, a.CreatedBy = 1, r.now(), operator.Actor
	same(r, "endpoints", r.endpoints(), []store.Endpoint{a, b})
	same(r, "endpoints in the dump", r.dump().Endpoints, []store.Endpoint{a, b})
	change := b
	change.URL, change.Ports, change.Delivered, change.CreatedBy = "https://other.example.com/", nil, 7, "nobody" // the store sets the last two
	stored = r.putEndpoint(change)
	b.URL, b.Ports, b.Version = change.URL, nil, 2
	same(r, "changed endpoint", stored, b)
	r.unchanged(func() {
		same(r, "changed endpoint, the second time", r.putEndpoint(change), b)
		old := change
		old.URL = "https://third.example.com/"
		_, err := r.PutEndpoint(ctx(), operator, old)
		r.is(err, store.ErrConflict)
		_, err = r.PutEndpoint(ctx(), operator, endpoint("b"))
		r.is(err, store.ErrConflict)
		missing := endpoint("c")
		missing.Version = 1
		_, err = r.PutEndpoint(ctx(), operator, missing)
		r.is(err, store.ErrNotFound)
		r.is(r.RemoveEndpoint(ctx(), operator, "c"), store.ErrNotFound)
	})
	r.ok(r.RemoveEndpoint(ctx(), operator, "a"))
	same(r, "endpoints after one was removed", r.endpoints(), []store.Endpoint{b})
}

// part of: N3
func endpointIsRotated(r *rig) {
	e := r.putEndpoint(endpoint("a"))
	r.clock.Advance(time.Minute)
	next := e
	next.Secret, next.KeepOld = signing("new"), 24*time.Hour
	stored := r.putEndpoint(next)
	e.OldSecret, e.OldUntil, e.RotatedAt, e.Secret, e.Version = signing("a"), r.in(24*time.Hour), r.now(), signing("new"), 2
	same(r, "rotated endpoint", stored, e)
	same(r, "endpoints", r.endpoints(), []store.Endpoint{e})
	next.Secret, next.KeepOld, next.Version = signing("leaked"), 0, 2
	stored = r.putEndpoint(next)
	same(r, "old secret that is not kept", []any{len(stored.OldSecret), stored.OldUntil}, []any{0, job.Micros(0)})
}

// part of: N3
func endpointTurnsOff(r *rig) {
	r.putEndpoint(endpoint("a"))
	count := func(n store.EndpointCount) store.Endpoint {
		got, err := r.CountEndpoint(ctx(), "a", n)
		r.ok(err)
		same(r, "counted endpoint", got, r.endpoints()[0])
		return got
	}
	e := count(store.EndpointCount{Delivered: 2, Failed: 1, Failing: true})
	same(r, "first failure", []any{e.Delivered, e.Failed, e.DeliveredAt, e.FailingSince, e.Off}, []any{int64(2), int64(1), r.now(), r.now(), ""})
	since := e.FailingSince
	r.clock.Advance(store.EndpointFailing - time.Second)
	e = count(store.EndpointCount{Failed: 1, Failing: true})
	same(r, "failures of less than five days", []any{e.Off, e.FailingSince}, []any{"", since})
	e = count(store.EndpointCount{Delivered: 1})
	same(r, "a success", []any{e.Off, e.FailingSince}, []any{"", job.Micros(0)})
	count(store.EndpointCount{Failed: 1, Failing: true})
	r.clock.Advance(store.EndpointFailing)
	e = count(store.EndpointCount{Failed: 1, Failing: true})
	same(r, "failures of five days", []any{e.Off, e.OffAt, e.Version}, []any{store.OffFailing, r.now(), int64(1)})
	at := e.OffAt
	r.clock.Advance(time.Second)
	e = count(store.EndpointCount{Failed: 1, Gone: true, Failing: true})
	same(r, "a failure of an endpoint that is off", []any{e.Off, e.OffAt}, []any{store.OffFailing, at})

	e.Off = ""
	e = r.putEndpoint(e)
	same(r, "turned on", []any{e.Off, e.OffAt, e.FailingSince, e.Version}, []any{"", job.Micros(0), job.Micros(0), int64(2)})
	e = count(store.EndpointCount{Failed: 1, Gone: true, Failing: true})
	same(r, "410", []any{e.Off, e.OffAt}, []any{store.OffGone, r.now()})
	_, err := r.CountEndpoint(ctx(), "b", store.EndpointCount{Failed: 1})
	r.is(err, store.ErrNotFound)
	var reasons []string
	events, err := r.Events(ctx(), event.Cursor{}, 100)
	r.ok(err)
	for _, e := range events {
		if e.Type == event.WebhookChanged && e.Note == "a" {
			reasons = append(reasons, e.Reason)
		}
	}
	same(r, "events", reasons, []string{"add", "off", "on", "off"})
}

// part of: N3
func endpointsAreAudited(r *rig) {
	e := r.putEndpoint(endpoint("a"))
	e.Secret, e.KeepOld = signing("b"), time.Hour
	e = r.putEndpoint(e)
	e.Off = store.OffByPerson
	r.putEndpoint(e)
	r.ok(r.RemoveEndpoint(ctx(), operator, "a"))
	rows, err := r.Audit(ctx(), 0, 100)
	r.ok(err)
	var actions []string
	for _, row := range rows {
		actions = append(actions, row.Action)
		same(r, "actor and target", []string{row.Actor, row.Target}, []string{operator.Actor, "a"})
		if strings.Contains(row.Before+row.After, "canary") {
			r.fail("the audit log has a secret: %s %s", row.Before, row.After)
		}
	}
	same(r, "actions", actions, []string{"webhook.add", "webhook.rotate", "webhook.off", "webhook.remove"})
}

// part of: N3
func endpointBounds(r *rig) {
	r.unchanged(func() {
		for what, bend := range map[string]func(*store.Endpoint){
			"a name with a space": func(e *store.Endpoint) { e.Name = "a b" },
			"http":                func(e *store.Endpoint) { e.URL = "http://shop.example.com/" },
			"a password":          func(e *store.Endpoint) { e.URL = "https://ann:canary@shop.example.com/" },
			"a private network":   func(e *store.Endpoint) { e.URL = "https://10.1.2.3/" },
			"a secret of 8 bytes": func(e *store.Endpoint) { e.Secret = e.Secret[:8] },
			"not a network":       func(e *store.Endpoint) { e.Allow = []string{"10.20.1.0/16"} },
			"a negative version":  func(e *store.Endpoint) { e.Version = -1 },
			"a long keep":         func(e *store.Endpoint) { e.KeepOld = store.EndpointKeepMax + 1 },
		} {
			e := endpoint("a")
			bend(&e)
			_, err := r.PutEndpoint(ctx(), operator, e)
			r.is(err, store.ErrInvalid)
			if strings.Contains(fmt.Sprint(err), "canary") || strings.Contains(fmt.Sprint(err), "10.1.2.3") {
				r.fail("%s: the error shows a secret or an address: %v", what, err)
			}
		}
	})
	for i := range store.EndpointsMax {
		r.putEndpoint(endpoint(fmt.Sprintf("e%03d", i)))
	}
	_, err := r.PutEndpoint(ctx(), operator, endpoint("one-more"))
	r.is(err, store.ErrTooLarge)
}

// endpoints puts an endpoint, often one that is stored, counts attempts, and sometimes removes one.
func (d *duel) endpoints() {
	for range 3 { // a change needs an endpoint, and another one an earlier change
		d.endpoint()
	}
}

func (d *duel) endpoint() {
	t, by := d.t, d.by()
	e := endpoint(pick(t, "webhook", "w1", "w1", "w2", "w 3"))
	for i := range d.last.Endpoints {
		if d.last.Endpoints[i].Name == e.Name && !chance(t, "new webhook", 4) {
			e = d.last.Endpoints[i]
		}
	}
	e.URL = pick(t, "url", "https://shop.example.com/", "https://other.example.com/", "http://shop.example.com/")
	e.Secret, e.KeepOld = signing(pick(t, "secret", "s1", "s2")), pick(t, "keep", 0, time.Hour)
	e.Version -= pick(t, "older", int64(0), 0, 0, 1, -1)
	e.Off = pick(t, "off", "", "", store.OffByPerson)
	d.each("PutEndpoint", func(s store.Store) (any, error) { return s.PutEndpoint(ctx(), by, e) })
	name := pick(t, "counted", e.Name, e.Name, "w1", "w9")
	n := store.EndpointCount{Delivered: int64(rapid.IntRange(0, 2).Draw(t, "delivered")), Failed: int64(pick(t, "failed", 0, 1, 2))}
	n.Failing, n.Gone = n.Failed > 0 && chance(t, "failing", 2), n.Failed > 0 && chance(t, "gone", 3)
	d.each("CountEndpoint", func(s store.Store) (any, error) { return s.CountEndpoint(ctx(), name, n) })
	d.ask("Endpoints", func(s store.Store) (any, error) { return s.Endpoints(ctx()) })
	if chance(t, "remove", 6) {
		d.each("RemoveEndpoint", func(s store.Store) (any, error) { return nil, s.RemoveEndpoint(ctx(), by, name) })
	}
}

// An endpoint that turns off by itself causes one notice for each recipient; a person who turns it off causes none.
// part of: N3
func endpointOffIsHeard(r *rig) {
	rules := notify.Rules{Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}},
		Rules: []notify.Rule{{On: []notify.Event{notify.WebhookOff}, Channel: "mail", To: []string{"ops@example.com"}, Team: true}}}
	body, _ := rules.Encode()
	_, err := r.PublishNotify(ctx(), operator, body)
	r.ok(err)
	notices := func() (n int) {
		for _, j := range r.dump().Jobs {
			if j.Kind == notify.KindMail {
				n++
			}
		}
		return n
	}
	e := r.putEndpoint(endpoint("a"))
	e.Off = store.OffByPerson
	e = r.putEndpoint(e)
	e.Off = ""
	e = r.putEndpoint(e)
	same(r, "notices of a person's actions", notices(), 0)
	for range 3 {
		_, err = r.CountEndpoint(ctx(), "a", store.EndpointCount{Failed: 1, Failing: true, Gone: true})
		r.ok(err)
	}
	same(r, "notices after 410, three times", notices(), 1)
	r.clock.Advance(time.Second)
	e.Version = r.endpoints()[0].Version
	r.putEndpoint(e)
	_, err = r.CountEndpoint(ctx(), "a", store.EndpointCount{Failed: 1, Failing: true, Gone: true})
	r.ok(err)
	same(r, "notices after it was turned on and answered 410 again", notices(), 2)
}

// No notice is made for an endpoint while it is off. After it is on again, its notices are made.
//
// part of: N3
func nothingForAnEndpointThatIsOff(r *rig) {
	r.publishRules(rulesOf(
		notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "hook", To: []string{"shop", "unknown"}, Every: true},
		notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"ops"}, Every: true},
	))
	e := r.putEndpoint(endpoint("shop"))
	die := func() { r.dead(func(n *job.New) { n.Queue = "else" }) }
	same(r, "notices while it is on", r.newNotices(die), "job.dead shop, job.dead unknown, job.dead ops@example.com")
	e.Off = store.OffByPerson
	e = r.putEndpoint(e)
	same(r, "notices while it is off", r.newNotices(die), "job.dead unknown, job.dead ops@example.com")
	e.Off = ""
	r.putEndpoint(e)
	same(r, "notices after it is on again", r.newNotices(die), "job.dead shop, job.dead unknown, job.dead ops@example.com")
}
