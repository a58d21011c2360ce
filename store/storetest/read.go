package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func readPromises() []promise {
	return []promise{
		{"Q9_GetKnowsEveryPlace", getKnowsEveryPlace},
		{"Q9_ManyJobsAreReadAtOnce", manyAreRead},
		{"Q9_LastFailuresAreReadAtOnce", lastFailuresAreRead},
		{"Q9_KeyNamesItsJob", keyNamesItsJob},
		{"I1_KeyKeepsTheSummaryOfTheResult", keyKeepsTheSummary},
		{"Q9_ListFilters", listFilters},
		{"Q9_ListIsPagedFromTheNewest", listIsPaged},
		{"Q9_LongLists", longLists},
		{"Q9_DueListOverManyLanes", dueListOverManyLanes},
		{"Q9_ListGoesOnWithoutItsRow", listGoesOnWithoutItsRow},
		{"X3_BadListsAreRefused", badListsAreRefused},
		{"Q9_ListLeavesTheBulkOut", listLeavesTheBulkOut},
		{"B3_CountsFollowEveryChange", countsFollowEveryChange},
		{"Q9_AuditIsReadOn", auditIsReadOn},
		{"Q9_AuditIsReadFromItsEnd", auditFromItsEnd},
		{"Q9_DumpIsCanonical", dumpIsCanonical},
	}
}

// population makes one job in each state. It returns the jobs' ids by state.
func (r *rig) population() map[job.State]job.ID {
	p := map[job.State]job.ID{}
	p[job.Completed] = r.add(everyField)
	r.end(succeeded(r.takeID(p[job.Completed])))
	p[job.Dead] = r.dead(func(n *job.New) { n.Owner = "alice" })
	p[job.Cancelled] = r.add(func(n *job.New) { n.Owner = "bob" })
	r.ok(r.cancel(p[job.Cancelled]))
	p[job.Retrying] = r.add(func(n *job.New) { n.Kind = "other" })
	r.end(failed(r.takeID(p[job.Retrying]), "NetworkTimeout", time.Hour))
	p[job.Running] = r.takeID(r.add()).ID
	p[job.Waiting] = r.add(func(n *job.New) { n.Queue, n.Owner = "quiet", "alice" })
	return p
}

// proves: Q9
func getKnowsEveryPlace(r *rig) {
	for state, id := range r.population() {
		r.state(id, state)
	}
	_, err := r.Get(ctx(), 1<<40)
	r.is(err, store.ErrNotFound)
}

// part of: Q9
func manyAreRead(r *rig) {
	p := r.population()
	o := succeeded(r.takeID(r.add(everyField, func(n *job.New) { n.Key = "another" })))
	o.Result, o.Cost = []byte("result"), 5
	r.end(o)
	ids := []job.ID{o.ID, p[job.Waiting], 1 << 40, p[job.Dead], p[job.Completed], p[job.Waiting], p[job.Cancelled], p[job.Running], p[job.Retrying]}
	got, err := r.GetAll(ctx(), ids)
	r.ok(err)
	var want []job.Job
	for _, id := range ids {
		if id == 1<<40 {
			continue
		}
		j := r.get(id)
		j.Payload, j.Attrs, j.Override, j.Result, j.Cost, j.Sends, j.Progress = nil, nil, nil, nil, 0, 0, job.Progress{}
		want = append(want, j)
	}
	same(r, "jobs in the order of the ids, without the unknown one", got, want)
	r.ok(r.retry(p[job.Dead])) // after this, the dead letter still exists, but the job is live
	got, err = r.GetAll(ctx(), []job.ID{p[job.Dead]})
	r.ok(err)
	if len(got) != 1 || got[0].State != job.Waiting || got[0].Life != 2 {
		r.fail("GetAll of a dead job that was retried: got %+v, want one waiting job in its second life", got)
	}
	got, err = r.GetAll(ctx(), nil)
	r.ok(err)
	same(r, "jobs of no ids", got, nil)
}

// part of: Q9
func lastFailuresAreRead(r *rig) {
	twice := r.add()
	r.end(failed(r.takeID(twice), "NetworkTimeout", 0))
	r.end(failed(r.takeID(twice), "RateLimitExceeded", time.Hour))
	dead, never := r.dead(), r.add()
	ids := []job.ID{dead, never, 1 << 40, twice, dead}
	got, err := r.Latest(ctx(), ids)
	r.ok(err)
	all := r.failures(twice)
	same(r, "last failures in the order of the ids, without jobs that have none", got,
		[]job.Failure{r.failures(dead)[0], all[len(all)-1], r.failures(dead)[0]})
}

// part of: Q9
func keyNamesItsJob(r *rig) {
	held := func(owner, kind, key string, want job.ID) {
		id, err := r.Lookup(ctx(), owner, kind, key)
		if want == 0 {
			r.is(err, store.ErrNotFound)
			return
		}
		r.ok(err)
		same(r, fmt.Sprintf("job of the key %q", key), id, want)
	}
	keyed := func(owner, key string, until job.Micros) job.ID {
		return r.add(func(n *job.New) { n.Owner, n.Key, n.KeyUntil = owner, key, until })
	}
	ever, short, alive := keyed("", "ever", 0), keyed("ann", "short", r.in(time.Minute)), keyed("", job.AliveKey+"one", 0)
	held("", kind, "ever", ever)
	held("ann", kind, "short", short)
	held("", kind, job.AliveKey+"one", alive)
	held("", kind, "unknown", 0)
	held("ben", kind, "short", 0)
	held("", "other", "ever", 0)
	for _, id := range []job.ID{ever, alive} {
		r.ok(r.cancel(id))
	}
	held("", kind, "ever", ever)
	held("", kind, job.AliveKey+"one", 0)
	r.clock.Advance(time.Minute - time.Microsecond)
	held("ann", kind, "short", short)
	r.clock.Advance(time.Microsecond)
	held("ann", kind, "short", 0)
}

// The beginning of the result of a completed job stays with its key when retention removes the job, in the store and in
// its dump, until another job takes the key. A job without a result leaves its key alone.
//
// proves: I1
func keyKeepsTheSummary(r *rig) {
	long := `{"receipt":"` + strings.Repeat("é", job.SummaryMax) + `"}`
	done := func(key, result string, more ...func(*job.New)) job.ID {
		id := r.add(append(more, func(n *job.New) { n.Owner, n.Key = "ann", key })...)
		o := succeeded(r.takeID(id))
		if result != "" {
			o.Result = []byte(result)
		}
		r.end(o)
		return id
	}
	none := func(key string) {
		_, err := r.Processed(ctx(), "ann", kind, key)
		r.is(err, store.ErrNotFound)
	}
	want := map[string]job.Processed{}
	want["short"] = job.Processed{ID: done("short", `{"receipt":7}`), Summary: `{"receipt":7}`}
	want["long"] = job.Processed{ID: done("long", long), Summary: job.Summary([]byte(long))}
	want["empty"] = job.Processed{ID: done("empty", "")}
	done("brief", "soon forgotten", func(n *job.New) { n.KeyUntil = r.in(2 * time.Hour) })
	dead := r.dead(func(n *job.New) { n.Owner, n.Key = "ann", "dead" })
	done(job.AliveKey+"one", "no result of a key that lives with its job")
	check := func() {
		for key, p := range want {
			got, err := r.Processed(ctx(), "ann", kind, key)
			r.ok(err)
			same(r, "completed job of the key "+key, got, p)
		}
		none("dead")
		none("unknown")
		none(job.AliveKey + "one")
		_, err := r.Processed(ctx(), "ben", kind, "short")
		r.is(err, store.ErrNotFound)
	}
	check()
	r.clock.Advance(90 * time.Minute)
	same(r, "swept", r.sweep(store.Retention{Completed: time.Hour, Dead: 24 * time.Hour}, 10).Completed, int64(5))
	_, err := r.Get(ctx(), want["long"].ID)
	r.is(err, store.ErrNotFound)
	check()
	kept := map[string]string{}
	for _, k := range r.dump().Keys {
		if k.Job != dead {
			kept[k.Key] = k.Result
		}
	}
	same(r, "results of the keys", kept, map[string]string{"short": `{"receipt":7}`, "long": long[:job.SummaryKept], "empty": "", "brief": "soon forgotten"})

	r.clock.Advance(time.Hour) // the key brief is free, and another job takes it
	none("brief")
	again := done("brief", "")
	got, err := r.Processed(ctx(), "ann", kind, "brief")
	r.ok(err)
	same(r, "the job that took the key", got, job.Processed{ID: again})
}

// proves: Q9
func listLeavesTheBulkOut(r *rig) {
	id := r.add(everyField)
	o := succeeded(r.takeID(id))
	o.Result, o.Cost = []byte("result"), 5
	r.end(o)
	dead := r.dead(everyField, func(n *job.New) { n.Key = "" })
	live := r.add(everyField, func(n *job.New) { n.Key = "" })
	page, err := r.List(ctx(), store.Filter{})
	r.ok(err)
	var want []job.Job
	for _, id := range []job.ID{live, dead, id} {
		j := r.get(id)
		j.Payload, j.Attrs, j.Override, j.Result, j.Cost, j.Progress = nil, nil, nil, nil, 0, job.Progress{}
		want = append(want, j)
	}
	same(r, "page", page.Jobs, want)
}

// part of: B3
func countsFollowEveryChange(r *rig) {
	counts := func(want ...store.Count) {
		got, err := r.Counts(ctx())
		r.ok(err)
		got = slices.DeleteFunc(got, func(c store.Count) bool { return c.N == 0 })
		same(r, "counts", got, want)
		same(r, "counts of the dump", r.dump().Counts, want)
	}
	one := func(state job.State) store.Count { return store.Count{Queue: queue, Kind: kind, State: state, N: 1} }
	counts()
	id := r.add()
	counts(one(job.Waiting))
	c := r.take()
	counts(one(job.Running))
	r.end(failed(c, "NetworkTimeout", 0))
	counts(one(job.Retrying))
	r.end(died(r.take(), "NetworkTimeout", job.MaxRetries))
	counts(one(job.Dead))
	r.ok(r.retry(id))
	counts(one(job.Waiting))
	o := waits(r.take(), job.Snoozed, 0)
	o.Queue = "another"
	r.end(o)
	counts(store.Count{Queue: "another", Kind: kind, State: job.Waiting, N: 1})
	r.end(succeeded(r.takeID(id)))
	done := store.Count{Queue: "another", Kind: kind, State: job.Completed, N: 1}
	counts(done)
	cancelled := r.add()
	r.ok(r.cancel(cancelled))
	counts(done, one(job.Cancelled))
	r.dead()
	r.dead()
	two := one(job.Dead)
	two.N = 2
	counts(done, two, one(job.Cancelled))
}

// proves: Q9
func auditIsReadOn(r *rig) {
	for range 5 {
		r.ok(r.cancel(r.add()))
	}
	all := r.audit()
	same(r, "number of rows", len(all), 5)
	for i, row := range all {
		same(r, "number of a row", row.Seq, int64(i+1))
	}
	page, err := r.Audit(ctx(), 2, 2)
	r.ok(err)
	same(r, "page", page, all[2:4])
	page, err = r.Audit(ctx(), 5, 2)
	r.ok(err)
	same(r, "page after the last", page, nil)
}

// part of: Q9
//
// For each filter, the pages are compared with the rows of the whole log that the filter matches.
func auditFromItsEnd(r *rig) {
	// A filter with this owner becomes the target of an audit row. The targets of all such rows
	// begin with the same 256 characters.
	owner := strings.Repeat("o", 250)
	for i := range 12 {
		id := r.add()
		by := store.By{Actor: []string{"ann", "ben"}[i%2], Reason: "because"}
		_, err := r.Cancel(ctx(), by, []job.ID{id})
		r.ok(err)
		r.set(store.QueueChange{Workers: new(i + 1)})
		r.dead(func(n *job.New) { n.Owner = owner })
		_, err = r.Act(ctx(), by, store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{Owner: owner, Until: r.in(time.Hour).Add(time.Duration(i%2) * time.Second)}, Through: int64(i + 1)})
		r.ok(err)
		r.clock.Advance(time.Minute)
	}
	r.ok(r.cancel(r.add()))
	all := r.audit()
	middle, filtered := all[len(all)/2], all[slices.IndexFunc(all, func(a store.Audit) bool { return a.Action == "dead_letter.resolve" })]
	for _, f := range []store.AuditFilter{
		{}, {Actor: "ann"}, {Actor: "an"}, {Actor: "zoe"}, {Target: middle.Target}, {Target: all[0].Target}, {Target: filtered.Target}, {Target: "1"}, {Actor: "ben", Target: all[0].Target},
		{Actions: []string{"job.cancel"}}, {Actions: []string{"job."}}, {Actions: []string{"job"}}, {Actions: []string{"job.", "queue."}},
		{Actor: "ann", Actions: []string{"queue."}}, {Since: middle.At}, {Until: middle.At}, {Since: middle.At, Until: middle.At + 1},
		{Actor: "ann", Since: all[3].At, Until: middle.At}, {Target: queue, Until: middle.At}, {Since: r.in(time.Hour)}, {Until: 1}, {Until: r.in(time.Hour)},
	} {
		for _, limit := range []int{0, 1, 3} {
			f.Limit, f.Before = limit, 0
			var want []store.Audit
			for i := range slices.Backward(all) {
				if f.Matches(&all[i]) {
					want = append(want, all[i])
				}
			}
			same(r, fmt.Sprintf("audit rows of %+v", f), r.auditPages(f), want)
		}
	}
	page, err := r.AuditPage(ctx(), store.AuditFilter{Before: 2})
	r.ok(err)
	same(r, "page before the second row", page, store.AuditPage{Entries: all[:1], Last: all[len(all)-1].Seq})
	for _, f := range []store.AuditFilter{
		{Limit: -1}, {Limit: job.PageMax + 1}, {Before: -1}, {Since: -1}, {Until: -1}, {Actions: make([]string, store.AuditActionsMax+1)},
	} {
		_, err := r.AuditPage(ctx(), f)
		r.is(err, store.ErrInvalid)
	}
}

// auditPages reads all pages of the audit rows that a filter selects.
func (r *rig) auditPages(f store.AuditFilter) (rows []store.Audit) {
	for {
		page, err := r.AuditPage(ctx(), f)
		r.ok(err)
		rows = append(rows, page.Entries...)
		switch {
		case page.Next == 0:
			return rows
		case f.Before != 0 && page.Next >= f.Before:
			r.fail("the page of rows below %d has Next = %d, want a lower number", f.Before, page.Next)
		case f.Limit > 0 && len(page.Entries) > f.Limit:
			r.fail("the page has a limit of %d rows, but it has %d rows, want at most the limit", f.Limit, len(page.Entries))
		}
		f.Before = page.Next
	}
}

// proves: Q10
func dumpIsCanonical(r *rig) {
	r.population()
	d := r.dump()
	same(r, "now", d.Now, r.now())
	for i := range d.Jobs {
		same(r, "job of the dump", d.Jobs[i], r.get(d.Jobs[i].ID))
		if i > 0 && d.Jobs[i].ID <= d.Jobs[i-1].ID {
			r.fail("the dump has job %d after job %d, want ascending ids", d.Jobs[i].ID, d.Jobs[i-1].ID)
		}
	}
	for _, l := range d.Dead {
		same(r, "dead letter of the dump", l, r.letter(l.Job))
	}
	counts, err := r.Counts(ctx())
	r.ok(err)
	same(r, "counts of the dump", d.Counts, slices.DeleteFunc(counts, func(c store.Count) bool { return c.N == 0 }))
	queues, err := r.Queues(ctx())
	r.ok(err)
	same(r, "queues of the dump", d.Queues, queues)
	var failures []job.Failure
	for i := range d.Jobs {
		failures = append(failures, r.failures(d.Jobs[i].ID)...)
	}
	same(r, "failures of the dump", d.Failures, failures)
	if !slices.IsSortedFunc(d.Keys, func(a, b store.Key) int { return int(a.Job - b.Job) }) {
		r.fail("the keys of the dump are not sorted, want the order of the job ids")
	}
}
