// Package pgretry is about calls of PostgreSQL with pgx that retry.Do retries.
//
// There is nothing to switch off and nothing to register. pgx sends no statement
// again, so that an attempt of retry.Do is one; and failure.Of reads its errors as they are:
// the SQLSTATE of a *pgconn.PgError, the cause of a *pgconn.ConnectError, and of
// others what pgconn.SafeToRetry says, that nothing has reached the server.
//
//	err := retry.DoErr(ctx, strategy, func(ctx context.Context) error {
//		return pgx.BeginFunc(ctx, pool, transfer) // the whole transaction
//	})
//
// What is retried is a transaction, not a statement of it: after 40001
// (serialization_failure) and 40P01 (deadlock_detected) the server has rolled all of
// it back. A connection that breaks off during COMMIT leaves open whether it was
// done; for such transactions retry.Options.NotIdempotent sends again only what has
// not reached the server.
package pgretry
