package scan

import "sync"

// Buffer contains the tokens of one text. After Release, its memory is used for another text, or
// for the same text again: the message of a failure is classified, sanitised and fingerprinted, and
// is scanned only once as long as it does not change.
type Buffer struct {
	Tokens []Token // must not be changed
	Room   []byte  // free memory for texts that are made from the tokens
	text   string  // the text of the tokens; "" if it is not known
}

// buffers and smallBuffers are caches of released buffers. Short texts, such as codes and hosts, have
// buffers of their own: they are read between two readings of a message.
var (
	buffers      = sync.Pool{New: func() any { return &Buffer{Tokens: make([]Token, 0, 128)} }}
	smallBuffers = sync.Pool{New: func() any { return &Buffer{Tokens: make([]Token, 0, smallMax/bytesPerToken)} }}
)

const (
	smallMax  = 64      // the largest size, in bytes, of a short text
	textMax   = 4 << 10 // the largest size, in bytes, of a text that a released buffer keeps with its tokens
	bufferMax = 4096    // the largest capacity, in tokens, of a buffer that is kept for reuse
)

// Read returns a buffer with the tokens of a text; see Tokens. Call Release after use.
func Read(text string) *Buffer {
	b := poolOf(text).Get().(*Buffer)
	if b.text == "" || b.text != text {
		b.text, b.Tokens = text, Tokens(b.Tokens[:0], text)
	}
	return b
}

// Release makes the buffer available for reuse. Its tokens must not be used after that.
func (b *Buffer) Release() {
	pool := poolOf(b.text)
	b.Room = b.Room[:0]
	if len(b.text) > textMax {
		b.text = ""
	}
	if cap(b.Tokens) <= bufferMax && cap(b.Room) <= bufferMax {
		pool.Put(b)
	}
}

func poolOf(text string) *sync.Pool {
	if len(text) <= smallMax {
		return &smallBuffers
	}
	return &buffers
}
