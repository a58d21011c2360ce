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

// TxReader is a Transactor that can read inside the caller's transaction. It sees what
// the transaction has written and not yet committed.
type TxReader interface {
	// GetTx is Reader.Get inside the caller's transaction.
	GetTx(ctx context.Context, tx Tx, id job.ID) (job.Job, error)
	// ListTx is Reader.List inside the caller's transaction.
	ListTx(ctx context.Context, tx Tx, f Filter) (Page, error)
}

// TxReserver is a Transactor whose ReserveIDs would wait for the caller's transaction.
// So ReserveIDsTx reserves ids inside that transaction. They are reserved if and only
// if the caller commits, so they must not be used outside of the transaction.
type TxReserver interface {
	ReserveIDsTx(ctx context.Context, tx Tx, n int) (job.ID, error)
}
