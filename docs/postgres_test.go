package docs_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/store/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// statements returns the SQL statements in the section of postgres.md with this title.
func statements(t *testing.T, title string) []string {
	t.Helper()
	_, after, ok := strings.Cut(read(t, "postgres.md"), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("postgres.md has no section %q", title)
	}
	section, _, _ := strings.Cut(after, "\n## ")
	var all []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(section, -1) {
		all = append(all, m[1])
	}
	return all
}

func openPostgres(t *testing.T, dsn string, o *postgres.Options) *postgres.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// fill leaves three jobs in the store: one waits, one is running, and one is dead. The
// running job calls the given function.
func fill(t *testing.T, st *postgres.Store, look func()) {
	t.Helper()
	client, err := redrive.New(st, &redrive.Config{TempDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	kind := redrive.Kind[string]("page")
	redrive.Handle(client, kind, func(_ context.Context, j *redrive.Job[string]) error {
		if j.Args == "look" {
			look()
		}
		return failure.Permanent(errors.New("no such page"))
	}, nil)
	for _, spec := range []redrive.Spec{kind.New("x", nil), redrive.NewRaw("stranger", nil, nil)} {
		if _, err := client.Enqueue(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Enqueue(t.Context(), kind.New("look", nil)); err != nil {
		t.Fatal(err)
	}
	if err := client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPostgres_TheStatementsOfThePageRun(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	conn := pgtest.Connect(t, dsn)
	all := statements(t, "Look with psql")
	if len(all) < 8 {
		t.Fatalf("postgres.md has %d statements for reading the tables, want at least 8", len(all))
	}
	looked := false
	fill(t, openPostgres(t, dsn, nil), func() {
		looked = true
		for _, s := range all {
			rows, err := conn.Query(t.Context(), s)
			if err != nil {
				t.Errorf("run the statement %s of postgres.md: got error %v, want none", s, err)
				continue
			}
			n := 0
			for rows.Next() {
				n++
			}
			if rows.Close(); rows.Err() != nil || n == 0 {
				t.Errorf("the statement %s returned %d rows with error %v, want at least one row", s, n, rows.Err())
			}
		}
	})
	if !looked {
		t.Error("the job that runs the statements did not start")
	}
}

// The page describes two database roles: one migrates the schema, the other runs jobs. Each
// has only the rights that it needs.
func TestPostgres_TheRolesOfThePageAreEnough(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	admin := pgtest.Connect(t, dsn)
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		t.Skip("the DSN of the test server is not a URL")
	}
	// The names of the roles are unique, because roles belong to the whole server, which
	// other tests use too.
	suffix := strings.TrimPrefix(u.Path, "/")
	suffix = suffix[:min(len(suffix), 20)]
	owner, user := "owner_"+suffix, "user_"+suffix
	named := strings.NewReplacer("redrive_owner LOGIN", owner+" LOGIN PASSWORD 'x'", "redrive_user LOGIN", user+" LOGIN PASSWORD 'x'",
		"redrive_owner", owner, "redrive_user", user)
	roles := statements(t, "Roles")
	if len(roles) != 3 {
		t.Fatalf("postgres.md has %d groups of statements about roles, want 3", len(roles))
	}
	run := func(conn *pgx.Conn, text string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), named.Replace(text), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("run the statements %s of postgres.md: got error %v, want none", text, err)
		}
	}
	as := func(role string) string {
		v := *u
		v.User = url.UserPassword(role, "x")
		return v.String()
	}
	t.Cleanup(func() {
		ctx := context.Background()
		for _, role := range []string{user, owner} {
			for _, s := range []string{"DROP OWNED BY " + role + " CASCADE", "DROP ROLE " + role} {
				if _, err := admin.Exec(ctx, s); err != nil {
					t.Errorf("run the statement %s: got error %v, want none", s, err)
				}
			}
		}
	})
	run(admin, roles[0])
	first, err := pgx.Connect(t.Context(), as(owner))
	if err != nil {
		t.Fatal(err)
	}
	run(first, roles[1])
	if _, err := postgres.Migrate(t.Context(), as(owner), "", 1); err != nil {
		t.Fatal(err)
	}
	run(first, roles[2]) // these statements were executed before, so they change nothing now
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st, err := postgres.Open(t.Context(), as(user), &postgres.Options{KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	fill(t, st, func() { ran = true })
	if !ran {
		t.Error("no job ran with the rights of the role that runs jobs, want one run")
	}
	for _, s := range []string{"CREATE TABLE redrive.mine (n int)", "DROP TABLE redrive.redrive_jobs", "CREATE SCHEMA other"} {
		conn, err := pgx.Connect(t.Context(), as(user))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), s); err == nil {
			t.Errorf("the role that runs jobs was allowed to execute %q, want an error", s)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
