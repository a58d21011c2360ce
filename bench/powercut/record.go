package powercut

import (
	"slices"
	"sync"
	"time"
)

// kind is the kind of an operation on files.
type kind uint8

// The operations that change what is on the disk.
const (
	create   kind = iota // the directory gets the entry name, for the new file
	write                // data is written at the offset
	truncate             // the file gets the size off
	flush                // the file is flushed
	unlink               // the directory loses the entry name
	rename               // the entry name of the file becomes the entry to
	flushDir             // the directory is flushed
)

// op is one operation on one file, or on the directory.
type op struct {
	kind kind
	file uint64 // number of the file; 0 for flushDir
	name string
	to   string
	off  int64
	data []byte
	at   time.Time
}

// record is the list of all operations, in the order in which they took effect. It is safe for
// concurrent use.
type record struct {
	mu  sync.Mutex
	ops []op
}

// add appends an operation.
func (r *record) add(o op) {
	o.at = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, o)
}

// taken returns the operations until now.
func (r *record) taken() []op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.ops)
}
