package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func hostilePromises() []promise {
	return []promise{
		{"X3_ListsTakeAnyText", listsTakeAnyText},
		{"X3_CursorsOfOtherListsAreHarmless", foreignCursors},
		{"X3_ListGoesOnBehindRemovedRows", listGoesOnBehindRemovedRows},
		{"X3_DeadListsTakeAnyText", deadListsTakeAnyText},
		{"X3_DeathCursorsOfOthersAreHarmless", hostileDeathCursors},
	}
}

// oddTexts returns a text for each control character, and other texts that a store could easily
// damage.
func oddTexts() []string {
	texts := []string{"\xff\xfe", "a\xc3", "'; DROP TABLE redrive_jobs; --", `"\`, "%_", "\u202eright to left", strings.Repeat("\x00", 20), "{1,2}", "?1 $1"}
	for c := range rune(0xa0) {
		if unicode.IsControl(c) {
			texts = append(texts, fmt.Sprintf("name%cend", c))
		}
	}
	return texts
}

// proves: X3
// part of: Q9
//
// A filter by an owner, a correlation id or a key selects exactly the jobs with this text, whatever
// bytes the text has, before and after a sweep. The other fields of a filter accept any text, and
// select nothing if no job has this text.
func listsTakeAnyText(r *rig) {
	texts := oddTexts()
	ids := make([]job.ID, len(texts))
	var jobs []job.New
	for i, text := range texts {
		n := r.newJob(func(n *job.New) { n.Owner, n.Correlation, n.Key, n.Digest = text, text, text, []byte("d") })
		ids[i] = n.ID
		jobs = append(jobs, n)
	}
	r.enqueue(jobs...)
	for _, when := range []string{"before a sweep", "after a sweep"} {
		for i, text := range texts {
			for _, f := range []store.Filter{{Owner: text}, {Correlation: text}, {Kind: kind, Owner: text, Key: text}} {
				same(r, fmt.Sprintf("%s: list of %#v", when, f), r.list(f), []job.ID{ids[i]})
			}
		}
		r.sweep(store.Retention{}, store.SweepMax)
	}
	for _, text := range texts {
		for _, f := range []store.Filter{
			{Kind: text}, {Queue: text}, {Worker: text}, {Class: text}, {Group: text}, {Text: text}, {Reason: job.Reason(text)},
			{Attr: store.Attr{Name: text}}, {Attr: store.Attr{Name: text, Value: text}}, {Kind: kind, Key: text}, {Owner: text + "."},
		} {
			same(r, fmt.Sprintf("list of %#v", f), r.list(f), nil)
		}
	}
}

// proves: X3
// part of: Q9
//
// The cursor of a list may come from another list or from another store, or one of its bits may
// have changed. Then the list returns either an ErrInvalid or the jobs after the position of this
// cursor.
func foreignCursors(r *rig) {
	manyJobs(r)
	o := newOracle(r.dump())
	orders := []store.Order{store.Newest, store.Due, store.Ended}
	var texts []string
	for _, order := range orders {
		page, err := r.List(ctx(), store.Filter{Order: order, Limit: 2})
		r.ok(err)
		text := page.Next.String()
		for bit := range 8 * len(text) {
			flipped := []byte(text)
			flipped[bit/8] ^= 1 << (bit % 8)
			texts = append(texts, string(flipped))
		}
		texts = append(texts, text, text+"0", text[:len(text)-1])
	}
	tried := 0
	for _, text := range texts {
		from, err := store.ParseCursor(text)
		if err != nil {
			r.is(err, store.ErrInvalid)
			continue
		}
		for _, f := range []store.Filter{{From: from}, {Owner: "alice", From: from}} {
			for _, f.Order = range orders {
				if err := f.Validate(); err != nil {
					_, got := r.List(ctx(), f)
					r.is(got, store.ErrInvalid)
					continue
				}
				got, want := r.list(f), o.list(&f)
				if f.Order == store.Ended { // jobs that ended at the time in the cursor may be listed again
					got, want = notEndedAt(o, got, from.At), notEndedAt(o, want, from.At)
				}
				same(r, fmt.Sprintf("list of %+v", f), got, want)
				tried++
			}
		}
	}
	if tried < 100 {
		r.fail("the check has read only %d lists with a cursor of another list, want at least 100", tried)
	}
}

// notEndedAt returns the jobs that did not end at the given time.
func notEndedAt(o *oracle, ids []job.ID, at job.Micros) []job.ID {
	return slices.DeleteFunc(ids, func(id job.ID) bool {
		return slices.ContainsFunc(o.Jobs, func(j job.Job) bool { return j.ID == id && j.FinishedAt == at })
	})
}

// proves: X3
// part of: Q9, Q6
//
// A list continues after its cursor even if a purge or a sweep has removed all jobs before the
// cursor.
func listGoesOnBehindRemovedRows(r *rig) {
	for i := range 24 {
		id := r.add(func(n *job.New) { n.Owner = []string{"alice", "bob"}[i/2%2] })
		r.clock.Advance(time.Second)
		if i%2 == 0 {
			r.end(died(r.takeID(id), "InvalidInput", job.NonRetriable))
		} else {
			r.end(succeeded(r.takeID(id)))
		}
	}
	r.removed = true
	for _, f := range []store.Filter{{}, {Owner: "alice"}, {Order: store.Ended}, {Order: store.Ended, Owner: "alice"}, {States: []job.State{job.Dead}}} {
		all := r.list(f)
		f.Limit = 2
		page, err := r.List(ctx(), f)
		r.ok(err)
		for _, id := range all[:2] {
			if r.get(id).State == job.Dead {
				r.ok(r.actOn(store.ActResolve, id))
				r.ok(r.actOn(store.ActPurge, id))
			}
		}
		f.From = page.Next
		same(r, fmt.Sprintf("list of %+v, continued after jobs that were purged", f), r.list(f), all[2:])
	}
	f := store.Filter{Limit: 3}
	page, err := r.List(ctx(), f)
	r.ok(err)
	live := r.add()
	r.ok(r.cancel(live)) // a sweep keeps the job that ended last, which is now this job
	r.clock.Advance(time.Hour)
	r.sweep(store.Retention{Completed: time.Minute, Dead: time.Minute, DropPending: true}, store.SweepMax)
	for _, f.Order = range []store.Order{store.Newest, store.Ended} {
		if f.From = page.Next; f.Order == store.Ended {
			f.From.At = page.Jobs[2].FinishedAt
		}
		got := r.list(f)
		if len(got) > 1 || slices.ContainsFunc(got, func(id job.ID) bool { return id != live }) {
			r.fail("list of %+v after everything was removed: got the jobs %v, want none of the removed jobs", f, got)
		}
	}
}
