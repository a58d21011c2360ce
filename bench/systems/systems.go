// Package systems contains the job systems that agents can set up.
package systems

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	_ "modernc.org/sqlite" // this import registers the pure Go driver "sqlite"

	"github.com/redrive/redrive/bench/agent"
)

// Programs returns the systems that the importing program can run.
func Programs() map[string]agent.Program {
	return map[string]agent.Program{
		"redrive-sqlite":   redriveSQLite(),
		"redrive-postgres": redrivePostgres(),
		"floor-sqlite":     floorSQLite(),
		"floor-postgres":   floorPostgres(),
		"river-sqlite":     riverSQLite(),
		"backlite":         backliteProgram(),
		"asynq":            asynqProgram(),
	}
}

// openSQLite opens a database file below dir with the parameters of the driver's
// data source name.
func openSQLite(dir, name, parameters string) (*sql.DB, error) {
	return sql.Open("sqlite", filepath.Join(dir, name)+"?"+parameters)
}

// queryer is an *sql.DB or an *sql.Tx.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// pragmas returns the two pragmas that decide what survives a power cut, as a connection reports
// them.
func pragmas(ctx context.Context, db queryer) (string, error) {
	var journal string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return "", fmt.Errorf("read journal_mode: %w", err)
	}
	var level int
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level); err != nil {
		return "", fmt.Errorf("read synchronous: %w", err)
	}
	names := [...]string{"off", "normal", "full", "extra"}
	if level < 0 || level >= len(names) {
		return "", fmt.Errorf("PRAGMA synchronous has the unknown value %d", level)
	}
	return fmt.Sprintf("journal_mode=%s synchronous=%s", journal, names[level]), nil
}

// scan reads one row of numbers.
func scan(ctx context.Context, db *sql.DB, query string, into ...any) error {
	if err := db.QueryRowContext(ctx, query).Scan(into...); err != nil {
		return fmt.Errorf("count rows: %w", err)
	}
	return nil
}

// known looks up ids in the result of a query with two columns: id, and whether the job is
// finished.
func known(ctx context.Context, db *sql.DB, query string, ids []string) (states []byte, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	byID := make(map[string]byte)
	for rows.Next() {
		var id string
		var finished bool
		if err := rows.Scan(&id, &finished); err != nil {
			return nil, err
		}
		byID[id] = agent.StateOf(finished)
	}
	return agent.LookUp(byID, ids), rows.Err()
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
