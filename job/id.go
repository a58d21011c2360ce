package job

import (
	"fmt"
	"strconv"
	"time"
)

// ID identifies a job for ever. Ids come from blocks that a process reserves in the
// store, so a job's id is known before the job is committed. In JSON an id is a string,
// because JavaScript rounds integers above 2^53.
type ID int64

// String returns the id in decimal.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText implements encoding.TextMarshaler. It also makes the id a string in JSON.
func (id ID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// ParseID reads an id as String writes it. It returns an error if the text is not a
// positive decimal number.
func ParseID(s string) (ID, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("job id %.32q: must be a positive whole number", s)
	}
	return ID(n), nil
}

// Token is the number of a run of a job. Each claim of the job adds one to the number, also
// in later lives. Every write of a run carries its token, so that the store can refuse an
// outdated run.
type Token int64

// Micros is a time in microseconds since 1970-01-01 UTC. All times are stored and compared in
// this unit. Zero means "not set".
type Micros int64

// At converts t, truncating to the microsecond. The zero time becomes 0. The time 1970-01-01
// 00:00:00 UTC becomes 1, because 0 means "not set".
func At(t time.Time) Micros {
	if t.IsZero() {
		return 0
	}
	if us := t.UnixMicro(); us != 0 {
		return Micros(us)
	}
	return 1
}

// Time returns m as a time.Time in UTC. For 0 it returns the zero time.
func (m Micros) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

// MarshalText writes the time as RFC 3339 with microseconds, in UTC.
func (m Micros) MarshalText() ([]byte, error) {
	return m.Time().AppendFormat(nil, "2006-01-02T15:04:05.000000Z07:00"), nil
}

// Add returns m moved by d, truncated to the microsecond. If the sum would overflow,
// Add returns the limit of the type, so that a time far in the future stays in the
// future.
func (m Micros) Add(d time.Duration) Micros {
	us := Micros(d.Microseconds())
	sum := m + us
	if us > 0 && sum < m {
		return Micros(1<<63 - 1)
	}
	return sum
}

// Sub returns the duration from the other time to m, limited to the range of time.Duration.
func (m Micros) Sub(other Micros) time.Duration {
	us := int64(m - other)
	const limit = int64(1<<63-1) / 1000
	switch overflowed := m > other != (us > 0) && m != other; {
	case m > other && (overflowed || us > limit):
		return time.Duration(1<<63 - 1)
	case m < other && (overflowed || us < -limit):
		return -time.Duration(1<<63 - 1)
	}
	return time.Duration(us) * time.Microsecond
}
