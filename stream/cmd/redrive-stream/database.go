package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

// openStore opens the database of the settings. It makes tables that are missing, and does not
// change an existing schema.
func openStore(ctx context.Context, c *config.Config, log *slog.Logger) (store.Store, error) {
	if c.Postgres.DSN.IsZero() {
		return sqlite.Open(ctx, c.Database, &sqlite.Options{KeepSchema: true}) //nolint:wrapcheck // it names the file
	}
	dsn, err := c.Postgres.WithPassword(os.Getenv)
	if err != nil {
		return nil, err
	}
	if _, err := postgres.Where(dsn); err != nil {
		return nil, usageError{fmt.Errorf("database: %w", err)}
	}
	return postgres.Open(ctx, dsn, &postgres.Options{ //nolint:wrapcheck // it names the database
		Schema: c.Postgres.Schema, MaxConns: c.Postgres.MaxConns, StatementTimeout: c.Postgres.StatementTimeout,
		PgBouncer: c.Postgres.PgBouncer, KeepSchema: true, Logger: log,
	})
}
