//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/sqlite"
)

// BenchmarkNoOp empties a queue of jobs that do nothing. b.N is the number of jobs.
func BenchmarkNoOp(b *testing.B) {
	for _, workers := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("memory/workers=%d", workers), func(b *testing.B) {
			drain(b, memory.New(memory.Options{}), workers)
		})
		b.Run(fmt.Sprintf("sqlite/workers=%d", workers), func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "jobs.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			drain(b, s, workers)
		})
	}
}

func drain(b *testing.B, inner store.Store, workers int) {
	s := faultstore.New(inner, nil) // The fault store is used because it counts the calls of the store.
	for left := b.N; left > 0; {
		n := min(left, job.EnqueueMax)
		left -= n
		first, err := s.ReserveIDs(b.Context(), n)
		if err != nil {
			b.Fatal(err)
		}
		jobs := make([]job.New, n)
		for i := range jobs {
			jobs[i] = job.New{ID: first + job.ID(i), Kind: "k", Queue: "q", Priority: 2, Payload: []byte(`{"n":1}`)}
		}
		if _, err := s.Enqueue(b.Context(), jobs); err != nil {
			b.Fatal(err)
		}
	}
	var runs atomic.Int64
	done := make(chan struct{})
	e, err := engine.New(engine.Config{
		Store: s, Holder: "bench", Decide: decide, Logger: slog.New(slog.DiscardHandler),
		Queues: []engine.Queue{{Name: "q", Workers: workers}},
		Kinds: []engine.Kind{{Name: "k", Timeout: time.Minute, Handler: func(context.Context, *engine.Run) error {
			if runs.Add(1) == int64(b.N) {
				close(done)
			}
			return nil
		}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	u0 := usage(b)
	go func() { ended <- e.Run(ctx) }()
	<-done
	if err := e.Idle(ctx); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64((usage(b)-u0).Microseconds())/float64(b.N), "cpu-us/job")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(b.N)/float64(s.Calls("Exchange")), "jobs/exchange")
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// usage returns the processor time that this process has used so far.
func usage(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
