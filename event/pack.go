package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
)

// The packed form consists of a version byte and the events. An event consists of its
// type, a bit set that says which fields follow, and these fields in a fixed order.
// Numbers are varints. A job id is stored as the difference from the job id of the
// event before it, because most commits change jobs with neighbouring ids. A text is
// stored as a reference to an earlier text of the same row (2·index+1), or as its
// length (2·length) and its bytes. A new field gets a new bit after the existing bits,
// so old rows stay readable.
const packVersion = 1

const (
	hasKind = 1 << iota
	hasQueue
	hasOwner
	hasBatch
	hasStates
	hasLife
	hasToken
	hasAttempt
	hasDueAt
	hasClass
	hasReason
	hasProgress
	hasNote
	hasCorrelation
	knownFields = 1<<iota - 1
)

// textsMax is the maximum number of texts of one packed row that later texts of the row can
// refer to. Packing compares each text with all of them, so without this limit packing n texts
// would take time proportional to the square of n.
const textsMax = 16

// Packer packs the events of one commit. The zero value is ready for use. Reset prepares
// the Packer for another commit and keeps its memory.
type Packer struct {
	buf   []byte
	n     int
	last  job.ID
	texts []string
}

// Reset removes all events.
func (p *Packer) Reset() {
	p.buf, p.n, p.last = p.buf[:0], 0, 0
	clear(p.texts)
	p.texts = p.texts[:0]
}

// Len returns the number of events added since the last Reset.
func (p *Packer) Len() int { return p.n }

// Bytes returns the packed events. The slice is valid until the next call of Add or
// Reset.
func (p *Packer) Bytes() []byte { return p.buf }

// Add appends one event. The fields Cursor and At are not packed, because the row
// stores them.
func (p *Packer) Add(e *Event) {
	if len(p.buf) == 0 {
		p.buf = append(p.buf, packVersion)
	}
	fields := fieldsOf(e)
	b := append(p.buf, byte(e.Type))
	b = binary.AppendUvarint(b, uint64(fields))
	b = binary.AppendVarint(b, int64(e.Job-p.last))
	p.last = e.Job
	if fields&hasKind != 0 {
		b = p.text(b, e.Kind)
	}
	if fields&hasQueue != 0 {
		b = p.text(b, e.Queue)
	}
	if fields&hasOwner != 0 {
		b = p.text(b, e.Owner)
	}
	if fields&hasBatch != 0 {
		b = binary.AppendVarint(b, e.Batch)
	}
	if fields&hasStates != 0 {
		b = append(b, byte(e.From)<<4|byte(e.To))
	}
	if fields&hasLife != 0 {
		b = binary.AppendVarint(b, int64(e.Life))
	}
	if fields&hasToken != 0 {
		b = binary.AppendVarint(b, int64(e.Token))
	}
	if fields&hasAttempt != 0 {
		b = binary.AppendVarint(b, int64(e.Attempt))
	}
	if fields&hasDueAt != 0 {
		b = binary.AppendVarint(b, int64(e.DueAt))
	}
	if fields&hasClass != 0 {
		b = p.text(b, e.Class)
	}
	if fields&hasReason != 0 {
		b = p.text(b, e.Reason)
	}
	if fields&hasProgress != 0 {
		b = binary.AppendVarint(b, e.Done)
		b = binary.AppendVarint(b, e.Total)
	}
	if fields&hasNote != 0 {
		b = p.text(b, e.Note)
	}
	if fields&hasCorrelation != 0 {
		b = p.text(b, e.Correlation)
	}
	p.buf = b
	p.n++
}

func fieldsOf(e *Event) (fields uint) {
	set := func(bit uint, on bool) {
		if on {
			fields |= bit
		}
	}
	set(hasKind, e.Kind != "")
	set(hasQueue, e.Queue != "")
	set(hasOwner, e.Owner != "")
	set(hasBatch, e.Batch != 0)
	set(hasStates, e.From != 0 || e.To != 0)
	set(hasLife, e.Life != 0)
	set(hasToken, e.Token != 0)
	set(hasAttempt, e.Attempt != 0)
	set(hasDueAt, e.DueAt != 0)
	set(hasClass, e.Class != "")
	set(hasReason, e.Reason != "")
	set(hasProgress, e.Done != 0 || e.Total != 0)
	set(hasNote, e.Note != "")
	set(hasCorrelation, e.Correlation != "")
	return fields
}

func (p *Packer) text(b []byte, s string) []byte {
	for i, text := range slices.Backward(p.texts) {
		if text == s {
			return binary.AppendUvarint(b, uint64(i)<<1|1)
		}
	}
	if len(p.texts) < textsMax {
		p.texts = append(p.texts, s)
	}
	b = binary.AppendUvarint(b, uint64(len(s))<<1)
	return append(b, s...)
}

var errCut = errors.New("event row: the row is cut short")

// Unpack returns the events of one row. The arguments are the number of the row's commit, the
// index of the row's first event, which is 1 unless the commit has several rows, and the time
// of the commit. Unpack returns an error if the row is damaged or was written by a newer
// version.
func Unpack(seq int64, first int, at job.Micros, body []byte) ([]Event, error) {
	if len(body) == 0 {
		return nil, nil
	}
	if body[0] != packVersion {
		return nil, fmt.Errorf("event row %d has format %d: this program reads only format %d", seq, body[0], packVersion)
	}
	u := unpacker{rest: body[1:]}
	var events []Event
	for len(u.rest) > 0 && u.err == nil {
		e := u.event()
		e.Cursor = Cursor{Seq: seq, Index: first + len(events)}
		e.At = at
		events = append(events, e)
	}
	if u.err != nil {
		return nil, fmt.Errorf("event row %d, event %d: %w", seq, len(events), u.err)
	}
	return events, nil
}

type unpacker struct {
	rest  []byte
	last  job.ID
	texts []string
	err   error
}

func (u *unpacker) event() (e Event) {
	e.Type = Type(u.byte())
	fields := uint(u.uvarint())
	if fields&^knownFields != 0 {
		u.fail(fmt.Errorf("the event has unknown fields (bits %#x)", fields&^knownFields))
		return e
	}
	u.last += job.ID(u.varint())
	e.Job = u.last
	if fields&hasKind != 0 {
		e.Kind = u.text()
	}
	if fields&hasQueue != 0 {
		e.Queue = u.text()
	}
	if fields&hasOwner != 0 {
		e.Owner = u.text()
	}
	if fields&hasBatch != 0 {
		e.Batch = u.varint()
	}
	if fields&hasStates != 0 {
		b := u.byte()
		e.From, e.To = job.State(b>>4), job.State(b&15)
	}
	if fields&hasLife != 0 {
		e.Life = int32(u.varint())
	}
	if fields&hasToken != 0 {
		e.Token = job.Token(u.varint())
	}
	if fields&hasAttempt != 0 {
		e.Attempt = int32(u.varint())
	}
	if fields&hasDueAt != 0 {
		e.DueAt = job.Micros(u.varint())
	}
	if fields&hasClass != 0 {
		e.Class = u.text()
	}
	if fields&hasReason != 0 {
		e.Reason = u.text()
	}
	if fields&hasProgress != 0 {
		e.Done, e.Total = u.varint(), u.varint()
	}
	if fields&hasNote != 0 {
		e.Note = u.text()
	}
	if fields&hasCorrelation != 0 {
		e.Correlation = u.text()
	}
	return e
}

func (u *unpacker) fail(err error) {
	if u.err == nil {
		u.err, u.rest = err, nil
	}
}

func (u *unpacker) byte() byte {
	if len(u.rest) == 0 {
		u.fail(errCut)
		return 0
	}
	b := u.rest[0]
	u.rest = u.rest[1:]
	return b
}

func (u *unpacker) uvarint() uint64 {
	v, n := binary.Uvarint(u.rest)
	if n <= 0 {
		u.fail(errCut)
		return 0
	}
	u.rest = u.rest[n:]
	return v
}

func (u *unpacker) varint() int64 {
	v, n := binary.Varint(u.rest)
	if n <= 0 {
		u.fail(errCut)
		return 0
	}
	u.rest = u.rest[n:]
	return v
}

func (u *unpacker) text() string {
	head := u.uvarint()
	if head&1 == 1 {
		if i := head >> 1; i < uint64(len(u.texts)) {
			return u.texts[i]
		}
		u.fail(errors.New("a text refers to an earlier text that does not exist"))
		return ""
	}
	size := head >> 1
	if size > uint64(len(u.rest)) {
		u.fail(errCut)
		return ""
	}
	s := string(u.rest[:size])
	u.rest = u.rest[size:]
	if len(u.texts) < textsMax {
		u.texts = append(u.texts, s)
	}
	return s
}
