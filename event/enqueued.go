package event

import (
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
)

// Enqueued calls the given function once for every event of a row that reports a new job
// with an owner or a correlation id. If the job has only one of the two, the other argument
// is empty. Both arguments are parts of body. Enqueued is several times faster than Unpack,
// because it skips all other fields. It returns the number of all events in the row, and the
// same errors as Unpack. Before an error, the function may already have been called.
func Enqueued(seq int64, body []byte, each func(id job.ID, owner, correlation []byte)) (n int, err error) {
	if len(body) == 0 {
		return 0, nil
	}
	if body[0] != packVersion {
		return 0, fmt.Errorf("event row %d has format %d: this program reads only format %d", seq, body[0], packVersion)
	}
	s := skimmer{unpacker: unpacker{rest: body[1:]}}
	for len(s.rest) > 0 && s.err == nil {
		if id, owner, correlation := s.event(); len(owner)+len(correlation) > 0 && s.err == nil {
			each(id, owner, correlation)
		}
		n++
	}
	if s.err != nil {
		return n, fmt.Errorf("event row %d, event %d: %w", seq, n, s.err)
	}
	return n, nil
}

// skimmer reads a row for Enqueued.
type skimmer struct {
	unpacker
	known [textsMax][]byte // the texts that later texts can refer to
	n     int              // the number of known texts
}

// event reads one event. The owner and the correlation id are empty unless the event reports
// a new job that has them.
func (s *skimmer) event() (id job.ID, owner, correlation []byte) {
	enqueued := Type(s.byte()) == JobEnqueued
	fields := uint(s.uvarint())
	if fields&^knownFields != 0 {
		s.fail(fmt.Errorf("the event has unknown fields (bits %#x)", fields&^knownFields))
		return 0, nil, nil
	}
	s.last += job.ID(s.varint())
	for field := uint(1); field <= fields; field <<= 1 {
		if fields&field == 0 {
			continue
		}
		switch field {
		case hasKind, hasQueue, hasClass, hasReason, hasNote:
			s.skimText()
		case hasOwner:
			if text := s.skimText(); enqueued {
				owner = text
			}
		case hasCorrelation:
			if text := s.skimText(); enqueued {
				correlation = text
			}
		case hasStates:
			s.byte()
		case hasProgress:
			s.skip()
			s.skip()
		default: // the other fields are numbers
			s.skip()
		}
	}
	return s.last, owner, correlation
}

// skip reads a number and ignores its value.
func (s *skimmer) skip() {
	if len(s.rest) > 0 && s.rest[0] < 0x80 { // most numbers have one byte
		s.rest = s.rest[1:]
		return
	}
	s.uvarint()
}

// skimText reads a text without a copy.
func (s *skimmer) skimText() []byte {
	head := s.uvarint()
	if head&1 == 1 {
		if i := head >> 1; i < uint64(s.n) {
			return s.known[i]
		}
		s.fail(errors.New("a text refers to an earlier text that does not exist"))
		return nil
	}
	size := head >> 1
	if size > uint64(len(s.rest)) {
		s.fail(errCut)
		return nil
	}
	text := s.rest[:size:size]
	s.rest = s.rest[size:]
	if s.n < textsMax {
		s.known[s.n] = text
		s.n++
	}
	return text
}
