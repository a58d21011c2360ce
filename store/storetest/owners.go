package storetest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func ownerPromises() []promise {
	return []promise{
		{"Q9_OwnerListsAreComplete", ownerListsAreComplete},
		{"Q9_OwnerListsOutliveRetention", ownerListsOutliveRetention},
		{"Q9_OwnerListIsNoWalk", ownerListIsNoWalk},
		{"Q9_OwnerListsAreCompleteWhileSwept", ownerListsWhileSwept},
	}
}

// ownerNames returns many names of owners. Some of the names are hard to tell apart.
func ownerNames() []string {
	names := []string{"a", "A", "a ", "a\x00", "a\x00b", "ä", "a\u0308", "'; --", "%", "\u202eowner"}
	for i := range 30 {
		names = append(names, fmt.Sprintf("tenant-%d", i))
	}
	return names
}

// jobsOfOwners makes one job for each name that ownerNames returns, and lets the jobs end in
// different ways. Every third job has the name as its owner. In every second round, the jobs with
// an owner also have a correlation id; in the other rounds, the jobs without an owner have one.
func jobsOfOwners(r *rig, round int) {
	var jobs []job.New
	for i, owner := range ownerNames() {
		if (i+round)%3 == 0 {
			jobs = append(jobs, r.newJob(func(n *job.New) {
				if n.Owner = owner; round%2 == 0 {
					n.Correlation = correlationOf(i, round)
				}
			}))
		} else if i%2 == 0 {
			jobs = append(jobs, r.newJob(func(n *job.New) {
				if round%2 == 1 {
					n.Correlation = correlationOf(i, round)
				}
			}))
		}
	}
	if round%2 == 0 { // in these rounds, the order of the jobs' ids differs from the order of their commits
		slices.Reverse(jobs)
	}
	for half := range slices.Chunk(jobs, (len(jobs)+1)/2) {
		r.enqueue(half...)
	}
	var ends []job.Outcome
	for i, c := range r.claim(want(len(jobs) - 5)) {
		switch (i + round) % 8 {
		case 0:
			ends = append(ends, died(c, "InvalidInput", job.NonRetriable))
		case 1:
			ends = append(ends, failed(c, "NetworkTimeout", 1000*time.Hour))
		case 2: // this job keeps running
		default:
			ends = append(ends, succeeded(c))
		}
	}
	r.end(ends...)
}

// correlationOf returns the correlation id of job i that jobsOfOwners makes in a round. It is one
// of the names that ownerNames returns.
func correlationOf(i, round int) string {
	names := ownerNames()
	return names[(i*7+round)%len(names)]
}

// sameOwners compares the lists of all owners and correlation ids with the jobs in a dump.
func sameOwners(r *rig, what string) {
	d := r.dump()
	o := newOracle(d)
	ids := make(map[string][]job.ID)
	living := make(map[string]int64) // by correlation id
	for i := range d.Jobs {
		j := &d.Jobs[i]
		ids[j.Owner] = append(ids[j.Owner], j.ID)
		if !j.State.Terminal() {
			living[j.Correlation]++
		}
	}
	for n, owner := range ownerNames() {
		f := store.Filter{Owner: owner, Limit: []int{0, 1, 2, 7}[n%4]}
		same(r, fmt.Sprintf("%s: jobs of the owner %q", what, owner), r.list(f), o.list(&f))
		if all := ids[owner]; len(all) > 0 {
			f.From.ID = all[n%len(all)]
			same(r, fmt.Sprintf("%s: jobs of the owner %q below job %d", what, owner, f.From.ID), r.list(f), o.list(&f))
		}
	}
	for n, id := range ownerNames() {
		f := store.Filter{Correlation: id, Limit: []int{0, 1, 2, 7}[n%4], Order: []store.Order{store.Newest, store.Newest, store.Due, store.Ended}[n/4%4]}
		same(r, fmt.Sprintf("%s: jobs with the correlation id %q", what, id), r.list(f), o.list(&f))
		act := store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Correlation: id}, Limit: 1 + n%3}
		same(r, fmt.Sprintf("%s: live jobs with the correlation id %q", what, id), r.previewLive(act).Done, living[id])
	}
	for _, f := range []store.Filter{
		{Correlation: "a", Owner: "a"}, {Correlation: "tenant-1", States: []job.State{job.Running}}, {Correlation: "tenant-2", States: []job.State{job.Dead}},
		{Correlation: "tenant-3", Class: "InvalidInput"}, {Correlation: "nothing"}, {Correlation: "tenant-4", Owner: "nobody"},
		{Owner: "a", States: []job.State{job.Dead}}, {Owner: "a", States: []job.State{job.Completed, job.Waiting}},
		{Owner: "tenant-1", States: []job.State{job.Running}}, {Owner: "tenant-1", Class: "InvalidInput"}, {Owner: "tenant-2", Kind: kind},
		{Owner: "tenant-3", Kind: "nothing"}, {Owner: "nobody"}, {Owner: "tenant-4", Order: store.Ended}, {Owner: "tenant-4", Order: store.Due},
	} {
		same(r, fmt.Sprintf("%s: jobs of %+v", what, f), r.list(f), o.list(&f))
	}
}

// proves: Q9
// part of: D3
//
// The list of an owner has all of the owner's jobs right after they were enqueued, and also after
// any number of sweeps, in which a store may extend its index. The same holds for the list of a
// correlation id, and for actions on live jobs with a correlation id.
func ownerListsAreComplete(r *rig) {
	for round := range 20 { // a store may divide its index of owners into parts; after 20 rounds it must have merged some parts
		jobsOfOwners(r, round)
		r.clock.Advance(time.Minute)
		if round%9 == 0 {
			sameOwners(r, fmt.Sprintf("round %d before the sweep", round))
		}
		r.sweep(store.Retention{}, store.SweepMax)
		if round%9 == 0 || round == 19 {
			sameOwners(r, fmt.Sprintf("round %d after the sweep", round))
		}
	}
}

// proves: Q9
// part of: Q6, D3
//
// Sweeps remove jobs and events. Each job that still exists stays in the list of its owner and in
// the list of its correlation id.
func ownerListsOutliveRetention(r *rig) {
	keep := store.Retention{Completed: 3 * time.Hour, Failures: time.Hour, Dead: 12 * time.Hour, DropPending: true, Events: 2 * time.Hour}
	for round := range 24 {
		jobsOfOwners(r, round)
		r.clock.Advance(time.Hour)
		if round%4 == 3 {
			r.sweep(keep, 50)
			sameOwners(r, fmt.Sprintf("round %d", round))
		}
	}
	d := r.dump()
	owners := make(map[string]int)
	for i := range d.Jobs {
		owners[d.Jobs[i].Owner]++
	}
	if len(d.Jobs) > 400 || len(owners) < 20 {
		r.fail("%d jobs of %d owners are left (%v), want at most 400 jobs and at least 20 owners", len(d.Jobs), len(owners), slices.Sorted(maps.Keys(owners)))
	}
}

// proves: Q9
// part of: D3
//
// The list of an owner is complete in one page, even if the number of newer jobs of other owners is
// above the number of jobs that one page may examine. The same holds for the list of a correlation
// id, and for an action on live jobs with a correlation id.
func ownerListIsNoWalk(r *rig) {
	alice := r.add(func(n *job.New) { n.Owner, n.Correlation = "alice", "req-7" })
	for range 3 {
		first, err := r.ReserveIDs(ctx(), job.EnqueueMax)
		r.ok(err)
		jobs := make([]job.New, job.EnqueueMax)
		for i := range jobs {
			jobs[i] = job.New{ID: first + job.ID(i), Kind: kind, Queue: queue, Priority: job.PriorityDefault, Owner: "bob", Correlation: "req-8"}
		}
		r.enqueue(jobs...)
	}
	for _, swept := range []bool{false, true} {
		if swept {
			r.sweep(store.Retention{}, store.SweepMax)
		}
		for _, f := range []store.Filter{{Owner: "alice"}, {Correlation: "req-7"}, {Correlation: "req-7", States: []job.State{job.Waiting}}} {
			page, err := r.List(ctx(), f)
			r.ok(err)
			if len(page.Jobs) != 1 || page.Jobs[0].ID != alice || !page.Next.IsZero() || page.Searched != 0 {
				r.fail("list of %+v (after a sweep: %v): got %d jobs, next cursor %q and searched time %d; want only job %d, and no further page",
					f, swept, len(page.Jobs), page.Next, page.Searched, alice)
			}
		}
		for _, f := range []store.Filter{{Owner: "bob", Limit: 3}, {Correlation: "req-8", Limit: 3}} {
			page, err := r.List(ctx(), f)
			r.ok(err)
			if len(page.Jobs) != 3 || page.Jobs[0].ID != page.Jobs[2].ID+2 || page.Next.ID != page.Jobs[2].ID {
				r.fail("list of %+v (after a sweep: %v): got %d jobs and next cursor %q, want the newest 3 jobs and the id of the last of them as the cursor", f, swept, len(page.Jobs), page.Next)
			}
		}
		p, err := r.PreviewLive(ctx(), store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Correlation: "req-7"}})
		r.ok(err)
		same(r, "live jobs with one correlation id", []int64{p.Done, int64(p.Next)}, []int64{1, 0})
		many := store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Correlation: "req-8"}, Limit: 3}
		for range 2 {
			p, err = r.PreviewLive(ctx(), many)
			r.ok(err)
			same(r, "live jobs with another correlation id, a step of 3", []int64{p.Done, int64(p.Next)}, []int64{3, int64(max(alice, many.After) + 3)})
			many.After = p.Next
		}
	}
}

// proves: Q9
//
// While callers enqueue jobs and sweeps run, a list of an owner or of a correlation id has every
// job whose enqueue had returned before the list began, and no job twice.
func ownerListsWhileSwept(r *rig) {
	const writers, calls, owners = 3, 25, 4
	var mu sync.Mutex
	enqueued := make(map[string][]job.ID) // for each owner, the jobs whose enqueue has returned
	var left atomic.Int32                 // number of writers that have not ended
	left.Store(writers)
	errs := make([]error, writers+2*2)
	write := func() error {
		defer left.Add(-1)
		for call := range calls {
			first, err := r.ReserveIDs(ctx(), 3)
			if err != nil {
				return err
			}
			owner := fmt.Sprintf("tenant-%d", call%owners)
			jobs := make([]job.New, 3)
			for i := range jobs {
				jobs[i] = job.New{ID: first + job.ID(i), Kind: kind, Queue: queue, Priority: job.PriorityDefault, Owner: owner, Correlation: owner}
			}
			if _, err := r.Enqueue(ctx(), jobs); err != nil {
				return err
			}
			mu.Lock()
			enqueued[owner] = append(enqueued[owner], first, first+1, first+2)
			mu.Unlock()
		}
		return nil
	}
	sweep := func() error {
		for left.Load() > 0 {
			if _, err := r.Sweep(ctx(), store.Retention{Events: time.Nanosecond}, store.SweepMax); err != nil {
				return err
			}
		}
		return nil
	}
	list := func() error {
		for i := 0; left.Load() > 0; i++ {
			owner := fmt.Sprintf("tenant-%d", i/2%owners)
			mu.Lock()
			want := slices.Clone(enqueued[owner])
			mu.Unlock()
			f := store.Filter{Owner: owner, Limit: 40}
			if i%2 == 1 {
				f = store.Filter{Correlation: owner, Limit: 40}
			}
			jobs, err := listAll(r, f)
			if err != nil {
				return err
			}
			got := make(map[job.ID]bool)
			for i := range jobs {
				if got[jobs[i].ID] {
					return fmt.Errorf("list of %+[2]v: job %[1]d is in the list twice, want it once", jobs[i].ID, f)
				}
				got[jobs[i].ID] = true
			}
			for _, id := range want {
				if !got[id] {
					return fmt.Errorf("list of %+[2]v: job %[1]d is missing among its %[3]d jobs, want every job that was enqueued before the list began", id, f, len(jobs))
				}
			}
		}
		return nil
	}
	r.removed = true
	race(len(errs), func(i int) {
		switch {
		case i < writers:
			errs[i] = write()
		case i%2 == 0:
			errs[i] = sweep()
		default:
			errs[i] = list()
		}
	})
	for _, err := range errs {
		r.ok(err)
	}
	for _, owner := range []string{"tenant-0", "tenant-1", "tenant-2", "tenant-3"} {
		want := slices.Sorted(slices.Values(enqueued[owner]))
		slices.Reverse(want)
		same(r, "jobs of the owner "+owner+" afterwards", r.list(store.Filter{Owner: owner}), want)
	}
}
