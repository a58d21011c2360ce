package storetest

import (
	"time"

	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// notices publishes rules of notifications, lets jobs die, and closes windows.
func (d *duel) notices() {
	t, by := d.t, d.by()
	sets := []*notify.Rules{deathRules, rulesOf(mailRules.Rules[1]), rulesOf(mailRules.Rules[2]), nil}
	if !d.apart { // PostgreSQL makes the notices about the end of a batch in a later commit
		sets = append(sets, mailRules)
	}
	d.reserve(1) // so that the stores give the next notices the same ids
	var body []byte
	if rules := pick(t, "rules", sets...); rules != nil {
		body, _ = rules.Encode()
	}
	if chance(t, "bad rules", 12) {
		body = append(body, ' ')
	}
	d.each("PublishNotify", func(s store.Store) (any, error) { return s.PublishNotify(ctx(), by, body) })
	d.ask("NotifyRules", func(s store.Store) (any, error) { return s.NotifyRules(ctx()) })
	d.claimAll()
	d.reserve(1)
	d.endDead()
	d.reserve(1)
	if chance(t, "windows end", 2) {
		d.clock.Advance(pick(t, "time", notify.WindowLength, notify.WindowLength-time.Microsecond))
	}
	limit := pick(t, "limit", 0, 1, 2, store.StepMax)
	a := d.each("CloseWindows", func(s store.Store) (any, error) { return s.CloseWindows(ctx(), limit) })
	if step, ok := a.Value.(store.WindowStep); ok {
		d.did("window that is closed", step.Closed)
	}
	if d.apart || chance(t, "taken back", 2) {
		d.each("PublishNotify", func(s store.Store) (any, error) { return s.PublishNotify(ctx(), by, nil) })
	}
}
