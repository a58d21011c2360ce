package phrase

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// A machine takes a tenth of a second to build, so the one of the built-in rules is stored, encoded, beside
// them. The encoding is not for other versions of this package.

// Encode returns the machine as bytes. The same machine gives the same bytes.
func (m *Machine) Encode() []byte {
	c := codec{write: true, index: map[uint64]int32{}}
	c.machine(m)
	return c.b
}

// ErrEncoding is returned for bytes that Encode of this version has not made.
var ErrEncoding = errors.New("the bytes are not an encoded phrase machine of this version")

// Decode returns the machine that was encoded.
func Decode(b []byte) (*Machine, error) {
	c, m := codec{b: b}, &Machine{}
	if c.machine(m); c.bad || c.at < len(c.b) {
		return nil, ErrEncoding
	}
	return m, nil
}

// codec writes or reads: each method does either, so that both have one order.
type codec struct {
	b     []byte
	at    int // where the reader is: to move it costs less than to shorten b
	write bool
	bad   bool             // what was read is no machine
	index map[uint64]int32 // of values, for writing
	seen  []uint64         // the values by their index, for reading
}

func (c *codec) machine(m *Machine) {
	c.table(&m.words)
	c.table(&m.fused)
	list(c, &m.means, func(words *[]int32) { list(c, words, c.num) })
	list(c, &m.starts, c.start)
	c.table(&m.pairs)
	for kind := range m.holds {
		list(c, &m.holds[kind], func(h *holding) {
			c.entry(&h.entry)
			c.small((*uint8)(&h.hold))
		})
	}
	list(c, &m.states, func(s *state) {
		c.num(&s.step)
		c.num(&s.steps)
		c.num(&s.out)
		c.num(&s.outs)
		c.ahead(&s.ahead)
	})
	list(c, &m.steps, c.step)
	list(c, &m.outs, func(o *output) {
		c.num(&o.rule)
		c.num(&o.before)
		c.num(&o.after)
	})
	list(c, &m.follow, func(s *second) {
		c.num(&s.state)
		c.num(&s.order)
		c.flag(&s.more)
	})
	c.sparse(&m.sets)
	c.num(&m.width)
	c.num(&m.number)
}

func (c *codec) start(s *start) {
	list(c, &s.entries, c.entry)
	c.bits(&s.seconds)
	c.bits(&s.bits)
	c.num(&s.fused)
}

func (c *codec) entry(e *entry) {
	c.ahead(&e.ahead)
	c.num(&e.state)
	c.num(&e.order)
}

func (c *codec) ahead(a *ahead) {
	c.bits(&a.next)
	c.bits(&a.wide)
	c.bits(&a.last)
	c.small((*uint8)(&a.far))
	c.flag(&a.ends)
}

func (c *codec) step(s *step) {
	c.bits(&s.bits)
	c.bits(&s.last)
	c.num(&s.to)
	c.num(&s.word)
	c.small((*uint8)(&s.hold))
	c.small(&s.gap)
	c.small((*uint8)(&s.far))
}

// list writes or reads the length of a list and its elements. Each takes at least one byte.
func list[T any](c *codec, l *[]T, each func(*T)) {
	n := int32(len(*l))
	if c.num(&n); c.bad || n < 0 || !c.write && int(n) > len(c.b)-c.at {
		c.bad = true
		return
	}
	if !c.write && n > 0 {
		*l = make([]T, n)
	}
	for i := range *l {
		each(&(*l)[i])
	}
}

// cell is an entry of a table, or a value of a sparse list at an index.
type cell struct {
	key   uint64
	value int32
}

// table writes the entries in the order of their keys.
func (c *codec) table(t *table) {
	var cells []cell
	for i, key := range t.keys {
		if key != 0 {
			cells = append(cells, cell{key, t.values[i]})
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.key, b.key) })
	last := uint64(0)
	list(c, &cells, func(e *cell) {
		c.delta(&e.key, &last)
		c.num(&e.value)
	})
	if c.write {
		return
	}
	*t = newTable(len(cells))
	for _, e := range cells {
		t.put(e.key, e.value)
	}
}

// sparse writes a list of which most values are 0.
func (c *codec) sparse(values *[]uint64) {
	var cells []cell
	for i, v := range *values {
		if v != 0 {
			cells = append(cells, cell{key: v, value: int32(i)})
		}
	}
	n := int32(len(*values))
	if c.num(&n); n < 0 || n > setsMax {
		c.bad = true
		return
	}
	list(c, &cells, func(e *cell) {
		c.bits(&e.key)
		c.num(&e.value)
	})
	if c.write || c.bad {
		return
	}
	*values = make([]uint64, n)
	for _, e := range cells {
		if e.value < 0 || e.value >= n {
			c.bad = true
			return
		}
		(*values)[e.value] = e.key
	}
}

// setsMax bounds what a damaged encoding can make Decode allocate.
const setsMax = 1 << 24

// bits writes a value once, and its index from then on.
func (c *codec) bits(v *uint64) {
	if c.write {
		i, known := c.index[*v]
		if !known {
			i = int32(len(c.index))
			c.index[*v] = i
		}
		if c.num(&i); !known {
			c.b = binary.LittleEndian.AppendUint64(c.b, *v)
		}
		return
	}
	i := int32(0)
	switch c.num(&i); {
	case c.bad || i < 0 || int(i) > len(c.seen):
		c.bad = true
	case int(i) < len(c.seen):
		*v = c.seen[i]
	case len(c.b)-c.at < 8:
		c.bad = true
	default:
		*v = binary.LittleEndian.Uint64(c.b[c.at:])
		c.at, c.seen = c.at+8, append(c.seen, *v)
	}
}

// delta writes how much greater a key is than the last one.
func (c *codec) delta(v, last *uint64) {
	if c.write {
		c.b = binary.AppendUvarint(c.b, *v-*last)
		*last = *v
		return
	}
	more, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		c.bad = true
		return
	}
	c.at += n
	*last += more
	*v = *last
}

func (c *codec) num(v *int32) {
	if c.write {
		c.b = binary.AppendVarint(c.b, int64(*v))
		return
	}
	if rest := c.b[c.at:]; len(rest) > 1 && rest[0]&rest[1] < 0x80 { // most numbers have one or two bytes
		u := uint32(rest[0])
		c.at++
		if u >= 0x80 {
			u = u&0x7f | uint32(rest[1])<<7
			c.at++
		}
		*v = int32(u>>1) ^ -int32(u&1)
		return
	}
	x, n := binary.Varint(c.b[c.at:])
	if n <= 0 {
		c.bad = true
		return
	}
	*v, c.at = int32(x), c.at+n
}

func (c *codec) small(v *uint8) {
	n := int32(*v)
	c.num(&n)
	*v = uint8(n)
}

func (c *codec) flag(v *bool) {
	n := int32(0)
	if *v {
		n = 1
	}
	c.num(&n)
	*v = n == 1
}
