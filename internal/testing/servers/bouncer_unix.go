//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Bouncer is a private PgBouncer in front of one server.
type Bouncer struct {
	home   *home
	daemon *daemon
	url    url.URL
}

// StartBouncer starts PgBouncer in front of the server at a DSN, which must be a URL with host,
// role and password. The error is [ErrMissing] where PgBouncer is not installed.
func StartBouncer(ctx context.Context, dsn string, o *BouncerOptions) (*Bouncer, error) {
	path, err := find("pgbouncer", "pgbouncer")
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("the server's address for PgBouncer must be a URL: %w", err)
	}
	if target.Hostname() == "" || target.User.Username() == "" {
		return nil, errors.New("the server's address for PgBouncer must have the form postgres://role:password@host:port/database")
	}
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	b := &Bouncer{home: h, url: *target}
	if err := b.start(ctx, path, target, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start a private PgBouncer: %w", err), h.remove())
	}
	return b, nil
}

func (b *Bouncer) start(ctx context.Context, path string, target *url.URL, o *BouncerOptions) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	b.url.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	b.url.RawQuery = "sslmode=disable"
	password, _ := target.User.Password()
	users, err := b.home.write("userlist.txt", doubled(target.User.Username())+" "+doubled(password)+"\n")
	if err != nil {
		return err
	}
	settings := map[string]string{
		"listen_addr":       "127.0.0.1",
		"listen_port":       strconv.Itoa(port),
		"unix_socket_dir":   "",
		"auth_type":         "md5",
		"auth_file":         users,
		"pool_mode":         "transaction",
		"default_pool_size": "20",
		"max_client_conn":   "300",
	}
	maps.Copy(settings, o.Settings)
	var ini strings.Builder
	serverPort := target.Port()
	if serverPort == "" {
		serverPort = "5432"
	}
	fmt.Fprintf(&ini, "[databases]\n* = host=%s port=%s\n[pgbouncer]\n", target.Hostname(), serverPort)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&ini, "%s = %s\n", name, settings[name])
	}
	config, err := b.home.write("pgbouncer.ini", ini.String())
	if err != nil {
		return err
	}
	b.daemon, err = b.home.start(ctx, &program{
		path: path, args: []string{config}, death: syscall.SIGKILL, ready: "process up",
	})
	return err
}

// doubled quotes a name or password for userlist.txt.
func doubled(word string) string { return `"` + strings.ReplaceAll(word, `"`, `""`) + `"` }

// DSN returns the DSN of PgBouncer, with the database and role of the server.
func (b *Bouncer) DSN() string { return b.url.String() }

// Log returns the last lines that PgBouncer wrote.
func (b *Bouncer) Log() string { return b.daemon.said() }

// Close stops PgBouncer and cuts the connections through it. It does nothing if b is nil.
func (b *Bouncer) Close() error {
	if b == nil {
		return nil
	}
	return errors.Join(b.daemon.stop(syscall.SIGKILL), b.home.remove())
}
