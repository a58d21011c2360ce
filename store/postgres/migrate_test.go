package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: Q10
func TestQ10_SchemaUpAndDown(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	conn := connected(t, dsn)
	if s, err := ReadSchema(t.Context(), dsn, schema); err != nil || s != (store.Schema{Known: schemaVersion}) {
		t.Fatalf("%+v, %v", s, err)
	}
	if n := numberOf(t, conn, `SELECT count(*) FROM pg_namespace WHERE nspname = '`+schema+`'`); n != 0 {
		t.Error("looking has made a schema")
	}
	run(t, conn, `CREATE SCHEMA `+schema, `CREATE TABLE `+schema+`.orders (id int)`, `CREATE TABLE `+schema+`.redrive_mine (id int)`)
	for range 2 {
		passed, err := Migrate(t.Context(), dsn, schema, schemaVersion)
		if err != nil || len(passed) != schemaVersion {
			t.Fatalf("up: %v, %v", passed, err)
		}
		if passed, err := Migrate(t.Context(), dsn, schema, schemaVersion); err != nil || len(passed) != 0 {
			t.Fatalf("up again: %v, %v", passed, err)
		}
		if s, err := ReadSchema(t.Context(), dsn, schema); err != nil || s.Version != schemaVersion || s.Compatible != schemaVersion {
			t.Fatalf("%+v, %v", s, err)
		}
		if passed, err = Migrate(t.Context(), dsn, schema, 0); err != nil || len(passed) != schemaVersion {
			t.Fatalf("down: %v, %v", passed, err)
		}
		var left []string
		rows, err := conn.Query(t.Context(), `SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace ORDER BY 1`, schema)
		if err == nil {
			left, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if want := []string{"orders", "redrive_migrations", "redrive_mine"}; err != nil || !slices.Equal(left, want) {
			t.Errorf("left %v, want %v, %v", left, want, err)
		}
	}
	if _, err := Migrate(t.Context(), dsn, schema, schemaVersion+1); err == nil {
		t.Error("a version that nobody knows")
	}
	// The search path of others is as it was.
	if n := numberOf(t, conn, `SELECT count(*) FROM pg_class WHERE relname LIKE 'redrive\_%' AND relnamespace = 'public'::regnamespace`); n != 0 {
		t.Errorf("%d tables in public", n)
	}
}

// proves: Q10
func TestQ10_NewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	o := &Options{Schema: s.Schema()}
	conn := connected(t, dsn)
	run(t, conn, `INSERT INTO `+s.Schema()+`.redrive_migrations (version_id, is_applied) VALUES (7, true)`)
	err := refused(t, dsn, o)
	if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "schema 7") || !strings.Contains(err.Error(), "newer redrive") {
		t.Errorf("error %v", err)
	}
	// A migration that says so lets older programs go on: a rolling upgrade.
	run(t, conn, `INSERT INTO `+s.Schema()+`.redrive_meta VALUES ('compatible_from', 1)`)
	opened(t, dsn, o)
}

// A schema that another build made before the first release is refused.
//
// proves: Q10
func TestQ10_TablesOfAnotherBuildAreRefused(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	conn := connected(t, dsn)
	for _, change := range []string{`UPDATE ` + s.Schema() + `.redrive_meta SET value = value + 1`, `DELETE FROM ` + s.Schema() + `.redrive_meta`} {
		run(t, conn, change+` WHERE key = 'digest'`)
		for _, keep := range []bool{false, true} {
			err := refused(t, dsn, &Options{Schema: s.Schema(), KeepSchema: keep})
			if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "another build") {
				t.Errorf("error %v", err)
			}
		}
		d, err := Diagnose(t.Context(), dsn, s.Schema(), time.Now)
		if err != nil || !slices.ContainsFunc(d.Problems, func(p string) bool { return strings.Contains(p, "another build") }) {
			t.Errorf("doctor: %+v, %v", d, err)
		}
	}
}

// proves: Q10
func TestQ10_KeepSchema(t *testing.T) {
	t.Parallel()
	older := store.Schema{Version: schemaVersion, Known: schemaVersion + 1}
	if err := sqlstore.MayUse(older, true); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "redrive migrate") {
		t.Errorf("an older schema that is kept: %v", err)
	}
	if err := sqlstore.MayUse(older, false); err != nil {
		t.Errorf("an older schema that is migrated: %v", err)
	}
}

// Many processes start at once on an empty database, also through PgBouncer; and
// then the next version comes while they all look.
//
// proves: Q10
func TestQ10_MigratorsAtOnce(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		t.Run(fmt.Sprintf("pooled=%t", pooled), func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgtest.Schema(t)
			if pooled {
				dsn = pgtest.Bouncer(t, dsn)
			}
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					s, err := Open(t.Context(), dsn, &Options{Schema: schema, MaxConns: MaxConnsMin})
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			files, err := embedded(schema)
			if err != nil {
				t.Fatal(err)
			}
			text, err := fs.ReadFile(files, "00001_init.sql")
			if err != nil {
				t.Fatal(err)
			}
			next := placed(schema, fstest.MapFS{
				"00001_init.sql": {Data: text},
				"00002_next.sql": {Data: []byte("-- +goose Up\nCREATE TABLE redrive_next (id int);\n-- +goose Down\nDROP TABLE redrive_next;\n")},
			})
			ran := make(chan int, 6)
			for range 6 {
				all.Go(func() {
					conn, config, name, err := dialFor(t.Context(), dsn, schema)
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
					passed, err := migrateWith(t.Context(), conn, config, name, next, 2)
					if err != nil {
						t.Error(err)
					}
					ran <- len(passed)
				})
			}
			all.Wait()
			close(ran)
			sum := 0
			for n := range ran {
				sum += n
			}
			if sum != 1 {
				t.Errorf("the migration ran %d times", sum)
			}
		})
	}
}

// A migration that fails leaves the schema as it was.
//
// part of: Q10
func TestQ10_FailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	conn, config, name, err := dialFor(t.Context(), dsn, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	bad := fstest.MapFS{"00001_bad.sql": {Data: []byte("-- +goose Up\nCREATE TABLE " + pg.Quote(schema) +
		".redrive_a (id int);\nSELECT 1 / 0;\n-- +goose Down\n")}}
	if _, err := migrateWith(t.Context(), conn, config, name, bad, 1); pg.SQLState(err) != "22012" {
		t.Errorf("%v", err)
	}
	if n := numberOf(t, connected(t, dsn), `SELECT count(*) FROM pg_class WHERE relname = 'redrive_a' AND relnamespace = '`+schema+`'::regnamespace`); n != 0 {
		t.Error("a part of it is there")
	}
	opened(t, dsn, &Options{Schema: schema})
}

// A later migration of a database with jobs changes no row that was there, up and down.
//
// proves: Q10
func TestQ10_MigrationKeepsEveryRow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dsn, schema := pgtest.Schema(t)
	s := opened(t, dsn, &Options{Schema: schema})
	ids, err := s.ReserveIDs(ctx, 50)
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]job.New, 50)
	for i := range jobs {
		jobs[i] = job.New{ID: ids + job.ID(i), Kind: "k", Queue: "q", Owner: "ann", Priority: 2, Payload: make([]byte, i*100)}
	}
	if _, err := s.Enqueue(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	before, err := s.Dump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := migrations.ReadFile("migrations/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	later := strings.ReplaceAll(`-- +goose Up
ALTER TABLE SCHEMA.redrive_jobs ADD COLUMN later bigint;
INSERT INTO SCHEMA.redrive_meta VALUES ('compatible_from', 1);
-- +goose Down
ALTER TABLE SCHEMA.redrive_jobs DROP COLUMN later;
DELETE FROM SCHEMA.redrive_meta WHERE key = 'compatible_from';
`, "SCHEMA", pg.Quote(schema))
	files := fstest.MapFS{"00001_init.sql": {Data: first}, "00002_later.sql": {Data: []byte(later)}}
	conn, config, name, err := dialFor(ctx, dsn, schema)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, to := range []int64{2, 1} {
		if _, err := migrateWith(ctx, conn, config, name, files, to); err != nil {
			t.Fatalf("migrate to schema %d: got error %v, want none", to, err)
		}
		s := opened(t, dsn, &Options{Schema: schema})
		after, err := s.Dump(ctx)
		if err != nil {
			t.Fatal(err)
		}
		after.Now = before.Now
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("migration to schema %d has changed rows, want unchanged rows (-want +got):\n%s", to, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
