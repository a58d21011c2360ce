package scan

import "sync"

// Buffer holds the tokens of one text, in memory that is used again.
type Buffer struct {
	Tokens []Token
	Room   []byte // empty, for what is made of them
}

// buffers keeps what was given back. It is a cache, no state.
var buffers = sync.Pool{New: func() any { return &Buffer{Tokens: make([]Token, 0, 128)} }}

// bufferMax is how many tokens a buffer may have room for to be kept.
const bufferMax = 4096

// Read returns a buffer with the tokens of a text, as Tokens gives them.
// Release gives it back.
func Read(text string) *Buffer {
	b := buffers.Get().(*Buffer)
	b.Tokens = Tokens(b.Tokens[:0], text)
	return b
}

// Release gives the buffer back. Its tokens must not be used after that.
func (b *Buffer) Release() {
	b.Room = b.Room[:0]
	if cap(b.Tokens) <= bufferMax && cap(b.Room) <= bufferMax {
		buffers.Put(b)
	}
}
