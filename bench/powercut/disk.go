package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// disk is the state of a disk after some operations: the data that is certainly durable, and the
// changes that are not yet flushed.
type disk struct {
	files   map[uint64]*contents
	entries map[string]uint64 // the durable entries of the directory
	pending []change          // changes of the directory that are not flushed
	now     map[string]uint64 // the entries as the processes see them
	done    int               // number of operations so far
	lies    bool              // whether the disk ignores flushes, as a broken one does
}

// contents are the contents of one file.
type contents struct {
	durable []byte
	pending []change // writes and truncations that are not flushed
	perfect bool     // whether the file loses nothing
}

// change is an operation with its position among all operations.
type change struct {
	op
	seq int
}

// pendingMax is the largest number of changes of one file that stay pending without a flush. A disk
// writes older changes without a flush. It matters for the WAL index, which is never flushed.
const pendingMax = 1000

// ledgerPrefix begins the names of the files that lose nothing.
const ledgerPrefix = "ledger-"

func newDisk() *disk {
	return &disk{files: make(map[uint64]*contents), entries: make(map[string]uint64), now: make(map[string]uint64)}
}

// do applies the next operation.
func (d *disk) do(o *op) {
	c := change{*o, d.done}
	d.done++
	switch o.kind {
	case create:
		perfect := strings.HasPrefix(o.name, ledgerPrefix)
		d.files[o.file] = &contents{perfect: perfect}
		d.now[o.name] = o.file
		if perfect {
			d.entries[o.name] = o.file
			return
		}
		d.pending = append(d.pending, c)
	case unlink, rename:
		c.file = d.now[o.name]
		delete(d.now, o.name)
		if o.kind == rename {
			d.now[o.to] = c.file
		}
		d.pending = append(d.pending, c)
	case flushDir:
		if !d.lies {
			d.entries = entriesAfter(d.entries, d.pending)
			d.pending = nil
		}
	case write, truncate:
		d.files[o.file].change(c)
	case flush:
		if !d.lies {
			d.files[o.file].flush(len(d.files[o.file].pending))
		}
	}
}

func (f *contents) change(c change) {
	f.pending = append(f.pending, c)
	switch {
	case f.perfect:
		f.flush(1)
	case len(f.pending) > pendingMax:
		f.flush(pendingMax / 2)
	}
}

// flush makes the first n pending changes durable.
func (f *contents) flush(n int) {
	for i := range n {
		f.durable = f.pending[i].on(f.durable)
	}
	f.pending = slices.Delete(f.pending, 0, n)
}

// on applies a write or truncation to data, and returns the new data.
func (o *op) on(data []byte) []byte {
	if o.kind == truncate {
		return resized(data, o.off)
	}
	return written(data, o.data, o.off)
}

// written returns the contents of a file after more bytes were written at the offset.
func written(data, more []byte, off int64) []byte {
	if end := off + int64(len(more)); end > int64(len(data)) {
		data = resized(data, end)
	}
	copy(data[off:], more)
	return data
}

// resized returns data with another size. New bytes are zero.
func resized(data []byte, size int64) []byte {
	if n := size - int64(len(data)); n > 0 {
		data = slices.Grow(data, int(n))
		clear(data[len(data):size])
	}
	return data[:size]
}

// entriesAfter returns the entries of the directory after the changes.
func entriesAfter(entries map[string]uint64, changes []change) map[string]uint64 {
	entries = maps.Clone(entries)
	for i := range changes {
		switch c := &changes[i]; c.kind {
		case create:
			entries[c.name] = c.file
		case unlink:
			delete(entries, c.name)
		case rename:
			delete(entries, c.name)
			entries[c.to] = c.file
		default:
		}
	}
	return entries
}

// image is the state of the disk after a cut: the contents of the files by name.
type image map[string][]byte

// cut returns files that may be on the disk if the power is cut now, and what was lost.
func (d *disk) cut(r *rand.Rand) (image, loss) { return d.kept(draw(r, d.done)) }

// kept returns the files after a loss.
func (d *disk) kept(l loss) (image, loss) {
	img := make(image)
	for name, number := range entriesAfter(d.entries, l.kept(d.pending)) {
		img[name] = l.read(d.files[number])
	}
	return img, l
}
