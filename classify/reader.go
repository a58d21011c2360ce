package classify

import (
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
	"github.com/redrive/redrive/internal/weigh"
)

// reader is what one classification needs. It is used again.
type reader struct {
	c    *Classifier
	e    *failure.Evidence // a copy, so that the evidence of the caller stays where it is
	copy failure.Evidence
	kind string

	hits    []hit
	ordered bool          // some of them have an order
	exact   bool          // a typed code says exactly what happened
	refused bool          // a mail server has said so for good
	coded   bool          // what is being read is a code, not a text
	hint    time.Duration // the longest wait that the texts ask for
	traits  trait         // of all phrases that were found

	from   source    // what is being read
	output [3]string // what a process wrote, by source

	tokens  []scan.Token // of a code
	read    *scan.Buffer // of the text that was read last; nil for none
	matcher phrase.Matcher
	own     phrase.Matcher
	adjust  []int8 // for each symbol of the text: what its position adds to the weight of evidence there

	bag     *weigh.Bag // features, where evidence is weighed
	result  *weigh.Result
	collect bool // the words of what is read go into it

	unnamed naming // of the text that is being read
}

const (
	hitsMax   = 512  // pieces of evidence that are kept
	keepScrap = 4096 // tokens of scratch that are kept for the next text
)

func (r *reader) start(c *Classifier, e *failure.Evidence, kind string) {
	r.copy = *e
	r.c, r.e, r.kind = c, &r.copy, kind
	r.hits, r.ordered, r.exact, r.refused, r.hint, r.traits = r.hits[:0], false, false, false, 0, 0
	r.from = fromElsewhere
}

// release forgets what it has read, so that no text is kept alive.
func (r *reader) release() {
	clear(r.hits)
	clear(r.output[:])
	r.copy = failure.Evidence{}
	r.c, r.e, r.matcher.Text, r.own.Text, r.matcher.Machine, r.own.Machine = nil, nil, "", "", nil, nil
	r.forget()
	if cap(r.tokens) > keepScrap {
		*r = reader{}
	}
}

// forget releases the tokens of the text that was read last.
func (r *reader) forget() {
	r.matcher.Tokens, r.own.Tokens = nil, nil
	if r.read != nil {
		r.read.Release()
		r.read = nil
	}
}

// doubted returns how much less words for a passing failure are worth when a
// typed status, or a mail server, says that the request itself was wrong.
func (r *reader) doubted(rule *textRule) int {
	if !rule.passes {
		return 0
	}
	if r.refused {
		return inHistory
	}
	switch r.e.HTTPStatus {
	case 400, 401, 404, 405, 406, 410, 411, 412, 415, 422:
		return wStatus - wGeneric
	}
	return 0
}

func (r *reader) add(h hit) {
	if h.class != "" && len(r.hits) < hitsMax {
		h.final = h.class != failure.UnknownError && !retriable(h.class)
		h.from = r.from
		r.ordered = r.ordered || h.order > 0
		r.hits = append(r.hits, h)
	}
}

// best returns the strongest hit, of equal ones the first, -1 for none.
func (r *reader) best() int {
	best, most := -1, uint64(0)
	for i := range r.hits {
		h := &r.hits[i]
		switch h.sortKey(); {
		case r.ordered:
			if best < 0 || h.beats(&r.hits[best]) {
				best = i
			}
		case h.key > most:
			best, most = i, h.key
		}
	}
	return best
}

// naming says whether a text names what it is about.
type naming uint8

const (
	notLooked naming = iota
	hasName
	noName
)
