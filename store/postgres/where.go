package postgres

import (
	"fmt"
	"net"
	"net/url"
	"slices"
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
func (s *Store) Where() string { return address(s.config.ConnConfig) }

// address is a configuration as a URL, with all its hosts.
func address(c *pgx.ConnConfig) string {
	u := url.URL{Scheme: "postgres", User: url.User(c.User), Path: "/" + c.Database}
	all := hosts(c)
	if !slices.ContainsFunc(all, host.local) {
		u.Host = strings.Join(textsOf(all, host.String), ",")
		return u.String()
	}
	u.RawQuery = url.Values{"host": {strings.Join(textsOf(all, func(h host) string { return h.name }), ",")},
		"port": {strings.Join(textsOf(all, host.portText), ",")}}.Encode()
	return u.String()
}

// place names the same in the words of a message.
func place(c *pgx.ConnConfig) string {
	return fmt.Sprintf("PostgreSQL at %s, database %q, user %q", strings.Join(textsOf(hosts(c), host.String), " or "), c.Database, c.User)
}

// host is where a server may be.
type host struct {
	name string // or the folder of its unix socket
	port uint16
}

// hosts are those of a configuration, in the order in which they are tried.
func hosts(c *pgx.ConnConfig) []host {
	all := []host{{c.Host, c.Port}}
	for _, f := range c.Fallbacks { // the same without TLS is among them
		if h := (host{f.Host, f.Port}); !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

func (h host) local() bool      { return strings.HasPrefix(h.name, "/") }
func (h host) portText() string { return strconv.Itoa(int(h.port)) }

func (h host) String() string {
	if h.local() {
		return h.name
	}
	return net.JoinHostPort(h.name, h.portText())
}

func textsOf(all []host, text func(host) string) []string {
	out := make([]string, len(all))
	for i, h := range all {
		out[i] = text(h)
	}
	return out
}
