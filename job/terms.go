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

// Terms say what a policy decides about a crash of a job and about the end of its
// deadline. These ends are written by the store, in a process that may know neither the
// policy nor the kind. So the terms are computed beforehand and stored with the job: at
// its enqueue, and again at each claim. The zero Terms are the defaults, which apply
// where a policy says nothing.
type Terms struct {
	Class    string // class of a crash; "" means ClassCrash
	Retrying string // text for the user after a crash that is retried; may be empty
	Dead     string // text for the user after the last crash; may be empty
	// Spread is the time over which jobs are spread after their second crash. It doubles
	// with each further crash, up to SpreadMax. 0 means 5 s and 1 min. In whole
	// microseconds.
	Spread, SpreadMax time.Duration

	ExpiredClass string // class of a job whose deadline passed; "" means no class
}

// TermsMax is the maximum size of encoded terms, in bytes.
const TermsMax = 8 << 10

// ClassCrash is the class of a run whose worker stopped responding, unless the terms
// say another one.
const ClassCrash = "Crash"

// The codes of the ends that a store writes. They are part of the group of a failure,
// and a policy can give a class to each.
const (
	CodeLeaseLost = "lease_lost" // a crash
	CodeExpired   = "expired"    // a deadline that passed
)

// LostRun is a run whose lease is over.
type LostRun struct {
	ID           ID
	Kind, Holder string
	Crashes      int32 // crashes in this life, including this one
	MaxCrashes   int32 // crashes in one life after which the job is dead
}

// Crash is the end of a run whose lease is over: the new state, Waiting or Dead, the
// time until a waiting job is due, and the failure record. The store adds the facts of
// the run to the record.
type Crash struct {
	To      State
	Delay   time.Duration
	Failure Failure
}

// Crash returns the end of a run whose lease is over.
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
		c.Failure.UserMessage = t.Dead
	}
	return c
}

const (
	crashSpread    = 5 * time.Second
	crashSpreadMax = time.Minute
)

// CrashDelay returns how long after its rescue a job is due, given its crashes in this
// life. After the first crash that is at once. From the second crash on, jobs are
// spread over a growing time, each at a time that follows from its id: jobs that
// crashed together, because one of them killed the process, then do not run together
// again and again. The result is in whole microseconds, below Spread (doubled for each
// crash after the second) and below SpreadMax.
func (t *Terms) CrashDelay(id ID, crashes int32) time.Duration {
	if crashes < 2 {
		return 0
	}
	spread := min(cmp.Or(t.Spread, crashSpread)<<min(crashes-2, 8), cmp.Or(t.SpreadMax, crashSpreadMax))
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d", id, crashes) // cannot fail: writing to a hash never does
	return time.Duration(h.Sum64()%uint64(spread.Microseconds())) * time.Microsecond
}

// Expiry returns the class and the group of the dead letter of a job whose deadline
// passed before it could run. Such a job has no failure record, because no run failed.
func (t *Terms) Expiry(kind string) Failure {
	return Failure{Class: t.ExpiredClass, Fingerprint: Fingerprint(kind, t.ExpiredClass, CodeExpired)}
}

// termsVersion is the first byte of encoded terms.
const termsVersion = 1

// spreadLimit is the longest spread. Doubled as often as CrashDelay does, it fits in a
// time.Duration.
const spreadLimit = 24 * time.Hour

// Encode returns the terms in the form in which they are stored. Equal terms have equal
// forms; the form of the zero Terms is empty.
func (t *Terms) Encode() string {
	if *t == (Terms{}) {
		return ""
	}
	return string(t.Append(nil))
}

// Append appends the form of Encode to b.
func (t *Terms) Append(b []byte) []byte {
	if *t == (Terms{}) {
		return b
	}
	b = append(b, termsVersion)
	for _, s := range [...]string{t.Class, t.Retrying, t.Dead, t.ExpiredClass} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(t.Spread.Microseconds()))
	return binary.AppendUvarint(b, uint64(t.SpreadMax.Microseconds()))
}

var errTerms = errors.New("malformed terms")

// ParseTerms reads what Encode returned. It returns an error for anything else.
func ParseTerms(s string) (Terms, error) {
	var t Terms
	if s == "" {
		return t, nil
	}
	if len(s) > TermsMax {
		return t, fmt.Errorf("terms of %d bytes: at most %d", len(s), TermsMax)
	}
	if s[0] != termsVersion {
		return t, fmt.Errorf("terms of version %d: this program knows version %d", s[0], termsVersion)
	}
	rest := s[1:]
	var ok bool
	for _, to := range [...]*string{&t.Class, &t.Retrying, &t.Dead, &t.ExpiredClass} {
		*to, rest, ok = cutText(rest)
		if !ok {
			return Terms{}, errTerms
		}
	}
	for _, to := range [...]*time.Duration{&t.Spread, &t.SpreadMax} {
		var us uint64
		if us, rest, ok = cutUvarint(rest); !ok || us > uint64(spreadLimit.Microseconds()) {
			return Terms{}, errTerms
		}
		*to = time.Duration(us) * time.Microsecond
	}
	if rest != "" || t == (Terms{}) { // the zero Terms have the empty form
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
		{"class of a crash", t.Class, TextMax}, {"class of an expired job", t.ExpiredClass, TextMax},
		{"text while the job is retried", t.Retrying, MessageMax}, {"text of a dead job", t.Dead, MessageMax},
	} {
		if len(part.text) > part.max || !utf8.ValidString(part.text) {
			return fmt.Errorf("%s: must be valid UTF-8 of at most %d bytes", part.name, part.max)
		}
	}
	for _, d := range [...]time.Duration{t.Spread, t.SpreadMax} {
		if d < 0 || d > spreadLimit || d%time.Microsecond != 0 {
			return fmt.Errorf("spread %s: must be 0 to %s, in whole microseconds", d, spreadLimit)
		}
	}
	if *t == (Terms{}) {
		return nil
	}
	size := 1 + len(t.Class) + len(t.Retrying) + len(t.Dead) + len(t.ExpiredClass) + 6*binary.MaxVarintLen64
	if size > TermsMax {
		return fmt.Errorf("terms of %d bytes: at most %d", size, TermsMax)
	}
	return nil
}

// cutUvarint reads a number from the beginning of s. It refuses a form longer than
// necessary, so that each number has one form.
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
