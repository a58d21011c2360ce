package storetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: X3
// part of: D3
//
// A filter of dead letters by an owner, a correlation id or a key selects exactly those with this
// text. The other fields of the filter accept any text, and select nothing if no dead letter has it.
func deadListsTakeAnyText(r *rig) {
	texts := oddTexts()
	ids := make([]job.ID, len(texts))
	var jobs []job.New
	for i, text := range texts {
		n := r.newJob(func(n *job.New) { n.Owner, n.Correlation, n.Key, n.Digest = text, text, text, []byte("d") })
		ids[i] = n.ID
		jobs = append(jobs, n)
	}
	r.enqueue(jobs...)
	var outcomes []job.Outcome
	for _, c := range r.claim(want(len(jobs))) {
		outcomes = append(outcomes, died(c, "A", job.NonRetriable))
	}
	r.end(outcomes...)
	for i, text := range texts {
		for _, f := range []store.DeadFilter{{Owner: text}, {Correlation: text}, {Kind: kind, Owner: text, Key: text}} {
			same(r, fmt.Sprintf("list of %#v", f), r.listed(f, 5), []job.ID{ids[i]})
		}
		for _, f := range []store.DeadFilter{
			{Kind: text}, {Queue: text}, {Worker: text}, {Class: text}, {Group: text}, {Text: text}, {Reason: job.Reason(text)},
			{Attr: store.Attr{Name: text}}, {Attr: store.Attr{Name: text, Value: text}}, {Kind: kind, Key: text}, {Owner: text + "."},
		} {
			same(r, fmt.Sprintf("list of %#v", f), r.listed(f, 5), nil)
		}
	}
}

// proves: X3
// part of: D3
//
// The cursor of a list of dead letters may come from elsewhere, or one of its bits may have
// changed. Then the list returns either an ErrInvalid or the deaths before the cursor. It goes on
// behind a cursor whose dead letter was purged.
func hostileDeathCursors(r *rig) {
	all := r.dieAll(9, "A")
	slices.Reverse(all)
	page, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{Limit: 4})
	r.ok(err)
	cursors := []int64{math.MinInt64, -1, 1, math.MaxInt64, 1 << 53}
	for bit := range 64 {
		cursors = append(cursors, page.Next^1<<bit)
	}
	tried := 0
	for _, before := range cursors {
		for _, f := range []store.DeadFilter{{}, {Class: "A"}, {Kind: kind, Text: "e"}} {
			got, err := r.DeadLetters(ctx(), f, store.DeadPaging{Limit: 20, Before: before})
			if before < 0 {
				r.is(err, store.ErrInvalid)
				continue
			}
			r.ok(err)
			for i, e := range got.Entries {
				if before != 0 && e.Death >= before || i > 0 && e.Death >= got.Entries[i-1].Death {
					r.fail("list before death %d: got death %d in place %d, want falling numbers below %d", before, e.Death, i, before)
				}
			}
			tried++
		}
	}
	if tried < 150 {
		r.fail("the check has read only %d lists, want at least 150", tried)
	}
	r.removed = true
	for _, id := range all[:4] {
		r.ok(r.actOn(store.ActResolve, id))
		r.ok(r.actOn(store.ActPurge, id))
	}
	rest, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{Limit: 20, Before: page.Next})
	r.ok(err)
	var ids []job.ID
	for _, e := range rest.Entries {
		ids = append(ids, e.DeadLetter.Job)
	}
	same(r, "list behind a purged dead letter", ids, all[4:])
}
