package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// list reads all pages of a list, and returns their jobs.
func (r *rig) list(f store.Filter) []job.ID {
	jobs, err := listAll(r, f)
	r.ok(err)
	var ids []job.ID
	for i := range jobs {
		ids = append(ids, jobs[i].ID)
	}
	return ids
}

// listAll reads all pages of a list. Two stores may return different numbers of jobs in the same
// page. A store may list jobs that ended at the same time in any order, so listAll sorts such jobs
// by id, the highest first.
func listAll(s store.Reader, f store.Filter) ([]job.Job, error) {
	var jobs []job.Job
	for seen := make(map[store.Cursor]bool); ; {
		page, err := s.List(ctx(), f)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, page.Jobs...)
		if page.Next.IsZero() {
			break
		}
		if seen[page.Next] {
			return nil, fmt.Errorf("two pages of the list have the same next cursor %s, want a new cursor for each page", page.Next)
		}
		seen[page.Next] = true
		f.From = page.Next
	}
	for i := 0; f.Order == store.Ended && i < len(jobs); {
		end := i + 1
		for end < len(jobs) && jobs[end].FinishedAt == jobs[i].FinishedAt {
			end++
		}
		slices.SortFunc(jobs[i:end], func(a, b job.Job) int { return cmp.Compare(b.ID, a.ID) })
		i = end
	}
	return jobs, nil
}

// oracle computes from a dump which jobs a list must return, and in which order.
type oracle struct {
	*store.Dump
	causes map[job.ID][3]string // class, group and message of each job's last failure
}

func newOracle(d *store.Dump) *oracle {
	o := &oracle{Dump: d, causes: make(map[job.ID][3]string)}
	for i := range d.Failures { // the failures are in the order of their runs, so the last failure of a job replaces the earlier ones
		f := &d.Failures[i]
		o.causes[f.Job] = [3]string{f.Class, f.Fingerprint, f.Message}
	}
	for i := range d.Dead {
		if l := &d.Dead[i]; !l.Revived {
			o.causes[l.Job] = [3]string{l.Class, l.Fingerprint, l.Message}
		}
	}
	return o
}

func (o *oracle) list(f *store.Filter) (ids []job.ID) {
	var found []job.Job
	for _, j := range o.Jobs {
		if o.selects(f, &j) && behind(f, &j) {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b job.Job) int {
		switch f.Order {
		case store.Due:
			return cmp.Or(cmp.Compare(a.RunAt, b.RunAt), cmp.Compare(a.ID, b.ID))
		case store.Ended:
			return cmp.Or(cmp.Compare(b.FinishedAt, a.FinishedAt), cmp.Compare(b.ID, a.ID))
		case store.Newest:
		}
		return cmp.Compare(b.ID, a.ID)
	})
	for i := range found {
		ids = append(ids, found[i].ID)
	}
	return ids
}

// behind reports whether a job comes after the cursor of the filter, in the order of the filter.
func behind(f *store.Filter, j *job.Job) bool {
	switch {
	case f.From.IsZero():
		return true
	case f.Order == store.Due:
		return cmp.Or(cmp.Compare(j.RunAt, f.From.At), cmp.Compare(j.ID, f.From.ID)) > 0
	case f.Order == store.Ended:
		return cmp.Or(cmp.Compare(j.FinishedAt, f.From.At), cmp.Compare(j.ID, f.From.ID)) < 0
	}
	return j.ID < f.From.ID
}

func (o *oracle) selects(f *store.Filter, j *job.Job) bool {
	waits, ended := j.State == job.Waiting || j.State == job.Retrying, j.State >= job.Completed
	equal := func(want, have string) bool { return want == "" || want == have }
	within := func(s store.Span, at job.Micros) bool { return at >= s.Since && (s.Until == 0 || at < s.Until) }
	switch {
	case len(f.States) > 0 && !slices.Contains(f.States, j.State),
		!equal(f.Kind, j.Kind), !equal(f.Queue, j.Queue), !equal(f.Owner, j.Owner), !equal(f.Worker, j.Holder),
		!equal(f.Correlation, j.Correlation), !equal(string(f.Reason), string(j.Reason)), f.Batch != 0 && f.Batch != j.Batch,
		f.Order == store.Due && !waits, f.Order == store.Ended && !ended,
		!within(f.Created, j.CreatedAt), f.Due != store.Span{} && (!waits || !within(f.Due, j.RunAt)),
		f.Ended != store.Span{} && (!ended || !within(f.Ended, j.FinishedAt)),
		f.Attr.Name != "" && !strings.Contains(string(j.Attrs), fmt.Sprintf("%q:%s", f.Attr.Name, f.Attr.Value)):
		return false
	case f.Key != "":
		return slices.ContainsFunc(o.Keys, func(k store.Key) bool {
			return k.Job == j.ID && k.Owner == f.Owner && k.Kind == f.Kind && k.Key == f.Key && (k.Until == 0 || k.Until > o.Now) && (!ended || !job.WhileAlive(f.Key))
		})
	case f.Class == "" && f.Group == "" && f.Text == "":
		return true
	}
	c, failed := o.causes[j.ID]
	return failed && (j.State == job.Retrying || j.State == job.Dead) && equal(f.Class, c[0]) && equal(f.Group, c[1]) &&
		strings.Contains(strings.ToLower(c[2]), strings.ToLower(f.Text))
}

// manyJobs makes jobs in all states, at different times, with values in every field by which a
// filter can select.
func manyJobs(r *rig) {
	r.population()
	for i := range 24 {
		r.clock.Advance(time.Second)
		id := r.add(func(n *job.New) {
			n.Owner, n.Correlation = []string{"alice", "bob", ""}[i%3], []string{"req-7", "req-8"}[i%2]
			n.Attrs, n.Batch, n.Priority = fmt.Appendf(nil, `{"bucket":%d}`, i%4), int64(i%2), int8(1+i%4)
			n.RunAt = r.in(time.Duration(i%5) * time.Millisecond)
			if i%6 == 0 {
				n.Key, n.Digest = fmt.Sprint("order-", i), []byte("d")
			}
		})
		r.clock.Advance(5 * time.Millisecond)
		switch i % 6 {
		case 0, 1:
			o := succeeded(r.takeID(id))
			o.Keep = i%12 < 6 // if Keep is true, the completed job keeps its attributes
			r.end(o)
		case 2:
			r.end(died(r.takeID(id), "InvalidInput", job.NonRetriable))
		case 3:
			r.end(failed(r.takeID(id), "NetworkTimeout", time.Duration(i)*time.Hour))
		case 4:
			r.ok(r.cancel(id))
		}
	}
}

// proves: Q9
// part of: D3
//
// Each list is compared with the jobs that a separate computation selects from a dump.
func listFilters(r *rig) {
	manyJobs(r)
	d := r.dump()
	o := newOracle(d)
	middle := d.Jobs[len(d.Jobs)/2]
	holder := d.Jobs[slices.IndexFunc(d.Jobs, func(j job.Job) bool { return j.Holder != "" })].Holder
	group := d.Dead[0].Fingerprint
	early, late := store.Span{Until: middle.CreatedAt}, store.Span{Since: middle.CreatedAt, Until: d.Now}
	for _, f := range []store.Filter{
		{}, {States: []job.State{job.Dead}}, {States: []job.State{job.Completed, job.Cancelled}}, {States: job.States[:]},
		{States: []job.State{job.Waiting, job.Retrying, job.Running}}, {Kind: "other"}, {Kind: "nothing"}, {Queue: "quiet"},
		{Queue: "nothing"}, {Owner: "alice"}, {Owner: "alice", States: []job.State{job.Dead}}, {Owner: "bob", Queue: queue, Kind: kind},
		{Kind: kind, Queue: queue, States: []job.State{job.Running}}, {From: store.Cursor{ID: middle.ID}}, {From: store.Cursor{ID: 1}},
		{Correlation: "req-7"}, {Correlation: "req-8", States: []job.State{job.Completed}}, {Correlation: "req"}, {Worker: holder},
		{Worker: holder, States: []job.State{job.Running}}, {Worker: "nobody"}, {Batch: 4}, {Batch: 1, Owner: "bob"}, {Batch: 9},
		{Kind: kind, Key: "order-6"}, {Kind: kind, Key: "order-6", Owner: "alice"}, {Kind: kind, Key: "order"},
		{Kind: "render:4k", Key: "order-12", Owner: "alice"}, {Kind: "render:4k", Key: "order-12", Owner: "alice", States: []job.State{job.Dead}},
		{Attr: store.Attr{Name: "bucket", Value: "2"}}, {Attr: store.Attr{Name: "bucket", Value: "1"}, States: []job.State{job.Completed}},
		{Attr: store.Attr{Name: "bucket", Value: "0"}, Kind: kind, Key: "order-0", Owner: "alice"}, {Attr: store.Attr{Name: "bucket", Value: "9"}}, {Attr: store.Attr{Name: "no", Value: "2"}},
		{Class: "InvalidInput"}, {Class: "NetworkTimeout"}, {Class: "NetworkTimeout", Owner: "alice"}, {Class: "Unheard"}, {Group: group},
		{Group: group, States: []job.State{job.Retrying}}, {Group: "1:unknown"}, {Text: "OOPS"}, {Text: "nothing like it"},
		{Reason: job.NonRetriable}, {Reason: job.MaxRetries}, {Created: early}, {Created: late}, {Created: late, Class: "InvalidInput"},
		{Ended: early}, {Ended: late}, {Due: early}, {Due: store.Span{Since: d.Now}},
	} {
		for _, order := range []store.Order{store.Newest, store.Due, store.Ended} {
			f.Order = order
			if order != store.Newest {
				f.From = store.Cursor{}
			}
			want := o.list(&f)
			for _, limit := range []int{0, 1, 3} {
				f.Limit = limit
				same(r, fmt.Sprintf("list of %+v", f), r.list(f), want)
			}
		}
	}
	if n := len(o.list(&store.Filter{Order: store.Due})); n < 6 {
		r.fail("got %d jobs that wait to be run, want at least 6", n)
	}
}

// proves: Q9
// part of: D3
func listIsPaged(r *rig) {
	var want []job.ID
	for i := range 60 { // live, completed and dead jobs alternate, so that the list has to merge the three tables
		id := r.add()
		switch i % 3 {
		case 1:
			r.end(succeeded(r.takeID(id)))
		case 2:
			r.end(died(r.takeID(id), "InvalidInput", job.NonRetriable))
		}
		want = append([]job.ID{id}, want...)
	}
	for _, limit := range []int{0, 1, 7, 59, 60, 61} {
		same(r, fmt.Sprintf("list by pages of %d", limit), r.list(store.Filter{Limit: limit}), want)
	}
	page, err := r.List(ctx(), store.Filter{})
	r.ok(err)
	if len(page.Jobs) > 50 {
		r.fail("a page without a limit has %d rows, want at most 50", len(page.Jobs))
	}
}

// proves: Q9
//
// The pages of a list in the order of due times are full, and each job is in one of them, when there
// are many queues and most of the first jobs are of one of them.
func dueListOverManyLanes(r *rig) {
	const queues, busy = 600, 90
	first, err := r.ReserveIDs(ctx(), queues+busy)
	r.ok(err)
	jobs := make([]job.New, queues+busy)
	for i := range jobs {
		n := &jobs[i]
		*n = job.New{ID: first + job.ID(i), Kind: kind, Queue: fmt.Sprint("queue-", i), Priority: job.PriorityDefault, RunAt: r.in(time.Hour + time.Duration(i)*time.Second)}
		if i >= queues {
			n.Queue, n.RunAt = queue, r.in(time.Duration(i-queues)*time.Second)
		}
	}
	r.enqueue(jobs...)
	r.clock.Advance(busy / 2 * time.Second)
	var failures []job.Outcome
	for _, c := range r.claim(want(busy)) { // half of the jobs of the busy queue become retrying jobs
		failures = append(failures, failed(c, "NetworkTimeout", time.Duration(len(failures))*time.Second))
	}
	r.end(failures...)
	o := newOracle(r.dump())
	for _, f := range []store.Filter{{}, {States: []job.State{job.Waiting}}, {States: []job.State{job.Retrying}}, {Queue: queue}, {Batch: 7}} {
		f.Order = store.Due
		want := o.list(&f)
		for _, f.Limit = range []int{7, 50} {
			same(r, fmt.Sprintf("list of %+v", f), r.list(f), want)
			page, err := r.List(ctx(), f)
			r.ok(err)
			same(r, fmt.Sprintf("first page of the list of %+v", f), len(page.Jobs), min(f.Limit, len(want)))
		}
	}
}

// proves: Q9
//
// A list continues after its cursor even if the job at the cursor has changed since.
func listGoesOnWithoutItsRow(r *rig) {
	manyJobs(r)
	for _, order := range []store.Order{store.Newest, store.Due, store.Ended} {
		f := store.Filter{Order: order}
		all := r.list(f)
		f.Limit = 3
		page, err := r.List(ctx(), f)
		r.ok(err)
		same(r, "first page", len(page.Jobs), 3)
		last := page.Jobs[2]
		switch last.State {
		case job.Waiting, job.Retrying:
			r.ok(r.cancel(last.ID))
		case job.Dead:
			r.ok(r.retry(last.ID))
		case job.None, job.Running, job.Completed, job.Cancelled:
		}
		f.From = page.Next
		got := r.list(f)
		for _, id := range all[3:] {
			if !slices.Contains(got, id) {
				r.fail("list in the order %s: after job %d it leaves out job %d, want all later jobs", order, last.ID, id)
			}
		}
	}
}

// proves: X3
func badListsAreRefused(r *rig) {
	manyJobs(r)
	long := strings.Repeat("x", job.TextMax+1)
	for _, f := range []store.Filter{
		{Limit: -1}, {Limit: job.PageMax + 1}, {Order: 3}, {From: store.Cursor{ID: -1}}, {From: store.Cursor{At: -1, ID: 1}},
		{Order: store.Ended, From: store.Cursor{ID: 5}}, {Order: store.Due, From: store.Cursor{ID: 5}},
		{From: store.Cursor{At: 5, ID: 1}}, {Key: "k"}, {Attr: store.Attr{Value: "v"}}, {Batch: -1}, {States: []job.State{99}},
		{Created: store.Span{Since: 5, Until: 5}}, {Ended: store.Span{Since: -1}}, {Due: store.Span{Until: -1}},
		{Kind: long}, {Queue: long}, {Owner: long}, {Worker: long}, {Correlation: long}, {Kind: "k", Key: long}, {Class: long}, {Group: long},
		{Text: long}, {Reason: job.Reason(long)}, {Attr: store.Attr{Name: long}}, {Attr: store.Attr{Name: "a", Value: long}},
	} {
		_, err := r.List(ctx(), f)
		r.is(err, store.ErrInvalid, store.ErrTooLarge)
	}
	far, o := job.Micros(store.UntilMax), newOracle(r.dump())
	for _, f := range []store.Filter{
		{Order: store.Due, From: store.Cursor{At: math.MaxInt64, ID: math.MaxInt64}}, {Order: store.Ended, From: store.Cursor{At: math.MaxInt64, ID: 1}},
		{Order: store.Ended, From: store.Cursor{At: math.MaxInt64, ID: math.MaxInt64}}, {Order: store.Due, Due: store.Span{Since: math.MaxInt64}},
		{Order: store.Ended, Ended: store.Span{Until: math.MaxInt64}}, {Order: store.Ended, Ended: store.Span{Since: math.MaxInt64}},
		{Order: store.Due, Due: store.Span{Since: 1, Until: math.MaxInt64}}, {Owner: "alice", From: store.Cursor{ID: math.MaxInt64}},
		{From: store.Cursor{ID: 1<<63 - 1}}, {Order: store.Due, From: store.Cursor{At: far, ID: 1<<63 - 1}},
		{Order: store.Ended, From: store.Cursor{At: far, ID: 7}}, {Order: store.Ended, From: store.Cursor{At: 1, ID: 1<<63 - 1}},
		{Created: store.Span{Since: far}}, {Order: store.Ended, Ended: store.Span{Until: far}}, {Owner: "\x00\n\u202e'; --"}, {Text: "%_\\"},
	} {
		same(r, fmt.Sprintf("list of %+v", f), r.list(f), o.list(&f))
	}
}

func (d *duel) list() {
	f := store.Filter{
		Kind: pick(d.t, "kind", "", "", "a"), Queue: pick(d.t, "queue", "", "", "x"), Owner: pick(d.t, "owner", "", "", "alice"),
		Attr:        pick(d.t, "attribute", store.Attr{}, store.Attr{}, store.Attr{Name: "a", Value: "1"}),
		Correlation: pick(d.t, "correlation", "", "", "", "req-7"), Class: pick(d.t, "class", "", "", "", "NetworkTimeout"),
		Order: pick(d.t, "order", store.Newest, store.Due, store.Ended),
		Limit: rapid.IntRange(0, 5).Draw(d.t, "limit"),
	}
	f.States = some(d.t, "states", 2, func(int) job.State { return pick(d.t, "state", job.States[:]...) })
	switch pick(d.t, "alone", "", "", "attribute", "owner", "correlation") { // several conditions together select few jobs
	case "attribute":
		f = store.Filter{Attr: store.Attr{Name: "a", Value: "1"}, Order: pick(d.t, "order", store.Newest, store.Ended), Limit: f.Limit}
	case "owner":
		f = store.Filter{Owner: "alice", Order: f.Order, Limit: f.Limit}
	case "correlation":
		f = store.Filter{Correlation: "req-7", Order: f.Order, Limit: f.Limit}
	}
	if f.Order == store.Newest && chance(d.t, "from the middle", 3) {
		f.From.ID = d.id()
		if chance(d.t, "a cursor of another list", 4) {
			f.From.At = 5
		}
	}
	if n := len(d.last.Jobs); n > 0 && chance(d.t, "created before", 3) {
		f.Created.Until = d.last.Jobs[rapid.IntRange(0, n-1).Draw(d.t, "job")].CreatedAt
	}
	d.ask("List", func(s store.Store) (any, error) { return listAll(s, f) })
}
