package storetest

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func deadListPromises() []promise {
	return []promise{
		{"D3_ListIsOfTheNewestDeathsFirst", deadListIsOrdered},
		{"D3_EachFilterAloneSelects", deadFiltersSelect},
		{"D3_RetriedAreFoundByTheirJobs", retriedAreFoundByTheirJobs},
		{"D3_TextIsFoundInWhateverCase", deadTextIsFound},
		{"D3_PagesStayWhileOthersAreActedOn", deadPagesStay},
		{"D3_ListShowsJobsWhenAsked", deadListShowsJobs},
		{"D3_ListBounds", deadListBounds},
		{"D3_StatisticsOfDeadLetters", deadStatistics},
		{"D3_HoursTellRetriesFromFirstAttempts", hoursTellRetries},
		{"D3_FilterEquals", filterEquals},
	}
}

// proves: D3, D1
func deadListIsOrdered(r *rig) {
	a, b, c := r.die("A"), r.die("B"), r.die("C")
	same(r, "listed", r.listed(store.DeadFilter{}, 50), []job.ID{c, b, a})
	same(r, "listed in pages of one", r.listed(store.DeadFilter{}, 1), []job.ID{c, b, a})
	r.ok(r.retry(a)) // the dead letter keeps its position in the list until the job dies again
	same(r, "listed after a retry", r.listed(store.DeadFilter{}, 2), []job.ID{c, b, a})
	before := r.letter(c).Death
	r.end(died(r.takeID(a), "A", job.MaxRetries))
	same(r, "listed after a second death", r.listed(store.DeadFilter{}, 2), []job.ID{a, c, b})
	if again := r.letter(a).Death; again <= before {
		r.fail("the second death has number %d, want more than %d, the number of an earlier death", again, before)
	}
	page, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{})
	r.ok(err)
	for _, e := range page.Entries {
		same(r, "entry in the list", e.DeadLetter, r.letter(e.DeadLetter.Job))
	}
}

// proves: D3
func deadFiltersSelect(r *rig) {
	plain := r.die("A")
	r.clock.Advance(time.Second)
	at := r.now()
	other := r.die("A", func(n *job.New) {
		n.Kind, n.Queue, n.Owner, n.Correlation, n.Batch = "other", "else", "bob", "req-7", 4
		n.Key, n.Digest, n.Attrs = "order-1", []byte("d"), []byte(`{"bucket":"photos","n":2}`)
	})
	r.clock.Advance(time.Second)
	classed := r.die("B")
	stalled := r.add()
	r.end(held(r.takeID(stalled)))
	r.ok(r.actOn(store.ActResolve, classed))
	for _, tt := range []struct {
		name string
		f    store.DeadFilter
		want []job.ID
	}{
		{"nothing", store.DeadFilter{}, []job.ID{stalled, classed, other, plain}},
		{"status", store.DeadFilter{Statuses: []job.Status{job.Resolved}}, []job.ID{classed}},
		{"statuses", store.DeadFilter{Statuses: []job.Status{job.Resolved, job.Pending}}, []job.ID{stalled, classed, other, plain}},
		{"reason", store.DeadFilter{Reason: job.ManualReview}, []job.ID{stalled}},
		{"class", store.DeadFilter{Class: "B"}, []job.ID{classed}},
		{"kind", store.DeadFilter{Kind: "other"}, []job.ID{other}},
		{"queue", store.DeadFilter{Queue: "else"}, []job.ID{other}},
		{"owner", store.DeadFilter{Owner: "bob"}, []job.ID{other}},
		{"batch", store.DeadFilter{Batch: 4}, []job.ID{other}},
		{"worker", store.DeadFilter{Worker: holder}, []job.ID{stalled, classed, other, plain}},
		{"unknown worker", store.DeadFilter{Worker: "nobody"}, nil},
		{"correlation", store.DeadFilter{Correlation: "req-7"}, []job.ID{other}},
		{"the beginning of a correlation id", store.DeadFilter{Correlation: "req"}, nil},
		{"key", store.DeadFilter{Kind: "other", Owner: "bob", Key: "order-1"}, []job.ID{other}},
		{"key of another owner", store.DeadFilter{Kind: "other", Key: "order-1"}, nil},
		{"key and another correlation id", store.DeadFilter{Kind: "other", Owner: "bob", Key: "order-1", Correlation: "req-8"}, nil},
		{"attribute", store.DeadFilter{Attr: store.Attr{Name: "bucket", Value: "photos"}}, []job.ID{other}},
		{"attribute that is a number", store.DeadFilter{Attr: store.Attr{Name: "n", Value: "2"}, Text: "OTHER"}, []job.ID{other}},
		{"another value of an attribute", store.DeadFilter{Attr: store.Attr{Name: "n", Value: "3"}}, nil},
		{"group", store.DeadFilter{Group: "A|" + kind}, []job.ID{other, plain}},
		{"since", store.DeadFilter{Since: at}, []job.ID{stalled, classed, other}},
		{"until", store.DeadFilter{Until: at}, []job.ID{plain}},
		{"since and until", store.DeadFilter{Since: at, Until: at + 1}, []job.ID{other}},
		{"redrive", store.DeadFilter{Redrive: 1}, nil},
		{"class and status", store.DeadFilter{Class: "B", Statuses: []job.Status{job.Pending}}, nil},
		{"groups", store.DeadFilter{Groups: []string{"none", "A|" + kind}}, []job.ID{other, plain}},
		{"unknown names", store.DeadFilter{Queue: "nobody", Kind: "nothing", Group: "none"}, nil},
	} {
		for _, limit := range []int{1, 2, 50} {
			same(r, tt.name, r.listed(tt.f, limit), tt.want)
		}
	}
}

// proves: D3
//
// A retry does not change which dead letters a filter selects by the fields of their jobs.
func retriedAreFoundByTheirJobs(r *rig) {
	id := r.die("A", func(n *job.New) { n.Correlation, n.Batch, n.Attrs = "req-7", 4, []byte(`{"bucket":"photos"}`) })
	bucket := store.Attr{Name: "bucket", Value: "photos"}
	for _, what := range []string{"before the retry", "after the retry", "after the next life"} {
		switch what {
		case "after the retry":
			r.ok(r.retry(id))
		case "after the next life":
			r.end(succeeded(r.takeID(id)))
		}
		for _, f := range []store.DeadFilter{{Correlation: "req-7"}, {Batch: 4}, {Worker: holder}, {Attr: bucket}, {Attr: bucket, Correlation: "req-7"}} {
			same(r, fmt.Sprintf("%+v %s", f, what), r.listed(f, 50), []job.ID{id})
		}
	}
}

// proves: D3
func deadTextIsFound(r *rig) {
	messages := []string{"100% ÜBER the_limit", "plain", "Über 100 percent", "the-limit"}
	var all []job.ID
	for _, m := range messages {
		id := r.add()
		o := died(r.takeID(id), "A", job.NonRetriable)
		o.Failure.Message = m
		r.end(o)
		all = append(all, id)
	}
	for text, want := range map[string][]job.ID{
		"PLAIN": {all[1]}, "über": {all[2], all[0]}, "0%": {all[0]}, "e_l": {all[0]}, "E-L": {all[3]}, "": {all[3], all[2], all[1], all[0]},
		"%": {all[0]}, "_": {all[0]}, "limits": nil, "'": nil, "\x00": nil,
	} {
		same(r, "text "+text, r.listed(store.DeadFilter{Text: text}, 2), want)
	}
}

// proves: D3
func deadPagesStay(r *rig) {
	all := r.dieAll(6, "A")
	first, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{Limit: 2})
	r.ok(err)
	if len(first.Entries) != 2 || first.Next == 0 || first.Searched == 0 {
		r.fail("first page: got %d entries, Next %d and Searched %d; want 2 entries, and Next and Searched set", len(first.Entries), first.Next, first.Searched)
	}
	// Between the first page and the next page, a job of the first page dies again and moves to the
	// top of the list, a person acts on a dead letter of the next page, and another job dies.
	r.ok(r.retry(all[5]))
	r.end(died(r.takeID(all[5]), "A", job.NonRetriable))
	r.ok(r.actOn(store.ActResolve, all[3]))
	r.die("B")
	second, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{Limit: 2, Before: first.Next})
	r.ok(err)
	third, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{Limit: 2, Before: second.Next})
	r.ok(err)
	var got []job.ID
	for _, page := range []store.DeadPage{first, second, third} {
		for _, e := range page.Entries {
			got = append(got, e.DeadLetter.Job)
		}
	}
	same(r, "the pages", got, []job.ID{all[5], all[4], all[3], all[2], all[1], all[0]})
	same(r, "next and searched of the last page", []int64{third.Next, int64(third.Searched)}, []int64{0, 0})
}

// proves: D3, D1
func deadListShowsJobs(r *rig) {
	dead := r.die("A", everyField)
	revived := r.die("A")
	r.ok(r.retry(revived))
	page, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{Jobs: true})
	r.ok(err)
	same(r, "entries", page.Entries, []store.DeadEntry{
		{DeadLetter: r.letter(revived)}, {DeadLetter: r.letter(dead), Job: new(r.get(dead))},
	})
	same(r, "payload", string(page.Entries[1].Job.Payload), "do it")
}

// proves: X3
// part of: D3
func deadListBounds(r *rig) {
	r.die("A")
	long := string(make([]byte, job.TextMax+1))
	for _, tt := range []struct {
		f    store.DeadFilter
		p    store.DeadPaging
		want error
	}{
		{store.DeadFilter{}, store.DeadPaging{Limit: job.PageMax}, nil},
		{store.DeadFilter{}, store.DeadPaging{Limit: job.PageMax + 1}, store.ErrInvalid},
		{store.DeadFilter{}, store.DeadPaging{Limit: -1}, store.ErrInvalid},
		{store.DeadFilter{Text: long[1:]}, store.DeadPaging{}, nil},
		{store.DeadFilter{Text: long}, store.DeadPaging{}, store.ErrTooLarge},
		{store.DeadFilter{Since: 5, Until: 5}, store.DeadPaging{}, store.ErrInvalid},
		{store.DeadFilter{Statuses: []job.Status{9}}, store.DeadPaging{}, store.ErrInvalid},
		{store.DeadFilter{Since: -1}, store.DeadPaging{}, store.ErrInvalid},
		{store.DeadFilter{Redrive: -1}, store.DeadPaging{}, store.ErrInvalid},
		{store.DeadFilter{Batch: -1}, store.DeadPaging{}, store.ErrInvalid},
		{store.DeadFilter{Key: "k"}, store.DeadPaging{}, store.ErrInvalid},
		{store.DeadFilter{Attr: store.Attr{Value: "v"}}, store.DeadPaging{}, store.ErrInvalid},
		{store.DeadFilter{Correlation: long}, store.DeadPaging{}, store.ErrTooLarge},
		{store.DeadFilter{Worker: long}, store.DeadPaging{}, store.ErrTooLarge},
		{store.DeadFilter{Attr: store.Attr{Name: "a", Value: long}}, store.DeadPaging{}, store.ErrTooLarge},
		{store.DeadFilter{Kind: "k", Key: "\x00\n\u202e'; --", Correlation: "\xff", Worker: "%_"}, store.DeadPaging{}, nil},
	} {
		_, err := r.DeadLetters(ctx(), tt.f, tt.p)
		r.is(err, tt.want)
	}
	for _, f := range []store.GroupFilter{{Limit: job.PageMax + 1}, {Limit: -1}, {Skip: -1}} {
		_, err := r.Groups(ctx(), f)
		r.is(err, store.ErrInvalid)
	}
}

// proves: D3
func deadStatistics(r *rig) {
	empty, err := r.DeadStats(ctx())
	r.ok(err)
	same(r, "statistics of nothing", empty, store.DeadStats{At: r.now(), Added: make([]int64, store.AddedMinutes)})

	first := r.die("A")
	firstAt := r.now()
	r.clock.Advance(59 * time.Minute)
	r.dieAll(2, "A")
	r.clock.Advance(30 * time.Second)
	secondAt := r.now()
	resolved := r.die("B", func(n *job.New) { n.Queue = "else" })
	r.ok(r.actOn(store.ActResolve, resolved))
	stats, err := r.DeadStats(ctx())
	r.ok(err)
	added := make([]int64, store.AddedMinutes)
	added[0], added[59] = 1, 3
	count := func(s job.Status, class, q string, n int64) store.DeadCount {
		return store.DeadCount{Status: s, Reason: job.NonRetriable, Class: class, Kind: kind, Queue: q, N: n}
	}
	want := store.DeadStats{
		At: r.now(), OldestPending: firstAt, Added: added,
		Counts: []store.DeadCount{count(job.Resolved, "B", "else", 1), count(job.Pending, "A", queue, 3)},
		Hours:  []store.Hour{{At: r.start, Dead: 4}},
	}
	same(r, "statistics", stats, want)

	// Now another dead letter is the oldest pending one, and a minute has passed since the
	// first deaths.
	r.ok(r.actOn(store.ActResolve, first))
	r.clock.Advance(time.Minute)
	stats, err = r.DeadStats(ctx())
	r.ok(err)
	same(r, "oldest pending", stats.OldestPending, secondAt.Add(-30*time.Second))
	same(r, "added", stats.Added[56:], []int64{0, 0, 3, 0})
}

// proves: D3
func hoursTellRetries(r *rig) {
	end := func(o job.Outcome, cost int64) {
		o.Cost = cost
		r.end(o)
	}
	r.add() // this job completes at the first attempt
	end(succeeded(r.take()), 1)
	r.add() // this job completes at the second attempt
	end(failed(r.take(), "A", 0), 2)
	end(succeeded(r.take()), 4)
	r.add() // this job dies at the first attempt, is retried by a person and completes
	c := r.take()
	end(died(c, "A", job.NonRetriable), 8)
	r.ok(r.retry(c.ID))
	r.clock.Advance(time.Hour)
	end(waits(r.take(), job.Snoozed, 0), 16) // this run counts as no attempt
	end(succeeded(r.take()), 32)
	r.add() // this job dies because it has used all its attempts
	end(failed(r.take(), "A", 0), 64)
	end(died(r.take(), "A", job.MaxRetries), 128)
	stats, err := r.DeadStats(ctx())
	r.ok(err)
	same(r, "hours", stats.Hours, []store.Hour{
		{At: r.start, Completed: 2, Recovered: 1, Dead: 1, Retries: 1, RetryCost: 4, Cost: 15},
		{At: r.start.Add(time.Hour), Completed: 1, Recovered: 1, Dead: 1, Exhausted: 1, Retries: 2, RetryCost: 32 + 128, Cost: 32 + 64 + 128},
	})
}
