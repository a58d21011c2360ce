package policy

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// The values of the first byte of an encoded memo, which says the format. A memo in the
// format memoHanded also has the number of hand-overs, and one in the format memoUnstored this
// number and the unstored cost.
const (
	memoVersion  = 2
	memoHanded   = 3
	memoUnstored = 4
)

// memoClasses is the largest number of classes with a separate count in a memo. All other
// classes share one count.
const memoClasses = job.RetriedMax

// Memo contains what a decision passes on to the next decision of the same life of the job,
// so that a decision does not have to read the job's history. It is a value: a copy is
// independent. The zero value is the memo of a life without a failure.
type Memo struct {
	classes  [memoClasses]classCount // the class of the last retried failure first
	known    int                     // the number of classes that have a separate count
	other    uint32                  // number of retries of the classes that share one count
	failures uint32                  // number of retries of all classes
	// Previous is the wait that the back-off gave before the last retry, without any hint.
	Previous time.Duration
	// Cost is the cost of all runs of this life, in millionths of a US dollar.
	Cost int64
	// FirstAge is the age of the life when it had its first failure.
	FirstAge time.Duration
	// HandOvers is the number of times that calls in this life have handed the job over to
	// the queue.
	HandOvers uint32
	// Unstored is the part of Cost that no outcome has stored yet: the cost of runs that were
	// snoozed or handed back. The next outcome that can store a cost includes it.
	Unstored int64
}

type classCount struct {
	class failure.Class
	n     uint32
}

// Count returns how many failures of the class were retried in this life. For a class
// without a separate count, it returns the count that these classes share.
func (m *Memo) Count(class failure.Class) int {
	for i := range m.classes[:m.known] {
		if m.classes[i].class == class {
			return int(m.classes[i].n)
		}
	}
	if m.known < memoClasses && len(class) <= failure.CodeMax {
		return 0
	}
	return int(m.other)
}

// Failures returns how many failures were retried in this life.
func (m *Memo) Failures() int { return int(m.failures) }

// add counts one failure that is retried.
func (m *Memo) add(class failure.Class, wait, age time.Duration) {
	if m.failures == 0 {
		m.FirstAge = age
	}
	m.failures = plusOne(m.failures)
	m.Previous = wait
	for i := range m.classes[:m.known] {
		if m.classes[i].class == class {
			last := classCount{class, plusOne(m.classes[i].n)}
			copy(m.classes[1:i+1], m.classes[:i])
			m.classes[0] = last
			return
		}
	}
	if m.known == memoClasses || len(class) > failure.CodeMax {
		m.other = plusOne(m.other)
		return
	}
	copy(m.classes[1:m.known+1], m.classes[:m.known])
	m.classes[0] = classCount{class, 1}
	m.known++
}

// Retried returns the classes of the failures that were retried in this life, the class of the last
// one first. Classes without a separate count are missing.
func (m *Memo) Retried() []string {
	if m.known == 0 {
		return nil
	}
	classes := make([]string, m.known)
	for i := range classes {
		classes[i] = string(m.classes[i].class)
	}
	return classes
}

func plusOne(n uint32) uint32 { return min(n, math.MaxInt32-1) + 1 }

// Append appends the encoded memo, which has about 25 bytes, to dst. ParseMemo reads this
// format. For the zero value nothing is appended.
func (m *Memo) Append(dst []byte) []byte {
	if m.failures == 0 && m.Cost == 0 && m.known == 0 && m.other == 0 && m.Previous == 0 && m.FirstAge == 0 && m.HandOvers == 0 && m.Unstored == 0 {
		return dst
	}
	if m.Unstored > 0 {
		dst = binary.AppendVarint(binary.AppendVarint(append(dst, memoUnstored), int64(m.HandOvers)), m.Unstored)
	} else if m.HandOvers > 0 {
		dst = binary.AppendVarint(append(dst, memoHanded), int64(m.HandOvers))
	} else {
		dst = append(dst, memoVersion)
	}
	for _, v := range [...]int64{int64(m.failures), int64(m.other), m.Previous.Microseconds(), m.FirstAge.Microseconds(), m.Cost} {
		dst = binary.AppendVarint(dst, v)
	}
	for i := range m.classes[:m.known] {
		dst = append(dst, byte(len(m.classes[i].class)))
		dst = append(dst, m.classes[i].class...)
		dst = binary.AppendVarint(dst, int64(m.classes[i].n))
	}
	return dst
}

// ParseMemo decodes a memo. It returns the zero value if the memo is damaged or has an
// unknown format, because a decision without history is better than no decision. The limit
// on attempts still holds then, because the store counts the attempts.
func ParseMemo(b []byte) Memo {
	if len(b) == 0 || b[0] < memoVersion || b[0] > memoUnstored {
		return Memo{}
	}
	r := memoReader{b: b[1:]}
	var m Memo
	if b[0] != memoVersion {
		m.HandOvers = r.count()
	}
	if b[0] == memoUnstored {
		m.Unstored = max(0, r.varint())
	}
	m.failures, m.other = r.count(), r.count()
	m.Previous, m.FirstAge = r.micros(), r.micros()
	m.Cost = r.varint()
	for len(r.b) > 0 && !r.bad {
		class, n := r.class(), r.count()
		if r.bad || m.known == memoClasses || m.Count(class) > 0 {
			return Memo{}
		}
		m.classes[m.known] = classCount{class, n}
		m.known++
	}
	if r.bad {
		return Memo{}
	}
	return m
}

// memoReader decodes a memo that Append has encoded.
type memoReader struct {
	b   []byte
	bad bool
}

func (r *memoReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *memoReader) count() uint32 {
	v := r.varint()
	r.bad = r.bad || v < 0 || v > math.MaxInt32
	return uint32(min(max(v, 0), math.MaxInt32))
}

func (r *memoReader) micros() time.Duration {
	v := r.varint()
	r.bad = r.bad || v < 0 || v > math.MaxInt64/int64(time.Microsecond)
	if r.bad {
		return 0
	}
	return time.Duration(v) * time.Microsecond
}

func (r *memoReader) class() failure.Class {
	if len(r.b) == 0 || int(r.b[0]) > failure.CodeMax || len(r.b) < 1+int(r.b[0]) {
		r.bad, r.b = true, nil
		return ""
	}
	name := r.b[1 : 1+int(r.b[0])]
	r.b = r.b[1+int(r.b[0]):]
	return intern(name)
}

// intern returns the class with a given name. Common classes need no allocation.
func intern(name []byte) failure.Class {
	for _, c := range [...]failure.Class{
		failure.NetworkTimeout, failure.RateLimitExceeded, failure.TemporaryServiceError, failure.ResourceConstraint,
		failure.UnknownError, failure.ProgramError, failure.AttemptTimeout, failure.Panic,
	} {
		if string(name) == string(c) {
			return c
		}
	}
	return failure.Class(name)
}
