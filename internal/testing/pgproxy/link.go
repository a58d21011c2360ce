package pgproxy

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
)

// half is an end of a connection that can be told that nothing more comes, and
// still be listened to. So it gets all that was sent before: an end by Close
// may throw away what was not read.
type half interface {
	net.Conn
	CloseWrite() error
}

// link is a connection through the proxy.
type link struct {
	p              *Proxy
	client, server half

	mu       sync.Mutex
	prepared map[string]string // texts of prepared statements, by name
	portals  map[string]string // texts of what is bound, by name
	pending  []request         // what the server has not replied to, oldest first
	skips    bool              // the server ignores all before the next Sync
	block    bool              // a transaction block is open
	ran      []string          // texts run since the last Sync
	cut      *Cut              // under way: nothing more of the client passes
	over     bool              // it is done: nothing of the server passes either
	held     []byte            // the reply that is being cut
}

// request is a message that gets a reply.
type request struct {
	last byte // the message that ends the reply: Z, or C for whatever ends an Execute
	cut  *Cut // that waits for the reply
}

func newLink(p *Proxy, client, server half) *link {
	return &link{p: p, client: client, server: server, prepared: make(map[string]string), portals: make(map[string]string)}
}

// close ends both sides, wherever they are.
func (l *link) close() {
	reset(l.client)
	reset(l.server)
}

// run passes on what both sides say, until both have ended.
func (l *link) run() {
	var sides sync.WaitGroup
	sides.Go(func() {
		l.up()
		// What else it says is lost; and it is listened to until its end, because
		// an end of a connection on which something was not read destroys what it
		// has not read yet.
		_, _ = io.Copy(io.Discard, l.client)
	})
	sides.Go(func() {
		l.down()
		endOf(l.client)
		_, _ = io.Copy(io.Discard, l.server) // as above
		l.ended()
	})
	sides.Wait()
}

// endOf tells a side that nothing more comes.
func endOf(side half) { _ = side.CloseWrite() } // it may have ended

// ended finishes the cut of a connection whose server's side has ended.
func (l *link) ended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.cut != nil {
		l.cut.finish()
	}
}

// Codes of the first message of a connection that are no version.
const (
	codeCancel = 80877102
	codeTLS    = 80877103
	codeGSS    = 80877104
)

// greet passes on the first message. Encryption is declined.
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

// up passes on what the client says.
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
		if raw[0] == typeExecute { // the server would keep its reply until it is asked
			l.send(ToServer, []byte{typeFlush, 0, 0, 0, 4})
		}
		if !waits || cut.point == AfterMessage {
			endOf(l.client)
		}
		return
	}
}

// quiet is the end of what the client says. The server is told, unless a cut
// waits for its reply.
func (l *link) quiet() {
	l.mu.Lock()
	waits := l.cut != nil && !l.over
	l.mu.Unlock()
	if !waits {
		endOf(l.server)
	}
}

// send writes to a side, up to a cut, and reports whether more may come.
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
		l.cut.finish() // there is one end of a connection
	}
	l.cut, l.over = cut, true
	l.mu.Unlock()
	endOf(l.client)
	endOf(l.server)
	return false
}

// request takes note of a message of the client. It returns the cut that waited
// for it, and whether the cut waits for a reply to it.
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

// read makes out what a message of the client runs.
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

// commits reports whether the last of the texts has ended a block by itself.
func commits(ran []string) bool {
	for _, verb := range verbs(ran[len(ran)-1]) {
		switch verb {
		case "COMMIT", "END", "ROLLBACK", "ABORT":
			return true
		}
	}
	return false
}

// runs follows a text that opens and ends transaction blocks and reports
// whether it commits.
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

// down passes on what the server says.
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

// reply takes note of a message of the server and returns what passes to the
// client, and whether more may pass.
func (l *link) reply(raw []byte) (pass []byte, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, false
	}
	cut, ended := l.replied(raw)
	if cut == nil {
		if l.cut != nil && l.cut.point == AfterMessage { // the client is gone
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

// replied finds the request to which a message of the server belongs: whether a
// cut waits for its reply, and whether the message ends the reply.
func (l *link) replied(raw []byte) (cut *Cut, ended bool) {
	if len(l.pending) == 0 {
		if raw[0] == typeError {
			l.skips = true // what was sent before any Execute has failed: Parse, Bind
		}
		return nil, false
	}
	head := l.pending[0]
	switch raw[0] {
	case typeReady:
		ended = true
		if len(l.pending) == 1 && len(l.ran) == 0 && len(raw) > 5 {
			l.block = raw[5] != 'I' // nothing is under way: the server knows best
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

// failed drops what the server does not look at after an error: all up to the
// next Sync. It returns the cut that waited for one of them.
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
