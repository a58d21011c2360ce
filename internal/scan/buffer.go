package scan

import "sync"

// Buffer contains the tokens of one text. After Release, its memory is used for another text.
type Buffer struct {
	Tokens []Token
	Room   []byte // free memory for texts that are made from the tokens
}

// buffers is a cache of released buffers.
var buffers = sync.Pool{New: func() any { return &Buffer{Tokens: make([]Token, 0, 128)} }}

// bufferMax is the largest capacity, in tokens, of a buffer that is kept for reuse.
const bufferMax = 4096

// Read returns a buffer with the tokens of a text; see Tokens. Call Release after use.
func Read(text string) *Buffer {
	b := buffers.Get().(*Buffer)
	b.Tokens = Tokens(b.Tokens[:0], text)
	return b
}

// Release makes the buffer available for reuse. Its tokens must not be used after that.
func (b *Buffer) Release() {
	b.Room = b.Room[:0]
	if cap(b.Tokens) <= bufferMax && cap(b.Room) <= bufferMax {
		buffers.Put(b)
	}
}
