package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: Q9
// part of: D3
//
// A list by a filter that selects few of many jobs returns all of these jobs, in as many pages as
// necessary. No job is lost where a page is full.
func longLists(r *rig) {
	const jobs = 1_300 // so many jobs that a store may choose another way to read the list
	var all []job.New
	first, err := r.ReserveIDs(ctx(), jobs)
	r.ok(err)
	for i := range jobs {
		n := job.New{ID: first + job.ID(i), Kind: fmt.Sprintf("kind-%d", i%70), Queue: queue, Priority: int8(1 + i%4),
			RunAt: r.in(time.Duration(i*7919%jobs) * time.Second), Attrs: []byte(`{"size":"small"}`)}
		switch {
		case i%100 == 3:
			n.Kind, n.Queue, n.Batch, n.Aside, n.Attrs = "rare", "rare", 7, true, []byte(`{"size":"large"}`)
		case i%100 == 4:
			n.Attrs = []byte(`{"size":"l\u0061rge"}`) // the same value, written in another way
		case i < 90:
			n.Kind, n.Priority, n.RunAt = "first", 2, r.in(time.Duration(i)*time.Millisecond) // all jobs that are due first are in one lane
		}
		all = append(all, n)
	}
	r.haveBatches(7)
	for part := range slices.Chunk(all, 500) {
		r.enqueue(part...)
	}
	r.clock.Advance(time.Hour)
	for i := 0; i < jobs; i += 650 { // also end some of the rare jobs in both halves of the list
		for k := 3; k < 650; k += 200 {
			if all[i+k].Kind == "rare" {
				r.ok(r.cancel(all[i+k].ID))
			}
		}
	}
	r.end(died(r.takeID(all[0].ID), "InvalidInput", job.NonRetriable))
	r.end(failed(r.takeID(all[1].ID), "NetworkTimeout", time.Hour))
	r.dieLater(550)
	d := r.dump()
	o := newOracle(d)
	for _, f := range []store.Filter{
		{Class: "InvalidInput"}, {Class: "NetworkTimeout"}, {Class: "Unheard"}, {Group: d.Dead[0].Fingerprint}, {Group: d.Failures[1].Fingerprint},
		{Group: "1:unknown"}, {Class: "InvalidInput", Kind: "first"}, {Text: "oops"}, {Kind: "rare"}, {Queue: "rare"}, {Batch: 7}, {Kind: "rare", States: []job.State{job.Waiting}}, {Kind: "kind-5"}, {Kind: "nothing"},
		{Queue: queue, Kind: "rare"}, {Worker: "nobody"}, {Created: store.Span{Until: 1}}, {Created: store.Span{Since: 1}, Kind: "rare"},
		{Attr: store.Attr{Name: "size", Value: "none"}}, {},
	} {
		for _, order := range []store.Order{store.Newest, store.Due, store.Ended} {
			f.Order = order
			for _, limit := range []int{0, 3, 200} {
				f.Limit = limit
				same(r, fmt.Sprintf("list of %+v", f), r.list(f), o.list(&f))
			}
		}
	}
	large := r.list(store.Filter{Attr: store.Attr{Name: "size", Value: "large"}, States: []job.State{job.Waiting}})
	want := 0
	for i := range o.Jobs {
		if j := &o.Jobs[i]; j.State == job.Waiting && (store.Attr{Name: "size", Value: "large"}).Matches(j.Attrs) {
			want++
		}
	}
	if len(large) != want || want < 15 {
		r.fail("the list by an attribute has %d jobs, want %d, including the jobs whose value is written with an escape sequence", len(large), want)
	}
	page, err := r.List(ctx(), store.Filter{Order: store.Due, Limit: 60})
	r.ok(err)
	same(r, "the page of the jobs that are due first", len(page.Jobs), 60)
}

// dieLater enqueues jobs of another kind and lets all of them die in one exchange.
func (r *rig) dieLater(jobs int) {
	first, err := r.ReserveIDs(ctx(), jobs)
	r.ok(err)
	var all []job.New
	for i := range jobs {
		all = append(all, job.New{ID: first + job.ID(i), Kind: "doomed", Queue: "doomed", Priority: 1})
	}
	r.enqueue(all...)
	settle := store.Exchange{}
	for len(settle.Settle) < jobs {
		claims := r.claim(store.Want{Queue: "doomed", Max: jobs, Kinds: []store.KindWant{{Kind: "doomed", Max: jobs, MaxCrashes: job.MaxCrashes}}})
		if len(claims) == 0 {
			r.fail("got %d claims, want %d", len(settle.Settle), jobs)
		}
		for _, c := range claims {
			settle.Settle = append(settle.Settle, died(c, "PermissionError", job.NonRetriable))
		}
	}
	for _, err := range r.exchange(settle).Settled {
		r.ok(err)
	}
}
