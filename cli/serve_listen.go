package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redrive/redrive/internal/config"
)

// place is where a server listens.
type place struct {
	address string // an address and a port; "" for a socket
	socket  string // the path of a Unix socket
	mode    os.FileMode
	from    string // the option or setting that names the place, for messages
	tls     *certificate
}

// placeOf returns the place that --listen or the configuration names.
func (c *serveCmd) placeOf(s *settings, now func() time.Time) (place, error) {
	p := place{address: s.Server.Listen, mode: s.Server.SocketMode, from: "server.listen"}
	if c.Listen != "" {
		p.address, p.from = c.Listen, "--listen"
		if mistake := config.ListenMistake(p.address); mistake != "" {
			return p, usagef("--listen %s: %s", p.address, mistake)
		}
	}
	if path, ok := strings.CutPrefix(p.address, config.SocketPrefix); ok {
		p.address, p.socket = "", path
		return p, nil
	}
	if s.Server.TLS.Cert == "" {
		return p, nil
	}
	var err error
	p.tls, err = openCertificate(s.Server.TLS, now)
	if err != nil {
		return p, fmt.Errorf("%s: %w", s.file, err)
	}
	return p, nil
}

// String returns the place as messages name it: the option or setting, and its value.
func (p *place) String() string { return p.from + " " + p.value() }

func (p *place) value() string {
	if p.socket != "" {
		return config.SocketPrefix + p.socket
	}
	return p.address
}

// local reports whether only this machine can reach the place.
func (p *place) local() bool { return p.socket != "" || isLoopback(p.address) }

// url returns the address of the server for curl, with the options that it needs.
func (p *place) url(l net.Listener) string {
	switch {
	case p.socket != "":
		return "--unix-socket " + shellQuoted(p.socket) + " http://localhost"
	case p.tls != nil:
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// shellQuoted returns a text as one word of a shell.
func shellQuoted(text string) string {
	if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// listen opens the listener.
func (p *place) listen(ctx context.Context) (net.Listener, error) {
	network, address := "tcp", p.address
	if p.socket != "" {
		network, address = "unix", p.socket
		if err := p.removeStale(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	if p.socket != "" {
		if err := os.Chmod(p.socket, p.mode); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p, err), listener.Close())
		}
	}
	return listener, nil
}

// staleTime is how long a server has to take a connection to its socket.
const staleTime = 2 * time.Second

// removeStale removes the socket of a server that was killed. It leaves a socket on which a server
// listens, and any other file.
func (p *place) removeStale(ctx context.Context) error {
	info, err := os.Lstat(p.socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is a file that is not a socket; remove it or choose another path")
	}
	conn, err := (&net.Dialer{Timeout: staleTime}).DialContext(ctx, "unix", p.socket)
	switch {
	case err == nil:
		return errors.Join(errors.New("another server listens on this socket; stop it or choose another path"), conn.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("it is not known whether another server listens on this socket: %w", err)
	}
	return os.Remove(p.socket)
}
