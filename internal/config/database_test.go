package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/store/postgres"
)

func TestDatabaseIsAFileOrADSN(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		dsn  bool
		bad  string
	}{
		{text: "jobs.db"},
		{text: "/srv/postgres/jobs.db"},
		{text: "postgres/jobs.db"},
		{text: "hosts=1.db"},
		{text: "./host=1"},
		{text: "postgres://ann:secret@db.example.com:5433/app?sslmode=require", dsn: true},
		{text: "postgresql:///app?host=/run/postgresql", dsn: true},
		{text: "host=/run/postgresql dbname=app", dsn: true},
		{text: "  dbname = app", dsn: true},
		{text: "service=jobs", dsn: true},
		{text: "postgress://ann:secret@db/app", bad: `the scheme postgress:// is not known, did you mean "postgres"?`},
		{text: "mysql://ann:secret@db/app", bad: "the scheme mysql:// is not known; give the path of a file, or postgres://"},
		{text: "postgres:/ann:secret@db/app", bad: "it looks like a URL, but it is not a valid one"},
		{text: "postgres//ann:secret@db/app", bad: "it looks like a URL, but it is not a valid one"},
		{text: "postgres:ann:secret@db/app", bad: "it looks like a URL, but it is not a valid one"},
		{text: "postgres://ann:se%cret@db/app", bad: "it is not a valid URL; write special characters of a user or password as %XX"},
	} {
		c := config.Default()
		err := c.SetDatabase(tt.text)
		switch {
		case tt.bad != "":
			if err == nil || !strings.Contains(err.Error(), tt.bad) || strings.Contains(err.Error(), "cret") {
				t.Errorf("database %s: got the error %v, want an error with %q and without the password", tt.text, err, tt.bad)
			}
		case err != nil || config.IsDSN(tt.text) != tt.dsn:
			t.Errorf("database %s: got IsDSN %v and the error %v, want IsDSN %v and no error", tt.text, config.IsDSN(tt.text), err, tt.dsn)
		case tt.dsn && (c.Database != "" || c.Postgres.DSN.Reveal() != tt.text):
			t.Errorf("database %s: got file %q and DSN %q, want only the DSN", tt.text, c.Database, c.Postgres.DSN.Reveal())
		case !tt.dsn && (c.Database != tt.text || !c.Postgres.DSN.IsZero()):
			t.Errorf("database %s: got file %q and DSN %q, want only the file", tt.text, c.Database, c.Postgres.DSN.Reveal())
		}
	}
}

func TestPasswordsAreNeverShown(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "database: postgres://ann:hunter2@db/app")
	if got := c.Postgres.DSN.Reveal(); got != "postgres://ann:hunter2@db/app" {
		t.Fatalf("got the DSN %q, want the DSN that includes its password", got)
	}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+" ", c)
		fmt.Fprintf(&out, verb+" ", *c)
		fmt.Fprintf(&out, verb+" ", c.Postgres.DSN)
		fmt.Fprintf(&out, verb+" ", struct{ hidden config.Secret }{c.Postgres.DSN})
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	log := slog.New(slog.NewTextHandler(&out, nil))
	log.Info("config", "dsn", c.Postgres.DSN, "all", c)
	log = slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("config", "dsn", c.Postgres.DSN, "all", c)
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), fmt.Sprintf("%x", "hunter2")) {
		t.Errorf("the output contains the password: %s", out.String())
	}
	if !strings.Contains(out.String(), config.Redacted) {
		t.Errorf("the output does not replace the DSN by a placeholder: %s", out.String())
	}
}

func TestMistakesAboutTheDatabaseAreReportedWithoutIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"database: postgress://ann:hunter2@db/app":                                     `1:11: database: the scheme postgress:// is not known, did you mean "postgres"?`,
		"database: postgres://ann:hunter2 2@db/app":                                    "1:11: database: it is not a valid URL; write special characters",
		"postgres: {shema: jobs}":                                                      `1:12: unknown key "shema", did you mean "schema"?`,
		"postgres: {schema: Jobs}":                                                     "1:20: postgres.schema must be 1 to 48 lower-case letters",
		"postgres: {password_file: pw}":                                                `1:27: postgres.password_file needs a PostgreSQL database, but "database" does not name one`,
		"database: postgres://db/app\npostgres: {password_env: hunter-2}":              "2:26: postgres.password_env must be the name of an environment variable, not the password itself",
		"database: postgres://db/app\npostgres: {password_env: PW, password_file: pw}": "2:45: postgres.password_file and postgres.password_env are both given; keep one",
		"database: postgres://a:hunter2@db/app\npostgres: {password_env: PW}":          "2:26: postgres.password_env: \"database\" already has a password; remove one of the two",
		"database: host=db password=hunter2\npostgres: {password_file: pw}":            "2:27: postgres.password_file: \"database\" already has a password",
		"database: postgres://db/app?password=hunter2\npostgres: {password_file: pw}":  "2:27: postgres.password_file: \"database\" already has a password",
	} {
		problems := problemsOf(t, text)
		if len(problems) != 1 || !strings.Contains(problems[0].String(), want) || strings.Contains(problems[0].String(), "hunter") {
			t.Errorf("the file\n%s\ngives the problems %v, want one problem %s without the password", text, problems, want)
		}
	}
}

func TestPasswordsComeFromElsewhere(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "postgres: {password_file: secrets/pw}\ndatabase: postgres://db/app")
	if c.Postgres.PasswordFile != "/srv/app/secrets/pw" || c.Postgres.PasswordEnv != "" {
		t.Errorf("got the settings %+v, want the absolute path of the password file", c.Postgres)
	}
	c = mustParse(t, "database: postgres://db/app\npostgres: {password_env: DB_PASSWORD}")
	if c.Postgres.PasswordEnv != "DB_PASSWORD" {
		t.Errorf("got the settings %+v, want password_env DB_PASSWORD", c.Postgres)
	}
	// The password settings belong to the database in the file, so SetDatabase must remove
	// them.
	if err := c.SetDatabase("postgres://elsewhere/app"); err != nil || c.Postgres.PasswordEnv != "" {
		t.Errorf("SetDatabase: got the error %v and the settings %+v, want no error and no password_env", err, c.Postgres)
	}
}

// The default schema in a file and the default schema of the store are the same.
func TestDefaultsAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	if got := config.Default().Postgres.Schema; got != postgres.DefaultSchema {
		t.Errorf("got the default schema %q, want %q as in the store", got, postgres.DefaultSchema)
	}
}
