package pgretry_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/retry"
)

// The server rolls the first transaction back, because another one was faster.
func Example() {
	strategy, err := retry.New("database", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	attempts := 0
	transfer := func(context.Context) error { // a real program runs a whole transaction: pgx.BeginFunc
		if attempts++; attempts == 1 {
			return &pgconn.PgError{Severity: "ERROR", Code: "40001", Message: "could not serialize access"}
		}
		return nil
	}
	err = retry.DoErr(context.Background(), strategy, transfer)
	fmt.Println(err, "after", attempts, "attempts")
	// Output: <nil> after 2 attempts
}
