package classify

import "github.com/redrive/redrive/failure"

// hit is one piece of evidence for a class.
type hit struct {
	rule   string
	class  failure.Class
	code   string // the machine code that follows from it, "" for none
	saw    string
	rank   Rank
	weight int
	at     int32 // where in the text; later ones are nearer to the cause
	order  int32 // position in the policy of its code, type, phrase or pattern, from 1; 0 otherwise
	trait  trait
	final  bool // of a class that must not be retried, see add
	from   source
	offset int32 // in the text, in bytes
	key    uint64
}

// source is the text that a hit is from.
type source uint8

const (
	fromElsewhere source = iota // the message, details, or no text
	fromStderr
	fromStdout
)

// score orders hits: of one weight those that must not be retried come first,
// because another attempt of them is lost, and of the rest the later.
func (h *hit) score() int {
	if h.final {
		return h.weight + failFast
	}
	return h.weight
}

// failFast is how much lighter evidence for a final class may be to still win.
const failFast = 3

func (h *hit) beats(other *hit) bool {
	if h.order > 0 && other.order > 0 && h.weight == other.weight && h.rank == other.rank {
		return h.order < other.order
	}
	if a, b := h.score(), other.score(); a != b {
		return a > b
	}
	if h.rank != other.rank {
		return h.rank > other.rank
	}
	return h.at > other.at
}

// retriable reports whether a built-in class is; others count as final, so that
// what a policy names wins ties.
func retriable(c failure.Class) bool {
	info, builtIn := failure.InfoOf(c)
	return builtIn && info.Verdict.Retriable()
}

// sortKey gives a hit its key, a number: what beats another has the greater one, as long as
// the order of rules does not count.
func (h *hit) sortKey() {
	h.key = uint64(h.score()+1<<20)<<40 | uint64(h.rank)<<32 | uint64(uint32(h.at))
}
