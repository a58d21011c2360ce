package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"

	_ "modernc.org/sqlite" // the pure Go driver "sqlite"
)

// preloadBatch is how many jobs go into one transaction where nothing is timed.
const preloadBatch = 1000

// Parameters of the data source name that more than one peer is given.
const (
	walFull    = "_journal_mode=WAL&_synchronous=FULL"
	largeCache = "_pragma=cache_size(-65536)&_pragma=temp_store(memory)" // 64 MiB
)

// openSQLite opens a new database file in dir. The parameters are those of the
// driver's data source name and hold for every connection of the pool.
func openSQLite(dir, parameters string) (*sql.DB, error) {
	return sql.Open("sqlite", filepath.Join(dir, "jobs.db")+"?"+parameters)
}

// queryer is an *sql.DB or an *sql.Tx.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readDurability asks a connection of the pool for the two pragmas that decide
// what survives a power cut.
func readDurability(ctx context.Context, db queryer) (string, error) {
	var journal string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return "", fmt.Errorf("read journal_mode: %w", err)
	}
	var level int
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return "", fmt.Errorf("read synchronous: %w", err)
	}
	return fmt.Sprintf("journal_mode=%s synchronous=%s", journal, synchronousName(level)), nil
}

func synchronousName(level int) string {
	names := [...]string{"off", "normal", "full", "extra"}
	if level < 0 || level >= len(names) {
		return fmt.Sprintf("unknown(%d)", level)
	}
	return names[level]
}

// sqliteVersion is the version of the engine that the driver carries.
func sqliteVersion(ctx context.Context) (string, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", err
	}
	defer db.Close()
	var version string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return "", fmt.Errorf("read the version of SQLite: %w", err)
	}
	return version, nil
}

func count(ctx context.Context, db *sql.DB, query string) (int, error) {
	var n int
	if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return 0, fmt.Errorf("count rows: %w", err)
	}
	return n, nil
}
