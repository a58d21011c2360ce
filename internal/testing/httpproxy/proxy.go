// Package httpproxy is a proxy in front of an HTTP server for tests. A client asks for a fault of the
// network by a header of its request, so a test knows which requests were cut, delayed or doubled.
// The server behind the proxy may be replaced by another one at any time.
package httpproxy

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// Header is the header of a request that names its fault.
const Header = "Proxy-Fault"

// Fault is what the proxy does with a request.
type Fault string

// The faults.
const (
	None       Fault = ""
	CutRequest Fault = "cut-request" // the server gets half of the request, and the client no answer
	LoseAnswer Fault = "lose-answer" // the server answers, and the client gets nothing
	CutAnswer  Fault = "cut-answer"  // the client gets half of the answer
	Delay      Fault = "delay"       // the request waits, and so does the answer
	Double     Fault = "double"      // the server gets the request twice at the same time, and the client one answer
)

// Faults lists all faults.
var Faults = [...]Fault{CutRequest, LoseAnswer, CutAnswer, Delay, Double}

// delay is how long a delayed request, and then its answer, waits.
const delay = 50 * time.Millisecond

// Proxy is a proxy in front of one server. Each connection has one request: clients must not keep
// connections alive. Its methods may be called concurrently.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	conns  map[net.Conn]struct{}
	closed bool
	counts map[Fault]int
}

// Start starts a proxy at a free port of 127.0.0.1. It resets connections until it has a target.
func Start() (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed by Close
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, conns: make(map[net.Conn]struct{}), counts: make(map[Fault]int)}
	p.running.Go(p.accept)
	return p, nil
}

// URL returns the URL of the proxy, without a slash at its end.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Forward makes the server at host:port the target of new connections.
func (p *Proxy) Forward(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Forget makes the proxy reset new connections if the server at host:port is still its target.
func (p *Proxy) Forget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target == target {
		p.target = ""
	}
}

// CutAll resets all connections.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

// Counts returns how often each fault has happened.
func (p *Proxy) Counts() map[Fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Close resets all connections and ends the proxy.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.CutAll()
	err := p.listener.Close()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		p.running.Go(func() { p.serve(c) })
	}
}

// hold registers a connection, so that CutAll and Close find it. It reports false when the proxy is closed.
func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		reset(c)
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

// drop ends a connection with a reset. After a complete answer, the client has read it.
func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close() // no error check: the connection may be closed already
}

func (p *Proxy) serve(client net.Conn) {
	if !p.hold(client) {
		return
	}
	defer p.drop(client)
	var raw bytes.Buffer
	r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(client, &raw)))
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	fault := Fault(r.Header.Get(Header))
	p.mu.Lock()
	p.counts[fault]++
	p.mu.Unlock()
	switch fault {
	case CutRequest:
		if server := p.dial(); server != nil {
			_, _ = server.Write(raw.Bytes()[:raw.Len()/2]) // no error check: the request is lost anyway
			p.drop(server)
		}
		reset(client)
	case LoseAnswer:
		p.exchange(raw.Bytes())
		reset(client)
	case CutAnswer:
		answer := p.exchange(raw.Bytes())
		_, _ = client.Write(answer[:len(answer)/2]) // no error check: the answer is cut anyway
	case Double:
		var second sync.WaitGroup
		second.Go(func() { p.exchange(raw.Bytes()) })
		p.pass(client, raw.Bytes())
		second.Wait()
	case Delay:
		pause()
		answer := p.exchange(raw.Bytes())
		pause()
		_, _ = client.Write(answer) // no error check: the client may have gone
	default:
		p.pass(client, raw.Bytes())
	}
}

// dial connects to the server; nil means that it cannot be reached.
func (p *Proxy) dial() net.Conn {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	if target == "" {
		return nil
	}
	server, err := net.Dial("tcp", target) //nolint:noctx // the server accepts the connection or not; there is no wait to cancel
	if err != nil || !p.hold(server) {
		return nil
	}
	return server
}

// exchange sends a request and returns the bytes of the answer.
func (p *Proxy) exchange(request []byte) []byte {
	server := p.dial()
	if server == nil {
		return nil
	}
	defer p.drop(server)
	if _, err := server.Write(request); err != nil {
		return nil
	}
	answer, _ := io.ReadAll(server) // no error check: the client gets the same part of the answer
	return answer
}

// pass sends a request to the server, and the bytes of the answer to the client as they come.
func (p *Proxy) pass(client net.Conn, request []byte) {
	server := p.dial()
	if server == nil {
		reset(client)
		return
	}
	defer p.drop(server)
	var watch sync.WaitGroup
	watch.Go(func() {
		_, _ = io.Copy(io.Discard, client) // it ends when the client has gone
		_ = server.Close()                 // no error check: the connection may be closed already
	})
	if _, err := server.Write(request); err == nil {
		if _, err := io.Copy(client, server); err != nil {
			reset(client)
		}
	}
	_ = client.Close() // no error check: the connection may be closed already
	watch.Wait()
}

// reset ends a connection so that the other side gets an error.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no error check: the connection may be closed already
	}
	_ = c.Close() // no error check: the connection may be closed already
}

// pause waits for as long as a request or an answer is delayed.
func pause() {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	<-timer.C
}
