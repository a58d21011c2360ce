package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// These checks test each limit with three values: a value just below the limit, the limit itself,
// and a value just above it.

func boundPromises() []promise {
	return []promise{
		{"X3_SizesOfAJob", sizesOfAJob},
		{"X3_NamesOfKindsAndQueues", namesOfKindsAndQueues},
		{"X3_Priorities", priorities},
		{"X3_JobsPerEnqueue", jobsPerEnqueue},
		{"X3_OutcomesAndClaimsPerExchange", perExchange},
		{"X3_ResultOfARun", resultOfARun},
		{"X3_HolderOfARun", holderOfARun},
		{"X3_IDsPerCall", idsPerCall},
		{"X3_RowsPerPage", rowsPerPage},
		{"X3_LanesOfAStore", lanesOfAStore},
		{"X3_SettingsOfAQueue", settingsOfAQueue},
		{"X3_IDsPerBlock", idsPerBlock},
		{"X3_WhoActsAndWhy", whoActsAndWhy},
		{"X3_ExpiredPerExchange", expiredPerExchange},
		{"X3_PayloadsPerExchange", payloadsPerExchange},
	}
}

// takes enqueues a job with the given changes. It checks that the store accepts the job and later
// returns the same values.
func (r *rig) takes(change func(*job.New)) {
	n := r.newJob(change)
	r.enqueue(n)
	j := r.get(n.ID)
	same(r, "sizes", []int{len(j.Payload), len(j.Attrs), len(j.Owner), len(j.Key), len(j.Correlation)},
		[]int{len(n.Payload), len(n.Attrs), len(n.Owner), len(n.Key), len(n.Correlation)})
	same(r, "kind and queue", []string{j.Kind, j.Queue}, []string{n.Kind, n.Queue})
}

// proves: X3
func sizesOfAJob(r *rig) {
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, field := range []struct {
		max int
		set func(n *job.New, size int)
	}{
		{job.AttrsMax, func(n *job.New, size int) { n.Attrs = []byte(`"` + text(size-2) + `"`) }},
		{job.PolicyMax, func(n *job.New, size int) { n.Override = []byte(`"` + text(size-2) + `"`) }},
		{job.TextMax, func(n *job.New, size int) { n.Owner = text(size) }},
		{job.TextMax, func(n *job.New, size int) { n.Key = text(size) }},
		{job.TextMax, func(n *job.New, size int) { n.Correlation = text(size) }},
		{job.TextMax, func(n *job.New, size int) { n.Deps = text(size) }},
		{job.PayloadMax, func(n *job.New, size int) { n.Payload = make([]byte, size) }},
	} {
		with := func(size int) func(*job.New) { return func(n *job.New) { field.set(n, size) } }
		r.takes(with(field.max - 1))
		r.takes(with(field.max))
		r.refuse(store.ErrTooLarge, r.newJob(with(field.max+1)))
	}
}

// proves: X3
// part of: X1
func namesOfKindsAndQueues(r *rig) {
	names := func(name string) []func(*job.New) {
		return []func(*job.New){func(n *job.New) { n.Kind = name }, func(n *job.New) { n.Queue = name }}
	}
	for _, good := range []string{"a", "AZaz09_-.:/", strings.Repeat("x", job.NameMax-1), strings.Repeat("x", job.NameMax)} {
		for _, change := range names(good) {
			r.takes(change)
		}
	}
	for _, bad := range []string{"", " ", "a b", "é", "a\x00", "a*", "a'", strings.Repeat("x", job.NameMax+1)} {
		for _, change := range names(bad) {
			r.refuse(store.ErrInvalid, r.newJob(change))
		}
	}
}

// proves: X3
func priorities(r *rig) {
	for _, p := range []int8{job.PriorityMin, job.PriorityMax} {
		r.takes(func(n *job.New) { n.Priority = p })
	}
	for _, p := range []int8{-1, job.PriorityMin - 1, job.PriorityMax + 1, 127} {
		r.refuse(store.ErrInvalid, r.newJob(func(n *job.New) { n.Priority = p }))
	}
	for _, change := range []func(*job.New){
		func(n *job.New) { n.RunAt = -1 }, func(n *job.New) { n.Deadline = -1 }, func(n *job.New) { n.KeyUntil = -1 },
		func(n *job.New) { n.ID = 0 }, func(n *job.New) { n.ID = -1 },
	} {
		r.refuse(store.ErrInvalid, r.newJob(change))
	}
}

func (r *rig) batch(size int) []job.New {
	first, err := r.ReserveIDs(ctx(), size)
	r.ok(err)
	jobs := make([]job.New, size)
	for i := range jobs {
		jobs[i] = job.New{ID: first + job.ID(i), Kind: kind, Queue: queue, Priority: job.PriorityDefault}
	}
	return jobs
}

// proves: X3
func jobsPerEnqueue(r *rig) {
	r.enqueue(r.batch(job.EnqueueMax - 1)...)
	_, err := r.Enqueue(ctx(), r.batch(job.EnqueueMax+1))
	r.is(err, store.ErrTooLarge, store.ErrInvalid)
	r.enqueue(r.batch(job.EnqueueMax)...)
	counts, err := r.Counts(ctx())
	r.ok(err)
	same(r, "counts", counts, []store.Count{{Queue: queue, Kind: kind, State: job.Waiting, N: 2*job.EnqueueMax - 1}})
}

// proves: X3
func perExchange(r *rig) {
	r.enqueue(r.batch(job.ExchangeMax)...)
	tooMany := []store.Exchange{
		{Want: []store.Want{want(job.ExchangeMax + 1)}},
		{Want: []store.Want{want(job.ExchangeMax), want(1)}},
		{Settle: make([]job.Outcome, job.ExchangeMax+1)},
	}
	for _, x := range tooMany {
		x.Holder, x.Lease = holder, lease
		_, err := r.Exchange(ctx(), x)
		r.is(err, store.ErrInvalid)
	}
	claims := r.claim(want(job.ExchangeMax - 1))
	same(r, "claims one below the limit", len(claims), job.ExchangeMax-1)
	r.end(waits(claims[0], job.Snoozed, 0))
	claims = append(claims[1:], r.claim(want(job.ExchangeMax))...)
	same(r, "claims", len(claims), job.ExchangeMax)
	outcomes := make([]job.Outcome, len(claims))
	for i, c := range claims {
		outcomes[i] = succeeded(c)
	}
	r.end(outcomes...)
	counts, err := r.Counts(ctx())
	r.ok(err)
	same(r, "counts", counts, []store.Count{{Queue: queue, Kind: kind, State: job.Completed, N: job.ExchangeMax}})
}

// proves: X3, Q11
func resultOfARun(r *rig) {
	for _, size := range []int{job.ResultMax - 1, job.ResultMax} {
		id := r.add()
		o := succeeded(r.take())
		o.Result = make([]byte, size)
		r.end(o)
		same(r, "size of the result", len(r.get(id).Result), size)
	}
	r.add()
	o := succeeded(r.take())
	o.Result = make([]byte, job.ResultMax+1)
	r.unchanged(func() { r.is(r.settle(o), store.ErrInvalid) })
}

// proves: X3
func holderOfARun(r *rig) {
	r.addMany(2)
	for _, size := range []int{job.TextMax - 1, job.TextMax, job.TextMax + 1} {
		x, err := r.Exchange(ctx(), store.Exchange{Holder: strings.Repeat("h", size), Lease: lease, Want: []store.Want{want(1)}})
		if size > job.TextMax {
			r.is(err, store.ErrInvalid, store.ErrTooLarge)
			continue
		}
		r.ok(err)
		same(r, "size of the holder", len(r.get(x.Claims[0].ID).Holder), size)
	}
}

// proves: X3
func idsPerCall(r *rig) {
	first := r.batch(job.IDsMax + 1)
	r.enqueue(first...)
	ids := make([]job.ID, len(first))
	for i, n := range first {
		ids[i] = n.ID
	}
	r.unchanged(func() {
		_, err := r.Cancel(ctx(), person, ids)
		r.is(err, store.ErrInvalid, store.ErrTooLarge)
		_, err = r.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: ids})
		r.is(err, store.ErrInvalid, store.ErrTooLarge)
	})
	for _, n := range []int{job.IDsMax - 1, job.IDsMax} {
		errs, err := r.Cancel(ctx(), person, ids[:n])
		r.ok(err)
		same(r, "number of answers", len(errs), n)
	}
	r.state(ids[job.IDsMax-1], job.Cancelled)
	r.state(ids[job.IDsMax], job.Waiting)
}

// proves: X3
func rowsPerPage(r *rig) {
	r.enqueue(r.batch(job.PageMax + 1)...)
	for _, limit := range []int{job.PageMax - 1, job.PageMax} {
		page, err := r.List(ctx(), store.Filter{Limit: limit})
		r.ok(err)
		same(r, "rows", len(page.Jobs), limit)
	}
	ids := make([]job.ID, job.PageMax+1)
	for i := range ids {
		ids[i] = job.ID(i + 1)
	}
	jobs, err := r.GetAll(ctx(), ids[:job.PageMax])
	r.ok(err)
	same(r, "jobs of job.PageMax ids", len(jobs), job.PageMax)
	_, err = r.Latest(ctx(), ids[:job.PageMax])
	r.ok(err)
	_, err = r.GetAll(ctx(), ids)
	r.is(err, store.ErrTooLarge)
	_, err = r.Latest(ctx(), ids)
	r.is(err, store.ErrTooLarge)
	for _, limit := range []int{-1, job.PageMax + 1} {
		_, err := r.List(ctx(), store.Filter{Limit: limit})
		r.is(err, store.ErrInvalid, store.ErrTooLarge)
	}
}

// proves: X3
func lanesOfAStore(r *rig) {
	lane := func(i int) func(*job.New) { return func(n *job.New) { n.Deps = fmt.Sprint("dep", i) } }
	jobs := r.batch(job.LanesMax - 1)
	for i := range jobs {
		lane(i)(&jobs[i])
	}
	r.enqueue(jobs...)
	last := job.LanesMax - 1
	r.refuse(store.ErrTooLarge, r.newJob(lane(last)), r.newJob(lane(last+1)))
	r.takes(lane(last))
	r.refuse(store.ErrTooLarge, r.newJob(lane(last+1)))
	r.takes(lane(0)) // the store still accepts jobs for lanes that exist
	claims := r.claim(want(job.LanesMax + 9))
	same(r, "claims", len(claims), job.LanesMax+1)

	// The store refuses an outcome that would need more lanes than the maximum. It still writes the
	// other outcomes of the exchange.
	move := waits(claims[0], job.Snoozed, 0)
	move.Queue = "elsewhere"
	x := r.exchange(store.Exchange{Settle: []job.Outcome{move, succeeded(claims[1])}})
	r.is(x.Settled[0], store.ErrTooLarge)
	r.is(x.Settled[1], nil)
	r.state(claims[0].ID, job.Running)
}

// proves: X3, Q7
func settingsOfAQueue(r *rig) {
	r.add()
	for _, c := range []store.QueueChange{
		{Workers: new(0)}, {Workers: new(1)}, {Workers: new(store.WorkersMax - 1)}, {Workers: new(store.WorkersMax)},
		{Limit: new(0)}, {Limit: new(1)}, {Limit: new(store.LimitMax - 1)}, {Limit: new(store.LimitMax)},
		{Rate: &store.Rate{}}, {Rate: &store.Rate{N: 1, Per: time.Second}},
	} {
		r.set(c)
	}
	r.unchanged(func() {
		for _, c := range []store.QueueChange{
			{Workers: new(-1)}, {Workers: new(store.WorkersMax + 1)}, {Limit: new(-1)}, {Limit: new(store.LimitMax + 1)},
			{Rate: &store.Rate{N: -1, Per: time.Second}}, {Rate: &store.Rate{N: 1, Per: -1}}, {Rate: &store.Rate{N: 10}},
		} {
			c.Name, c.Mode = queue, new(store.Paused)
			_, err := r.SetQueue(ctx(), person, c)
			r.is(err, store.ErrInvalid)
		}
	})
}

// proves: X3
func idsPerBlock(r *rig) {
	for _, n := range []int{-1, 0, 1<<20 + 1} {
		_, err := r.ReserveIDs(ctx(), n)
		r.is(err, store.ErrInvalid)
	}
	for _, n := range []int{1, 1<<20 - 1, 1 << 20} {
		_, err := r.ReserveIDs(ctx(), n)
		r.ok(err)
	}
}

// proves: X3
// part of: X2
func whoActsAndWhy(r *rig) {
	by := func(actor, reason int) store.By {
		return store.By{Actor: strings.Repeat("a", actor), Reason: strings.Repeat("r", reason)}
	}
	for _, good := range []store.By{by(1, 0), by(job.TextMax-1, job.MessageMax-1), by(job.TextMax, job.MessageMax)} {
		errs, err := r.Cancel(ctx(), good, []job.ID{r.add()})
		r.ok(r.only(errs, err))
		audit := r.audit()
		last := audit[len(audit)-1]
		same(r, "sizes", []int{len(last.Actor), len(last.Reason)}, []int{len(good.Actor), len(good.Reason)})
	}
	id := r.add()
	r.unchanged(func() {
		for _, bad := range []store.By{by(0, 0), by(job.TextMax+1, 0), by(1, job.MessageMax+1)} {
			_, err := r.Cancel(ctx(), bad, []job.ID{id})
			r.is(err, store.ErrInvalid, store.ErrTooLarge)
			_, err = r.Act(ctx(), bad, store.Action{Do: store.ActRetry, IDs: []job.ID{id}})
			r.is(err, store.ErrInvalid, store.ErrTooLarge)
			_, err = r.SetQueue(ctx(), bad, store.QueueChange{Name: queue})
			r.is(err, store.ErrInvalid, store.ErrTooLarge)
		}
	})
}

// One exchange returns payloads up to a limited number of bytes in total. The next exchange returns
// the remaining jobs.
//
// proves: X3
func payloadsPerExchange(r *rig) {
	const fits = 3
	jobs := r.batch(fits + 1)
	for i := range jobs {
		jobs[i].Payload = bytes.Repeat([]byte{byte('a' + i)}, store.ClaimBytes/fits+1)
	}
	r.enqueue(jobs...)
	x := r.exchange(store.Exchange{Want: []store.Want{want(len(jobs))}})
	same(r, "claims of the first exchange", len(x.Claims), fits)
	same(r, "full", x.Full, true)
	x2 := r.exchange(store.Exchange{Want: []store.Want{want(len(jobs))}})
	for i, c := range append(x.Claims, x2.Claims...) {
		if c.ID != jobs[i].ID || !bytes.Equal(c.Payload, jobs[i].Payload) {
			r.fail("claim %d is of job %d with a payload of %d bytes, want job %d with a payload of %d bytes", i, c.ID, len(c.Payload), jobs[i].ID, len(jobs[i].Payload))
		}
	}
	same(r, "claims of both", len(x.Claims)+len(x2.Claims), len(jobs))
}

// proves: X3, D1
func expiredPerExchange(r *rig) {
	jobs := r.batch(store.ExpiredMax + 1)
	for i := range jobs {
		jobs[i].Deadline = r.now()
	}
	r.enqueue(jobs...)
	living := r.add(func(n *job.New) { n.Priority = job.PriorityMax })
	x := r.exchange(store.Exchange{Want: []store.Want{want(1)}})
	same(r, "expired and claims", []int{len(x.Expired), len(x.Claims)}, []int{store.ExpiredMax, 0})
	same(r, "full", x.Full, true)
	x = r.exchange(store.Exchange{Want: []store.Want{want(1)}})
	same(r, "expired", x.Expired, []job.ID{jobs[store.ExpiredMax].ID})
	same(r, "claims", ids(x.Claims), []job.ID{living})
}
