package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
)

// Postgres configures a PostgreSQL database. It has no effect if the DSN is empty.
type Postgres struct {
	// DSN is the value of the setting database if that is not the path of a file. It is a URL
	// or keywords, in the form of libpq. It may contain a password.
	DSN Secret
	// Schema is the schema of redrive's tables. Default "redrive".
	Schema string
	// PasswordEnv and PasswordFile name the environment variable or the file that holds
	// the password; at most one of them may be set. A relative path starts from the folder
	// of the configuration. Default "": the password is in the DSN or at a place where
	// libpq searches.
	PasswordEnv, PasswordFile string
	// MaxConns limits the connections of one process to the server. Default 20.
	MaxConns int
	// StatementTimeout limits the time of one statement. Default 10s.
	StatementTimeout time.Duration
	// PgBouncer says that the connection goes through a pooler in transaction mode.
	// Most poolers are detected without it. Default false.
	PgBouncer bool
}

func defaultPostgres() Postgres {
	return Postgres{Schema: "redrive", MaxConns: 20, StatementTimeout: 10 * time.Second}
}

// Secret is a text that may contain a password. If it is printed, logged or marshalled, the
// output shows Redacted; only Reveal returns the text. The zero Secret is empty.
type Secret struct{ text *string } // the text is behind a pointer, because fmt prints an unexported field without calling its methods

// Redacted replaces a secret in every output.
const Redacted = "[redacted]"

// NewSecret returns a Secret that holds a text; "" gives the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text, or "" for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether two secrets have the same text.
func (s Secret) Equal(o Secret) bool { return s.Reveal() == o.Reveal() }

// String implements fmt.Stringer. It returns "" for the zero Secret and otherwise
// Redacted.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return Redacted
}

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) } // the error is ignored, because f stores the error of a failed write

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

var (
	schemes = []string{"postgres", "postgresql"}
	scheme  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://`)
	// keywords matches a DSN of keywords by its first keyword. A file whose name matches must
	// be written with its folder, as in ./host=1.
	keywords = regexp.MustCompile(`^\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|connect_timeout|` +
		`application_name|target_session_attrs)\s*=`)
	keywordPassword = regexp.MustCompile(`(?:^|\s)password\s*=`)
	// schemaName matches the schema names that the store accepts.
	schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)
	// nearlyDSN matches a URL with a missing colon or slash. If such a URL were used as a path,
	// messages would show its password.
	nearlyDSN = regexp.MustCompile(`^postgres(?:ql)?(?::/?[^/]|//?).*@`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// IsDSN reports whether a text is a DSN of PostgreSQL and not the path of a file.
func IsDSN(database string) bool {
	m := scheme.FindStringSubmatch(database)
	return m != nil && slices.Contains(schemes, m[1]) || m == nil && keywords.MatchString(database)
}

// SetDatabase sets where the jobs are stored: the path of a file, or a DSN. It removes the
// password settings, because they belong to the former database. The error contains no part of
// the text.
func (c *Config) SetDatabase(database string) error {
	m := scheme.FindStringSubmatch(database)
	if m != nil && !slices.Contains(schemes, m[1]) {
		hint := suggest.DidYouMean(m[1], schemes)
		if hint == "" {
			hint = "; give the path of a file, or postgres://user@host:5432/database"
		}
		return fmt.Errorf("the scheme %s:// is not known%s", m[1], hint)
	}
	if m == nil && nearlyDSN.MatchString(database) {
		return errors.New("it looks like a URL, but it is not a valid one; write postgres://user@host:5432/database, or ./ before the path of a file")
	}
	c.Postgres.PasswordEnv, c.Postgres.PasswordFile = "", ""
	c.Database, c.Postgres.DSN = database, Secret{}
	if !IsDSN(database) {
		return nil
	}
	if _, err := url.Parse(database); m != nil && err != nil {
		return errors.New("it is not a valid URL; write special characters of a user or password as %XX, such as %40 for @")
	}
	c.Database, c.Postgres.DSN = "", NewSecret(database)
	return nil
}

// CheckSchema returns an error for a text that cannot be the name of a schema.
func CheckSchema(name string) error {
	if !schemaName.MatchString(name) || strings.HasPrefix(name, "pg_") {
		return fmt.Errorf("must be 1 to 48 lower-case letters, digits and underscores, and must not begin with a digit or with pg_, found %s",
			yamlfile.Quote(name))
	}
	return nil
}

// hasPassword reports whether a DSN contains a password.
func hasPassword(dsn string) bool {
	if !scheme.MatchString(dsn) {
		return keywordPassword.MatchString(dsn)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return false
	}
	_, there := u.User.Password()
	return there || u.Query().Has("password")
}

// database reads where the jobs are stored.
func (r *reader) database(c *Config) func(value) {
	return func(v value) {
		name := c.Database
		r.NonEmpty(&name)(v)
		if err := c.SetDatabase(name); err != nil {
			r.Addf(v.Pos, "database: %v", err)
		}
	}
}

// postgres reads the settings that only PostgreSQL needs.
func (r *reader) postgres(v value, c *Config) {
	p := &c.Postgres
	r.Fields(v, "a mapping such as {schema: redrive}", []field{
		{"schema", r.schema(&p.Schema)},
		{"password_env", r.passwordEnv(p)},
		{"password_file", r.passwordFile(p)},
		{"max_conns", r.Integer(&p.MaxConns, maxConnsMin, maxConnsMax, "")},
		{"statement_timeout", r.Duration(&p.StatementTimeout, statementTimeoutMin, statementTimeoutMax)},
		{"pgbouncer", r.Boolean(&p.PgBouncer)},
	})
}

func (r *reader) schema(into *string) func(value) {
	return func(v value) {
		name := ""
		if r.NonEmpty(&name)(v); name == "" {
			return // the mistake in this setting is already reported
		}
		if err := CheckSchema(name); err != nil {
			r.Addf(v.Pos, "%s %v", v.Path, err)
			return
		}
		*into = name
	}
}

func (r *reader) passwordEnv(p *Postgres) func(value) {
	return func(v value) {
		r.NonEmpty(&p.PasswordEnv)(v)
		if p.PasswordEnv != "" && !variable.MatchString(p.PasswordEnv) {
			r.Addf(v.Pos, "%s must be the name of an environment variable, not the password itself", v.Path)
			return
		}
		r.onePassword(v, p)
	}
}

func (r *reader) passwordFile(p *Postgres) func(value) {
	return func(v value) {
		env := p.PasswordEnv
		r.NonEmpty(&p.PasswordFile)(v)
		if p.PasswordFile != "" && env != "" {
			r.Addf(v.Pos, "postgres.password_file and postgres.password_env are both given; keep one")
			return
		}
		r.onePassword(v, p)
	}
}

// onePassword reports a problem if a password setting has no effect or if there are two
// passwords.
func (r *reader) onePassword(v value, p *Postgres) {
	switch {
	case v.Shape == yamlfile.Null:
	case p.DSN.IsZero():
		r.Addf(v.Pos, "%s needs a PostgreSQL database, but \"database\" does not name one; write \"database: postgres://user@host:5432/database\"", v.Path)
	case hasPassword(p.DSN.Reveal()):
		r.Addf(v.Pos, "%s: \"database\" already has a password; remove one of the two", v.Path)
	}
}
