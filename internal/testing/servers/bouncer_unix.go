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
	"sync"
	"syscall"
)

// Bouncer is a private PgBouncer in front of one server.
type Bouncer struct {
	home    *home
	program program
	url     url.URL
	keeping sync.WaitGroup

	mu     sync.Mutex
	daemon *daemon
	ends   int // how often PgBouncer has ended by itself or by Kill
	closed bool
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
	if o.Keep {
		b.keeping.Go(b.keep)
	}
	return b, nil
}

// keep starts PgBouncer again whenever it has ended, until Close.
func (b *Bouncer) keep() {
	for d := b.daemon; ; {
		<-d.ended
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			return
		}
		b.ends++
		next, err := b.home.start(context.Background(), &b.program)
		if err == nil {
			d, b.daemon = next, next
		}
		b.mu.Unlock()
	}
}

// Kill kills PgBouncer with SIGKILL.
func (b *Bouncer) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.daemon.signal(syscall.SIGKILL)
}

// Ends returns how often PgBouncer was started again.
func (b *Bouncer) Ends() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ends
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
	b.program = program{path: path, args: []string{config}, death: syscall.SIGKILL, ready: "process up"}
	b.daemon, err = b.home.start(ctx, &b.program)
	return err
}

// doubled quotes a name or password for userlist.txt.
func doubled(word string) string { return `"` + strings.ReplaceAll(word, `"`, `""`) + `"` }

// DSN returns the DSN of PgBouncer, with the database and role of the server.
func (b *Bouncer) DSN() string { return b.url.String() }

// Log returns the last lines that PgBouncer wrote.
func (b *Bouncer) Log() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.daemon.said()
}

// Close stops PgBouncer and cuts the connections through it. It does nothing if b is nil.
func (b *Bouncer) Close() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	b.closed = true
	err := b.daemon.stop(syscall.SIGKILL)
	b.mu.Unlock()
	b.keeping.Wait()
	return errors.Join(err, b.home.remove())
}
