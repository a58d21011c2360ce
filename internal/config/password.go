package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// passwordMax is the largest size of a password file, in bytes.
const passwordMax = 4 << 10

// WithPassword returns the DSN with the password from PasswordEnv or PasswordFile.
func (p *Postgres) WithPassword(getenv func(string) string) (string, error) {
	password, dsn := "", p.DSN.Reveal()
	switch {
	case p.PasswordEnv != "":
		if password = getenv(p.PasswordEnv); password == "" {
			return "", fmt.Errorf("postgres.password_env: $%s is not set", p.PasswordEnv)
		}
	case p.PasswordFile != "":
		f, err := os.Open(p.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("postgres.password_file: %w", err)
		}
		text, err := io.ReadAll(io.LimitReader(f, passwordMax+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("postgres.password_file: %w", err)
		}
		password = strings.TrimRight(string(text), "\r\n")
		if password == "" || len(text) > passwordMax || strings.ContainsAny(password, "\r\n\x00") {
			return "", fmt.Errorf("postgres.password_file: %s: the file must contain only the password, in one line of 1 to %d bytes",
				p.PasswordFile, passwordMax)
		}
	default:
		return dsn, nil
	}
	if !strings.Contains(dsn, "://") {
		return dsn + " password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'", nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("database: it is not a valid URL")
	}
	q := u.Query()
	q.Set("password", password)
	u.RawQuery = q.Encode()
	return u.String(), nil
}
