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

// stopOnSignals returns a context and two functions. The context ends when the first
// function is called or when the first SIGINT or SIGTERM arrives. The second signal ends
// the grace time of running jobs. The third signal ends the process. After a call of the
// second function, the first signal ends the process.
func (w *worker) stopOnSignals(ctx context.Context, client *redrive.Client) (_ context.Context, stop, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	w.stopping = ctx.Done()
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

// obey calls one of the given functions for each signal, in their order. Each function runs
// in a goroutine, so that a function that blocks does not delay the next one.
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
