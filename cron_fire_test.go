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

	"github.com/redrive/redrive"
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
