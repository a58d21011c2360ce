package store

import (
	"context"

	"github.com/redrive/redrive/job"
)

type inTx struct{ store any }

// MarkTx marks a context as belonging to an open transaction of the caller on a store.
// A store whose transactions exclude every other writer refuses plain writes with such
// a context. Such a write would wait for the caller's transaction, which waits for the
// write.
func MarkTx(ctx context.Context, s any) context.Context {
	return context.WithValue(ctx, inTx{s}, true)
}

// InTx reports whether the context was marked by MarkTx for the store.
func InTx(ctx context.Context, s any) bool { return ctx.Value(inTx{s}) != nil }

// TxReserver is a Transactor whose ReserveIDs would wait for the caller's transaction.
// So ReserveIDsTx reserves ids inside that transaction. They are reserved if and only
// if the caller commits, so they must not be used outside of the transaction.
type TxReserver interface {
	ReserveIDsTx(ctx context.Context, tx Tx, n int) (job.ID, error)
}
