package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

func noticePromises() []promise {
	return []promise{
		{"N2_RulesArePublishedOnce", rulesArePublishedOnce},
		{"X3_NotifyBounds", notifyBounds},
		{"N2_NothingWithoutRules", nothingWithoutRules},
		{"N2_MembersAndTheirBatch", membersAndTheirBatch},
		{"N2_ManyMembersAreADigest", manyMembersAreADigest},
		{"N2_AWindowOfOneMessageAndOneDigest", oneMessageAndOneDigest},
		{"N2_ADigestSaysWhatWasRetried", digestSaysWhatWasRetried},
		{"N2_FirstOfAGroup", firstOfAGroup},
		{"N2_EveryDeathHasItsNotice", everyDeathHasItsNotice},
		{"N2_Trap17_NoNoticeOfANotice", noNoticeOfANotice},
		{"N2_HeldAndExpiredAndCrashed", heldAndExpiredAndCrashed},
		{"R7_AsideConcernsNobody", asideConcernsNobody},
		{"N2_ExpiredBatch", expiredBatch},
	}
}

var (
	mailRules = &notify.Rules{
		BaseURL:  "https://jobs.example.com",
		People:   map[string][]string{"ann": {"ann@example.com"}, "ops": {"ops@example.com"}},
		Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}, "hook": {Type: notify.Webhook}},
		Rules: []notify.Rule{
			{On: []notify.Event{notify.BatchEnd, notify.BatchExpired}, Channel: "mail", To: []string{"attr.mail"}},
			{On: []notify.Event{notify.MemberDead}, Channel: "mail", To: []string{"attr.mail"}},
			{On: []notify.Event{notify.GroupFirst}, Channel: "mail", To: []string{"ops"}, Team: true},
			{On: []notify.Event{notify.BatchEnd}, Channel: "hook", To: []string{"shop"}, Type: "campaign_ready", Data: map[string]string{"state": "batch.state"}},
		},
	}
	deathRules = rulesOf(notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"ops"}})
)

func rulesOf(rules ...notify.Rule) *notify.Rules {
	r := *mailRules
	r.Rules = rules
	return &r
}

func (r *rig) publishRules(rules *notify.Rules) store.NotifyRules {
	var body []byte
	if rules != nil {
		body, _ = rules.Encode()
	}
	in, err := r.PublishNotify(ctx(), person, body)
	r.ok(err)
	return in
}

// noticesMade returns the notices of the store as "event recipient", in the order of their jobs.
// Their keys must be those of their payloads, and each must have its own.
func (r *rig) noticesMade() (all []string) {
	keys := make(map[string]bool)
	for _, j := range r.dump().Jobs {
		if !notify.Sends(j.Kind) {
			continue
		}
		n, err := notify.Read(j.Payload)
		r.ok(err)
		if keys[j.Key] || !strings.HasPrefix(j.Key, string(n.On)+"/") || j.Queue != notify.Queue {
			r.fail("the notice %d has the key %q and the queue %q, want one for its event, and %q", j.ID, j.Key, j.Queue, notify.Queue)
		}
		keys[j.Key] = true
		all = append(all, string(n.On)+" "+n.To)
	}
	return all
}

// newNotices returns the notices that f causes.
func (r *rig) newNotices(f func()) string {
	before := len(r.noticesMade())
	f()
	return strings.Join(r.noticesMade()[before:], ", ")
}

// closeWindows lets the time of windows pass and closes them.
func (r *rig) closeWindows() {
	r.clock.Advance(notify.WindowLength)
	for {
		step, err := r.CloseWindows(ctx(), 1)
		r.ok(err)
		if step.Wait > 0 {
			return
		}
	}
}

// part of: N2
func rulesArePublishedOnce(r *rig) {
	in, err := r.NotifyRules(ctx())
	r.ok(err)
	same(r, "rules of a new store", in, store.NotifyRules{})
	after, audited := r.cursor(), len(r.audit())
	body, hash := mailRules.Encode()
	want := store.NotifyRules{Number: 1, Hash: hash, At: r.now(), By: person.Actor, Body: body}
	same(r, "rules", r.publishRules(mailRules), want)
	r.clock.Advance(time.Hour)
	same(r, "rules that are published again", r.publishRules(mailRules), want)
	in, err = r.NotifyRules(ctx())
	r.ok(err)
	same(r, "rules in force", in, want)
	same(r, "number of the next rules", r.publishRules(deathRules).Number, int64(2))
	same(r, "rules that come back", r.publishRules(mailRules).Number, int64(3))
	off := r.publishRules(nil)
	same(r, "rules that are taken back", []any{off.Number, off.Hash, len(off.Body)}, []any{int64(4), "", 0})
	same(r, "taken back again", r.publishRules(nil).Number, int64(4))
	var hashes []string
	for _, e := range r.events(after) {
		if e.Type == event.NotifyChanged {
			hashes = append(hashes, e.Reason)
		}
	}
	_, other := deathRules.Encode()
	same(r, "events", hashes, []string{hash, other, hash, ""})
	var rows []string
	for _, a := range r.audit()[audited:] {
		rows = append(rows, fmt.Sprintf("%s %s: %s to %s by %s", a.Action, a.Target, a.Before, a.After, a.Actor))
	}
	same(r, "audit rows", rows, []string{
		fmt.Sprintf("notify.publish %s:  to %s by %s", hash, hash, person.Actor),
		fmt.Sprintf("notify.publish %s: %s to %s by %s", other, hash, other, person.Actor),
		fmt.Sprintf("notify.publish %s: %s to %s by %s", hash, other, hash, person.Actor),
		fmt.Sprintf("notify.publish off: %s to  by %s", hash, person.Actor),
	})
}

// part of: X3
func notifyBounds(r *rig) {
	body, _ := mailRules.Encode()
	spaced := append(slices.Clone(body), ' ')
	for _, bad := range [][]byte{[]byte("{}x"), []byte(`{"rules": [{"on": ["nothing"]}]}`), spaced, make([]byte, notify.BodyMax+1)} {
		_, err := r.PublishNotify(ctx(), person, bad)
		r.is(err, store.ErrInvalid)
	}
	_, err := r.PublishNotify(ctx(), store.By{}, body)
	r.is(err, store.ErrInvalid)
	for _, limit := range []int{0, store.StepMax + 1} {
		_, err := r.CloseWindows(ctx(), limit)
		r.is(err, store.ErrInvalid)
	}
	step, err := r.CloseWindows(ctx(), 1)
	r.ok(err)
	same(r, "step without windows", step, store.WindowStep{Wait: store.Never})
}

// part of: N2
func nothingWithoutRules(r *rig) {
	b, members := r.published(2, func(n *store.NewBatch) { n.Attrs = []byte(`{"mail": "owner@example.com"}`) })
	r.endAll(members[0].ID)
	r.inState(b.ID, job.BatchPartial, 2, 1, 1, 0)
	r.dead()
	same(r, "jobs", len(r.dump().Jobs), 3)
	r.publishRules(mailRules)
	r.publishRules(nil)
	r.dead()
	same(r, "jobs after the rules were taken back", len(r.dump().Jobs), 4)
	same(r, "windows", r.dump().Windows, nil)
}

func owned(n *store.NewBatch) {
	n.Owner, n.Name, n.Attrs = "u1", "Spring", []byte(`{"mail": "owner@example.com"}`)
}

// part of: N2, N3, N6
func membersAndTheirBatch(r *rig) {
	r.publishRules(rulesOf(mailRules.Rules[0], mailRules.Rules[1], mailRules.Rules[3]))
	_, members := r.published(6, owned)
	got := r.newNotices(func() { r.endAll(members[0].ID, members[1].ID, members[2].ID, members[3].ID) })
	same(r, "notices at the outcome", got, strings.Repeat("member.dead owner@example.com, ", 4)+"batch.partial owner@example.com, batch.partial shop")
	var state string
	for _, j := range r.dump().Jobs {
		if n, err := notify.Read(j.Payload); j.Kind == notify.KindWebhook && err == nil {
			state = string(n.Body)
		}
		if n, err := notify.Read(j.Payload); j.Kind == notify.KindMail && err == nil && n.On == notify.BatchPartial {
			b := n.Facts.Batch
			same(r, "facts of the batch", []any{b.Name, b.State, b.Total, b.Completed, b.Dead, b.Outcome}, []any{"Spring", "PARTIAL", int64(6), int64(2), int64(4), int64(1)})
		}
	}
	if !strings.Contains(state, `"type":"campaign_ready"`) || !strings.Contains(state, `"data":{"state":"PARTIAL"}`) {
		r.fail("the body of the webhook is %s, want the type campaign_ready with the state PARTIAL", state)
	}
	// A member that is retried and dies again is another death of another outcome.
	r.ok(r.retry(members[0].ID))
	got = r.newNotices(func() { r.endAll(members[0].ID) })
	same(r, "notices at the second outcome", got, "member.dead owner@example.com, batch.partial owner@example.com, batch.partial shop")
	got = r.newNotices(r.closeWindows)
	same(r, "notices of windows", got, "")
	same(r, "windows that are left", r.dump().Windows, nil)
}

// part of: N2
func manyMembersAreADigest(r *rig) {
	r.publishRules(rulesOf(mailRules.Rules[0], mailRules.Rules[1]))
	_, members := r.published(40, owned)
	var dead []job.ID
	for _, m := range members[:30] {
		dead = append(dead, m.ID)
	}
	var last job.Claim
	got := r.newNotices(func() {
		claims := r.claim(want(1000))
		for i, c := range claims {
			switch {
			case i == len(claims)-1:
				last = c
			case slices.Contains(dead, c.ID):
				r.end(died(c, "InvalidInput", job.NonRetriable))
			default:
				r.end(succeeded(c))
			}
		}
	})
	same(r, "notices before the outcome", got, "")
	got = r.newNotices(func() {
		r.end(succeeded(last))
		r.settleBatches()
	})
	same(r, "notices at the outcome", got, "digest owner@example.com, batch.partial owner@example.com")
	for _, j := range r.dump().Jobs {
		if n, err := notify.Read(j.Payload); j.Kind == notify.KindMail && err == nil && n.On == notify.Digest {
			d := n.Facts.Digest
			same(r, "digest", []any{d.N, len(d.Items), d.More, d.Causes}, []any{int64(30), 20, int64(10), []notify.CauseCount{{Class: "InvalidInput", Code: "http.503", N: 30}}})
		}
	}
}

// part of: N2
func oneMessageAndOneDigest(r *rig) {
	r.publishRules(deathRules)
	same(r, "notices of the first death", r.newNotices(func() { r.dead() }), "job.dead ops@example.com")
	same(r, "notices of further deaths", r.newNotices(func() { r.dieAll(30, "Internal"); r.dead() }), "")
	step, err := r.CloseWindows(ctx(), 10)
	r.ok(err)
	same(r, "step before the time is over", step, store.WindowStep{Wait: notify.WindowLength})
	r.set(store.QueueChange{Name: notify.Queue, Mode: new(store.Draining)}) // a death is not refused
	same(r, "notices after the window", r.newNotices(r.closeWindows), "digest ops@example.com")
	same(r, "notices in the next window", r.newNotices(func() { r.dead() }), "")
	r.publishRules(nil)
	same(r, "notices of what waits when the rules are taken back", r.newNotices(r.closeWindows), "digest ops@example.com")
	same(r, "notices after a window of silence", r.newNotices(r.closeWindows), "")
	same(r, "windows", r.dump().Windows, nil)
	r.publishRules(deathRules)
	same(r, "notices of a death after it", r.newNotices(func() { r.dead() }), "job.dead ops@example.com")
}

// A digest says which of its jobs were retried since, and does not list those that are removed.
//
// part of: N2
func digestSaysWhatWasRetried(r *rig) {
	r.publishRules(deathRules)
	r.dead()
	retried, dead, purged := r.dead(), r.dead(), r.dead()
	r.ok(r.retry(retried))
	purge := func(id job.ID) {
		r.ok(r.actOn(store.ActResolve, id))
		r.ok(r.actOn(store.ActPurge, id))
	}
	purge(purged)
	got := r.newNotices(r.closeWindows)
	same(r, "notices", got, "digest ops@example.com")
	jobs := r.dump().Jobs
	n, err := notify.Read(jobs[len(jobs)-1].Payload)
	r.ok(err)
	var listed []string
	for _, j := range n.Facts.Digest.Items {
		listed = append(listed, fmt.Sprint(j.ID, " ", j.Retried))
	}
	same(r, "jobs of the digest", listed, []string{fmt.Sprint(retried, " true"), fmt.Sprint(dead, " false")})
	same(r, "counts", []int64{n.Facts.Digest.N, n.Facts.Digest.More}, []int64{3, 1})
	// All jobs of the next digest are removed.
	purge(r.dead())
	same(r, "notices about a job that is removed", r.newNotices(r.closeWindows), "digest ops@example.com")
}

// part of: N2
func firstOfAGroup(r *rig) {
	r.publishRules(rulesOf(mailRules.Rules[2]))
	const first = "group.first ops@example.com"
	die := func() { r.die("Internal") }
	quiet := func() {
		r.closeWindows()
		r.closeWindows()
	}
	same(r, "notices of a new cause", r.newNotices(die), first)
	same(r, "notices of the same cause", r.newNotices(die), "")
	quiet()
	same(r, "notices of the same cause after the window", r.newNotices(die), "")
	r.clock.Advance(23 * time.Hour)
	same(r, "notices after 23 h", r.newNotices(die), "")
	r.clock.Advance(24 * time.Hour)
	same(r, "notices after 24 h", r.newNotices(die), first)
	quiet()
	same(r, "another death", r.newNotices(die), "")
	same(r, "notices of another cause", r.newNotices(func() { r.die("InvalidInput") }), first)
	// A mute does not make a known cause a new one.
	group := &store.DeadFilter{Group: "Internal|" + kind}
	for range 2 {
		r.act(store.Action{Do: store.ActIgnore, Filter: group})
		r.act(store.Action{Do: store.ActReopen, Filter: group})
	}
	same(r, "notices of a cause that was muted", r.newNotices(die), "")
}

// part of: N2
func everyDeathHasItsNotice(r *rig) {
	rule := deathRules.Rules[0]
	rule.Every, rule.Match = true, notify.Match{Class: "Internal"}
	r.publishRules(rulesOf(rule))
	got := r.newNotices(func() { r.dieAll(12, "Internal"); r.dieAll(3, "InvalidInput") })
	same(r, "notices", strings.Count(got, "job.dead ops@example.com"), 12)
	same(r, "windows", r.dump().Windows, nil)
}

// part of: N2
func noNoticeOfANotice(r *rig) {
	rule := deathRules.Rules[0]
	rule.Every, rule.On = true, []notify.Event{notify.JobDead, notify.GroupFirst, notify.JobHeld}
	r.publishRules(rulesOf(rule))
	same(r, "notices", len(strings.Split(r.newNotices(func() { r.dead() }), ", ")), 1)
	w := want(10)
	w.Queue, w.Kinds = notify.Queue, []store.KindWant{{Kind: notify.KindMail, Max: 10}}
	for _, c := range r.claim(w) {
		same(r, "notices of a notice", r.newNotices(func() { r.end(died(c, "InvalidInput", job.NonRetriable)) }), "")
		r.ok(r.retry(c.ID))
	}
}

// part of: N2
func heldAndExpiredAndCrashed(r *rig) {
	r.publishRules(rulesOf(
		notify.Rule{On: []notify.Event{notify.JobHeld}, Channel: "mail", To: []string{notify.HoldNotify}},
		notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"attr.mail"}, Every: true}))
	mail := func(n *job.New) { n.Attrs = []byte(`{"mail": "own@example.com"}`) }
	got := r.newNotices(func() {
		id := r.add(mail)
		r.end(held(r.takeID(id)))
	})
	same(r, "notices of a held job", got, "job.held ann@example.com, job.dead own@example.com")
	got = r.newNotices(func() {
		r.add(mail, func(n *job.New) { n.Deadline = r.in(time.Second) })
		r.clock.Advance(time.Minute)
		r.none()
	})
	same(r, "notices of an expired job", got, "job.dead own@example.com")
	got = r.newNotices(func() {
		id := r.add(mail)
		c := r.take(func(w *store.Want) { w.Kinds[0].MaxCrashes = 1 })
		same(r, "claimed job", c.ID, id)
		r.beginRun(c)
		r.clock.Advance(time.Hour)
		r.rescue(10)
	})
	same(r, "notices of a job that crashed", got, "job.dead own@example.com")
}

// part of: R7
func asideConcernsNobody(r *rig) {
	r.publishRules(mailRules)
	b, _ := r.published(1, owned)
	got := r.newNotices(func() {
		aside := r.add(func(n *job.New) { n.Batch, n.Aside = b.ID, true })
		r.end(died(r.takeID(aside), "Internal", job.NonRetriable))
	})
	same(r, "notices of a member that is aside", got, "")
	same(r, "windows", r.dump().Windows, nil)
}

// part of: N2
func expiredBatch(r *rig) {
	r.publishRules(mailRules)
	_, members := r.published(1, owned, func(n *store.NewBatch) { n.ExpiresAt = r.in(time.Hour) })
	same(r, "notices at the outcome", r.newNotices(func() { r.endAll() }), "batch.ready owner@example.com, batch.ready shop")
	got := r.newNotices(func() {
		r.clock.Advance(2 * time.Hour)
		r.stepAll()
	})
	same(r, "notices at the expiry", got, "batch.expired owner@example.com")
	same(r, "members", len(members), 1)
}
