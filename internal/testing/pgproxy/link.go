package pgproxy

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
)

// half is a connection that can be closed for writing and still be read. A plain Close could
// destroy bytes that the other side has not read yet.
type half interface {
	net.Conn
	CloseWrite() error
}

// link is a connection through the proxy.
type link struct {
	p              *Proxy
	client, server half

	mu       sync.Mutex
	prepared map[string]string // the SQL of each prepared statement, by its name
	portals  map[string]string // the SQL of each portal, by its name
	pending  []request         // requests that the server has not replied to, oldest first
	skips    bool              // whether the server ignores all messages before the next Sync
	block    bool              // whether a transaction block is open
	ran      []string          // SQL that was run since the last Sync
	cut      *Cut              // the cut that is being made; nothing more is sent to the server
	over     bool              // whether the cut is made; then nothing more is sent to the client
	held     []byte            // the reply that is being cut
}

// request is a message that gets a reply.
type request struct {
	last byte // type of the message that ends the reply: Z, or C for any end of an Execute
	cut  *Cut // the cut that waits for this reply
}

func newLink(p *Proxy, client, server half) *link {
	return &link{p: p, client: client, server: server, prepared: make(map[string]string), portals: make(map[string]string)}
}

// close closes both connections, whatever their state is.
func (l *link) close() {
	reset(l.client)
	reset(l.server)
}

// run sends bytes in both directions until both connections have ended.
func (l *link) run() {
	var sides sync.WaitGroup
	sides.Go(func() {
		l.up()
		// The rest of the client's bytes is read and discarded, because closing a connection with
		// unread bytes destroys what the client has not read yet.
		_, _ = io.Copy(io.Discard, l.client)
	})
	sides.Go(func() {
		l.down()
		endOf(l.client)
		_, _ = io.Copy(io.Discard, l.server) // read the rest before closing, for the same reason as above
		l.ended()
	})
	sides.Wait()
}

// endOf closes a connection for writing.
func endOf(side half) { _ = side.CloseWrite() } // no error check: the connection may already be closed

// ended marks the cut as done after the server has closed its connection.
func (l *link) ended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.cut != nil {
		l.cut.finish()
	}
}

// Codes that the first message of a connection may have instead of a version.
const (
	codeCancel = 80877102
	codeTLS    = 80877103
	codeGSS    = 80877104
)

// greet handles the first message of a client. It refuses encryption, and sends any other first
// message to the server.
func (l *link) greet() bool {
	for {
		raw, err := readMessage(l.client, false)
		if err != nil || len(raw) < 8 {
			return false
		}
		l.p.pass()
		switch binary.BigEndian.Uint32(raw[4:]) {
		case codeTLS, codeGSS:
			if _, err := l.client.Write([]byte{'N'}); err != nil {
				return false
			}
		case codeCancel:
			l.send(ToServer, raw)
			return false
		default:
			return l.send(ToServer, raw)
		}
	}
}

// up sends the messages of the client to the server.
func (l *link) up() {
	defer l.quiet()
	if !l.greet() {
		return
	}
	for {
		raw, err := readMessage(l.client, true)
		if err != nil {
			return
		}
		l.p.pass()
		cut, waits := l.request(raw)
		if cut != nil && cut.point == BeforeMessage {
			endOf(l.client)
			return
		}
		if !l.send(ToServer, raw) {
			return
		}
		if cut == nil {
			continue
		}
		if raw[0] == typeExecute { // ask for the reply, because the server would buffer it until a Flush
			l.send(ToServer, []byte{typeFlush, 0, 0, 0, 4})
		}
		if !waits || cut.point == AfterMessage {
			endOf(l.client)
		}
		return
	}
}

// quiet is called when the client sends nothing more. It closes the connection to the server for
// writing, unless a cut waits for a reply.
func (l *link) quiet() {
	l.mu.Lock()
	waits := l.cut != nil && !l.over
	l.mu.Unlock()
	if !waits {
		endOf(l.server)
	}
}

// send writes bytes to the client or to the server, but none after a cut. It reports whether more
// bytes may follow.
func (l *link) send(way Direction, raw []byte) bool {
	n, cut := l.p.passing(way, len(raw))
	side := l.server
	if way == ToClient {
		side = l.client
	}
	_, err := side.Write(raw[:n])
	if cut == nil {
		return err == nil
	}
	l.mu.Lock()
	if l.cut != nil {
		l.cut.finish() // no reply follows, because the connection has ended
	}
	l.cut, l.over = cut, true
	l.mu.Unlock()
	endOf(l.client)
	endOf(l.server)
	return false
}

// request records a message of the client. It returns the cut that matches the message, and whether
// the cut waits for the reply.
func (l *link) request(raw []byte) (cut *Cut, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.read(raw)
	if cut = l.p.seen(m); cut != nil {
		l.cut = cut
	}
	if cut == nil || cut.point != BeforeMessage {
		switch m.Type {
		case typeQuery, typeFunction, typeSync:
			l.skips, waits = false, true
			l.pending = append(l.pending, request{typeReady, cut})
		case typeExecute:
			if waits = !l.skips; waits {
				l.pending = append(l.pending, request{typeComplete, cut})
			}
		}
	}
	if cut != nil && !waits {
		l.over = true
	}
	return cut, waits
}

// read finds out what SQL a message of the client runs.
func (l *link) read(raw []byte) *Message {
	m := &Message{Type: raw[0]}
	body := raw[5:]
	switch m.Type {
	case typeParse:
		t := texts(body, 2)
		l.prepared[t[0]], m.SQL = t[1], t[1]
	case typeBind:
		t := texts(body, 2)
		l.portals[t[0]] = l.prepared[t[1]]
	case typeClose:
		if len(body) > 0 && body[0] == 'S' {
			delete(l.prepared, texts(body[1:], 1)[0])
		}
	case typeExecute:
		m.SQL = l.portals[texts(body, 1)[0]]
		m.Commit = l.runs(m.SQL)
		l.ran = append(l.ran, m.SQL)
	case typeQuery:
		m.SQL = texts(body, 1)[0]
		before := l.block
		m.Commit = l.runs(m.SQL)
		m.Auto = !before && !l.block && !m.Commit
	case typeSync:
		m.SQL = strings.Join(l.ran, "; ")
		m.Auto = !l.block && len(l.ran) > 0 && !commits(l.ran)
		l.ran = nil
	}
	return m
}

// commits reports whether the last of the texts ended its transaction block itself.
func commits(ran []string) bool {
	for _, verb := range verbs(ran[len(ran)-1]) {
		switch verb {
		case "COMMIT", "END", "ROLLBACK", "ABORT":
			return true
		}
	}
	return false
}

// runs records which transaction blocks an SQL text opens and ends. It reports whether the text
// commits a transaction.
func (l *link) runs(sql string) (commit bool) {
	for _, verb := range verbs(sql) {
		switch verb {
		case "BEGIN", "START":
			l.block = true
		case "COMMIT", "END":
			l.block, commit = false, true
		case "ROLLBACK", "ABORT":
			l.block = false
		}
	}
	return commit
}

// down sends the messages of the server to the client.
func (l *link) down() {
	for {
		raw, err := readMessage(l.server, true)
		if err != nil {
			return
		}
		l.p.pass()
		pass, more := l.reply(raw)
		if len(pass) > 0 && !l.send(ToClient, pass) || !more {
			endOf(l.client)
			endOf(l.server)
			return
		}
	}
}

// reply handles a message of the server. It returns the bytes to send to the client, and whether
// more bytes may follow.
func (l *link) reply(raw []byte) (pass []byte, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, false
	}
	cut, ended := l.replied(raw)
	if cut == nil {
		if l.cut != nil && l.cut.point == AfterMessage { // nothing more is sent to the client, because its connection has ended
			return nil, true
		}
		return raw, true
	}
	l.held = append(l.held, raw...)
	if !ended {
		return nil, true
	}
	l.over = true
	if cut.point == InReply {
		return l.held[:len(l.held)/2], false
	}
	return nil, false
}

// replied finds the request that a message of the server answers. It returns the cut that waits for
// the reply, and whether the message ends the reply.
func (l *link) replied(raw []byte) (cut *Cut, ended bool) {
	if len(l.pending) == 0 {
		if raw[0] == typeError {
			l.skips = true // a Parse or Bind before the first Execute has failed
		}
		return nil, false
	}
	head := l.pending[0]
	switch raw[0] {
	case typeReady:
		ended = true
		if len(l.pending) == 1 && len(l.ran) == 0 && len(raw) > 5 {
			l.block = raw[5] != 'I' // the server reports its state, which may differ from the computed one
		}
	case typeComplete, typeEmpty, typeSuspended:
		ended = head.last == typeComplete
	case typeError:
		if head.last == typeComplete {
			return l.failed(), true
		}
	}
	if ended {
		l.pending = l.pending[1:]
	}
	return head.cut, ended
}

// failed removes the requests that the server skips after an error: all up to the next Sync. It
// returns the cut that waited for one of them.
func (l *link) failed() (cut *Cut) {
	for len(l.pending) > 0 && l.pending[0].last == typeComplete {
		if l.pending[0].cut != nil {
			cut = l.pending[0].cut
		}
		l.pending = l.pending[1:]
	}
	l.skips = len(l.pending) == 0
	return cut
}
