package redrive_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/sqlite"
)

// onStores runs a test on each store that needs no server.
func onStores(t *testing.T, test func(*testing.T, store.Store)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memory.New(memory.Options{}))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		test(t, st)
	})
}

func adminClient(t *testing.T, st store.Store) *redrive.Client {
	t.Helper()
	c, err := redrive.New(st, &redrive.Config{
		TempDir: t.TempDir(), Logger: quiet, Queues: map[string]redrive.Queue{"mail": {}, "other": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(c, render, func(context.Context, *redrive.Job[renderArgs]) error { return nil }, nil)
	return c
}

// part of: Q9
func TestAdmin_QueuesAreSetAndListed(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, st store.Store) {
		c := adminClient(t, st)
		by, workers, mode := redrive.By{Actor: "ann", Reason: "backup"}, 3, redrive.QueuePaused
		want := redrive.QueueSettings{Name: "mail", Mode: redrive.QueuePaused, Workers: 3}
		for _, name := range []string{"mail", "mail"} { // in the first round only the client's configuration has the queue; in the second round the store has it, too
			got, err := c.SetQueue(t.Context(), by, redrive.QueueChange{Name: name, Mode: &mode, Workers: &workers})
			if err != nil || got != want {
				t.Errorf("SetQueue: got %+v, error %v; want the new settings", got, err)
			}
		}
		if _, err := c.SetQueue(t.Context(), by, redrive.QueueChange{Name: "unheard", Mode: &mode}); !errors.Is(err, redrive.ErrNotFound) {
			t.Errorf("SetQueue of a queue that no client has: got error %v, want ErrNotFound", err)
		}
		bad := -1
		if _, err := c.SetQueue(t.Context(), by, redrive.QueueChange{Name: "mail", Workers: &bad}); !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("SetQueue with -1 workers: got error %v, want ErrInvalid", err)
		}
		queues, err := c.Queues(t.Context())
		if diff := cmp.Diff([]redrive.QueueSettings{want}, queues); err != nil || diff != "" {
			t.Errorf("Queues: got error %v, want none; wrong list of queues (-want +got):\n%s", err, diff)
		}
	})
}

func TestAdmin_BacklogDividesTheJobs(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, st store.Store) {
		c := adminClient(t, st)
		foreign := redrive.Kind[renderArgs]("foreign")
		_, err := c.EnqueueMany(t.Context(), []redrive.Spec{
			render.New(renderArgs{}, &redrive.Options{Queue: "mail"}),
			render.New(renderArgs{}, &redrive.Options{Queue: "other"}), render.New(renderArgs{}, &redrive.Options{Queue: "other"}),
			render.New(renderArgs{}, nil), foreign.New(renderArgs{}, &redrive.Options{Queue: "mail"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		mode := redrive.QueuePaused
		if _, err := c.SetQueue(t.Context(), ops, redrive.QueueChange{Name: "other", Mode: &mode}); err != nil {
			t.Fatal(err)
		}
		b, err := c.Backlog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(b.Others, func(a, b redrive.JobCount) int { return int(a.Kind[0]) - int(b.Kind[0]) })
		want := redrive.Backlog{
			Jobs: map[redrive.State]int64{job.Waiting: 3}, Paused: map[string]int64{"other": 2},
			Others: []redrive.JobCount{
				{Queue: "mail", Kind: "foreign", State: job.Waiting, N: 1},
				{Queue: redrive.DefaultQueue, Kind: "render", State: job.Waiting, N: 1},
			},
		}
		if diff := cmp.Diff(want, b); diff != "" {
			t.Errorf("wrong backlog of the client (-want +got):\n%s", diff)
		}
		if b.Live() != 3 || b.Runnable() != 1 {
			t.Errorf("got %d live and %d runnable jobs in the backlog, want 3 live and 1 runnable", b.Live(), b.Runnable())
		}
	})
}

// part of: Q9
func TestAdmin_AuditIsFilteredFromItsEnd(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, st store.Store) {
		c := adminClient(t, st)
		id := mustEnqueue(t, c)
		set := func(actor string, n int) {
			for i := range n {
				workers := i%2 + 1
				if _, err := c.SetQueue(t.Context(), redrive.By{Actor: actor}, redrive.QueueChange{Name: "mail", Workers: &workers}); err != nil {
					t.Fatal(err)
				}
			}
		}
		set("ann", 3)
		if err := c.Cancel(t.Context(), redrive.By{Actor: "ben"}, id); err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			filter redrive.AuditFilter
			want   []int64
		}{
			"all":                 {redrive.AuditFilter{}, []int64{4, 3, 2, 1}},
			"newest two":          {redrive.AuditFilter{Limit: 2}, []int64{4, 3}},
			"two before the last": {redrive.AuditFilter{Limit: 2, Before: 4}, []int64{3, 2}},
			"by actor":            {redrive.AuditFilter{Actor: "ann", Limit: 1}, []int64{3}},
			"by action":           {redrive.AuditFilter{Actions: []string{"job.cancel"}}, []int64{4}},
			"by family":           {redrive.AuditFilter{Actions: []string{"dead_letter.", "queue."}}, []int64{3, 2, 1}},
			"no prefix":           {redrive.AuditFilter{Actions: []string{"queue"}}, nil},
			"by target":           {redrive.AuditFilter{Target: id.String()}, []int64{4}},
			"in a time":           {redrive.AuditFilter{Since: job.Micros(1 << 60)}, nil},
			"by an unknown actor": {redrive.AuditFilter{Actor: "tess"}, nil},
			"before a time":       {redrive.AuditFilter{Until: 1}, nil},
		} {
			page, err := c.Audit(t.Context(), tc.filter)
			var got []int64
			for _, e := range page.Entries {
				got = append(got, e.Seq)
			}
			if err != nil || !slices.Equal(got, tc.want) || page.Last != 4 || page.Next != 0 && len(got) < tc.filter.Limit {
				t.Errorf("%s: got entries %d on page %+v, error %v; want the entries %d, Last 4, and Next 0 unless the page is full",
					name, got, page, err, tc.want)
			}
		}
		if _, err := c.Audit(t.Context(), redrive.AuditFilter{Limit: job.PageMax + 1}); !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("Audit with a limit above PageMax: got error %v, want ErrInvalid", err)
		}
	})
}

// part of: Q9
func TestQ9_TheEndOfALongAuditLogIsFound(t *testing.T) {
	t.Parallel()
	const page = 500
	st := memory.New(memory.Options{})
	c := adminClient(t, st)
	made := 0
	for _, n := range []int{0, 1, page, page + 1, 3*page + 7} {
		for ; made < n; made++ {
			workers := made%2 + 1
			if _, err := c.SetQueue(t.Context(), redrive.By{Actor: []string{"ann", "ben"}[made%2]}, redrive.QueueChange{Name: "mail", Workers: &workers}); err != nil {
				t.Fatal(err)
			}
		}
		found, err := c.Audit(t.Context(), redrive.AuditFilter{Actor: "ann", Limit: 3})
		if err != nil || found.Last != int64(n) || len(found.Entries) != min(3, (n+1)/2) {
			t.Errorf("log of %d entries: got %d entries up to entry %d, error %v; want the newest 3", n, len(found.Entries), found.Last, err)
		}
		if len(found.Entries) > 0 && found.Entries[0].Seq < int64(n-1) {
			t.Errorf("log of %d entries: the first entry has the number %d, want one of the newest two", n, found.Entries[0].Seq)
		}
		for i := 1; i < len(found.Entries); i++ {
			if found.Entries[i].Seq != found.Entries[i-1].Seq-2 {
				t.Errorf("Audit of a log of %d entries: got the entries %v, want every second entry", n, found.Entries)
			}
		}
	}
	if found, err := c.Audit(t.Context(), redrive.AuditFilter{Actor: "tess"}); err != nil || len(found.Entries) != 0 || found.Next != 0 {
		t.Errorf("Audit of an actor who did nothing: got %+v, error %v; want an empty page and no next page", found, err)
	}
}

// part of: Q9
func TestQ9_AuditIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := adminClient(t, memory.New(memory.Options{}))
		set := func(actor string, workers int) {
			if _, err := c.SetQueue(t.Context(), redrive.By{Actor: actor}, redrive.QueueChange{Name: "mail", Workers: &workers}); err != nil {
				t.Error(err)
			}
		}
		set("ann", 1)
		set("ann", 2)
		ctx, stop := context.WithCancel(t.Context())
		var got []int64
		go func() {
			synctest.Wait()
			set("ben", 3)
			set("ann", 4)
			synctest.Wait()
			stop()
		}()
		for entries, err := range c.FollowAudit(ctx, 1, redrive.AuditFilter{Actor: "ann"}) {
			if err != nil {
				t.Error(err)
			}
			for _, e := range entries {
				got = append(got, e.Seq)
			}
		}
		if !slices.Equal(got, []int64{2, 4}) {
			t.Errorf("FollowAudit returned the entries %d, want 2 and 4", got)
		}
	})
}

// awayAudit is a store whose audit log cannot be read: at first because the store does not
// answer, later because a row is damaged.
type awayAudit struct {
	store.Store
	errs []error
}

func (a *awayAudit) Audit(context.Context, int64, int) ([]store.Audit, error) {
	err := a.errs[0]
	a.errs = a.errs[1:]
	return nil, err
}

// part of: Q9
func TestQ9_FollowAuditAsksAgainWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		damaged := errors.New("row damaged")
		st := &awayAudit{Store: memory.New(memory.Options{}), errs: []error{store.ErrUnavailable, store.ErrUnavailable, damaged}}
		start := time.Now()
		n := 0
		for _, err := range adminClient(t, st).FollowAudit(t.Context(), 0, redrive.AuditFilter{}) {
			if n++; !errors.Is(err, damaged) {
				t.Errorf("FollowAudit: got error %v, want the error of the damaged row", err)
			}
		}
		if took := time.Since(start); n != 1 || took != 2*time.Second {
			t.Errorf("FollowAudit returned %d results in %s, want one result after two times Config.Poll", n, took)
		}
	})
}

func TestAdmin_StoredPoliciesAreListed(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, st store.Store) {
		c := adminClient(t, st)
		mustEnqueue(t, c)
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := c.StoredPolicies(t.Context())
		if err != nil || len(list) != 1 || list[0].Hash != c.Policy().Hash() {
			t.Fatalf("StoredPolicies: got %+v, error %v; want only the client's policy", list, err)
		}
		if p, err := c.StoredPolicy(t.Context(), list[0].Hash); err != nil || len(p.Body) == 0 {
			t.Errorf("StoredPolicy: got %+v, error %v; want a policy with its body", p, err)
		}
		if _, err := c.StoredPolicy(t.Context(), "none"); !errors.Is(err, redrive.ErrNotFound) {
			t.Errorf("StoredPolicy of an unknown hash: got error %v, want ErrNotFound", err)
		}
	})
}

func mustEnqueue(t *testing.T, c *redrive.Client) redrive.JobID {
	t.Helper()
	receipt, err := c.Enqueue(t.Context(), render.New(renderArgs{}, &redrive.Options{Queue: "mail"}))
	if err != nil {
		t.Fatal(err)
	}
	return receipt.ID
}
