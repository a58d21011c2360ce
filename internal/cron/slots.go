package cron

import "time"

// Next returns the first slot after t, in the schedule's time zone. If the Horizon contains no
// slot, Next returns the zero time.
func (s *Expression) Next(t time.Time) time.Time {
	if s.every > 0 {
		return s.nextMultiple(t)
	}
	at := t.In(s.zone) // a time in the period that is searched now; a period lies between two clock changes
	until := at.Add(Horizon)
	for range segmentsMax {
		begin, end := at.ZoneBounds()
		switch slot := s.within(t, at, begin); {
		case !slot.IsZero() && (end.IsZero() || slot.Before(end)):
			return slot
		case end.IsZero() || end.After(until):
			return time.Time{}
		case s.leftOut(end):
			return end
		}
		t, at = end.Add(-1), end // t is a nanosecond before the change, so that a slot exactly at the change is found
	}
	return time.Time{}
}

// nextMultiple returns the first instant after t that is a multiple of the interval of @every,
// counted from the beginning of 1970.
func (s *Expression) nextMultiple(t time.Time) time.Time {
	every, at := int64(s.every/time.Second), t.Unix()
	ago := at % every
	if ago < 0 {
		ago += every
	}
	return time.Unix(at-ago+every, 0).In(s.zone)
}

// within returns the first slot after t in a period between two clock changes. The last two
// arguments are an instant in this period and the beginning of the period. If the clocks were
// put back at its beginning, they show some times a second time; within skips these times.
func (s *Expression) within(t, at, begin time.Time) time.Time {
	ahead := offset(at)
	if !begin.IsZero() && !s.hourly {
		again := offset(begin.Add(-1)) - ahead
		if first := begin.Add(again - 1); again > 0 && t.Before(first) {
			t = first
		}
	}
	shown := s.local(t.UTC().Add(ahead))
	if shown.IsZero() {
		return time.Time{}
	}
	return shown.Add(-ahead).In(s.zone)
}

// leftOut reports whether the clock change at the given instant makes the clocks skip a time
// of the schedule.
func (s *Expression) leftOut(end time.Time) bool {
	before := offset(end.Add(-1))
	skipped := offset(end) - before
	if skipped <= 0 || s.hourly {
		return false
	}
	from := end.UTC().Add(before)
	shown := s.local(from.Add(-1))
	return !shown.IsZero() && shown.Before(from.Add(skipped))
}

// offset returns how far the clocks are ahead of UTC at the instant t, in the time zone of t.
func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// local returns the first time on the clocks that matches the fields and is later than the
// given clock time. It computes with clock times as if the time zone were UTC.
func (s *Expression) local(shown time.Time) time.Time { return s.fields.Next(shown) }

// Last returns the latest slot at or before t. It returns false if there is no slot within
// the Horizon before t.
func (s *Expression) Last(t time.Time) (slot time.Time, ok bool) {
	// due reports whether there is a slot in (t-back, t].
	due := func(back time.Duration) bool {
		next := s.Next(t.Add(-back))
		return !next.IsZero() && !next.After(t)
	}
	back := time.Minute
	for ; !due(back); back *= 2 {
		if back > Horizon {
			return time.Time{}, false
		}
	}
	// Here, a slot lies in (t-high, t] and no slot lies in (t-low, t]. So the latest slot is
	// between t-high and t-low.
	low, high := time.Duration(0), back
	for high-low > time.Second {
		if middle := low + (high-low)/2; due(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return s.Next(t.Add(-high)), true
}
