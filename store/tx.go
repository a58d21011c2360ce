package store

import (
	"context"

	"github.com/redrive/redrive/job"
)

type inTx struct{ store any }

// MarkTx returns a context that is marked as belonging to an open transaction of the caller on the
// store s. A store whose transactions exclude every other writer refuses plain writes with such a
// context. Otherwise the write would wait for the caller's transaction, while that transaction
// waits for the write.
func MarkTx(ctx context.Context, s any) context.Context {
	return context.WithValue(ctx, inTx{s}, true)
}

// InTx reports whether MarkTx has marked the context for this store.
func InTx(ctx context.Context, s any) bool { return ctx.Value(inTx{s}) != nil }

// TxReader is a Transactor that can read inside the caller's transaction. The reads see the
// uncommitted changes of the transaction.
type TxReader interface {
	// GetTx does the same as Reader.Get, but inside the caller's transaction.
	GetTx(ctx context.Context, tx Tx, id job.ID) (job.Job, error)
	// ListTx does the same as Reader.List, but inside the caller's transaction.
	ListTx(ctx context.Context, tx Tx, f Filter) (Page, error)
}

// TxReserver is a Transactor whose ReserveIDs would wait for the end of the caller's transaction.
// ReserveIDsTx reserves ids inside that transaction instead. The ids are reserved if and only if
// the caller commits, so use them only inside the transaction.
type TxReserver interface {
	ReserveIDsTx(ctx context.Context, tx Tx, n int) (job.ID, error)
}
