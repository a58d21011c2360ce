package pgproxy

import "sync"

// Point is the moment at which a connection is cut.
type Point int

// The points. At each of them the client sees that the connection ends. The points differ in how
// much the server has done before.
const (
	// BeforeMessage: the server got everything before the message, and then the end of the
	// connection.
	BeforeMessage Point = iota
	// At all points below, the proxy waits for the reply of the server before it ends the connection
	// on the server's side. Exceptions are messages to which the server sends no separate reply, such
	// as a Parse or a row of a COPY, and messages that it skips after an error: then the connection
	// ends at once on both sides.

	// AfterMessage: the server got the message. The client sees the end at once, perhaps before the
	// server has executed the message. [Cut.Done] waits until it has.
	AfterMessage
	// BeforeReply: the server has executed the message and replied. The client got nothing of the
	// reply.
	BeforeReply
	// InReply: like BeforeReply, but the client got the first half of the reply.
	InReply
)

// Direction is the direction in which bytes are sent.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// Cut is a planned cut of one connection. It is made at most once.
type Cut struct {
	point Point
	match func(*Message) bool // reports whether the cut is made at a message; nil for a cut after a number of bytes
	way   Direction
	left  int64 // number of bytes that may still be sent before the cut

	once sync.Once
	done chan struct{}
}

// Done is closed when the cut was made and the server's side of the connection has ended.
// Everything not committed by then is rolled back.
func (c *Cut) Done() <-chan struct{} { return c.done }

func (c *Cut) finish() { c.once.Do(func() { close(c.done) }) }

// Cut cuts the connection of the next message that matches. It cuts one connection. If several cuts
// match a message, the oldest is made. A nil match matches every message.
func (p *Proxy) Cut(point Point, match func(*Message) bool) *Cut {
	if match == nil {
		match = func(*Message) bool { return true }
	}
	return p.arm(&Cut{point: point, match: match})
}

// CutAfter cuts a connection after the n-th byte from now on in one direction. The bytes of all
// connections are counted together.
func (p *Proxy) CutAfter(way Direction, n int64) *Cut {
	return p.arm(&Cut{way: way, left: n})
}

func (p *Proxy) arm(c *Cut) *Cut {
	c.done = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append(p.cuts, c)
	return c
}

// Cancel withdraws a cut and reports whether it had not been made yet.
func (p *Proxy) Cancel(c *Cut) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(c)
}

// take removes a cut from the list of pending cuts.
func (p *Proxy) take(c *Cut) bool {
	for i, other := range p.cuts {
		if other == c {
			p.cuts = append(p.cuts[:i:i], p.cuts[i+1:]...)
			return true
		}
	}
	return false
}

// seen counts a message and returns the cut that matches it.
func (p *Proxy) seen(m *Message) *Cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Messages[m.Type]++
	if m.Type == typeQuery || m.Type == typeSync {
		p.stats.Trips++
	}
	if m.Commit {
		p.stats.Commits++
	}
	for _, c := range p.cuts {
		if c.match != nil && c.match(m) {
			p.take(c)
			p.stats.Cuts++
			return c
		}
	}
	return nil
}

// passing counts bytes that are to be sent. It returns how many of them may be sent, and the cut
// that comes after them, or nil.
func (p *Proxy) passing(way Direction, n int) (int, *Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var cut *Cut
	for _, c := range p.cuts {
		if c.match == nil && c.way == way && c.left <= int64(n) {
			cut, n = c, int(c.left)
			break
		}
	}
	if cut != nil {
		p.take(cut)
		p.stats.Cuts++
	}
	for _, c := range p.cuts {
		if c.match == nil && c.way == way {
			c.left -= int64(n)
		}
	}
	if way == ToServer {
		p.stats.ToServer += int64(n)
	} else {
		p.stats.ToClient += int64(n)
	}
	return n, cut
}
