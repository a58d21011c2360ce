package redrive_test

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// If Make or a middleware fails or blocks for one cron entry, the other entries still fire on time,
// and the log names the bad entry. When the code works again, the slot of the bad entry is fired.
//
// part of: Q13
func TestCron_BadCodeOfAnEntryHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const good, bad = redrive.Kind[int]("good"), redrive.Kind[int]("bad")
	for _, tt := range []struct {
		name  string
		bad   func(ctx context.Context, healed <-chan struct{}) error
		log   string        // text in the log that names the mistake
		delay time.Duration // the longest delay of the other entry
	}{
		{"panics", func(context.Context, <-chan struct{}) error { panic("oops") }, "panic: oops", 0},
		{"ends its goroutine", func(context.Context, <-chan struct{}) error { runtime.Goexit(); return nil }, "runtime.Goexit", 0},
		{"refuses", func(context.Context, <-chan struct{}) error { return errChangedMind }, "changed my mind", 0},
		{"waits for its context", func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return ctx.Err() },
			"deadline exceeded", redrive.CronLimit},
		{"blocks and ignores its context", func(_ context.Context, healed <-chan struct{}) error { <-healed; return nil },
			"did not return within 10s", redrive.CronLimit + time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lockedBuffer
				healed := make(chan struct{})
				middleware := instead(func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
					select {
					case <-healed:
					default:
						if err := tt.bad(ctx, healed); err != nil {
							return nil, err
						}
					}
					return next(ctx, s)
				})
				c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{
					TempDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
					Cron: []redrive.Cron{
						{Name: "bad", Expression: "@hourly", Spec: bad.New(1, nil)},
						{Name: "good", Expression: "@hourly", Spec: good.New(1, nil)},
					},
					KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{"bad": {middleware}},
				})
				if err != nil {
					t.Fatal(err)
				}
				redrive.Handle(c, good, func(context.Context, *redrive.Job[int]) error { return nil }, nil)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- c.Run(ctx) }()
				started := time.Now()
				slot := func() time.Time { return started.Truncate(time.Hour).Add(time.Hour) }()
				elapse(slot.Sub(started) + tt.delay + time.Second)
				if n := countKind(t, c, "good"); n != 1 {
					t.Errorf("got %d jobs of the good entry after its first slot, want 1", n)
				}
				elapse(30 * time.Minute)
				if n := countKind(t, c, "bad"); n != 0 {
					t.Errorf("got %d jobs of the bad entry while its code fails, want none", n)
				}
				elapse(30 * time.Minute) // by now the second slot of the good entry has passed
				if n := countKind(t, c, "good"); n != 2 {
					t.Errorf("got %d jobs of the good entry after two slots, want 2", n)
				}
				close(healed)
				elapse(2 * time.Minute)
				if n := countKind(t, c, "bad"); n != 1 {
					t.Errorf("got %d jobs of the bad entry after its code works again, want one job for the latest slot", n)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				named := slices.ContainsFunc(strings.Split(log.String(), "\n"), func(line string) bool {
					return strings.Contains(line, `schedule=bad`) && strings.Contains(line, tt.log)
				})
				if !named {
					t.Errorf("want a log line that names the bad entry and has the text %q; the log is:\n%s", tt.log, log.String())
				}
			})
		})
	}
}

// countKind returns the number of jobs of a kind.
func countKind(t *testing.T, c *redrive.Client, kind string) (n int64) {
	t.Helper()
	counts, err := c.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range counts {
		if count.Kind == kind {
			n += count.N
		}
	}
	return n
}

// A change of the expression or of the time zone fires no slot of the past. This applies to
// a change by SetCron and to another configuration after a restart. Writing the same
// expression in another way is not a change: the missed slot is fired.
//
// proves: Q13
func TestQ13_AChangedExpressionFiresNoSlotOfThePast(t *testing.T) {
	t.Parallel()
	daily := redrive.Cron{Name: "a", Expression: "0 0 * * *", Make: scenes}
	with := func(change func(*redrive.Cron)) redrive.Cron {
		entry := daily
		change(&entry)
		return entry
	}
	for _, tt := range []struct {
		name   string
		change redrive.Cron
		want   string // the slot that is fired at 26:30, 90 minutes after the old expression's missed slot; empty if no slot is fired
		next   string // the slot that is fired a day later
	}{
		{"not changed", daily, "00:00", "00:00"},
		{"written in another way", with(func(c *redrive.Cron) { c.Expression = " @daily" }), "00:00", "00:00"},
		{"another expression", with(func(c *redrive.Cron) { c.Expression = "0 1 * * *" }), "", "01:00"},
		{"another time zone", with(func(c *redrive.Cron) { c.Location = time.FixedZone("west", -3600) }), "", "01:00"},
	} {
		for _, how := range []string{"SetCron", "restart"} {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var had []string
					st := memory.New(memory.Options{})
					client := func(entry redrive.Cron) *redrive.Client {
						c, err := redrive.New(st, &redrive.Config{TempDir: t.TempDir(), Logger: quiet, Cron: []redrive.Cron{entry}})
						if err != nil {
							t.Fatal(err)
						}
						redrive.Handle(c, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
							had = append(had, time.Unix(j.Args.Scene, 0).UTC().Format("15:04"))
							return nil
						}, nil)
						return c
					}
					fired := func(c *redrive.Client) string {
						t.Helper()
						had = nil
						if err := c.RunUntilIdle(t.Context()); err != nil {
							t.Fatal(err)
						}
						return strings.Join(had, " ")
					}
					c := client(daily)
					elapse(24 * time.Hour)
					if got := fired(c); got != "00:00" {
						t.Fatalf("the slots fired by the first expression: got %q, want 00:00", got)
					}
					elapse(25*time.Hour + 30*time.Minute)
					if how == "restart" {
						c = client(tt.change)
					} else if err := c.SetCron(tt.change); err != nil {
						t.Fatal(err)
					}
					if got := fired(c); got != tt.want {
						t.Errorf("the slots fired at once after the change: got %q, want %q", got, tt.want)
					}
					elapse(24 * time.Hour)
					if got := fired(c); got != tt.next {
						t.Errorf("the slots fired a day after the change: got %q, want %q", got, tt.next)
					}
				})
			})
		}
	}
}

// anticipated is a store on which another process fires each slot first.
type anticipated struct {
	store.Store
	other job.ID // the job of the other process
}

func (o *anticipated) Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (store.Fired, error) {
	id, err := o.ReserveIDs(ctx, 1)
	if err != nil {
		return store.Fired{}, err
	}
	other := slices.Clone(jobs)
	other[0].ID, o.other = id, id
	if _, err := o.Store.Fire(ctx, name, expression, slot, other); err != nil {
		return store.Fired{}, err
	}
	return o.Store.Fire(ctx, name, expression, slot, jobs)
}

// Another process has fired the slot. That is a normal event: the middlewares get no error, but a
// receipt that names the job of the other process.
//
// part of: Q13
func TestQ13_AMiddlewareGetsNoErrorForASlotOfAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []receipts
		var log lockedBuffer
		watch := instead(func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
			r, err := next(ctx, s)
			if err != nil {
				t.Errorf("the middleware got the error %v of a slot that another process has fired, want no error", err)
			}
			got = append(got, r)
			return r, err
		})
		st := &anticipated{Store: memory.New(memory.Options{})}
		c, err := redrive.New(st, &redrive.Config{
			TempDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Cron:                  []redrive.Cron{{Name: "hours", Expression: "@hourly", Make: scenes}},
			EnqueueMiddleware:     []redrive.EnqueueMiddleware{watch},
			KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{string(render): {watch}},
		})
		if err != nil {
			t.Fatal(err)
		}
		redrive.Handle(c, render, succeed, nil)
		elapse(time.Hour)
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := receipts{{ID: st.other, Existing: true}}
		if diff := cmp.Diff([]receipts{want, want}, got); diff != "" {
			t.Errorf("the two middlewares got wrong receipts (-want +got):\n%s", diff)
		}
		if strings.Contains(log.String(), "maintenance call failed") {
			t.Errorf("a slot that another process has fired was logged as a failure, want no such line; the log is:\n%s", log.String())
		}
	})
}
