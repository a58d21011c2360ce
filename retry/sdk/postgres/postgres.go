// Package pgretry documents how retry.Do retries PostgreSQL transactions with pgx.
//
// There is nothing to switch off and nothing to register. pgx does not send statements
// again, so each attempt of retry.Do sends once. failure.Of reads the errors of pgx
// directly: the SQLSTATE of a *pgconn.PgError, the cause of a *pgconn.ConnectError, and
// for other errors pgconn.SafeToRetry: whether nothing has reached the server.
//
//	err := retry.DoErr(ctx, strategy, func(ctx context.Context) error {
//		return pgx.BeginFunc(ctx, pool, transfer) // the whole transaction
//	})
//
// Retry a whole transaction, not one of its statements: after 40001
// (serialization_failure) and 40P01 (deadlock_detected) the server has rolled back all of
// it. If the connection breaks during COMMIT, it is unknown whether the transaction was
// committed. With retry.Options.NotIdempotent such a transaction is retried only when
// nothing has reached the server.
package pgretry
