package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// When one process removes a group, another process that has cached the group must not use the
// group any more. No other group may get the counts of the removed group.
//
// part of: Q6
func TestQ6_ARemovedGroupIsForgottenEverywhere(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	one := func(name string) func(int) string { return func(int) string { return name } }
	k.makeDead(3, one("last"))
	first := k.s
	other := k.open()
	k.advance(2 * time.Hour)
	k.s = other
	if swept := k.sweep(keepShort, 100); swept.Dead != 3 {
		t.Fatalf("sweep of a group whose retention is over: got %+v, want 3 removed dead letters", swept)
	}
	k.s = first
	k.makeDead(1, one("last"))
	k.s = other
	k.makeDead(1, one("next"))
	for name, want := range map[string]store.Group{
		"last": {Fingerprint: "last", N: 1, Entries: 1, Pending: 1},
		"next": {Fingerprint: "next", N: 1, Entries: 1, Pending: 1},
	} {
		page, err := k.s.Groups(t.Context(), store.GroupFilter{Group: name})
		k.must(err)
		if len(page.Groups) != 1 {
			t.Fatalf("got %d groups with fingerprint %q, want 1 group", len(page.Groups), name)
		}
		g := page.Groups[0]
		got := store.Group{Fingerprint: g.Fingerprint, N: g.N, Entries: g.Entries, Pending: g.Pending}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("group after the sweep: the counts are wrong (-want +got):\n%s", diff)
		}
		sum := int64(0)
		for _, n := range g.Trend {
			sum += n
		}
		if sum != 1 {
			t.Errorf("group %q: the trend has %d deaths, want 1: %v", name, sum, g.Trend)
		}
	}
	k.healthy()
}

// When more groups are muted than one sweep examines, several sweeps together still find all
// groups whose mute has ended. The dead letters of the other groups stay ignored.
//
// part of: D6
func TestD6_ManyMutedGroups(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test makes thousands of dead letters")
	}
	k := openKeeper(t)
	const groups = 2*sqlstore.SweepMarks + 50
	name := func(i int) string { return fmt.Sprint("cause ", i) }
	k.makeDead(groups, name)
	soon := 0
	for i := range groups {
		a := &store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: name(i)}, Until: job.At(seedNow.Add(24 * time.Hour))}
		if i%10 == 9 {
			a.Until = job.At(seedNow.Add(time.Hour))
			soon++
		}
		k.act(a)
	}
	k.advance(2 * time.Hour)
	sum := k.sweepAll(store.Retention{}, 7, 200)
	for range 5 { // each of these sweeps continues with the next groups
		sum.Reopened += k.sweepAll(store.Retention{}, 7, 200).Reopened
	}
	if sum.Reopened != int64(soon) {
		t.Errorf("all sweeps together reopened %d dead letters, want %d", sum.Reopened, soon)
	}
	if n := k.number(`SELECT count(*) FROM redrive_groups WHERE muted = 1`); n != int64(groups-soon) {
		t.Errorf("after the sweeps: got %d muted groups, want %d", n, groups-soon)
	}
	k.healthy()
}

// A sweep also reopens ignored dead letters whose time has come. One sweep reopens a limited
// number of dead letters and examines a limited number of muted groups. It reports More as
// long as there are more to reopen.
//
// part of: D6
func TestD6_ReopeningComesToItsEnd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test makes thousands of dead letters")
	}
	t.Run("the most that a sweep takes", func(t *testing.T) {
		t.Parallel()
		k := openKeeper(t)
		k.makeDead(store.SweepMax+1, func(int) string { return "cause" })
		for left := store.SweepMax + 1; left > 0; left -= store.StepMax {
			a := store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{}, Until: job.At(seedNow.Add(time.Hour))}
			k.act(&a)
		}
		k.advance(2 * time.Hour)
		if swept := k.sweep(store.Retention{}, store.SweepMax); swept.Reopened != store.SweepMax || !swept.More {
			t.Errorf("first sweep: got %+v, want store.SweepMax reopened dead letters and More true", swept)
		}
		if swept := k.sweep(store.Retention{}, store.SweepMax); swept.Reopened != 1 || swept.More {
			t.Errorf("second sweep: got %+v, want 1 reopened dead letter and More false", swept)
		}
		k.healthy()
	})
	t.Run("a part of a group", func(t *testing.T) {
		t.Parallel()
		k := openKeeper(t)
		const groups = sqlstore.SweepMarks + 50
		k.makeDead(20, func(int) string { return "first" })
		k.makeDead(groups, func(i int) string { return fmt.Sprint("cause ", i) })
		k.act(&store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: "first"}, Until: job.At(seedNow.Add(time.Hour))})
		for i := range groups {
			k.act(&store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: fmt.Sprint("cause ", i)}, Count: 9})
		}
		k.advance(2 * time.Hour)
		if sum := k.sweepAll(store.Retention{}, 7, 10); sum.Reopened != 20 {
			t.Errorf("the sweeps after the mutes had ended reopened %d dead letters, want 20", sum.Reopened)
		}
		k.healthy()
	})
}
