package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	sqlitedriver "modernc.org/sqlite"
	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed migrations/00001_init.sql
var firstMigration string

// schemaVersion is the newest schema version that this program knows.
const schemaVersion = 1

func embedded() (fs.FS, error) { return fs.Sub(migrations, "migrations") }

func provider(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	// NewProvider returns an error if two migrations have the same number.
	return goose.NewProvider(database.DialectSQLite3, db, sqlstore.Migrations{FS: files},
		goose.WithTableName(sqlstore.VersionTable), goose.WithDisableGlobalRegistry(true))
}

// migrateUp migrates the database to the newest schema. If several processes try this at once,
// the turnstile lets them migrate one after the other.
func migrateUp(ctx context.Context, path string, keep bool) (err error) {
	schema, err := ReadSchema(ctx, path)
	if err != nil {
		return err
	}
	if err := sqlstore.MayUse(schema, keep); err != nil || schema.Version >= schema.Known {
		return err
	}
	_, err = Migrate(ctx, path, schemaVersion)
	return err
}

// ReadSchema reads the schema version of a database. It changes the database in one case only: if
// the power failed or a process died while the file was created, SQLite rolls back the interrupted
// change.
func ReadSchema(ctx context.Context, path string) (schema store.Schema, err error) {
	if path, err = resolve(path); err != nil {
		return store.Schema{Known: schemaVersion}, err
	}
	schema, err = readSchema(ctx, path)
	if code, ok := resultCode(err); ok && code == sqlite.ResultReadOnlyRollback {
		if err := rollBackJournal(ctx, path); err != nil {
			return schema, err
		}
		schema, err = readSchema(ctx, path)
	}
	return schema, err
}

// rollBackJournal makes SQLite roll back the change that a rollback journal describes. A file has
// such a journal only until it is in WAL mode. SQLite rolls the change back at the first read of a
// connection that may write.
func rollBackJournal(ctx context.Context, path string) (err error) {
	db, err := openSQL(path, url.Values{"mode": {"rw"}, "_pragma": {busyPragma, "synchronous(full)"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return notADatabase(err)
	}
	return nil
}

func readSchema(ctx context.Context, path string) (schema store.Schema, err error) {
	schema.Known = schemaVersion
	if info, serr := os.Stat(path); errors.Is(serr, fs.ErrNotExist) || serr == nil && info.Size() == 0 {
		return schema, nil
	}
	db, err := openDBReadOnly(path)
	if err != nil {
		return schema, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables, versions int
	err = db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = '`+sqlstore.VersionTable+`')
		FROM sqlite_schema WHERE type = 'table'`).Scan(&tables, &versions)
	if err != nil {
		return schema, notADatabase(err)
	}
	if versions == 0 {
		schema.Foreign = tables > 0
		return schema, nil
	}
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM `+sqlstore.VersionTable+` WHERE is_applied`).Scan(&schema.Version)
	if err != nil {
		return schema, asStoreError(err)
	}
	if schema.Version == 0 {
		return schema, nil
	}
	var digest int64
	err = db.QueryRowContext(ctx, `SELECT coalesce((SELECT value FROM redrive_meta WHERE key = ?), ?),
		coalesce((SELECT value FROM redrive_meta WHERE key = ?), 0)`,
		sqlstore.CompatKey, schema.Version, sqlstore.DigestKey).Scan(&schema.Compatible, &digest)
	if err != nil {
		return schema, asStoreError(err)
	}
	schema.Differs = digest != sqlstore.Digest(firstMigration)
	return schema, nil
}

// Migrate moves the schema up or down to a version. It returns the versions of the migrations
// that it has run. A migration down to 0 removes all tables of redrive and no other tables.
func Migrate(ctx context.Context, path string, to int64) (passed []int64, err error) {
	if to < 0 || to > schemaVersion {
		return nil, fmt.Errorf("schema version %d is unknown: this program knows the versions 0 to %d", to, schemaVersion)
	}
	if path, err = resolve(path); err != nil {
		return nil, err
	}
	files, err := embedded()
	if err != nil {
		return nil, err
	}
	return migrateWith(ctx, path, files, to)
}

func migrateWith(ctx context.Context, path string, files fs.FS, to int64) (passed []int64, err error) {
	if err := createPrivate(path); err != nil {
		return nil, asStoreError(err)
	}
	turn, err := openTurnstile(path)
	if err != nil {
		return nil, asStoreError(err)
	}
	defer func() { err = errors.Join(err, turn.close()) }()
	if err := turn.enter(turnWait, ctx.Done()); err != nil {
		return nil, err
	}
	defer turn.leave()
	db, err := openDB(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := provider(db, files)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	now, err := p.GetDBVersion(ctx)
	if err != nil {
		return nil, asStoreError(err)
	}
	survived := crashpoint.Span(crashpoint.InMigration)
	var results []*goose.MigrationResult
	if to >= now {
		results, err = p.UpTo(ctx, to)
	} else {
		results, err = p.DownTo(ctx, to)
	}
	survived()
	crashpoint.Hit(crashpoint.AfterMigration)
	for _, r := range results {
		passed = append(passed, r.Source.Version)
	}
	if err != nil {
		return passed, fmt.Errorf("migrate from schema %d to %d: %w", now, to, asStoreError(statementError(err)))
	}
	return passed, nil
}

// statementError returns the error of the statement that failed in a migration, without what goose adds: on a full disk
// SQLite itself rolls the transaction back, and goose reports that there is nothing left to roll back.
func statementError(err error) error {
	if driver, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return driver
	}
	return err
}

func notADatabase(err error) error {
	if code, ok := resultCode(err); ok && code.ToPrimary() == sqlite.ResultNotADB {
		return fmt.Errorf("the file is not an SQLite database: choose another path: %w", err)
	}
	if code, ok := resultCode(err); ok && code.ToPrimary() == sqlite.ResultCorrupt {
		return fmt.Errorf("the file is damaged: stop all workers and restore a backup: %w", err)
	}
	return asStoreError(err)
}
