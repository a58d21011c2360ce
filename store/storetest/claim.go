package storetest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func claimPromises() []promise {
	return []promise{
		{"Q2_PriorityThenAge", priorityThenAge},
		{"Q2_MicrosecondsSortAsNumbers", microsecondsSortAsNumbers},
		{"Q2_LanesAreMerged", lanesAreMerged},
		{"Q2_WantsInTheirOrder", wantsInTheirOrder},
		{"Q2_TakesWhatIsWantedOnly", takesWhatIsWantedOnly},
		{"Q2_MaxOfWantAndKind", maxOfWantAndKind},
		{"Q2_ClaimCarriesWhatTheRunNeeds", claimCarriesWhatTheRunNeeds},
		{"Q2_ClaimIsSeen", claimIsSeen},
		{"Q3_OneLeaseAJob", oneLeaseAJob},
		{"Q2_BadExchangeIsRefused", badExchangeIsRefused},
		{"Q2_NotifiesWhenJobsGetReady", notifiesWhenJobsGetReady},
	}
}

func ids(claims []job.Claim) []job.ID {
	var ids []job.ID
	for _, c := range claims {
		ids = append(ids, c.ID)
	}
	return ids
}

// proves: Q2
func priorityThenAge(r *rig) {
	add := func(priority int8, age time.Duration) job.ID {
		return r.add(func(n *job.New) { n.Priority, n.RunAt = priority, r.in(-age) })
	}
	last := add(4, time.Hour)
	old2 := add(2, time.Minute)
	new2 := add(2, time.Second)
	new1 := add(1, 0)
	tie1 := add(1, 0)
	old1 := add(1, time.Microsecond)
	third := add(3, 48*time.Hour)
	want := []job.ID{old1, new1, tie1, old2, new2, third, last}
	var got []job.ID
	for range want {
		got = append(got, r.take().ID)
	}
	same(r, "order of claims", got, want)
	r.none()
}

// proves: Q2
//
// Due times are compared as numbers. If they were compared as texts, the due time 9 would come
// after the due time 10.
func microsecondsSortAsNumbers(r *rig) {
	due := []job.Micros{9, 10, 99, 1_000_000, r.start - 1_000_000, r.start - 100_000, r.start - 99_999, r.start - 9}
	var want []job.ID
	for _, at := range due {
		want = append(want, r.add(func(n *job.New) { n.RunAt = at }))
	}
	for _, at := range slices.Backward(due) { // add the same jobs again in the reverse order, with a lower priority
		r.add(func(n *job.New) { n.RunAt, n.Priority = at, 3 })
	}
	claims := r.claim(wantMany())
	same(r, "number of claims", len(claims), 2*len(due))
	same(r, "order of claims", ids(claims[:len(due)]), want)
	if !slices.IsSortedFunc(claims[len(due):], func(a, b job.Claim) int { return int(a.RunAt - b.RunAt) }) {
		r.fail("jobs that were added in reverse order were claimed in another order, want the earliest due time first")
	}
}

func wantMany() store.Want { return want(1000) }

func wantKinds(n int, kinds ...string) store.Want {
	w := store.Want{Queue: queue, Max: n}
	for _, k := range kinds {
		w.Kinds = append(w.Kinds, store.KindWant{Kind: k, Max: n, MaxCrashes: 1})
	}
	return w
}

// proves: Q2
//
// The jobs of a queue are claimed in the order of their due times. Their kinds and dependencies
// have no influence on the order.
func lanesAreMerged(r *rig) {
	kinds, deps := []string{"b", "a", "c"}, []string{"", "s3", "openai,s3"}
	var want []job.ID
	for i := range 12 {
		want = append(want, r.add(func(n *job.New) {
			n.Kind, n.Deps = kinds[i%3], deps[i%2+i/6]
			n.RunAt = r.start - 100 + job.Micros(i/2) // two jobs have the same due time; the job with the lower id comes first
		}))
	}
	got := r.claim(wantKinds(5, "c", "a", "b"))
	got = append(got, r.claim(wantKinds(100, "a", "b", "c"))...)
	same(r, "order of claims", ids(got), want)
}

// proves: Q2
func wantsInTheirOrder(r *rig) {
	slow := r.add(func(n *job.New) { n.Queue, n.Priority = "slow", 1 })
	fast := r.add(func(n *job.New) { n.Queue, n.Priority = "fast", 4 })
	in := func(q string) store.Want { return want(1, func(w *store.Want) { w.Queue = q }) }
	same(r, "order of claims", ids(r.claim(in("fast"), in("none"), in("slow"))), []job.ID{fast, slow})
}

// proves: Q2
func takesWhatIsWantedOnly(r *rig) {
	r.add(func(n *job.New) { n.Kind = "unknown" })
	r.add(func(n *job.New) { n.Queue = "other" })
	mine := r.add()
	same(r, "claims", ids(r.claim(wantMany())), []job.ID{mine})
	same(r, "claims of no kind", ids(r.claim(store.Want{Queue: queue, Max: 9})), nil)
	for _, j := range r.dump().Jobs {
		if j.ID != mine && (j.State != job.Waiting || j.Token != 0) {
			r.fail("job %d was changed by a claim that asked for other kinds or queues, want it unchanged", j.ID)
		}
	}
}

// proves: Q2
func maxOfWantAndKind(r *rig) {
	for i := range 6 {
		r.add(func(n *job.New) { n.Kind = []string{"a", "b"}[i/3] })
	}
	w := store.Want{Queue: queue, Max: 4, Kinds: []store.KindWant{
		{Kind: "a", Max: 2, MaxCrashes: 1}, {Kind: "b", Max: 9, MaxCrashes: 1},
	}}
	kinds := func(claims []job.Claim) string {
		var s strings.Builder
		for _, c := range claims {
			s.WriteString(c.Kind)
		}
		return s.String()
	}
	same(r, "kinds", kinds(r.claim(w)), "aabb")
	w.Kinds[0].Max = 0
	same(r, "kinds", kinds(r.claim(w)), "b")
	w.Max, w.Kinds[0].Max = 0, 9
	same(r, "kinds", kinds(r.claim(w)), "")
}

// proves: Q2
func claimCarriesWhatTheRunNeeds(r *rig) {
	n := r.newJob(everyField, func(n *job.New) { n.RunAt, n.Deadline = r.start-5, r.in(time.Hour) })
	r.enqueue(n)
	r.clock.Advance(time.Minute)
	c := r.takeID(n.ID)
	first := job.Claim{
		ID: n.ID, Token: 1, Kind: n.Kind, Queue: n.Queue, Priority: n.Priority, Life: 1,
		CreatedAt: r.start, LifeAt: r.start, RunAt: n.RunAt, ClaimedAt: r.now(), Deadline: n.Deadline,
		Owner: n.Owner, Correlation: n.Correlation, Batch: n.Batch, Attrs: n.Attrs, Override: n.Override, Payload: n.Payload,
	}
	same(r, "first claim", c, first)
	same(r, "attempt", c.Attempt(), int32(1))

	o := failed(c, "NetworkTimeout", time.Second)
	o.Memo = []byte("v1 \x00 seen NetworkTimeout once")
	r.end(o)
	r.clock.Advance(time.Minute)
	second := first
	second.Token, second.Counters.Attempts, second.Memo = 2, 1, o.Memo
	second.RunAt, second.ClaimedAt = r.in(-time.Minute+time.Second), r.now()
	c = r.takeID(n.ID)
	same(r, "second claim", c, second)
	same(r, "attempt", c.Attempt(), int32(2))
}

// proves: Q2, Q9
func claimIsSeen(r *rig) {
	id := r.add()
	r.clock.Advance(time.Second)
	r.exchange(store.Exchange{Holder: "host-7/123", Lease: time.Minute, Want: []store.Want{want(1)}})
	j := r.get(id)
	same(r, "state", j.State, job.Running)
	same(r, "runs", j.Token, job.Token(1))
	same(r, "holder", j.Holder, "host-7/123")
	same(r, "claimed at", j.ClaimedAt, r.now())
	same(r, "lease until", j.LeaseUntil, r.in(time.Minute))
	r.none()
}

// proves: Q3
//
// Many callers claim concurrently, and each job is given to exactly one of the callers.
func oneLeaseAJob(r *rig) {
	const jobs, workers = 120, 4
	var batch []job.New
	for range jobs {
		batch = append(batch, r.newJob())
	}
	r.enqueue(batch...)
	claims := make([][]job.Claim, workers)
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for {
				x, err := r.Exchange(ctx(), store.Exchange{Holder: holder, Lease: lease, Want: []store.Want{want(7)}})
				if err != nil || len(x.Claims) == 0 {
					errs[i] = err
					return
				}
				claims[i] = append(claims[i], x.Claims...)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		r.ok(err)
	}
	given := map[job.ID]bool{}
	for _, c := range slices.Concat(claims...) {
		if given[c.ID] || c.Token != 1 {
			r.fail("job %d was claimed again or as run %d, want one claim of each job, as run 1", c.ID, c.Token)
		}
		given[c.ID] = true
	}
	same(r, "jobs given out", len(given), jobs)
}

// part of: X1
func badExchangeIsRefused(r *rig) {
	r.add()
	for _, x := range []store.Exchange{
		{Lease: lease},
		{Holder: holder},
		{Holder: holder, Lease: -time.Second},
	} {
		x.Want = []store.Want{want(1)}
		r.unchanged(func() {
			_, err := r.Exchange(ctx(), x)
			r.is(err, store.ErrInvalid)
		})
	}
}

// proves: Q2
func notifiesWhenJobsGetReady(r *rig) {
	ready, deaf := make(chan struct{}, 1), make(chan struct{}) // nobody reads from the second channel
	stop := r.Notify(ready)
	stopDeaf := r.Notify(deaf)
	defer stopDeaf()
	r.add()
	<-ready // if no notification comes, the test fails at its time limit
	stop()
	stop()
	select { // discard a notification that was sent before the call of stop
	case <-ready:
	default:
	}
	r.add()
	select {
	case <-ready:
		r.fail("got a notification after its end, want none")
	default:
	}
}
