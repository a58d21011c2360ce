package storetest

import (
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func policyPromises() []promise {
	return []promise{
		{"R9_PolicyIsKeptAsItDecided", policyIsKept},
		{"R9_PolicyIsNeverRewritten", policyIsNeverRewritten},
		{"R9_PoliciesAreListedNewestFirst", policiesAreListed},
		{"Q9_PolicyIsAuditedAndPublishedOnce", policyIsAuditedAndPublished},
		{"Q9_PolicyThatComesBackIsAudited", policyComesBack},
		{"X3_PolicyBounds", policyBounds},
	}
}

var operator = store.By{Actor: "mallory", Reason: "roll-out"}

// proves: R9
func policyIsKept(r *rig) {
	body := []byte("version: 1\n# \xff\x00 as given\n")
	r.ok(r.PublishPolicy(ctx(), operator, store.StoredPolicy{Hash: "a1", Name: "alpha", Body: body}))
	want := store.StoredPolicy{Hash: "a1", Name: "alpha", At: r.now(), By: "mallory", Body: body}
	got, err := r.Policy(ctx(), "a1")
	r.ok(err)
	same(r, "policy", got, want)
	r.clock.Advance(time.Hour)
	got, err = r.Policy(ctx(), "a1")
	r.ok(err)
	same(r, "policy an hour later", got, want)
	_, err = r.Policy(ctx(), "a2")
	r.is(err, store.ErrNotFound)
}

// proves: R9
func policyIsNeverRewritten(r *rig) {
	first := store.StoredPolicy{Hash: "a1", Name: "alpha", Body: []byte("one")}
	r.ok(r.PublishPolicy(ctx(), operator, first))
	first.At, first.By = r.now(), operator.Actor
	r.clock.Advance(time.Hour)
	r.ok(r.PublishPolicy(ctx(), store.By{Actor: "trudy"}, store.StoredPolicy{Hash: "a1", Name: "beta", Body: []byte("two")}))
	got, err := r.Policy(ctx(), "a1")
	r.ok(err)
	same(r, "policy", got, first)
}

// proves: R9
func policiesAreListed(r *rig) {
	for _, hash := range []string{"b", "a", "c"} {
		r.ok(r.PublishPolicy(ctx(), operator, store.StoredPolicy{Hash: hash, Name: "n" + hash, Body: []byte("body")}))
		if hash != "b" {
			r.clock.Advance(time.Second)
		}
	}
	list, err := r.PolicyList(ctx())
	r.ok(err)
	at := r.start
	same(r, "policies", list, []store.StoredPolicy{
		{Hash: "c", Name: "nc", At: at.Add(time.Second), By: operator.Actor},
		{Hash: "a", Name: "na", At: at, By: operator.Actor},
		{Hash: "b", Name: "nb", At: at, By: operator.Actor},
	})
}

// proves: Q9
func policyIsAuditedAndPublished(r *rig) {
	p := store.StoredPolicy{Hash: "a1", Name: "alpha", Body: []byte("one")}
	r.ok(r.PublishPolicy(ctx(), operator, p))
	r.ok(r.PublishPolicy(ctx(), operator, p))
	rows, err := r.Audit(ctx(), 0, 10)
	r.ok(err)
	same(r, "audit", rows, []store.Audit{{
		Seq: 1, At: r.now(), Actor: operator.Actor, Action: "policy.publish", Target: "a1", Reason: operator.Reason, After: "alpha",
	}})
	events, err := r.Events(ctx(), event.Cursor{}, 10)
	r.ok(err)
	same(r, "number of events", len(events), 1)
	same(r, "type and hash", []string{events[0].Type.String(), events[0].Reason}, []string{"policy.published", "a1"})
}

// proves: Q9
// part of: M4
func policyComesBack(r *rig) {
	var rows []store.Audit
	for i, hash := range []string{"a", "b", "b", "a", "a"} {
		r.ok(r.PublishPolicy(ctx(), operator, store.StoredPolicy{Hash: hash, Name: "n" + hash, Body: []byte(hash)}))
		if i != 2 && i != 4 { // these two steps publish the current policy again, which changes nothing
			rows = append(rows, store.Audit{
				Seq: int64(len(rows)) + 1, At: r.now(), Actor: operator.Actor, Action: "policy.publish", Target: hash, Reason: operator.Reason, After: "n" + hash,
			})
		}
		r.clock.Advance(time.Second)
	}
	same(r, "audit", r.audit(), rows)
	var hashes []string
	for _, e := range r.events(event.Cursor{}) {
		hashes = append(hashes, e.Reason)
	}
	same(r, "events", strings.Join(hashes, ""), "aba")
	got, err := r.Policy(ctx(), "a")
	r.ok(err)
	same(r, "first published", got.At, r.start)
}

// proves: X3
func policyBounds(r *rig) {
	sized := func(hash, name, body int) store.StoredPolicy {
		return store.StoredPolicy{Hash: strings.Repeat("h", hash), Name: strings.Repeat("n", name), Body: make([]byte, body)}
	}
	r.ok(r.PublishPolicy(ctx(), operator, sized(job.NameMax, job.TextMax, store.PolicyBodyMax)))
	r.is(r.PublishPolicy(ctx(), operator, sized(job.NameMax+1, 1, 1)), store.ErrInvalid)
	r.is(r.PublishPolicy(ctx(), operator, sized(0, 1, 1)), store.ErrInvalid)
	r.is(r.PublishPolicy(ctx(), operator, sized(1, job.TextMax+1, 1)), store.ErrTooLarge)
	r.is(r.PublishPolicy(ctx(), operator, sized(1, 1, 0)), store.ErrInvalid)
	r.is(r.PublishPolicy(ctx(), operator, sized(1, 1, store.PolicyBodyMax+1)), store.ErrTooLarge)
	r.is(r.PublishPolicy(ctx(), store.By{}, sized(1, 1, 1)), store.ErrInvalid)
	list, err := r.PolicyList(ctx())
	r.ok(err)
	same(r, "number of policies", len(list), 1)
}
