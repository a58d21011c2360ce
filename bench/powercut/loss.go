package powercut

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// mode says which of the writes that were not flushed are kept after a power cut.
type mode uint8

const (
	nothing   mode = iota // nothing is kept
	all                   // everything is kept, as after a kill of all processes
	inOrder               // all operations up to one are kept; sectors of the last one are lost
	scattered             // each sector, each size and each entry is kept or lost independently of the others
)

// loss decides at random which of the writes that were not flushed are kept after a power cut.
type loss struct {
	mode   mode
	until  int   // with inOrder, the number of operations that are kept
	sector int64 // size in bytes of the parts that are kept or lost independently of each other
	rand   *rand.Rand
}

// draw returns a random loss after a number of operations.
func draw(r *rand.Rand, done int) loss {
	// Three of six cuts scatter.
	l := loss{mode: min(mode(r.IntN(6)), scattered), sector: 512, rand: r}
	if r.IntN(2) == 0 {
		l.sector = 4096
	}
	l.until = max(0, done-r.IntN(min(done+1, 200)))
	return l
}

// String describes the loss for a report.
func (l loss) String() string {
	switch l.mode {
	case nothing:
		return "nothing is kept that was not flushed"
	case all:
		return "everything is kept"
	case inOrder:
		return fmt.Sprintf("the first %d operations are kept, the last of them in part (sectors of %d bytes)", l.until, l.sector)
	default:
		return fmt.Sprintf("sectors of %d bytes are kept or lost by themselves", l.sector)
	}
}

// kept returns the changes of the directory that are kept. If a change is lost, later changes of
// the same names are lost, too.
func (l *loss) kept(changes []change) (kept []change) {
	lost := make(map[string]bool)
	share := 0.0
	if l.mode == scattered {
		share = l.share()
	}
	for _, c := range changes {
		keep := false
		switch l.mode {
		case all:
			keep = true
		case inOrder:
			keep = c.seq < l.until
		case scattered:
			keep = l.rand.Float64() < share
		default:
		}
		if keep && !lost[c.name] && !lost[c.to] {
			kept = append(kept, c)
			continue
		}
		lost[c.name] = true
		if c.to != "" {
			lost[c.to] = true
		}
	}
	return kept
}

// share returns a random share: this part of the scattered changes is kept. Each file has its own
// share.
func (l *loss) share() float64 {
	return []float64{0, 0.1, 0.5, 0.9, 1}[l.rand.IntN(5)]
}

// read returns the contents of a file after the cut.
func (l *loss) read(f *contents) []byte {
	data := slices.Clone(f.durable)
	switch l.mode {
	case all:
		for i := range f.pending {
			data = f.pending[i].on(data)
		}
	case inOrder:
		data = l.ordered(f, data)
	case scattered:
		data = l.scatter(f, data)
	default:
	}
	return data
}

// ordered applies the changes in their order. Some sectors of the last change are lost.
func (l *loss) ordered(f *contents, data []byte) []byte {
	for i := range f.pending {
		switch c := &f.pending[i]; {
		case c.seq >= l.until:
			return data
		case c.seq == l.until-1 && c.kind == write:
			size := max(int64(len(data)), c.off+int64(len(c.data)))
			for off, part := range sectors(c, l.sector) {
				if l.rand.IntN(2) == 0 {
					data = written(data, part, off)
				}
			}
			if l.rand.IntN(2) == 0 {
				data = resized(data, size)
			}
		default:
			data = c.on(data)
		}
	}
	return data
}

// scatter gives each sector one of the versions that it has had since the last flush, and the file
// one of its sizes.
func (l *loss) scatter(f *contents, data []byte) []byte {
	share := l.share()
	size := int64(len(data))
	version := make(map[int64]int) // of each sector that was written: the last change that is kept
	now := size
	for i := range f.pending {
		c := &f.pending[i]
		if c.kind == truncate {
			now = c.off
		} else {
			now = max(now, c.off+int64(len(c.data)))
			for off := range sectors(c, l.sector) {
				sector := off / l.sector
				if _, ok := version[sector]; !ok {
					version[sector] = -1
				}
				if l.rand.Float64() < share {
					version[sector] = i
				}
			}
		}
		if l.rand.Float64() < share {
			size = now
		}
	}
	for i := range f.pending {
		c := &f.pending[i]
		if c.kind != write {
			continue
		}
		for off, part := range sectors(c, l.sector) {
			if i <= version[off/l.sector] {
				data = l.grown(data, off+int64(len(part)))
				copy(data[off:], part)
			}
		}
	}
	return l.grown(data, size)[:size]
}

// grown makes the contents at least as long as the size. The new bytes are zeros, or what the disk
// had there.
func (l *loss) grown(data []byte, size int64) []byte {
	from := len(data)
	if int64(from) >= size {
		return data
	}
	data = resized(data, size)
	if l.rand.IntN(4) == 0 {
		for i := from; i < len(data); i++ {
			data[i] = byte(l.rand.Uint32())
		}
	}
	return data
}

// sectors divides a write into the parts that belong to one sector each, with their offsets.
func sectors(c *change, size int64) func(yield func(off int64, part []byte) bool) {
	return func(yield func(int64, []byte) bool) {
		off, rest := c.off, c.data
		for len(rest) > 0 {
			n := min(size-off%size, int64(len(rest)))
			if !yield(off, rest[:n]) {
				return
			}
			off, rest = off+n, rest[n:]
		}
	}
}
