package cron_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/cron"
)

func parse(t testing.TB, text, zone string) *cron.Expression {
	t.Helper()
	loc, err := cron.Zone(zone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := cron.Parse(text, loc)
	if err != nil {
		t.Fatalf("parse the schedule %q: got error %v, want none", text, err)
	}
	return s
}

// slots returns the slots of the schedule after the first time, up to the second. Both times
// are in RFC 3339.
func slots(t testing.TB, s *cron.Expression, from, to string) (all []string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		t.Fatal(err)
	}
	end, err := time.Parse(time.RFC3339, to)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if at = s.Next(at); at.IsZero() || at.After(end) {
			return all
		}
		all = append(all, at.Format("01-02 15:04 -07:00"))
	}
}

// part of: Q13
func TestQ13_SlotsWhenTheClocksChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schedule, zone, from, to string
		want                           string
	}{
		{"a time that is left out is due when the clocks are put forward", "30 2 * * *", "Europe/Berlin",
			"2026-03-28T12:00:00+01:00", "2026-03-30T12:00:00+02:00", "03-29 03:00 +02:00, 03-30 02:30 +02:00"},
		{"several that are left out are one slot, with one at the change itself", "0,20,40 2,3 * * *", "Europe/Berlin",
			"2026-03-28T12:00:00+01:00", "2026-03-29T12:00:00+02:00", "03-29 03:00 +02:00, 03-29 03:20 +02:00, 03-29 03:40 +02:00"},
		{"the times around are what they are", "59 1,3 * * *", "Europe/Berlin",
			"2026-03-28T12:00:00+01:00", "2026-03-29T12:00:00+02:00", "03-29 01:59 +01:00, 03-29 03:59 +02:00"},
		{"a time that comes twice is due at the first", "30 2 * * *", "Europe/Berlin",
			"2026-10-24T12:00:00+02:00", "2026-10-26T12:00:00+01:00", "10-25 02:30 +02:00, 10-26 02:30 +01:00"},
		{"also seen from between the two", "30 2 * * *", "Europe/Berlin",
			"2026-10-25T02:45:00+02:00", "2026-10-26T12:00:00+01:00", "10-26 02:30 +01:00"},
		{"the end of the repeated hour is no repetition", "0 2,3 * * *", "Europe/Berlin",
			"2026-10-24T12:00:00+02:00", "2026-10-25T12:00:00+01:00", "10-25 02:00 +02:00, 10-25 03:00 +01:00"},
		{"every hour goes on in spring", "30 * * * *", "Europe/Berlin",
			"2026-03-29T00:45:00+01:00", "2026-03-29T03:45:00+02:00", "03-29 01:30 +01:00, 03-29 03:30 +02:00"},
		{"every hour goes on in autumn", "30 * * * *", "Europe/Berlin",
			"2026-10-25T01:45:00+02:00", "2026-10-25T03:45:00+01:00", "10-25 02:30 +02:00, 10-25 02:30 +01:00, 10-25 03:30 +01:00"},
		{"every 20 minutes too", "*/20 * * * *", "America/New_York",
			"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "11-01 01:40 -04:00, 11-01 01:00 -05:00, 11-01 01:20 -05:00"},
		{"New York in spring", "15 2 * * *", "America/New_York",
			"2026-03-07T12:00:00-05:00", "2026-03-09T12:00:00-04:00", "03-08 03:00 -04:00, 03-09 02:15 -04:00"},
		{"the south has its spring in October", "30 2 * * *", "Australia/Sydney",
			"2026-10-03T12:00:00+10:00", "2026-10-05T12:00:00+11:00", "10-04 03:00 +11:00, 10-05 02:30 +11:00"},
		{"half an hour that is left out", "15 2 * * *", "Australia/Lord_Howe",
			"2026-10-03T12:00:00+10:30", "2026-10-05T12:00:00+11:00", "10-04 02:30 +11:00, 10-05 02:15 +11:00"},
		{"half an hour that comes twice", "45 1 * * *", "Australia/Lord_Howe",
			"2026-04-04T12:00:00+11:00", "2026-04-06T12:00:00+10:30", "04-05 01:45 +11:00, 04-06 01:45 +10:30"},
		{"midnight that is left out", "0 0 * * *", "Africa/Cairo",
			"2026-04-23T12:00:00+02:00", "2026-04-25T12:00:00+03:00", "04-24 01:00 +03:00, 04-25 00:00 +03:00"},
		{"a day that is left out", "0 12 * * *", "Pacific/Apia",
			"2011-12-28T13:00:00-10:00", "2011-12-31T13:00:00+14:00", "12-29 12:00 -10:00, 12-31 00:00 +14:00, 12-31 12:00 +14:00"},
		{"a zone of 45 minutes", "0 0 * * *", "Asia/Kathmandu",
			"2026-01-01T12:00:00+05:45", "2026-01-03T12:00:00+05:45", "01-02 00:00 +05:45, 01-03 00:00 +05:45"},
		{"every so often needs no zone", "@every 30m", "Europe/Berlin",
			"2026-10-25T02:15:00+02:00", "2026-10-25T02:45:00+01:00",
			"10-25 02:30 +02:00, 10-25 02:00 +01:00, 10-25 02:30 +01:00"},
		{"a day in a leap year", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2033-01-01T00:00:00Z", "02-29 00:00 +00:00, 02-29 00:00 +00:00"},
		{"day of the month or of the week", "0 0 13 * FRI", "UTC", "2026-02-01T00:00:00Z", "2026-02-15T00:00:00Z",
			"02-06 00:00 +00:00, 02-13 00:00 +00:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(slots(t, parse(t, tt.schedule, tt.zone), tt.from, tt.to), ", "); got != tt.want {
				t.Errorf("wrong slots of %s in %s:\n got %s\nwant %s", tt.schedule, tt.zone, got, tt.want)
			}
		})
	}
}

// The test computes the slots in another way: it reads the clocks of the time zone minute by
// minute. The computed slots must be exactly the minutes that match the schedule, and Last must
// find the same slots as Next.
//
// part of: Q13
func TestQ13_SlotsAreWhatTheClocksShow(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/St_Johns"} {
		for _, text := range []string{"*/7 * * * *", "0 */2 * * *", "10,50 1-3 * * *", "30 0 * * SUN"} {
			s := parse(t, text, zone)
			_, change := time.Date(2026, 1, 1, 0, 0, 0, 0, s.Location()).ZoneBounds()
			for range 2 { // the two clock changes of a year
				if change.IsZero() {
					change = time.Date(2026, 5, 3, 0, 0, 0, 0, s.Location())
				}
				check(t, s, change.Add(-50*time.Hour), change.Add(50*time.Hour))
				_, change = change.ZoneBounds()
			}
		}
	}
}

// check compares the slots between two times with the times that the clocks show.
func check(t *testing.T, s *cron.Expression, from, to time.Time) {
	t.Helper()
	naive := parse(t, s.String(), "UTC")
	hourly := strings.Fields(s.String())[1] == "*"
	shows := func(at time.Time) time.Time {
		return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	}
	want, seen := map[time.Time]bool{}, map[time.Time]bool{}
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		shown, before := shows(at), shows(at.Add(-time.Minute))
		first := shown.Add(-time.Second)
		if !hourly && shown.After(before) {
			first = before // also search the minutes that the clocks have skipped
		}
		if due := !naive.Next(first).After(shown); due && (hourly || !seen[shown]) {
			want[at.UTC()] = true
		}
		seen[shown] = true
	}
	n, before := 0, time.Time{}
	for at := s.Next(from); !at.After(to); at = s.Next(at) {
		if !want[at.UTC()] {
			t.Fatalf("%s in %s: Next returned %s, which is not a slot", s, s.Location(), at)
		}
		if last, ok := s.Last(at); !ok || !last.Equal(at) {
			t.Fatalf("%s in %s: Last at the slot %s returned %s and %v, want this slot", s, s.Location(), at, last, ok)
		}
		if last, ok := s.Last(at.Add(-time.Second)); n > 0 && (!ok || !last.Equal(before)) {
			t.Fatalf("%s in %s: Last a second before the slot %s returned %s and %v, want the previous slot %s", s, s.Location(), at, last, ok, before)
		}
		before = at
		n++
	}
	if n != len(want) || n == 0 && !strings.Contains(s.String(), "SUN") {
		t.Errorf("%s in %s from %s: got %d slots, want %d", s, s.Location(), from, n, len(want))
	}
}

func TestParse_MistakesHaveTheirPlaceAndCure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "the schedule is empty; write the five fields"},
		{"* * * *", 0, "has 4 fields and needs 5"},
		{"0 0 * * * *", 0, "has 6 fields and needs 5"},
		{"0 25 * * *", 2, `the hour "25" cannot be read: it is *, or values of 0 to 23`},
		{"  0\t0  32 * *", 7, `the day of the month "32"`},
		{"ä 0 * * *", 0, `the minute "ä"`},
		{"0 ä b * *", 2, `the hour "ä"`},
		{"0 0 * JAM *", 6, "JAN to DEC"},
		{"0 0 * * 7", 8, "0 to 6 or SUN to SAT"},
		{"0 0 * * TZ=UTC", 8, "day of the week"},
		{"*/0 * * * *", 0, "minute"},
		{"*/90 * * * *", 0, "goes in steps of 90, which is beyond its values"},
		{"0 0 30 2 *", 4, "never comes"},
		{"@dayly", 0, `there is no schedule "@dayly"`},
		{"@every 90", 0, "such as @every 90s"},
		{"@every 500ms", 0, "whole seconds from 1s"},
		{"@every 1.5s", 0, "whole seconds"},
		{"@every 9000h", 0, "whole seconds from 1s to 8784h"},
		{"TZ=UTC", 0, "set the time zone beside it"},
		{"CRON_TZ=UTC 0 0 * * *", 0, "set the time zone beside it"},
		{strings.Repeat("*", 257), 0, "257 bytes: at most 256"},
	} {
		_, err := cron.Parse(tt.text, nil)
		problem, ok := errors.AsType[*cron.Problem](err)
		if !ok || problem.Offset != tt.offset || !strings.Contains(problem.Message, tt.want) {
			t.Errorf("Parse of %q returned %#v, want a problem with %q at offset %d", tt.text, err, tt.want, tt.offset)
		}
	}
	for _, name := range []string{"Mars/Olympus", "Local", "../etc"} {
		if zone, err := cron.Zone(name); err == nil || !strings.Contains(err.Error(), "Europe/Berlin") {
			t.Errorf("zone %s: got %v and the error %v, want an error with an example of a zone", name, zone, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"*/5 * * * *", "0 0 1,15 * MON-FRI", "@daily", "@every 90s", "0 0 29 2 *", "TZ= * * * *", "5/3 1-20/7 ? * SUN"} {
		f.Add(text, int64(1_790_000_000))
	}
	zone, err := cron.Zone("Australia/Lord_Howe")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		s, err := cron.Parse(text, zone)
		if err != nil {
			problem, ok := errors.AsType[*cron.Problem](err)
			if !ok || problem.Message == "" || problem.Offset < 0 || problem.Offset > utf8.RuneCountInString(text) {
				t.Fatalf("Parse(%q) returned the error %#v, want a Problem with a message and an offset within the text", text, err)
			}
			return
		}
		at := time.Unix(unix%4_000_000_000, 0)
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		if !next.After(at) || next.After(at.Add(cron.Horizon+24*time.Hour)) {
			t.Fatalf("%q: Next after %s returned %s, which is not later or is beyond the horizon", text, at, next)
		}
		if last, ok := s.Last(next); !ok || !last.Equal(next) {
			t.Fatalf("%q: Last at the slot %s returned %s and %v, want this slot", text, next, last, ok)
		}
	})
}

func ExampleExpression_Next() {
	berlin, _ := cron.Zone("Europe/Berlin")
	nightly, _ := cron.Parse("30 2 * * *", berlin)
	fmt.Println(nightly.Next(time.Date(2026, 3, 28, 12, 0, 0, 0, berlin)))
	// Output: 2026-03-29 03:00:00 +0200 CEST
}
