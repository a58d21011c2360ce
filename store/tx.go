package store

import (
	"context"

	"github.com/redrive/redrive/job"
)

type inTx struct{ store any }

// MarkTx marks a context as belonging to a transaction of the caller's own on a
// store. Stores whose transactions exclude every other writer refuse plain
// writes under it: they would wait for a transaction that waits for them.
func MarkTx(ctx context.Context, s any) context.Context {
	return context.WithValue(ctx, inTx{s}, true)
}

// InTx reports whether the context was marked by MarkTx for the store.
func InTx(ctx context.Context, s any) bool { return ctx.Value(inTx{s}) != nil }

// TxReserver is a Transactor whose ReserveIDs would have to wait for the
// caller's own transaction. It can reserve ids inside of it instead: they are
// taken if and only if the caller commits, so they must not be used elsewhere.
type TxReserver interface {
	ReserveIDsTx(ctx context.Context, tx Tx, n int) (job.ID, error)
}
