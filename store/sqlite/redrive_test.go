package sqlite

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// start starts a redrive of the dead letters that a filter selects now.
func (k *keeper) start(spec store.RedriveSpec) store.Redrive {
	k.t.Helper()
	for a := (store.Action{Do: store.ActRetry, Filter: &spec.Filter}); ; {
		found, err := k.s.Preview(k.t.Context(), a)
		k.must(err)
		a.Through, a.After = found.Through, found.Next
		spec.Through, spec.Total = found.Through, spec.Total+found.Done
		if found.Next == 0 {
			break
		}
	}
	r, err := k.s.StartRedrive(k.t.Context(), store.By{Actor: "ann"}, spec)
	k.must(err)
	return r
}

func (k *keeper) step(limit int) store.RedriveStep {
	k.t.Helper()
	step, err := k.s.StepRedrives(k.t.Context(), limit)
	k.must(err)
	return step
}

func (k *keeper) revived() (deaths []int64) {
	k.rows(`SELECT death FROM redrive_dead WHERE revived = 1 ORDER BY death`, func(r sqlstore.Row) { deaths = append(deaths, r.Int(0)) })
	return deaths
}

// After a restart of the process, a redrive has the same spec as before.
//
// part of: D7
func TestD7_ARedriveIsKeptWhole(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.makeDead(3, func(int) string { return "cause" })
	first, err := k.s.StartRedrive(t.Context(), store.By{Actor: "ann", Reason: "deployed"}, store.RedriveSpec{
		Filter: store.DeadFilter{Statuses: []job.Status{job.Pending, job.Ignored}, Reason: job.NonRetriable, Class: "Refused",
			Kind: "k", Queue: seedQueue, Owner: "tenant-1", Group: "cause", Since: 1, Until: 2, Text: "by", Redrive: 7},
		Through: 3, Total: 2, Canary: 5, Rate: 6, StopShare: 0.125, StopOther: 0.25, StopDead: 0.5,
		Change: store.Change{Queue: "other", Priority: 3, Override: []byte{}},
	})
	k.must(err)
	bare, err := k.s.StartRedrive(t.Context(), store.By{Actor: "ann"}, store.RedriveSpec{Through: 1, Total: 1, Canary: -1})
	k.must(err)
	k.must(k.s.Close())
	k.s = k.open()
	list, err := k.s.RedriveList(t.Context())
	k.must(err)
	if diff := cmp.Diff([]store.Redrive{bare, first}, list); diff != "" {
		t.Errorf("the redrives after a restart differ from the redrives before the restart (-want +got):\n%s", diff)
	}
	if first.Change.Override == nil || bare.Change.Override != nil {
		t.Errorf("started redrives: got overrides %v and %v, want an empty override and nil", first.Change.Override, bare.Change.Override)
	}
}

// The jobs of a canary are spread over the whole set. This is also true if the filter selects only
// few of the deaths in the range of the set.
//
// part of: D7
func TestD7_CanariesAreSpreadOverASparseSet(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.makeDead(2_000, func(i int) string {
		switch {
		case i%100 == 0:
			return "rare"
		case i < 6 || i == 1_998:
			return "crowded"
		}
		return "frequent"
	})
	for _, test := range []struct {
		filter store.DeadFilter
		canary int
		want   []int64
	}{
		// Evenly spread canaries would be the deaths 1, 634, 1268 and 1901; the filter selects
		// deaths near these numbers.
		{store.DeadFilter{Group: "rare"}, 4, []int64{1, 701, 1301, 1901}},
		// The filter selects only the deaths 2 to 6 and 1999, so the canaries cannot be spread
		// evenly.
		{store.DeadFilter{Group: "crowded"}, 4, []int64{2, 3, 4, 1999}},
		{store.DeadFilter{Text: "by frequent"}, 3, []int64{7, 1003, 2000}},
	} {
		before := k.revived()
		r := k.start(store.RedriveSpec{Filter: test.filter, Canary: test.canary})
		if step := k.step(100); step.Released != int64(test.canary) {
			t.Fatalf("filter %+v: the first step returned %+v, want a step that releases every canary", test.filter, step)
		}
		var got []int64
		k.rows(fmt.Sprintf(`SELECT death FROM redrive_dead WHERE redrive = %d ORDER BY death`, r.ID), func(r sqlstore.Row) { got = append(got, r.Int(0)) })
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("filter %+v: the wrong deaths were chosen as canaries (-want +got):\n%s", test.filter, diff)
		}
		if n := len(k.revived()) - len(before); n != test.canary {
			t.Errorf("filter %+v: the redrive retried %d jobs, want %d", test.filter, n, test.canary)
		}
		_, err := k.s.ControlRedrive(t.Context(), store.By{Actor: "ann"}, r.ID, store.RedriveCancel)
		k.must(err)
	}
	k.healthy()
}

// part of: D7
func TestD7_RedrivesShareTheLimitOfAStep(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.makeDead(60, func(i int) string { return fmt.Sprint("cause ", i%2) })
	for i := range 2 {
		k.start(store.RedriveSpec{Filter: store.DeadFilter{Group: fmt.Sprint("cause ", i)}, Canary: -1})
	}
	for _, want := range []store.RedriveStep{{Active: 2, Released: 40}, {Active: 2, Released: 20, Wait: 0}, {Active: 2, Wait: store.Never}} {
		if step := k.step(40); !reflect.DeepEqual(step, want) {
			t.Errorf("step of two redrives: got %+v, want %+v", step, want)
		}
	}
	if n := k.number(`SELECT count(*) FROM redrive_audit WHERE action = 'redrive.release'`); n != 2 {
		t.Errorf("audit rows about releases: got %d, want 2, one for each redrive", n)
	}
}

// When a filter selects few of very many deaths, each step examines a limited number of
// deaths. Each step makes progress, and in the end all selected deaths are found.
//
// part of: D7
func TestD7_ARareFilterIsSearchedInSteps(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test makes thousands of dead letters")
	}
	const deaths = sqlstore.LookMax/sqlstore.MessageCost + 100 // reading one message counts as the examination of sqlstore.MessageCost rows
	for _, canary := range []int{-1, 5} {
		k := openKeeper(t)
		k.makeDead(deaths, func(i int) string {
			if i >= deaths-20 {
				return "what is sought"
			}
			return "frequent"
		})
		r := k.start(store.RedriveSpec{Filter: store.DeadFilter{Text: "sought"}, Canary: canary})
		empty := 0
		step := k.step(100)
		for ; step.Released == 0 && step.Wait == 0; step = k.step(100) {
			if empty++; empty > 10 {
				t.Fatalf("canary of %d jobs: more than 10 steps in a row released nothing, want a release earlier", canary)
			}
		}
		want := int64(20)
		if canary > 0 {
			want = int64(canary)
		}
		if empty == 0 || step.Released != want {
			t.Errorf("canary of %d jobs: got %d steps without a release and then the step %+v, want at least one step without a release and then a step with %d released jobs", canary, empty, step, want)
		}
		r, err := k.s.Redrive(t.Context(), r.ID)
		k.must(err)
		if r.Released != want || !r.State.Active() {
			t.Errorf("canary of %d jobs: got redrive %+v, want an active redrive that has released all selected jobs", canary, r)
		}
		if r.State == store.RedriveCanary && r.Audited != 0 || r.State != store.RedriveCanary && r.Audited != want {
			t.Errorf("canary of %d jobs: got state %s and %d audited releases; want no audited release in state canary, and all of them in a later state", canary, r.State, r.Audited)
		}
		k.healthy()
	}
}

// The cost of a step does not depend on the number of dead letters. If no redrive is active, a
// step writes nothing.
//
// part of: D7
func TestD7_StepCostIsFlat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test needs many rows")
	}
	few, many := openKeeper(t), openKeeper(t)
	var costs []cost
	for k, rows := range map[*keeper]int{few: 200, many: 2_000} {
		k.makeDead(rows, func(int) string { return "cause" })
		if step := k.step(50); step.Wait != store.Never || step.Active != 0 {
			t.Fatalf("step without an active redrive: got %+v, want Active 0 and Wait Never", step)
		}
		k.start(store.RedriveSpec{Filter: store.DeadFilter{Group: "cause"}, Canary: 10})
		_, err := k.s.ControlRedrive(t.Context(), store.By{Actor: "ann"}, 1, store.RedriveProceed)
		k.must(err)
		k.step(20) // this call compiles the statements, so its cost is not measured
		k.analyze()
		k.step(20)
	}
	for _, k := range []*keeper{few, many} {
		k.count()
		commits := k.s.Commits()
		if step := k.step(20); step.Released != 20 {
			t.Fatalf("step of a redrive: got %+v, want 20 released jobs", step)
		}
		if n := k.s.Commits() - commits; n != 1 {
			t.Errorf("a step of a redrive made %d commits, want 1", n)
		}
		costs = append(costs, k.count())
	}
	t.Logf("release of 20 jobs: SQLite needed %d steps with few dead letters and %d steps with many", costs[0].steps, costs[1].steps)
	if costs[1].steps > costs[0].steps*3/2 || costs[0].compiled+costs[1].compiled > 0 {
		t.Errorf("a step of a redrive costs %+v with few dead letters and %+v with many, want at most 1.5 times as many steps of SQLite and no compiled statement", costs[0], costs[1])
	}
}

// When two processes make steps of the same redrive, each job is released only once.
//
// part of: D7
func TestD7_TwoProcessesStepOneRedrive(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.makeDead(90, func(int) string { return "cause" })
	stores := []*Store{k.s, k.open()}
	r := k.start(store.RedriveSpec{Filter: store.DeadFilter{Group: "cause"}, Canary: -1})
	released := make(chan int64)
	for _, s := range stores {
		go func() {
			sum := int64(0)
			for range 10 {
				step, err := s.StepRedrives(t.Context(), 7)
				if err != nil {
					t.Error(err)
				}
				sum += step.Released
			}
			released <- sum
		}()
	}
	if sum := <-released + <-released; sum != 90 {
		t.Errorf("both processes together released %d jobs, want 90", sum)
	}
	r, err := k.s.Redrive(t.Context(), r.ID)
	k.must(err)
	if r.Released != 90 || r.State != store.RedriveSettling {
		t.Errorf("redrive after all steps: got %+v, want state settling with 90 released jobs", r)
	}
	if n := k.number(`SELECT count(*) FROM redrive_jobs WHERE redrive = %d AND life = 2`, r.ID); n != 90 {
		t.Errorf("jobs in the life that the redrive opened: got %d, want 90", n)
	}
	k.healthy()
}

// part of: Q13
func TestQ13_ASlotIsFiredOnceByManyProcesses(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	stores := []*Store{k.s, k.open(), k.open()}
	fired := make(chan int)
	const slots = 20
	for _, s := range stores {
		go func() {
			n := 0
			for slot := range slots {
				ids, err := s.ReserveIDs(t.Context(), 2)
				if err != nil {
					t.Error(err)
				}
				jobs := []job.New{{ID: ids, Kind: "k", Queue: "q", Priority: 2}, {ID: ids + 1, Kind: "k", Queue: "q", Priority: 2}}
				got, err := s.Fire(t.Context(), "nightly", "* * * * * UTC", job.At(seedNow.Add(time.Duration(slot-slots)*time.Minute)), jobs)
				if err != nil {
					t.Error(err)
				}
				if got.Fired {
					n++
				}
			}
			fired <- n
		}()
	}
	sum := <-fired + <-fired + <-fired
	jobs := k.number(`SELECT count(*) FROM redrive_jobs`)
	if jobs != int64(2*sum) || sum > slots {
		t.Errorf("three schedulers together: got %d fired slots with %d jobs, want two jobs for each slot and no slot fired twice", sum, jobs)
	}
	list, err := k.s.CronSlots(t.Context())
	k.must(err)
	if len(list) != 1 || list[0].Slot != job.At(seedNow.Add(-time.Minute)) {
		t.Errorf("got the schedules %+v, want one schedule whose last slot was a minute ago", list)
	}
}
