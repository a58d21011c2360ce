package pgproxy

import "sync"

// Point is the moment at which a connection is cut.
type Point int

// The points. The client sees the end of the connection at each of them; they
// differ in what the server has done by then.
const (
	// BeforeMessage: the server got all before the message, and then the end.
	BeforeMessage Point = iota
	// The others wait for the reply. Where the server gives none to the message
	// itself, as to a Parse or a row of a COPY, or would not run it because of an
	// error before it, both sides see the end right behind the message.

	// AfterMessage: the server got the message; the client is told at once, when
	// the server may not have done it yet. The end of the cut waits for it.
	AfterMessage
	// BeforeReply: the server has done it and replied; the client got nothing of
	// the reply.
	BeforeReply
	// InReply: as BeforeReply, but the client got one half of the reply.
	InReply
)

// Direction is a way that bytes go.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// Cut is a cut to be made, once.
type Cut struct {
	point Point
	match func(*Message) bool // nil: by bytes
	way   Direction
	left  int64 // bytes to pass before the cut

	once sync.Once
	done chan struct{}
}

// Done is closed when the cut was made and the server's side of the connection
// has ended: what was not committed then is rolled back.
func (c *Cut) Done() <-chan struct{} { return c.done }

func (c *Cut) finish() { c.once.Do(func() { close(c.done) }) }

// Cut cuts the connection on which the next message comes that matches. It cuts
// one connection; messages that others wait for are seen by the oldest cut first.
// A nil match is every message.
func (p *Proxy) Cut(point Point, match func(*Message) bool) *Cut {
	if match == nil {
		match = func(*Message) bool { return true }
	}
	return p.arm(&Cut{point: point, match: match})
}

// CutAfter cuts the connection on which the n-th byte from now on passes in a
// direction, behind this byte. The bytes of all connections are counted.
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

// Cancel takes back a cut that was not made yet and reports whether it was so.
func (p *Proxy) Cancel(c *Cut) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(c)
}

// take removes a cut from those to be made.
func (p *Proxy) take(c *Cut) bool {
	for i, other := range p.cuts {
		if other == c {
			p.cuts = append(p.cuts[:i:i], p.cuts[i+1:]...)
			return true
		}
	}
	return false
}

// seen counts a message and returns the cut that waited for it.
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

// passing counts bytes and returns how many of them may pass, and the cut that
// comes behind them.
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
