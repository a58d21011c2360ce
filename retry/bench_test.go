package retry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

func mustNew(tb testing.TB, name string, o retry.Options) *retry.Strategy {
	tb.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p, err := retry.New(name, o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

var sink int

func BenchmarkBare(b *testing.B) {
	ctx := b.Context()
	op := func(context.Context) (int, error) { return 1, nil }
	call := func(ctx context.Context, op func(context.Context) (int, error)) (int, error) { return op(ctx) }
	b.ReportAllocs()
	for b.Loop() {
		v, _ := call(ctx, op)
		sink += v
	}
}

func BenchmarkSuccess(b *testing.B) {
	op := func(context.Context) (int, error) { return 1, nil }
	limited, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	job, _ := retry.WithJob(context.Background(), retry.JobInfo{ID: "1"})
	p := mustNew(b, "op", retry.Options{})
	for name, c := range map[string]struct {
		ctx context.Context
		p   *retry.Strategy
	}{
		"plain": {context.Background(), p}, "deadline": {limited, p}, "job": {job, p},
		"attempt-limit": {context.Background(), mustNew(b, "op", retry.Options{AttemptTimeout: time.Minute})},
		"keyed":         {context.Background(), mustNew(b, "op", retry.Options{Keyed: true})},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, _ := retry.Do(c.ctx, c.p, op)
				sink += v
			}
		})
	}
}

func BenchmarkThreeImmediateRetries(b *testing.B) {
	err := errors.New("503 service unavailable")
	p := mustNew(b, "op", retry.Options{Immediate: true})
	ctx := context.Background()
	n := 0
	op := func(context.Context) (int, error) {
		if n++; n%4 != 0 {
			return 0, err
		}
		return 1, nil
	}
	for name, p := range map[string]*retry.Strategy{"classified": p, "by option": mustNew(b, "op", retry.Options{
		Immediate: true, Judge: func(context.Context, error) retry.Judgement {
			return retry.Judgement{Class: failure.TemporaryServiceError, Verdict: failure.VerdictRetry}
		}})} {
		b.Run(name, func(b *testing.B) {
			n = 0
			b.ReportAllocs()
			for b.Loop() {
				v, err := retry.Do(ctx, p, op)
				if err != nil {
					b.Fatal(err)
				}
				sink += v
			}
		})
	}
}
