package store

import (
	"context"

	"github.com/redrive/redrive/job"
)

type inTx struct{ store any }

// MarkTx marks a context as belonging to an open transaction of the caller on a
// store. A store whose transactions exclude every other writer refuses plain
// writes with such a context: they would wait for a transaction that waits for
// them.
func MarkTx(ctx context.Context, s any) context.Context {
	return context.WithValue(ctx, inTx{s}, true)
}

// InTx reports whether the context was marked by MarkTx for the store.
func InTx(ctx context.Context, s any) bool { return ctx.Value(inTx{s}) != nil }

// TxReserver is a Transactor whose ReserveIDs would wait for the caller's own
// transaction. It can reserve ids inside that transaction instead. They are
// reserved if and only if the caller commits, so they must not be used elsewhere.
type TxReserver interface {
	ReserveIDsTx(ctx context.Context, tx Tx, n int) (job.ID, error)
}
