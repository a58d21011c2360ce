package conn

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/store"
)

const (
	// CallLimit bounds a call whose context has no end of its own: a server that
	// is gone without a word is not waited for for ever.
	CallLimit = 2 * time.Minute
	// interruptEvery is how often the server is asked to end a statement of a caller's
	// transaction: between two of them a request meets nothing.
	interruptEvery = 100 * time.Millisecond
	// joinGrace is how long the server may take to end a statement and what was done
	// before it. Then the connection is given up.
	joinGrace = 2 * time.Second
)

// Limited returns two contexts for a call in a caller's transaction. The first ends
// with the caller's, or after callLimit: then what the call waits for is
// interrupted. The second, under which the statements run, ends joinGrace later, and
// the connection with it, and the transaction.
func Limited(ctx context.Context) (soft, hard context.Context, cancel func()) {
	hard, cancelHard := context.WithCancel(context.WithoutCancel(ctx))
	soft, cancelSoft := context.WithTimeoutCause(ctx, CallLimit,
		fmt.Errorf("no answer from the server for %s: %w", CallLimit, store.ErrUnavailable))
	stop := context.AfterFunc(soft, func() { time.AfterFunc(joinGrace, cancelHard) })
	return soft, hard, func() {
		stop()
		cancelSoft()
		cancelHard()
	}
}

// Interruptible runs do, a part of a caller's transaction. When the context ends,
// the server is asked to cancel the statement of that time, until do returns: an
// error of the server leaves the transaction with all that was before the savepoint.
// Nothing is being asked for any more when interruptible returns, so no later
// statement is met.
func Interruptible(ctx context.Context, interrupt func(), do func() error) error {
	done, last := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(last)
		ticker := time.NewTicker(interruptEvery)
		defer ticker.Stop()
		for {
			interrupt()
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	})
	err := do()
	close(done)
	if !stop() {
		<-last
	}
	return err
}
