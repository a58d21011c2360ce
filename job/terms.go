package job

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"time"
	"unicode/utf8"
)

// Terms are what a policy says about a crash of a job and about a job whose deadline
// passes. The store writes these failures, in a process that may know neither the
// policy nor the kind. So the terms are computed beforehand and stored with the job: at
// its enqueue, and again at each claim. The zero Terms are the defaults for a policy
// that says nothing about this.
type Terms struct {
	Class    string // the class of a crash; "" means ClassCrash
	Retrying string // text for the user after a crash that is followed by a retry; may be empty
	Dead     string // text for the user after the crash that makes the job dead; may be empty
	Notified string // added to Dead if people who operate the system were notified; see Outcome.Notified
	// Spread is the time over which jobs are spread after their second crash. It
	// doubles with each further crash, up to SpreadMax. 0 means 2 s for Spread and
	// 1 min for SpreadMax. Both are whole microseconds.
	Spread, SpreadMax time.Duration

	ExpiredClass string // class of a job whose deadline passed; "" means no class
}

// TermsMax is the maximum size of encoded terms, in bytes.
const TermsMax = 8 << 10

// ClassCrash is the class of a run whose worker stopped responding, unless the terms
// name another class.
const ClassCrash = "Crash"

// The codes of failures that a store writes. They are a part of the fingerprint, and a
// policy can assign a class to each of them.
const (
	CodeLeaseLost = "lease_lost" // the code of a crash
	CodeExpired   = "expired"    // the code of a job whose deadline passed
)

// LostRun is a run whose lease has expired.
type LostRun struct {
	ID           ID
	Kind, Holder string
	Crashes      int32 // the number of crashes in this life, including this one
	MaxCrashes   int32 // the number of crashes in one life after which the job is dead
}

// Crash is the end of a run whose lease has expired. It has the new state of the job
// (Waiting or Dead), the time until a waiting job is due, and the failure record. The
// store adds the facts of the run to the record.
type Crash struct {
	To       State
	Delay    time.Duration
	Failure  Failure
	Notified string // for a dead job; see Outcome.Notified
}

// Crash returns the end of a run whose lease has expired.
func (t *Terms) Crash(r *LostRun) Crash {
	c := Crash{To: Waiting, Delay: t.CrashDelay(r.ID, r.Crashes)}
	if r.Crashes >= r.MaxCrashes {
		c.To, c.Delay = Dead, 0
	}
	class := cmp.Or(t.Class, ClassCrash)
	c.Failure = Failure{
		How:   ByCrash,
		Class: class,
		Code:  CodeLeaseLost,
		Message: fmt.Sprintf("no sign of life from worker %s until the lease was over; "+
			"the process was killed, hung or cut off", r.Holder),
		UserMessage: t.Retrying,
		Fingerprint: Fingerprint(r.Kind, class, CodeLeaseLost),
	}
	if c.To == Dead {
		c.Failure.UserMessage, c.Notified = t.Dead, t.Notified
	}
	return c
}

// The values of Terms.Spread and Terms.SpreadMax.
const (
	SpreadDefault    = 2 * time.Second
	SpreadMaxDefault = time.Minute
	SpreadUnit       = time.Microsecond
	SpreadLimit      = 24 * time.Hour // the longest spread; small enough that the doublings in CrashDelay do not overflow
)

// CrashDelay returns the time until a crashed job is due again. It depends on the
// number of crashes in this life. After the first crash the delay is 0. After later
// crashes the delay is computed from the job's id, so jobs that crashed together get
// different delays. This matters if one of them kills the process: the jobs then do not
// run together again and again. The delay is in whole microseconds. It is less than
// Spread, which doubles with each crash after the second, and less than SpreadMax.
func (t *Terms) CrashDelay(id ID, crashes int32) time.Duration {
	if crashes < 2 {
		return 0
	}
	spread := min(cmp.Or(t.Spread, SpreadDefault)<<min(crashes-2, 8), cmp.Or(t.SpreadMax, SpreadMaxDefault))
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d", id, crashes) // the error is ignored, because a write to a hash never fails
	return time.Duration(h.Sum64()%uint64(spread.Microseconds())) * time.Microsecond
}

// Expiry returns the class and the fingerprint for the dead letter of a job whose
// deadline passed before it could run. Such a job has no failure record, because no run
// failed.
func (t *Terms) Expiry(kind string) Failure {
	return Failure{Class: t.ExpiredClass, Fingerprint: Fingerprint(kind, t.ExpiredClass, CodeExpired)}
}

// termsVersion is the first byte of encoded terms.
const termsVersion = 1

// Encode returns the stored form of the terms. Equal terms have the same encoding. The encoding
// of the zero Terms is empty.
func (t *Terms) Encode() string {
	if *t == (Terms{}) {
		return ""
	}
	return string(t.Append(nil))
}

// Append appends the encoding of the terms to b; see Encode.
func (t *Terms) Append(b []byte) []byte {
	if *t == (Terms{}) {
		return b
	}
	b = append(b, termsVersion)
	for _, s := range [...]string{t.Class, t.Retrying, t.Dead, t.Notified, t.ExpiredClass} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(t.Spread.Microseconds()))
	return binary.AppendUvarint(b, uint64(t.SpreadMax.Microseconds()))
}

var errTerms = errors.New("malformed terms")

// ParseTerms reads terms that Encode has encoded. It returns an error for any other
// text.
func ParseTerms(s string) (Terms, error) {
	var t Terms
	if s == "" {
		return t, nil
	}
	if len(s) > TermsMax {
		return t, fmt.Errorf("terms of %d bytes: at most %d bytes", len(s), TermsMax)
	}
	if s[0] != termsVersion {
		return t, fmt.Errorf("terms of version %d: this program supports only version %d", s[0], termsVersion)
	}
	rest := s[1:]
	var ok bool
	for _, to := range [...]*string{&t.Class, &t.Retrying, &t.Dead, &t.Notified, &t.ExpiredClass} {
		*to, rest, ok = cutText(rest)
		if !ok {
			return Terms{}, errTerms
		}
	}
	for _, to := range [...]*time.Duration{&t.Spread, &t.SpreadMax} {
		var us uint64
		if us, rest, ok = cutUvarint(rest); !ok || us > uint64(SpreadLimit.Microseconds()) {
			return Terms{}, errTerms
		}
		*to = time.Duration(us) * time.Microsecond
	}
	if rest != "" || t == (Terms{}) { // the zero Terms must be encoded as the empty text
		return Terms{}, errTerms
	}
	return t, t.Validate()
}

// Validate returns an error when the terms cannot be stored.
func (t *Terms) Validate() error {
	for _, part := range [...]struct {
		name, text string
		max        int
	}{
		{"Class", t.Class, TextMax}, {"ExpiredClass", t.ExpiredClass, TextMax},
		{"Retrying", t.Retrying, MessageMax}, {"Dead", t.Dead, MessageMax}, {"Notified", t.Notified, MessageMax},
	} {
		if len(part.text) > part.max || !utf8.ValidString(part.text) {
			return fmt.Errorf("%s of Terms must be valid UTF-8 of at most %d bytes", part.name, part.max)
		}
	}
	for _, d := range [...]time.Duration{t.Spread, t.SpreadMax} {
		if d < 0 || d > SpreadLimit || d%SpreadUnit != 0 {
			return fmt.Errorf("spread of %s: must be 0 to %s, in whole microseconds", d, SpreadLimit)
		}
	}
	if *t == (Terms{}) {
		return nil
	}
	size := 1 + len(t.Class) + len(t.Retrying) + len(t.Dead) + len(t.Notified) + len(t.ExpiredClass) + 7*binary.MaxVarintLen64
	if size > TermsMax {
		return fmt.Errorf("terms of %d bytes: at most %d bytes", size, TermsMax)
	}
	return nil
}

// cutUvarint reads a number from the beginning of s. It refuses an encoding that is
// longer than necessary, so that each number has only one encoding.
func cutUvarint(s string) (n uint64, rest string, ok bool) {
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		c := s[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			return 0, "", false
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return n, s[i+1:], i == 0 || c != 0
		}
	}
	return 0, "", false
}

// cutText reads a text from the beginning of s.
func cutText(s string) (text, rest string, ok bool) {
	n, rest, ok := cutUvarint(s)
	if !ok || n > uint64(len(rest)) {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}
