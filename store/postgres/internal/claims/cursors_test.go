package claims

import (
	"testing"
	"time"

	"github.com/redrive/redrive/job"
)

var (
	cursorsPlace = Place{1, 2}
	cursorsBegin = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
)

// A scan that takes longer than a statement may is not tried again and again: claims
// read what is new, and further scans go back as far as they can.
func TestAScanThatNeverEndsDoesNotStopClaims(t *testing.T) {
	t.Parallel()
	c := NewCursors()
	now := cursorsBegin
	garbage := time.Hour // what lies further back makes a scan end at its limit
	const limit = 10 * time.Second
	claim := func() (back time.Duration, ok bool) {
		at := job.At(now)
		wanted := c.WantScan(now, func() []Place { return []Place{cursorsPlace} }) != nil
		look, to := c.ScansInline() || wanted, c.ScanFrom(at)
		if from := c.From(cursorsPlace, look, to); from == Earliest {
			back = 1 << 62
		} else {
			back = at.Sub(from)
		}
		if back > garbage {
			now = now.Add(limit)
			c.TookTooLong(now, look, at, []Place{cursorsPlace})
			return back, false
		}
		now = now.Add(time.Millisecond)
		if look {
			c.Scanned(now, time.Millisecond, 0, to)
		}
		return back, true
	}
	if _, ok := claim(); ok {
		t.Fatal("the first scan does not fail")
	}
	failed, last := 0, now
	for end := now.Add(400 * time.Second); now.Before(end); {
		if _, ok := claim(); !ok {
			if wait := now.Sub(last) - limit; failed > 0 && wait < min(scanRetry<<(failed-1), scanAgain) {
				t.Errorf("after %d scans that failed another one is tried after %s", failed, wait)
			}
			failed, last = failed+1, now
		}
		now = now.Add(10 * time.Second)
	}
	if most := int(400*time.Second/scanAgain) + 6; failed == 0 || failed > most {
		t.Errorf("%d claims failed", failed)
	}
	if floor := job.At(now).Sub(c.floor); floor < 20*time.Minute {
		t.Errorf("claims read the last %s, and an hour would do", floor)
	}
	garbage = 1 << 62 // the server has cleaned up
	now = now.Add(scanAgain)
	for i := 0; ; i++ {
		if back, ok := claim(); !ok || i > 40 {
			t.Fatalf("claim %d went back %s, %v", i, back, ok)
		}
		if c.floor == Earliest {
			break
		}
	}
}

// Once scans are expensive, claims use the cursors, and scans are made in the background: now and then, and soon when
// anything may have changed. The cursors stay meanwhile.
func TestAnExpensiveScanIsMadeInTheBackground(t *testing.T) {
	t.Parallel()
	c, now := NewCursors(), cursorsBegin
	wanted := func() bool {
		return c.WantScan(now, func() []Place { return []Place{cursorsPlace} }) != nil
	}
	c.Raise(Taken{Since: c.Latest(), Up: map[Place]job.Micros{cursorsPlace: 100}})
	if c.Scanned(now, time.Millisecond, 1, Earliest); !c.ScansInline() || wanted() {
		t.Fatal("a scan that is cheap is not left to the claims")
	}
	if c.Scanned(now, 100*time.Millisecond, 1, Earliest); c.ScansInline() || wanted() {
		t.Fatal("after an expensive scan the next claim scans again")
	}
	c.Notify(AnyChange)
	if from := c.From(cursorsPlace, false, Earliest); from != 100 {
		t.Errorf("reads from %d, want 100, which is known", from)
	}
	if now = now.Add(scanSoon * 100 * time.Millisecond); !wanted() || wanted() {
		t.Error("want one scan soon after anything may have changed")
	}
	c.Scanned(now, 100*time.Millisecond, 1, Earliest)
	if now = now.Add(scanShare*100*time.Millisecond - 1); wanted() {
		t.Error("a scan too soon")
	}
	if now = now.Add(1); !wanted() {
		t.Error("no scan when it is time")
	}
	if c.Scanned(now, time.Millisecond, 1, Earliest); !c.ScansInline() {
		t.Error("a scan that is cheap again is not left to the claims")
	}
}

// A claim without a scan that cannot read from its cursor any more drops the cursor.
func TestACursorThatIsTooFarBackIsGivenUp(t *testing.T) {
	t.Parallel()
	c, now := NewCursors(), job.At(cursorsBegin)
	c.Raise(Taken{Since: c.Latest(), Up: map[Place]job.Micros{cursorsPlace: now.Add(-time.Hour)}})
	c.TookTooLong(cursorsBegin, false, now, []Place{cursorsPlace})
	if from := c.From(cursorsPlace, false, Earliest); from != now.Add(-scanBack) {
		t.Errorf("reads the last %s", now.Sub(from))
	}
	c.Notify(Notice{Ready: map[Place]job.Micros{cursorsPlace: now.Add(-time.Minute)}})
	if from := c.From(cursorsPlace, false, Earliest); from != now.Add(-time.Minute) {
		t.Errorf("reads the last %s, and a job was made ready before", now.Sub(from))
	}
}

// A notice between a claim's read and its end is not hidden by the cursor that the claim leaves.
func TestNoticesDuringAClaimHoldItsCursorDown(t *testing.T) {
	t.Parallel()
	other := Place{2, 2}
	notice := func(place Place, at job.Micros) Notice { return Notice{Ready: map[Place]job.Micros{place: at}} }
	for name, k := range map[string]struct {
		notices []Notice
		want    job.Micros
	}{
		"nothing":       {nil, 100},
		"later":         {[]Notice{notice(cursorsPlace, 101)}, 100},
		"elsewhere":     {[]Notice{notice(other, 50)}, 100},
		"earlier":       {[]Notice{notice(cursorsPlace, 70), notice(other, 10), notice(cursorsPlace, 90)}, 70},
		"anything":      {[]Notice{notice(cursorsPlace, 101), AnyChange}, Earliest},
		"and afterward": {[]Notice{AnyChange, notice(cursorsPlace, 101)}, Earliest},
	} {
		c := NewCursors()
		c.Notify(notice(cursorsPlace, 1)) // known before the read
		since := c.Latest()
		for _, n := range k.notices {
			c.Notify(n)
		}
		c.Raise(Taken{Since: since, Up: map[Place]job.Micros{cursorsPlace: 100}})
		if got := c.From(cursorsPlace, false, Earliest); got != k.want {
			t.Errorf("%s: reads from %d, want %d", name, got, k.want)
		}
	}
}
