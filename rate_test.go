package redrive_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// The engine keeps the rate of a queue, by a clock that the test drives: from 1/s to 5,000/s, no second has more than one
// start above the rate, and at least 0.95 of the rate is sustained.
//
// proves: Q7
func TestQ7_TheEngineKeepsARate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rate, jobs int }{{1, 6}, {20, 100}, {500, 1500}, {5000, 10000}} {
		t.Run(fmt.Sprintf("%d per second", tt.rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{TempDir: t.TempDir(), Logger: quiet,
					Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 1000, Rate: store.Rate{N: tt.rate, Per: time.Second}}}})
				if err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				var starts []time.Time
				kind := redrive.Kind[int]("paced")
				redrive.Handle(c, kind, func(context.Context, *redrive.Job[int]) error {
					mu.Lock()
					defer mu.Unlock()
					starts = append(starts, time.Now())
					return nil
				}, nil)
				specs := make([]redrive.Spec, 0, 1000)
				for i := range tt.jobs {
					specs = append(specs, kind.New(i, nil))
					if len(specs) == cap(specs) || i == tt.jobs-1 {
						if _, err := c.EnqueueMany(t.Context(), specs); err != nil {
							t.Fatal(err)
						}
						specs = specs[:0]
					}
				}
				if err := c.RunUntilEmpty(t.Context()); err != nil {
					t.Fatal(err)
				}
				if len(starts) != tt.jobs {
					t.Fatalf("got %d starts, want %d", len(starts), tt.jobs)
				}
				for from, i := 0, 0; i < len(starts); i++ {
					for starts[i].Sub(starts[from]) >= time.Second {
						from++
					}
					if n := i - from + 1; n > tt.rate+1 {
						t.Fatalf("%d starts in the second before %s, want at most %d", n, starts[i], tt.rate+1)
					}
				}
				most := time.Duration(float64(tt.jobs) / (0.95 * float64(tt.rate)) * float64(time.Second))
				if took := starts[len(starts)-1].Sub(starts[0]); took > most {
					t.Errorf("%d starts took %s, want at most %s", tt.jobs, took, most)
				}
			})
		})
	}
}
