package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed migrations/00001_init.sql
var firstMigration string

const (
	versionTable = sqlstore.VersionTable
	compatKey    = sqlstore.CompatKey
	// schemaVersion is the newest schema that this program knows.
	schemaVersion = 1
)

// embedded returns the migrations for a schema.
func embedded(schema string) (fs.FS, error) {
	files, err := fs.Sub(migrations, "migrations")
	return placed(schema, files), err
}

// placed lets each migration begin with making a schema the one in which its
// transaction makes tables.
func placed(schema string, files fs.FS) fs.FS {
	return sqlstore.Migrations{FS: files, Begin: "SET LOCAL search_path = " + pg.Quote(schema) + ";\n"}
}

// migrateUp brings the schema up to date.
func migrateUp(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, schema string, keep bool) error {
	now, err := askSchema(ctx, conn, schema)
	if err != nil {
		return err
	}
	if err := sqlstore.MayUse(now, keep); err != nil || now.Version >= now.Known {
		return err
	}
	files, err := embedded(schema)
	if err != nil {
		return err
	}
	_, err = migrateWith(ctx, conn, config, schema, files, schemaVersion)
	return err
}

// ReadSchema reads the version of the schema of a database without changing it.
// The name of the schema is the default one when it is empty.
func ReadSchema(ctx context.Context, dsn, schema string) (store.Schema, error) {
	conn, _, schema, err := dialFor(ctx, dsn, schema)
	if err != nil {
		return store.Schema{Known: schemaVersion}, err
	}
	defer func() { _ = conn.Close(ctx) }() // it was only asked, or has answered
	return askSchema(ctx, conn, schema)
}

// Migrate moves the schema up or down to a version and returns the versions
// that it passed. Down to 0 removes every table of redrive's and no other; the
// schema itself and the note of the version stay.
func Migrate(ctx context.Context, dsn, schema string, to int64) (passed []int64, err error) {
	if to < 0 || to > schemaVersion {
		return nil, fmt.Errorf("schema %d: this program knows 0 to %d", to, schemaVersion)
	}
	conn, config, schema, err := dialFor(ctx, dsn, schema)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }() // it was only asked, or has answered
	err = asked(ctx, conn, 0, func() error { _, err := examine(ctx, conn); return err })
	if err != nil {
		return nil, err
	}
	files, err := embedded(schema)
	if err != nil {
		return nil, err
	}
	return migrateWith(ctx, conn, config, schema, files, to)
}

// dialFor opens one connection for what needs no store.
func dialFor(ctx context.Context, dsn, schema string) (*pgx.Conn, *pgx.ConnConfig, string, error) {
	o := &Options{Schema: schema}
	options, err := o.withDefaults()
	if err != nil {
		return nil, nil, "", err
	}
	config, err := configure(dsn, &options)
	if err != nil {
		return nil, nil, "", err
	}
	conn, err := dial(ctx, config.ConnConfig)
	return conn, config.ConnConfig, options.Schema, err
}

// askSchema is readSchema in a transaction of its own.
func askSchema(ctx context.Context, conn *pgx.Conn, schema string) (out store.Schema, err error) {
	err = asked(ctx, conn, 0, func() error {
		out, err = readSchema(ctx, conn, schema)
		return err
	})
	return out, err
}

func readSchema(ctx context.Context, conn *pgx.Conn, schema string) (out store.Schema, err error) {
	out.Known = schemaVersion
	versions := pg.Quote(schema) + "." + versionTable
	there, err := ask(ctx, conn, `SELECT (to_regclass($1) IS NOT NULL)::int`, versions)
	if err != nil || there == 0 {
		return out, err
	}
	out.Version, err = ask(ctx, conn, `SELECT coalesce(max(version_id), 0) FROM `+versions+` WHERE is_applied`)
	if err != nil {
		return out, err
	}
	if out.Compatible = out.Version; out.Version == 0 {
		return out, nil
	}
	meta := `SELECT coalesce((SELECT value FROM ` + pg.Quote(schema) + `.redrive_meta WHERE key = $1), $2::bigint)`
	if out.Compatible, err = ask(ctx, conn, meta, compatKey, fmt.Sprint(out.Version)); err != nil {
		return out, err
	}
	digest, err := ask(ctx, conn, meta, sqlstore.DigestKey, "0")
	out.Differs = err == nil && digest != sqlstore.Digest(firstMigration)
	return out, err
}

// ask returns the number that a query answers. Its arguments are texts.
func ask(ctx context.Context, conn *pgx.Conn, query string, args ...string) (int64, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	var r pg.Result
	if err := r.Read(conn.PgConn().ExecParams(ctx, query, values, nil, nil, pg.BinaryColumns)); err != nil {
		return 0, pg.AsStoreError(pg.Fail("ask", err))
	}
	if r.Len() == 0 {
		return 0, nil
	}
	n := r.Row(0).Int(0)
	return n, r.Err
}

// migrateWith migrates while it holds a lock that others wait for. The lock is of
// a transaction, which stays open on conn: unlike one of a session it is given
// back on the same connection behind a pooler, too.
func migrateWith(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, schema string, files fs.FS, to int64) (passed []int64, err error) {
	simple := func(text string) error {
		_, err := conn.PgConn().Exec(ctx, text).ReadAll()
		if err != nil {
			err = pg.AsStoreError(pg.Fail("migrate", err))
		}
		return err
	}
	if err := simple(fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED; %sSELECT pg_advisory_xact_lock(%d)`,
		setLocal(patient), lockKey(schema, "migrate"))); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, simple(`ROLLBACK`)) }()
	plain := config.Copy()
	plain.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing prepared, for poolers
	db := stdlib.OpenDB(*plain, stdlib.OptionAfterConnect(unhurried))
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := makeSchema(ctx, db, schema, config.User); err != nil {
		return nil, err
	}
	p, err := goose.NewProvider(goose.DialectCustom, db, files, goose.WithStore(versions{pg.Quote(schema) + "." + versionTable}),
		goose.WithDisableGlobalRegistry(true)) // it refuses two migrations of one number
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	now, err := p.GetDBVersion(ctx)
	if err != nil {
		return nil, migrateError(schema, config.User, err)
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
		return passed, fmt.Errorf("migrate from schema %d to %d: %w", now, to, migrateError(schema, config.User, err))
	}
	return passed, nil
}

// patient are the settings of migrations, which take as long as they need, and of the
// transaction that waits for them.
var patient = append(own(0), [2]string{"idle_in_transaction_session_timeout", "0"})

// unhurried has migrations on a connection to the server run as if nothing were set
// for the role. One of a pooler, which is everybody's, stays as it is.
func unhurried(ctx context.Context, conn *pgx.Conn) error {
	at, err := ask(ctx, conn, `SELECT pg_catalog.pg_backend_pid()::bigint`)
	if err != nil || uint32(at) != conn.PgConn().PID() {
		return err
	}
	return conn.PgConn().Exec(ctx, setAll(patient)+"SET default_transaction_read_only = off").Close()
}

// makeSchema makes the schema if it does not exist. It asks first: a role that may not
// make one may use it all the same.
func makeSchema(ctx context.Context, db *sql.DB, schema, role string) error {
	var there bool
	if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&there); err != nil {
		return pg.AsStoreError(err)
	}
	if there {
		return nil
	}
	_, err := db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+pg.Quote(schema))
	return migrateError(schema, role, err)
}

// migrateError is asStoreError with the cure for missing rights to make tables, for the role of the connection.
func migrateError(schema, role string, err error) error {
	if pg.SQLState(err) != pg.StateRights {
		return pg.AsStoreError(err)
	}
	return fmt.Errorf("the user may not make redrive's tables: have the owner of the database run "+
		"CREATE SCHEMA %[1]s AUTHORIZATION %[2]s, or `redrive migrate` as a user who may, "+
		"and the GRANT statements of docs/postgres.md: %[3]w", pg.Quote(schema), pg.Quote(role), err)
}

// versions is where goose notes what has run. Its own way to PostgreSQL cannot
// name a schema in quotes.
type versions struct{ table string }

var _ database.StoreExtender = versions{}

func (v versions) Tablename() string { return v.table }

func (v versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE `+v.table+` (
		id         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
		version_id bigint NOT NULL,
		is_applied boolean NOT NULL,
		tstamp     timestamptz NOT NULL DEFAULT now())`)
	return err
}

func (v versions) TableExists(ctx context.Context, db database.DBTxConn) (there bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, v.table).Scan(&there)
	return there, err
}

func (v versions) Insert(ctx context.Context, db database.DBTxConn, r database.InsertRequest) error {
	_, err := db.ExecContext(ctx, `INSERT INTO `+v.table+` (version_id, is_applied) VALUES ($1, true)`, r.Version)
	return err
}

func (v versions) Delete(ctx context.Context, db database.DBTxConn, version int64) error {
	_, err := db.ExecContext(ctx, `DELETE FROM `+v.table+` WHERE version_id = $1`, version)
	return err
}

func (v versions) GetMigration(ctx context.Context, db database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	var r database.GetMigrationResult
	err := db.QueryRowContext(ctx, `SELECT tstamp, is_applied FROM `+v.table+` WHERE version_id = $1 ORDER BY id DESC LIMIT 1`, version).
		Scan(&r.Timestamp, &r.IsApplied)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %d", database.ErrVersionNotFound, version)
	}
	return &r, err
}

func (v versions) GetLatestVersion(ctx context.Context, db database.DBTxConn) (int64, error) {
	var latest sql.NullInt64
	err := db.QueryRowContext(ctx, `SELECT max(version_id) FROM `+v.table).Scan(&latest)
	if err == nil && !latest.Valid {
		err = database.ErrVersionNotFound
	}
	return latest.Int64, err
}

func (v versions) ListMigrations(ctx context.Context, db database.DBTxConn) (list []*database.ListMigrationsResult, err error) {
	rows, err := db.QueryContext(ctx, `SELECT version_id, is_applied FROM `+v.table+` ORDER BY id DESC`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r database.ListMigrationsResult
		if err := rows.Scan(&r.Version, &r.IsApplied); err != nil {
			return nil, err
		}
		list = append(list, &r)
	}
	return list, rows.Err()
}
