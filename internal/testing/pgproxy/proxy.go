// Package pgproxy is a TCP proxy for tests in front of a PostgreSQL server. It reads the protocol
// and cuts connections at a chosen message: before a COMMIT reaches the server, while it is
// executed, before its reply or in the middle of the reply. No cut depends on timing, so a test
// knows the state after each cut.
package pgproxy

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// Proxy is a proxy in front of one server. Its methods may be called concurrently.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{}
	cuts    []*Cut
	gate    chan struct{} // a channel that is closed while the proxy is not paused
	refuses bool
	closed  bool
	stats   Stats
}

// Stats are counts since the start of a proxy.
type Stats struct {
	Connections int          // the number of accepted connections
	Refused     int          // the number of refused connections
	Cuts        int          // the number of cuts that were made
	Trips       int          // the number of messages after which a client waits for a reply: Query and Sync
	Commits     int          // the number of commits by a statement; see [Message]
	Messages    map[byte]int // the number of messages of clients by type, without the first message of each connection
	ToServer    int64        // the number of bytes that were sent to the server
	ToClient    int64        // the number of bytes that were sent to the client
}

// Before starts a proxy in front of the server at a DSN and returns the DSN of the proxy.
func Before(dsn string) (p *Proxy, through string, err error) {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, "", fmt.Errorf("proxy: read the DSN of the server: %w", err)
	}
	_, target := pgconn.NetworkAddress(config.Host, config.Port)
	if p, err = Start(target); err != nil {
		return nil, "", err
	}
	if through, err = p.DSN(dsn); err != nil {
		return nil, "", errors.Join(err, p.Close())
	}
	return p, through, nil
}

// Start starts a proxy at a free port of 127.0.0.1, in front of a server at host:port or at the
// path of a unix socket.
func Start(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed by Close
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{
		target: target, listener: l, links: make(map[*link]struct{}), gate: make(chan struct{}),
		stats: Stats{Messages: make(map[byte]int)},
	}
	close(p.gate)
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the host and port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// DSN returns the server's DSN with the address of the proxy. It turns encryption off, because the
// proxy could not read encrypted messages.
func (p *Proxy) DSN(server string) (string, error) {
	host, port, err := net.SplitHostPort(p.Addr())
	if err != nil {
		return "", err
	}
	if !strings.Contains(server, "://") {
		return server + " sslmode=disable host=" + host + " port=" + port, nil // if a keyword occurs several times, its last value counts
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("proxy: read the DSN of the server: %w", err)
	}
	u.Host = p.Addr()
	settings := u.Query()
	settings.Del("host")
	settings.Del("port")
	settings.Set("sslmode", "disable")
	u.RawQuery = settings.Encode()
	return u.String(), nil
}

// Close closes all connections and the proxy.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.open()
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.running.Wait()
	return err
}

// Pause stops all bytes in both directions. Connections stay open. New ones are accepted but get no
// answer.
func (p *Proxy) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
		p.gate = make(chan struct{})
	default: // nothing to do, because the proxy is already paused
	}
}

// Resume ends a pause.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open()
}

func (p *Proxy) open() {
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// pass waits until the proxy is not paused.
func (p *Proxy) pass() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	<-gate
}

// Refuse makes the proxy reset new connections, or accept them again.
func (p *Proxy) Refuse(refuses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuses
}

// CutAll ends all connections with a reset, as a network failure does.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		p.stats.Cuts++
		l.close()
	}
}

// Stats returns the counts.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Messages = maps.Clone(s.Messages)
	return s
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		p.running.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve sends bytes between a client and the server.
func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	refused := p.refuses || p.closed
	if refused {
		p.stats.Refused++
	} else {
		p.stats.Connections++
	}
	p.mu.Unlock()
	var server net.Conn
	err := errors.New("refused")
	if !refused {
		network := "tcp"
		if strings.HasPrefix(p.target, "/") {
			network = "unix"
		}
		server, err = net.Dial(network, p.target) //nolint:noctx // the server accepts the connection or not; there is no wait to cancel
	}
	if err != nil {
		reset(client)
		return
	}
	l := newLink(p, client, server.(half))
	if p.add(l) {
		l.run()
	}
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
	l.close()
}

// add registers a connection and reports false when the proxy is closed.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.links[l] = struct{}{}
	}
	return !p.closed
}

// reset closes a connection so that the other side gets an error.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no error check: the connection may be closed already
	}
	_ = c.Close() // no error check: the connection may be closed already
}
