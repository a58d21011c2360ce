package redrive

import (
	"context"
	"fmt"
	"testing"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/memory"
)

// BenchmarkMiddleware measures a run without middleware and with three middlewares that do nothing.
func BenchmarkMiddleware(b *testing.B) {
	empty := func(next HandlerFunc) HandlerFunc {
		return func(ctx context.Context, run *Info) error { return next(ctx, run) }
	}
	for _, n := range []int{0, 3} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			config := &Config{}
			for range n {
				config.Middleware = append(config.Middleware, empty)
			}
			c, err := New(memory.New(memory.Options{}), config)
			if err != nil {
				b.Fatal(err)
			}
			const kind = Kind[struct{ Scene int }]("render")
			Handle(c, kind, func(context.Context, *Job[struct{ Scene int }]) error { return nil }, nil)
			run, err := c.wrapped(c.handlers["render"])
			if err != nil {
				b.Fatal(err)
			}
			r := &engine.Run{Claim: job.Claim{ID: 1, Kind: "render", Payload: []byte(`{"Scene":7}`)}}
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if err := run(ctx, r, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
