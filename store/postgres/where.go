package postgres

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Where returns the server, the user and the database that a DSN names, with
// what libpq's environment variables add, as a URL without a password, for people.
// It connects to nothing. The error is that of Open.
func Where(dsn string) (string, error) {
	config, err := parse(dsn)
	if err != nil {
		return "", err
	}
	return address(config.ConnConfig), nil
}

// Where returns the server, the user and the database as a URL without a
// password.
func (s *Store) Where() string { return address(s.config) }

func address(c *pgx.ConnConfig) string {
	u := url.URL{Scheme: "postgres", User: url.User(c.User), Path: "/" + c.Database}
	port := strconv.Itoa(int(c.Port))
	if strings.HasPrefix(c.Host, "/") { // the folder of a unix socket
		u.RawQuery = url.Values{"host": {c.Host}, "port": {port}}.Encode()
	} else {
		u.Host = net.JoinHostPort(c.Host, port)
	}
	return u.String()
}
