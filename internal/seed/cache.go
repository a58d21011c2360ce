package seed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store/postgres"
	sqlitestore "github.com/redrive/redrive/store/sqlite"
)

// Cache keeps seeded databases, so that each is made once. The names of the databases
// contain a hash of the shape and the schema, so a change of either makes a new one.
type Cache struct {
	Dir   string // folder of the files; it is made when it does not exist
	Shape Shape
	Log   io.Writer // messages about slow steps are written here
	Now   func() time.Time
}

// progress returns a function that reports each filled table with the time that it took.
func (c *Cache) progress() func(table string) {
	last := c.Now()
	return func(table string) {
		now := c.Now()
		fmt.Fprintf(c.Log, "  %-22s %6.1f s\n", table, now.Sub(last).Seconds())
		last = now
	}
}

// File returns the path of the seeded SQLite file. If the file does not exist, File makes it.
func (c *Cache) File(ctx context.Context) (path string, err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(c.Dir, "new-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	schema, err := schemaOfFile(ctx, filepath.Join(scratch, "empty.db"))
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.Dir, c.Shape.Name(schema)+".db")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	fmt.Fprintf(c.Log, "making %s with %d jobs\n", path, c.Shape.Jobs())
	made := filepath.Join(scratch, "seed.db")
	if err := SQLite(ctx, made, c.Shape, c.Now(), c.progress()); err != nil {
		return "", err
	}
	return path, os.Rename(made, path) // Close has moved everything from the write-ahead log into the file
}

// schemaOfFile makes an empty database and returns the digest of its schema as text.
func schemaOfFile(ctx context.Context, path string) (schema string, err error) {
	empty, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return "", err
	}
	if err := empty.Close(); err != nil {
		return "", err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	texts, err := (&file{conn: conn}).texts(`SELECT value FROM redrive_meta WHERE key = '` + sqlstore.DigestKey + `'`)
	return strings.Join(texts, ""), err
}

// Schema returns the name of the seeded schema in the database of the DSN. If the schema does not
// exist, Schema restores it from the dump in the folder of the cache. If the dump does not exist
// either, it makes the schema and, if pg_dump is installed, the dump.
func (c *Cache) Schema(ctx context.Context, dsn string) (schema string, err error) {
	text, err := schemaOfServer(ctx, dsn)
	if err != nil {
		return "", err
	}
	name := c.Shape.Name(text)
	schema = strings.ReplaceAll(name, "-", "_")
	found, err := hasSchema(ctx, dsn, schema)
	if err != nil || found {
		return schema, err
	}
	dump := filepath.Join(c.Dir, name+".dump")
	if _, err := os.Stat(dump); err == nil {
		fmt.Fprintf(c.Log, "restoring %s\n", dump)
		// A dump has no statistics. Without them, and before a vacuum, the server reads more slowly.
		err := run(ctx, "pg_restore", "--no-owner", "--single-transaction", "--dbname", dsn, dump)
		if err == nil {
			err = execute(ctx, dsn, `VACUUM (ANALYZE)`)
		}
		return schema, err
	}
	// The schema gets its name at the end, so that one that is not complete is not found.
	partial := "new_" + strings.ToLower(rand.Text()[:8])
	fmt.Fprintf(c.Log, "making the schema %s with %d jobs\n", schema, c.Shape.Jobs())
	if err := PostgreSQL(ctx, dsn, partial, c.Shape, c.Now(), c.progress()); err != nil {
		return "", errors.Join(err, execute(context.WithoutCancel(ctx), dsn, `DROP SCHEMA IF EXISTS `+partial+` CASCADE`))
	}
	if err := execute(ctx, dsn, `ALTER SCHEMA `+partial+` RENAME TO `+schema); err != nil {
		return "", err
	}
	if _, err := exec.LookPath("pg_dump"); err != nil {
		fmt.Fprintln(c.Log, "pg_dump is not installed, so the schema is not kept in the cache")
		return schema, nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", err
	}
	fmt.Fprintf(c.Log, "making %s\n", dump)
	if err := run(ctx, "pg_dump", "--format=custom", "--compress=1", "--no-owner", "--schema", schema, "--file", dump+".new", dsn); err != nil {
		return "", err
	}
	return schema, os.Rename(dump+".new", dump)
}

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

func hasSchema(ctx context.Context, dsn, schema string) (found bool, err error) {
	err = connected(ctx, dsn, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, schema).Scan(&found)
	})
	return found, err
}

func execute(ctx context.Context, dsn, text string) error {
	return connected(ctx, dsn, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

func connected(ctx context.Context, dsn string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(context.WithoutCancel(ctx)))
}

// schemaOfServer makes an empty schema, returns its digest as text, and drops the schema.
func schemaOfServer(ctx context.Context, dsn string) (text string, err error) {
	name := "empty_" + strings.ToLower(rand.Text()[:8])
	defer func() {
		err = errors.Join(err, execute(context.WithoutCancel(ctx), dsn, `SET client_min_messages = warning; DROP SCHEMA IF EXISTS `+name+` CASCADE`))
	}()
	empty, err := postgres.Open(ctx, dsn, &postgres.Options{Schema: name})
	if err != nil {
		return "", err
	}
	if err := empty.Close(); err != nil {
		return "", err
	}
	err = connected(ctx, dsn, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT value::text FROM `+name+`.redrive_meta WHERE key = $1`, sqlstore.DigestKey).Scan(&text)
	})
	return text, err
}
