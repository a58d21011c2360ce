package storetest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The functions below make the exchanges of a differential run. Each exchange has random outcomes
// and random wants.

func (d *duel) exchange() {
	x := store.Exchange{Holder: d.holder(), Lease: lease}
	x.Settle = some(d.t, "outcomes", 3, func(int) job.Outcome { return d.outcome() })
	x.Want = some(d.t, "wants", 3, func(int) store.Want { return d.want() })
	if chance(d.t, "bad exchange", 30) {
		x.Lease = 0
	}
	d.bring(x)
}

// claimAll claims all due jobs, so that there are running jobs in every sequence.
func (d *duel) claimAll() {
	x := store.Exchange{Holder: d.holder(), Lease: lease}
	for _, queue := range []string{"z", "y", "x", "large"} {
		w := store.Want{Queue: queue, Max: 9}
		for _, kind := range []string{"a", "b", "c"} {
			w.Kinds = append(w.Kinds, store.KindWant{Kind: kind, Max: 9, MaxCrashes: pick(d.t, "crash max", 1, 2)})
		}
		x.Want = append(x.Want, w)
	}
	d.bring(x)
}

func (d *duel) claimAllLater() {
	d.clock.Advance(2 * time.Minute)
	d.claimAll()
}

// endDead makes up to three running jobs dead, so that there are dead letters in every
// sequence.
func (d *duel) endDead() {
	x := store.Exchange{Holder: d.holder(), Lease: lease}
	for i := range d.last.Jobs {
		j := &d.last.Jobs[i]
		if j.State == job.Running && len(x.Settle) < 3 {
			c := job.Claim{ID: j.ID, Token: j.Token}
			x.Settle = append(x.Settle, died(c, pick(d.t, "class", "A", "B"), pick(d.t, "reason", job.MaxRetries, job.NonRetriable)))
			x.Settle[len(x.Settle)-1].Failure.Build = d.build()
		}
	}
	d.bring(x)
}

func (d *duel) bring(x store.Exchange) {
	type exchanged struct { // an Exchanged with texts instead of errors, because errors cannot be compared
		store.Exchanged
		Settled []string
	}
	a := d.eachOf("Exchange", func(c *contender) (any, error) {
		answer, err := d.halves(c, x)
		settled := sentinels(answer.Settled)
		answer.Settled = nil
		return exchanged{answer, settled}, err
	})
	if a.Err != "" {
		return
	}
	answer := a.Value.(exchanged)
	for i, err := range answer.Settled {
		if err == "" {
			d.settle(x.Settle[i])
		}
	}
	for i := range answer.Claims {
		d.runs = append(d.runs, runOf(answer.Claims[i]))
	}
}

// halves makes an exchange in one call or in two calls, first for the outcomes and then for the
// claims. If any store may commit the outcomes and the claims separately, the exact stores make two
// calls, so that they make two commits, too. The other stores then make two calls only if an
// outcome makes a job dead; otherwise they could number this death and the deaths of expired jobs
// in another order.
func (d *duel) halves(c *contender, x store.Exchange) (store.Exchanged, error) {
	dies := slices.ContainsFunc(x.Settle, func(o job.Outcome) bool { return o.To == job.Dead })
	if !d.apart || len(x.Settle) == 0 || len(x.Want) == 0 || x.Validate() != nil || c.numbers != nil && !dies {
		return c.Exchange(ctx(), x)
	}
	settle, claim := x, x
	settle.Want, claim.Settle = nil, nil
	settled, err := c.Exchange(ctx(), settle)
	if err != nil {
		return settled, err
	}
	claimed, err := c.Exchange(ctx(), claim)
	claimed.Settled, claimed.Cancelled = settled.Settled, settled.Cancelled
	return claimed, err
}

func (d *duel) settle(o job.Outcome) {
	for i := range d.settled {
		if d.settled[i].ID == o.ID && d.settled[i].Token == o.Token {
			d.did("settle that is written again", 1)
			return
		}
	}
	d.did("settle that is written", 1)
	d.settled = append(d.settled, o)
}

func (d *duel) outcome() job.Outcome {
	if len(d.settled) > 0 && chance(d.t, "again", 12) {
		return pick(d.t, "outcome", d.settled...)
	}
	run := d.run()
	c := job.Claim{ID: run.ID, Token: run.Token}
	outcomes := append(ended(c), failed(c, "NetworkTimeout", 0), failed(c, "NetworkTimeout", 0))
	if d.askedToStop(run) && !chance(d.t, "other outcome", 4) {
		outcomes = slices.DeleteFunc(outcomes, func(o job.Outcome) bool { return o.Cause != job.Succeeded })
	}
	o := pick(d.t, "outcome", outcomes...)
	o.Retried = pick(d.t, "retried", nil, nil, []string{"A"}, []string{"NetworkTimeout", "A"})
	if o.Failure != nil || o.Cause != job.Succeeded && chance(d.t, "failure", 4) {
		o.Failure = d.failure()
	}
	if o.To.Ready() {
		o.Delay = d.tick("delay")
		if chance(d.t, "hint", 4) {
			o.NotBefore = d.now().Add(d.tick("not before"))
		}
		if chance(d.t, "move", 5) {
			o.Queue, o.Priority = pick(d.t, "to queue", "x", "z", "large", "", "no good"), rapid.Int8Range(0, 4).Draw(d.t, "to priority")
		}
		if chance(d.t, "memo", 3) {
			o.Memo = []byte(pick(d.t, "new memo", "m1", "m2"))
		}
	}
	o.Cost, o.Sends = pick(d.t, "cost", int64(0), 0, 5, 30), pick(d.t, "sends", int32(0), 0, 3)
	if o.To == job.Completed && chance(d.t, "result", 2) {
		o.Result = []byte("result")
	}
	o.Keep = chance(d.t, "keep", 2)
	o.Progressed = chance(d.t, "progressed", 2)
	switch rapid.IntRange(0, 29).Draw(d.t, "wrong") {
	case 29:
		o.To = job.Running
	case 28:
		o.Delay = -1
	case 27:
		o.Reason += "x"
	case 26:
		o.Failure, o.Cause = nil, job.Failed
	}
	return o
}

// askedToStop reports whether a person has asked to cancel the running job of the run.
func (d *duel) askedToStop(run store.Run) bool {
	return slices.ContainsFunc(d.last.Jobs, func(j job.Job) bool {
		return j.ID == run.ID && j.Token == run.Token && j.State == job.Running && j.CancelAt != 0
	})
}

func (d *duel) failure() *job.Failure {
	f := pick(d.t, "kind of failure", failure("NetworkTimeout"), failure("InvalidInput"), richFailure())
	if chance(d.t, "no fingerprint", 6) {
		f.Fingerprint = ""
	}
	f.Build = d.build()
	return f
}

func (d *duel) build() string { return pick(d.t, "build", "", "b1", "b2") }

func (d *duel) want() store.Want {
	t := d.t
	w := store.Want{Queue: pick(t, "queue", "x", "x", "y", "z", "large", "unheard"), Max: pick(t, "max", 5, 9, 3, 2, 1, 0)}
	if chance(t, "limit", 4) {
		w.Limit = rapid.IntRange(1, 3).Draw(t, "limit of the queue")
	}
	if chance(t, "rate", 4) {
		w.Rate = d.rate()
	}
	kinds := rapid.Permutation([]string{"a", "b", "c", "unheard"}).Draw(t, "kinds")
	for _, kind := range kinds[:pick(t, "number of kinds", 4, 3, 2, 1)] {
		k := store.KindWant{Kind: kind, Max: pick(t, "max of "+kind, 4, 9, 2, 1, 0), MaxCrashes: pick(t, "crash max", 2, 1, 5)}
		if chance(t, "terms of kind", 2) {
			k.Terms = d.terms()
		}
		if chance(t, "limit of kind", 5) {
			k.Limit = rapid.IntRange(1, 3).Draw(t, fmt.Sprintf("limit of %s", kind))
		}
		if chance(t, "rate of kind", 5) {
			k.Rate = d.rate()
		}
		w.Kinds = append(w.Kinds, k)
	}
	return w
}

// terms draws random terms of a policy for crashes and deadlines.
func (d *duel) terms() string {
	terms := pick(d.t, "terms", policyTerms, job.Terms{Class: "Other"}, job.Terms{Retrying: "again", Dead: "over"}, job.Terms{Spread: time.Minute})
	return terms.Encode()
}
