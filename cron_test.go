package redrive_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/sqlite"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// elapse waits until the time has passed. In a synctest bubble this takes no real time.
func elapse(d time.Duration) { <-time.NewTimer(d).C }

// scenes makes the job of a slot, with the slot's time as its argument.
func scenes(slot time.Time) redrive.Spec { return render.New(renderArgs{Scene: slot.Unix()}, nil) }

// ahead is a clock that is a fixed duration ahead of the real time.
type ahead time.Duration

func (a ahead) Now() time.Time { return time.Now().Add(time.Duration(a)) }

func (a ahead) AfterFunc(d time.Duration, f func()) redrive.Timer { return time.AfterFunc(d, f) }

// slots records the arguments that a handler was called with, by the correlation of the cron entry.
type slots struct {
	mu  sync.Mutex
	had map[string][]string
}

func (s *slots) handle(_ context.Context, j *redrive.Job[renderArgs]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.had == nil {
		s.had = map[string][]string{}
	}
	late := time.Since(time.Unix(j.Args.Scene, 0)).Round(time.Second)
	text := time.Unix(j.Args.Scene, 0).UTC().Format("02 15:04")
	if late != 0 {
		text += " + " + late.String()
	}
	s.had[j.Correlation] = append(s.had[j.Correlation], text)
	return nil
}

// Three clients work on one store over nights in which the clocks of several time zones change. The
// clock of one client is one minute ahead.
//
// proves: Q13
func TestQ13_EachSlotIsFiredOnce(t *testing.T) {
	t.Parallel()
	berlin, newYork, lordHowe := zone(t, "Europe/Berlin"), zone(t, "America/New_York"), zone(t, "Australia/Lord_Howe")
	crons := []redrive.Cron{
		{Name: "nightly", Expression: "30 2 * * *", Location: berlin, Make: scenes},
		{Name: "hours", Expression: "0 */6 * * *", Location: berlin, Make: scenes},
		{Name: "quarters", Expression: "*/15 * * * *", Location: berlin, Make: scenes},
		{Name: "new-york", Expression: "30 1,2 * * *", Location: newYork, Make: scenes},
		{Name: "lord-howe", Expression: "15,45 1 * * *", Location: lordHowe, Make: scenes},
		{Name: "often", Expression: "@every 7h", Make: scenes},
	}
	for _, tt := range []struct {
		name string
		from time.Time
		want map[string][]string
	}{
		{"spring", time.Date(2000, 3, 25, 12, 0, 0, 0, time.UTC), map[string][]string{
			"cron:nightly":   {"26 01:00", "27 00:30"}, // the first slot is 03:00, because 02:30 does not exist in this night
			"cron:hours":     {"25 17:00", "25 23:00", "26 04:00", "26 10:00", "26 16:00", "26 22:00", "27 04:00", "27 10:00"},
			"cron:new-york":  {"26 06:30", "26 07:30", "27 06:30", "27 07:30"},
			"cron:lord-howe": {"25 14:15", "25 14:45", "26 14:45", "26 15:15"}, // the second day is half an hour longer, because the clocks go back by half an hour
			"cron:often":     {"25 15:00", "25 22:00", "26 05:00", "26 12:00", "26 19:00", "27 02:00", "27 09:00"},
		}},
		{"autumn", time.Date(2000, 10, 28, 12, 0, 0, 0, time.UTC), map[string][]string{
			"cron:nightly":   {"29 00:30", "30 01:30"}, // the time 01:30 occurs twice; the slot is the first of the two
			"cron:hours":     {"28 16:00", "28 22:00", "29 05:00", "29 11:00", "29 17:00", "29 23:00", "30 05:00", "30 11:00"},
			"cron:new-york":  {"29 05:30", "29 07:30", "30 06:30", "30 07:30"}, // in this zone 01:30 occurs twice, and 02:30 does not occur
			"cron:lord-howe": {"28 14:15", "28 14:45", "29 14:15", "29 14:45"},
			"cron:often":     {"28 15:00", "28 22:00", "29 05:00", "29 12:00", "29 19:00", "30 02:00", "30 09:00"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				elapse(time.Until(tt.from))
				var had slots
				st := memory.New(memory.Options{})
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for i := range 3 {
					config := &redrive.Config{
						TempDir: t.TempDir(), Logger: quiet, Cron: crons, Poll: time.Hour, RescueInterval: time.Hour, Lease: time.Hour,
					}
					if i == 2 {
						config.Clock = ahead(time.Minute)
					}
					c, err := redrive.New(st, config)
					if err != nil {
						t.Fatal(err)
					}
					redrive.Handle(c, render, had.handle, nil)
					running.Go(func() {
						if err := c.Run(ctx); err != nil {
							t.Error(err)
						}
					})
				}
				elapse(48*time.Hour - time.Minute)
				cancel()
				running.Wait()
				quarters := had.had["cron:quarters"]
				if n := len(slices.Compact(slices.Sorted(slices.Values(quarters)))); n != 48*4-1 || len(quarters) != n {
					t.Errorf("the entry for every quarter of an hour fired %d times for %d different slots, want %d for both numbers", len(quarters), n, 48*4-1)
				}
				delete(had.had, "cron:quarters")
				if diff := cmp.Diff(tt.want, had.had); diff != "" {
					t.Errorf("wrong fired slots by correlation (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// adjusted is a clock that a test sets and that then runs as fast as the system's clock. It must
// not stand still, because an engine waits by this clock between its calls.
type adjusted struct{ ahead atomic.Int64 }

func (a *adjusted) set(to time.Time) { a.ahead.Store(int64(time.Until(to))) }

func (a *adjusted) Now() time.Time { return time.Now().Add(time.Duration(a.ahead.Load())) }

func (*adjusted) AfterFunc(d time.Duration, f func()) redrive.Timer { return time.AfterFunc(d, f) }

// Two clients, each with its own connection to the file, compete for each slot.
//
// proves: Q13
func TestQ13_OneFileSeveralClients(t *testing.T) {
	t.Parallel()
	clock := new(adjusted)
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	clock.set(at)
	path := filepath.Join(t.TempDir(), "jobs.db")
	var ran atomic.Int64
	var clients []*redrive.Client
	for range 2 {
		st, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		c, err := redrive.New(st, &redrive.Config{
			TempDir: t.TempDir(), Logger: quiet, Clock: clock,
			Cron: []redrive.Cron{{Name: "c", Expression: "*/5 * * * *", Spec: render.New(renderArgs{}, nil)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		redrive.Handle(c, render, func(context.Context, *redrive.Job[renderArgs]) error {
			ran.Add(1)
			return nil
		}, nil)
		clients = append(clients, c)
	}
	for n := range int64(10) {
		at = at.Add(5 * time.Minute)
		clock.set(at)
		var race sync.WaitGroup
		for _, c := range clients {
			race.Go(func() {
				if err := c.RunUntilIdle(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		race.Wait()
		if err := clients[0].RunUntilIdle(t.Context()); err != nil { // each client runs the jobs that the other client has left
			t.Fatal(err)
		}
		if got := ran.Load(); got != n+1 {
			t.Fatalf("got %d completed jobs for %d slots, want one job for each slot", got, n+1)
		}
	}
}

// proves: Q13
func TestQ13_AMissedSlotIsFiredOnceAndLate(t *testing.T) {
	t.Parallel()
	var had []string
	e := redrivetest.New(t, &redrive.Config{Cron: []redrive.Cron{
		{Name: "half-hours", Expression: "*/30 * * * *", Make: scenes},
		{Name: "caught", Expression: "0 * * * *", Catch: 10 * time.Minute, Make: scenes},
	}})
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		had = append(had, j.Correlation+" "+time.Unix(j.Args.Scene, 0).UTC().Format("15:04"))
		return nil
	}, nil)
	for _, step := range []struct {
		wait time.Duration
		want []string
	}{
		{0, []string{"cron:caught 00:00"}}, // the missed slot of one entry may be fired late; the other entry begins with its next slot
		{29 * time.Minute, nil},
		{time.Minute, []string{"cron:half-hours 00:30"}},
		{0, nil},
		{5*time.Hour + 39*time.Minute, []string{"cron:caught 06:00", "cron:half-hours 06:00"}}, // these slots are fired at 06:09
		{5*time.Hour + 22*time.Minute, []string{"cron:half-hours 11:30"}},                      // this slot is fired at 11:31
		{24 * time.Hour, []string{"cron:half-hours 11:30"}},
	} {
		had = nil
		e.Advance(step.wait)
		e.Work()
		slices.Sort(had)
		if diff := cmp.Diff(step.want, had); diff != "" {
			t.Errorf("wrong slots fired at %s (-want +got):\n%s", e.Now().Format(time.TimeOnly), diff)
		}
	}
}

// full is a store that refuses all new jobs while its field "full" is true.
type full struct {
	store.Store
	mu    sync.Mutex
	full  bool
	tries int
}

func (f *full) Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (store.Fired, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if f.full {
		return store.Fired{}, store.ErrFull
	}
	fired, err := f.Store.Fire(ctx, name, expression, slot, jobs)
	if err == nil && f.tries%2 == 1 {
		return store.Fired{}, errors.Join(store.ErrUnknown, errors.New("the answer was lost"))
	}
	return fired, err
}

// proves: Q13
func TestQ13_AStoreInTroubleIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var had slots
		st := &full{Store: memory.New(memory.Options{}), full: true}
		c, err := redrive.New(st, &redrive.Config{
			TempDir: t.TempDir(), Logger: quiet, Cron: []redrive.Cron{{Name: "c", Expression: "0 * * * *", Make: scenes}},
		})
		if err != nil {
			t.Fatal(err)
		}
		redrive.Handle(c, render, had.handle, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		elapse(time.Hour + 90*time.Second)
		st.mu.Lock()
		st.full = false
		if st.tries < 5 || st.tries > 10 {
			t.Errorf("the store was called %d times in 90 s, want 5 to 10 calls, because the wait grows from one second to one minute", st.tries)
		}
		st.tries = 0 // because of this reset, the store loses the answer of the next call
		st.mu.Unlock()
		elapse(time.Hour)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := len(had.had["cron:c"]); n != 2 {
			t.Errorf("the last error is %v: got %d fired slots, want 2", had.had, n)
		}
	})
}

// proves: Q13
func TestQ13_AScheduleSendsItsJobLikeAnyEnqueue(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{Cron: []redrive.Cron{
		{Name: "own", Expression: "@hourly", Location: zone(t, "Asia/Tokyo"), Spec: render.New(renderArgs{Scene: 7}, &redrive.Options{
			Priority: 4, Owner: "ops", Correlation: "mine", Attrs: map[string]any{"n": 1},
		})},
		{Name: "plain", Expression: "@daily", Spec: render.New(renderArgs{Scene: 8}, nil)},
	}})
	var infos []redrive.Info
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		infos = append(infos, j.Info)
		return nil
	}, nil)
	began := e.Now()
	e.Advance(time.Hour)
	e.Work()
	if len(infos) != 1 || infos[0].Priority != 4 || infos[0].Owner != "ops" || infos[0].Correlation != "mine" || string(infos[0].Attrs) != `{"n":1}` {
		t.Fatalf("got the runs %+v, want one run with the options of the entry", infos)
	}
	got, err := e.Crons(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []redrive.CronStatus{
		{
			Name: "own", Expression: "@hourly", Zone: "Asia/Tokyo", Kind: "render",
			Next: began.Add(2 * time.Hour), Last: began.Add(time.Hour), FiredAt: began.Add(time.Hour), Job: infos[0].ID,
		},
		{Name: "plain", Expression: "@daily", Zone: "UTC", Kind: "render", Next: began.Add(24 * time.Hour)},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("wrong cron entries (-want +got):\n%s", diff)
	}
	e.Advance(23 * time.Hour)
	e.Work()
	byName := map[string]bool{}
	for _, i := range infos {
		byName[i.Correlation] = true
	}
	if names := slices.Sorted(maps.Keys(byName)); !slices.Equal(names, []string{"cron:plain", "mine"}) {
		t.Errorf("got jobs with the correlations %v, want cron:plain and mine", names)
	}
}

// A paused entry fires on no client, and after the pause only later slots are fired.
//
// part of: Q13
func TestQ13_APausedEntryIsNotFired(t *testing.T) {
	t.Parallel()
	var had []string
	e := redrivetest.New(t, &redrive.Config{Cron: []redrive.Cron{{Name: "half-hours", Expression: "*/30 * * * *", Make: scenes}}})
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		had = append(had, time.Unix(j.Args.Scene, 0).UTC().Format("15:04"))
		return nil
	}, nil)
	after := func(wait time.Duration, want ...string) {
		t.Helper()
		had = nil
		e.Advance(wait)
		e.Work()
		if !slices.Equal(had, want) {
			t.Errorf("got jobs for the slots %q, want %q", had, want)
		}
	}
	after(30*time.Minute, "00:30")
	by := redrive.By{Actor: "ann", Reason: "the archive moves"}
	if c, err := e.PauseCron(t.Context(), by, "half-hours"); err != nil || !c.Paused {
		t.Fatalf("PauseCron: got %+v, error %v; want a paused entry", c, err)
	}
	after(30 * time.Minute)
	after(30 * time.Minute)
	all, err := e.Crons(t.Context())
	if err != nil || len(all) != 1 || !all[0].Paused || all[0].SetAt.IsZero() {
		t.Errorf("Crons: got %+v, error %v; want one paused entry", all, err)
	}
	after(10 * time.Minute)
	if c, err := e.ResumeCron(t.Context(), by, "half-hours"); err != nil || c.Paused {
		t.Fatalf("ResumeCron: got %+v, error %v; want an active entry", c, err)
	}
	after(10 * time.Minute)
	after(10*time.Minute, "02:00")
	if _, err := e.ResumeCron(t.Context(), by, "unknown"); !errors.Is(err, redrive.ErrNotFound) {
		t.Errorf("ResumeCron of an unknown name: got error %v, want ErrNotFound", err)
	}
}
