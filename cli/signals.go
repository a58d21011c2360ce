package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
)

// stopOnSignals returns a context that ends with stop or with the first SIGINT or SIGTERM.
// The second signal ends the grace time of running jobs, the third ends the process.
// After release, signals end the process again.
func (w *worker) stopOnSignals(ctx context.Context, client *redrive.Client) (_ context.Context, stop, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	go obey(signals, over,
		func(s os.Signal) {
			w.log.Info("stopping: running jobs may finish, a second signal ends them", "signal", s.String(), "grace", w.ShutdownGrace)
			cancel()
		},
		func(s os.Signal) {
			w.log.Info("stopping at once, a third signal ends the worker itself", "signal", s.String())
			client.Halt()
		},
		func(os.Signal) { os.Exit(wire.Stopping.ExitCode()) },
	)
	return ctx, cancel, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(over)
		cancel()
	})
}

// obey calls the first act at the first signal, the second at the second, and so on. Each
// act runs in a goroutine, so that one that hangs, such as a blocked log, does not delay
// the next.
func obey(signals <-chan os.Signal, over <-chan struct{}, acts ...func(os.Signal)) {
	for _, act := range acts {
		select {
		case s := <-signals:
			go act(s)
		case <-over:
			return
		}
	}
}
