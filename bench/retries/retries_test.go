package retries

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	avast "github.com/avast/retry-go/v5"
	cenkalti "github.com/cenkalti/backoff/v7"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	sethvargo "github.com/sethvargo/go-retry"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

var (
	sink      int
	errSend   = errors.New("503 service unavailable")
	errMarked = sethvargo.RetryableError(errSend)
)

// operation is a function for the libraries to retry. In every call, its first sends fail.
type operation struct {
	fails, n int
	failed   func() // a function that is called after each failure; may be nil
}

func (o *operation) send() (int, error) {
	if o.n++; o.n <= o.fails {
		if o.failed != nil {
			o.failed()
		}
		return 0, errSend
	}
	o.n = 0
	return 1, nil
}

func (o *operation) sendMarked() (int, error) {
	v, err := o.send()
	if err != nil {
		return v, errMarked
	}
	return v, nil
}

// peer is a library that retries an operation. The last argument is the time before every retry.
type peer struct {
	name string
	make func(b *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error)
}

var peers = []peer{
	{"bare", func(_ *testing.B, _ time.Duration, op *operation) func(context.Context) (int, error) {
		return func(context.Context) (int, error) {
			for {
				if v, err := op.send(); err == nil {
					return v, nil
				}
			}
		}
	}},
	{"redrive", func(b *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error) {
		p := strategy(b, wait, func(context.Context, error) retry.Judgement {
			return retry.Judgement{Class: failure.TemporaryServiceError, Verdict: failure.VerdictRetry}
		})
		send := func(context.Context) (int, error) { return op.send() }
		return func(ctx context.Context) (int, error) { return retry.Do(ctx, p, send) }
	}},
	{"redrive, classified", func(b *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error) {
		p := strategy(b, wait, nil)
		send := func(context.Context) (int, error) { return op.send() }
		return func(ctx context.Context) (int, error) { return retry.Do(ctx, p, send) }
	}},
	{"avast, reused", func(_ *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error) {
		r := avast.NewWithData[int](avast.Attempts(4), avast.Delay(wait), avast.DelayType(avast.FixedDelay), avast.LastErrorOnly(true))
		return func(context.Context) (int, error) { return r.Do(op.send) }
	}},
	{"avast", func(_ *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) { // this library binds the context to the strategy, so each call makes a strategy
			return avast.NewWithData[int](avast.Context(ctx), avast.Attempts(4), avast.Delay(wait), avast.DelayType(avast.FixedDelay), avast.LastErrorOnly(true)).Do(op.send)
		}
	}},
	{"sethvargo", func(_ *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error) {
		send := func(context.Context) (int, error) { return op.sendMarked() }
		return func(ctx context.Context) (int, error) { // a backoff of this library has state, so each call makes a new one
			return sethvargo.DoValue(ctx, sethvargo.WithMaxRetries(3, sethvargo.BackoffFunc(func() (time.Duration, bool) { return wait, false })), send)
		}
	}},
	{"cenkalti", func(_ *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			return cenkalti.Retry(ctx, op.send, cenkalti.WithBackOff(&cenkalti.ConstantBackOff{Interval: wait}), cenkalti.WithMaxTries(4))
		}
	}},
	{"failsafe", func(_ *testing.B, wait time.Duration, op *operation) func(context.Context) (int, error) {
		e := failsafe.With(retrypolicy.NewBuilder[int]().WithMaxRetries(3).WithDelay(wait).Build())
		return func(ctx context.Context) (int, error) { return e.WithContext(ctx).Get(op.send) }
	}},
}

func strategy(b *testing.B, wait time.Duration, decideOn func(context.Context, error) retry.Judgement) *retry.Strategy {
	b.Helper()
	p, err := retry.New("op", retry.Options{
		Backoff: backoff.Backoff{Waits: []time.Duration{wait}}, Immediate: wait == 0, Judge: decideOn,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func BenchmarkSuccess(b *testing.B) { bench(b, 0, time.Second) }

func BenchmarkThreeImmediateRetries(b *testing.B) { bench(b, 3, 0) }

func bench(b *testing.B, fails int, wait time.Duration) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			ctx, op := context.Background(), &operation{fails: fails}
			call := p.make(b, wait, op)
			b.ReportAllocs()
			for b.Loop() {
				v, err := call(ctx)
				if err != nil {
					b.Fatal(err)
				}
				sink += v
			}
		})
	}
}

// BenchmarkWaiters measures the memory of a goroutine that waits for its first retry, with 100,000
// of them.
func BenchmarkWaiters(b *testing.B) {
	const waiters = 100_000
	for _, p := range peers[1:] {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(held(b, p, waiters))/waiters, "B/waiter")
			}
		})
	}
}

func held(b *testing.B, p peer, waiters int) int64 {
	ctx, cancel := context.WithCancel(context.Background())
	var before, after runtime.MemStats
	var ended, sent sync.WaitGroup
	calls := make([]func(context.Context) (int, error), waiters)
	for i := range calls {
		calls[i] = p.make(b, 10*time.Minute, &operation{fails: 1 << 30, failed: sent.Done})
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	idle := blocked()
	sent.Add(waiters)
	for _, call := range calls {
		ended.Go(func() { _, _ = call(ctx) })
	}
	sent.Wait()
	for blocked() < idle+uint64(waiters) { // wait until each failed call waits for its retry
		runtime.Gosched()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	cancel()
	if p.name != "avast, reused" { // the peer "avast, reused" takes no context, so its calls cannot be ended early
		ended.Wait()
	}
	return int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)
}

// blocked returns the number of blocked goroutines.
func blocked() uint64 {
	n := []metrics.Sample{{Name: "/sched/goroutines/waiting:goroutines"}}
	metrics.Read(n)
	return n[0].Value.Uint64()
}
