package storetest

import (
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

func teamPromises() []promise {
	return []promise{
		{"F10_Trap26_TeamWasNotified", teamWasNotified},
		{"F10_TeamWasNotifiedOfACrash", teamWasNotifiedOfACrash},
		{"X3_NotifiedBounds", notifiedBounds},
	}
}

const notified = "Our team has been notified."

// userText ends a job of its own with a failure and returns the text for its user.
func (r *rig) userText(class string, options ...func(*job.New)) string {
	return r.userTextOf(r.add(options...), class)
}

func (r *rig) userTextOf(id job.ID, class string) string {
	o := died(r.takeID(id), class, job.NonRetriable)
	o.Failure.UserMessage, o.Notified = "It did not work.", notified
	r.end(o)
	text := r.last(id).UserMessage
	same(r, "text in the outcome of the caller", o.Failure.UserMessage, "It did not work.")
	return text
}

// proves: F10
//
// The text for users says that the team was notified if and only if a notice for the team was made of
// this death, or of an earlier one in the same window.
func teamWasNotified(r *rig) {
	const alone, both = "It did not work.", "It did not work. " + notified
	team := func(on notify.Event, to string, every bool) *notify.Rules {
		return rulesOf(notify.Rule{On: []notify.Event{on}, Channel: "mail", To: []string{to}, Team: true, Every: every})
	}
	mail := func(n *job.New) { n.Attrs = []byte(`{"mail": "own@example.com"}`) }
	same(r, "text without rules", r.userText("Internal"), alone)

	r.publishRules(deathRules)
	same(r, "text with a rule that is not for the team", r.userText("Internal"), alone)

	r.closeWindows()
	r.closeWindows()
	r.publishRules(team(notify.GroupFirst, "ops", false))
	same(r, "text of a death that is not the first of its group", r.userText("Internal"), alone)
	got := r.newNotices(func() { same(r, "text of the first death of a group", r.userText("InvalidInput"), both) })
	same(r, "notices", got, "group.first ops@example.com")
	same(r, "text of the second death of the group", r.userText("InvalidInput"), alone)

	r.publishRules(team(notify.JobDead, "ops", false))
	r.closeWindows()
	r.closeWindows()
	same(r, "text of a death with its own notice", r.userText("Internal"), both)
	same(r, "text of a death that waits in the window of that notice", r.userText("Internal"), both)

	r.publishRules(team(notify.JobDead, "attr.mail", false))
	same(r, "text of a death of which only an attribute's address hears", r.userText("Internal", mail), alone)

	_, members := r.published(3, owned)
	r.publishRules(team(notify.MemberDead, "ops", false))
	same(r, "text of a member whose notice comes with the outcome", r.userTextOf(members[0].ID, "Internal"), alone)
	r.publishRules(team(notify.MemberDead, "ops", true))
	same(r, "text of a member whose notice is made at once", r.userTextOf(members[1].ID, "Internal"), both)

	r.publishRules(team(notify.JobHeld, "ops", false))
	id := r.add()
	o := held(r.takeID(id))
	o.Failure.UserMessage, o.Notified = "", notified
	r.end(o)
	same(r, "text of a held job without a text of its own", r.last(id).UserMessage, notified)

	r.publishRules(nil)
	same(r, "text after the rules were taken back", r.userText("InvalidInput"), alone)
}

// proves: F10
func teamWasNotifiedOfACrash(r *rig) {
	terms := job.Terms{Retrying: "It goes on soon.", Dead: "It was interrupted too often.", Notified: notified}
	two := func(w *store.Want) { w.Kinds[0].MaxCrashes = 2 }
	for _, rules := range []*notify.Rules{nil, rulesOf(mailRules.Rules[2])} {
		r.publishRules(rules)
		want := terms.Dead
		if rules != nil {
			want += " " + notified
		}
		id := r.add()
		r.lose(r.take(two, under(terms)))
		same(r, "text after the first crash", r.last(id).UserMessage, terms.Retrying)
		r.lose(r.take(two, under(terms)))
		same(r, "text after the last crash", r.last(id).UserMessage, want)
		r.state(id, job.Dead)
		r.clock.Advance(25 * time.Hour) // the next death is a first one again
	}
}

// part of: X3
func notifiedBounds(r *rig) {
	o := died(r.takeID(r.add()), "Internal", job.NonRetriable)
	o.Notified = strings.Repeat("n", job.MessageMax)
	r.unchanged(func() {
		settled := r.exchange(store.Exchange{Settle: []job.Outcome{o}}).Settled
		r.is(settled[0], store.ErrInvalid)
	})
}
