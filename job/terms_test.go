package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
)

// The jobs of a killed process are due at once after their first crash, and at different times
// after later crashes.
//
// proves: Q3
func TestQ3_CrashDelaySpreadsAGroup(t *testing.T) {
	t.Parallel()
	const jobs = 1000
	var terms job.Terms
	for crashes, spread := range map[int32]time.Duration{
		0: 0, 1: 0, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 5: 16 * time.Second,
		7: time.Minute, 1 << 30: time.Minute,
	} {
		var tenths [10]int
		for id := job.ID(1); id <= jobs; id++ {
			d := terms.CrashDelay(id, crashes)
			switch {
			case spread == 0 && d == 0:
			case d < 0 || d >= spread || d%time.Microsecond != 0 || d != terms.CrashDelay(id, crashes):
				t.Fatalf("job %d after %d crashes: got a delay of %s, want 0 to %s, and the same delay from a second call", id, crashes, d, spread)
			default:
				tenths[d*10/spread]++
			}
		}
		for i, n := range tenths {
			if spread > 0 && (n < jobs/20 || n > jobs/5) {
				t.Errorf("after %d crashes, %d of %d jobs are due in tenth %d of the spread, want about a tenth of the jobs", crashes, n, jobs, i)
			}
		}
	}
}

// The terms of a policy decide the class, the texts and the delay of a crash, and the
// class of an expired job.
//
// proves: Q3
func TestQ3_TermsDecideACrash(t *testing.T) {
	t.Parallel()
	terms := job.Terms{
		Class: "WorkerLost", Retrying: "again soon", Dead: "given up", Spread: time.Hour, SpreadMax: 2 * time.Hour, ExpiredClass: "TooLate",
	}
	lost := job.LostRun{ID: 7, Kind: "render", Holder: "w1", Crashes: 2, MaxCrashes: 3}
	c := terms.Crash(&lost)
	if c.To != job.Waiting || c.Delay != terms.CrashDelay(7, 2) || c.Delay <= time.Minute || c.Delay >= time.Hour {
		t.Errorf("second of three crashes: got state %s after a delay of %s, want state waiting after 1 min to 1 h", c.To, c.Delay)
	}
	want := job.Failure{
		How: job.ByCrash, Class: "WorkerLost", Code: "lease_lost", UserMessage: "again soon",
		Message:     "no sign of life from worker w1 until the lease was over; the process was killed, hung or cut off",
		Fingerprint: job.Fingerprint("render", "WorkerLost", "lease_lost"),
	}
	if diff := cmp.Diff(want, c.Failure); diff != "" {
		t.Errorf("wrong failure record of the second crash (-want +got):\n%s", diff)
	}
	lost.Crashes = 3
	want.UserMessage = "given up"
	if c = terms.Crash(&lost); c.To != job.Dead || c.Delay != 0 || !cmp.Equal(want, c.Failure) {
		t.Errorf("third of three crashes: got state %s, delay %s, failure %+v; want a dead job with the user message \"given up\"", c.To, c.Delay, c.Failure)
	}
	if f := terms.Expiry("render"); f.Class != "TooLate" || f.Fingerprint != job.Fingerprint("render", "TooLate", "expired") {
		t.Errorf("expired job: got class %q, group %q; want the class TooLate and the group for the code expired", f.Class, f.Fingerprint)
	}
	for crashes := int32(2); crashes < 100; crashes++ {
		if d := terms.CrashDelay(1, crashes); d < 0 || d >= terms.SpreadMax {
			t.Errorf("delay after %d crashes: got %s, want 0 to %s", crashes, d, terms.SpreadMax)
		}
	}
}

// termsToRead returns encoded terms, some of them with values at the limits.
func termsToRead() []job.Terms {
	return []job.Terms{
		{},
		{Class: "WorkerLost"},
		{Retrying: "Es geht gleich weiter.", Dead: "Zu oft unterbrochen: ✗"},
		{Notified: "Our team has been notified."},
		{ExpiredClass: "TooLate"},
		{Spread: time.Microsecond, SpreadMax: 24 * time.Hour},
		{
			Class: strings.Repeat("c", job.TextMax), Retrying: strings.Repeat("r", 2<<10), Dead: strings.Repeat("d", 2<<10),
			Notified:     strings.Repeat("n", 2<<10),
			ExpiredClass: strings.Repeat("e", job.TextMax), Spread: time.Second, SpreadMax: time.Minute,
		},
	}
}

func TestTermsReadBack(t *testing.T) {
	t.Parallel()
	for _, terms := range termsToRead() {
		if err := terms.Validate(); err != nil {
			t.Errorf("Validate of the terms %+v: got error %v, want none", terms, err)
		}
		s := terms.Encode()
		if back, err := job.ParseTerms(s); err != nil || back != terms {
			t.Errorf("ParseTerms of the encoded terms %+v: got %+v, error %v; want the same terms", terms, back, err)
		}
		if (s == "") != (terms == job.Terms{}) || len(s) > job.TermsMax {
			t.Errorf("terms %+v have an encoding of %d bytes; want 0 bytes for zero terms only, and never more than TermsMax", terms, len(s))
		}
	}
}

func TestTermsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := (&job.Terms{Class: "C", Spread: time.Second}).Encode()
	for name, s := range map[string]string{
		"another version":           "\x02" + good[1:],
		"cut off":                   good[:len(good)-1],
		"with a byte after its end": good + "\x00",
		"zero terms in a long form": "\x01\x00\x00\x00\x00\x00\x00",
		"a text that is not UTF-8":  "\x01\x01\xff\x00\x00\x00\x00\x00",
		"a number in a long form":   "\x01\x80\x00\x00\x00\x00\x01\x00",
		"a text that is cut off":    "\x01\x7fabc",
		"a spread of 300 years":     "\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00",
		"more than TermsMax":        (&job.Terms{Retrying: strings.Repeat("x", job.TermsMax)}).Encode(),
	} {
		if terms, err := job.ParseTerms(s); err == nil {
			t.Errorf("ParseTerms of %s: got %+v, want an error", name, terms)
		}
	}
	for name, terms := range map[string]job.Terms{
		"a long class":             {Class: strings.Repeat("c", job.TextMax+1)},
		"texts above TermsMax":     {Retrying: strings.Repeat("x", job.TermsMax/2), Dead: strings.Repeat("x", job.TermsMax/2)},
		"a negative spread":        {Spread: -1},
		"a spread of nanoseconds":  {Spread: 1500},
		"a spread of three days":   {SpreadMax: 72 * time.Hour},
		"a text that is not UTF-8": {Dead: "\xff"},
	} {
		if terms.Validate() == nil {
			t.Errorf("Validate of terms with %s: got no error, want one", name)
		}
	}
}

// ParseTerms never panics for any text, and terms that it accepts have only one encoding.
func FuzzParseTerms(f *testing.F) {
	for _, terms := range termsToRead() {
		f.Add(terms.Encode())
	}
	f.Add("\x01\x80\x00\x00\x00\x00\x01\x00")
	f.Add("\x01\x00\x00\x00\x00\x00\x00")
	f.Add("\x02")
	f.Fuzz(func(t *testing.T, s string) {
		terms, err := job.ParseTerms(s)
		if err != nil {
			return
		}
		if again := terms.Encode(); again != s {
			t.Errorf("ParseTerms(%q): got %+v, which are encoded as %q; want the same text", s, terms, again)
		}
		lost := job.LostRun{ID: 1, Kind: "k", Holder: "h", Crashes: 4, MaxCrashes: 5}
		if c := terms.Crash(&lost); c.Delay < 0 || c.Delay > 24*time.Hour || c.Failure.Class == "" {
			t.Errorf("terms %q: got the crash %+v; want a delay of 0 to 24 h and a class", s, c)
		}
	})
}
