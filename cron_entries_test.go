package redrive_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// proves: Q13, X3
func TestQ13_MistakesOfASchedule(t *testing.T) {
	t.Parallel()
	job := render.New(renderArgs{}, nil)
	_, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{PayloadMax: 100, Cron: []redrive.Cron{
		{Name: "a b", Expression: "@daily", Spec: job},
		{Name: "hour", Expression: "0 24 * * *", Spec: job},
		{Name: "local", Expression: "@daily", Location: time.Local, Spec: job},
		{Name: "catch", Expression: "@daily", Catch: time.Millisecond, Spec: job},
		{Name: "none", Expression: "@daily"},
		{Name: "both", Expression: "@daily", Spec: job, Make: scenes},
		{Name: "twice", Expression: "@daily", Spec: job},
		{Name: "twice", Expression: "@daily", Spec: job},
		{Name: "large", Expression: "@daily", Spec: redrive.NewRaw("k", make([]byte, 101), nil)},
		{Name: "kind", Expression: "@daily", Spec: redrive.NewRaw("k k", nil, nil)},
	}})
	if err == nil {
		t.Fatal("New accepted a configuration with mistakes in its cron entries, want an error")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{
		`redrive: Config.Cron: entry "a b": name "a b": only letters`,
		`entry "hour": the hour "24" cannot be read`,
		`entry "local": the Location time.Local`,
		`entry "catch": a Catch of 1ms: must be at least 1s`,
		`entry "none": the entry has neither Spec nor Make`,
		`entry "both": the entry has neither Spec nor Make`,
		`entry "twice": this name is already used`,
		`entry "large": enqueue, job 1 of 1: payload of kind "k": 101 bytes: at most 100`,
		`entry "kind": kind "k k": only letters`,
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d of the error does not contain the text %q, want it there; the whole error is:\n%s", i+1, want, err)
			break
		}
	}
}

// A store keeps a limited number of names of cron entries. A new name beyond the limit is refused,
// and the log says how to use an old name.
//
// part of: Q13
func TestQ13_ANameTooManyIsRefusedWithTheCure(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Options{})
	for i := range store.CronsMax {
		name := "old-" + strconv.Itoa(i)
		if _, err := st.Fire(t.Context(), name, "* * * * * UTC", 1, []job.New{{ID: job.ID(i + 1<<40), Kind: "render", Queue: "default", Priority: 1, Payload: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	var c *redrive.Client
	for _, name := range []string{"new", "old-7"} {
		var err error
		c, err = redrive.New(st, &redrive.Config{
			TempDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&said, nil)),
			Cron: []redrive.Cron{{Name: name, Expression: "* * * * *", Catch: time.Hour, Make: scenes}},
		})
		if err != nil {
			t.Fatal(err)
		}
		redrive.Handle(c, render, succeed, nil)
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Errorf("RunUntilIdle of the client with the cron entry %s: got error %v, want none", name, err)
		}
	}
	if n := strings.Count(said.String(), "give this entry a name that no client uses any more"); n != 1 {
		t.Errorf("the log has the advice to reuse a name %d times, want it once:\n%s", n, said.String())
	}
	list, err := c.CronSlots(t.Context())
	if i := slices.IndexFunc(list, func(s redrive.CronSlot) bool { return s.Name == "old-7" }); err != nil || i < 0 || list[i].Slot == 1 {
		t.Errorf("the reused cron name old-7: got no new slot in the store, error %v; want a slot that was fired now", err)
	}
}

// Entries are set, replaced and removed while a client runs. They mean the same as in the
// configuration: each slot is fired once, also when another client runs.
//
// part of: Q13
func TestQ13_EntriesChangeWhileAClientRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var had slots
		st := memory.New(memory.Options{})
		c, other := newClient(t, st, had.handle), newClient(t, st, had.handle)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, client := range []*redrive.Client{c, other} {
			running.Go(func() {
				if err := client.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		set := func(client *redrive.Client, name, expression string) {
			t.Helper()
			if err := client.SetCron(redrive.Cron{Name: name, Expression: expression, Make: scenes}); err != nil {
				t.Fatal(err)
			}
		}
		elapse(10 * time.Minute) // wait until 00:10
		set(c, "a", "0 * * * *")
		elapse(2 * time.Hour) // wait for the slots of 01:00 and 02:00
		set(other, "a", "0 * * * *")
		elapse(time.Hour) // wait for the slot of 03:00, which is fired once
		set(c, "a", "*/20 * * * *")
		set(c, "b", "@daily") // no slot of this entry becomes due in the test
		elapse(25 * time.Minute)
		if !c.RemoveCron("a") || c.RemoveCron("a") || !other.RemoveCron("a") {
			t.Error("RemoveCron: got a wrong result, want true for an entry of the client, and false for an entry that was removed already")
		}
		elapse(2 * time.Hour)
		if err := c.SetCron(redrive.Cron{Name: "b", Expression: "61 * * * *", Make: scenes}); err == nil {
			t.Error("SetCron accepted an entry with a mistake, want an error")
		}
		crons, err := c.Crons(t.Context())
		if err != nil || len(crons) != 2 || crons[0].Expression != "" || crons[1].Expression != "@daily" {
			t.Errorf("Crons: got %+v, error %v; want one entry that only the store has, and the entry with @daily", crons, err)
		}
		cancel()
		running.Wait()
		want := map[string][]string{"cron:a": {"01 01:00", "01 02:00", "01 03:00", "01 03:20"}}
		if diff := cmp.Diff(want, had.had); diff != "" {
			t.Errorf("wrong fired slots (-want +got):\n%s", diff)
		}
	})
}

// SetCron can be called inside a handler, and before the client runs. In both cases the next search
// for due slots fires the entry.
//
// part of: Q13
func TestQ13_EntriesThatAreSetCountAtOnce(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, nil)
	var had []int64
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		had = append(had, j.Args.Scene)
		if j.Args.Scene == e.Now().Unix() && len(had) == 1 {
			return e.SetCron(redrive.Cron{Name: "inside", Expression: "@every 1h", Catch: time.Hour, Make: scenes})
		}
		return nil
	}, nil)
	if err := e.SetCron(redrive.Cron{Name: "before", Expression: "@hourly", Make: scenes}); err != nil {
		t.Fatal(err)
	}
	e.Advance(time.Hour)
	e.Work()
	if now := e.Now().Unix(); !slices.Equal(had, []int64{now, now}) {
		t.Errorf("got the slots %v, want two slots, both at %d", had, now)
	}
	for i := range store.CronsMax - 2 {
		if err := e.SetCron(redrive.Cron{Name: strconv.Itoa(i), Expression: "@yearly", Make: scenes}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.SetCron(redrive.Cron{Name: "too-many", Expression: "@yearly", Make: scenes}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("SetCron beyond the limit of the store: got error %v, want ErrTooLarge", err)
	}
}
