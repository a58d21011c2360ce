package page

import (
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
)

// barOf matches a bar of a path: x, y, and the height.
var barOf = regexp.MustCompile(`M([0-9.]+) (-?[0-9.]+)h(?:\.7|3)v([0-9.]+)h-(?:\.7|3)z`)

// Every bar of a spark is within its box, larger numbers have bars that are at least as high, and
// any number above zero has a bar.
func TestSparksStayInTheirBox(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64/100), 24, 24).Draw(t, "numbers")
		s := sparkOf(numbers)
		heights := make(map[int]float64)
		for _, m := range append(barOf.FindAllStringSubmatch(s.Bars, -1), barOf.FindAllStringSubmatch(s.Quiet, -1)...) {
			x, y, h := float(t, m[1]), float(t, m[2]), float(t, m[3])
			if x < 0 || x+sparkBar > 95 || y < 0 || y+h > sparkHeight+0.011 || h <= 0 {
				t.Fatalf("%s leaves the box of 95 x %d", m[0], sparkHeight)
			}
			heights[int(x)/sparkStep] = h
		}
		for i, a := range numbers {
			if heights[i] == 0 {
				t.Fatalf("number %d (%d) has no bar", i, a)
			}
			for k, b := range numbers {
				if a < b && heights[i] > heights[k] {
					t.Fatalf("%d has a higher bar than %d", a, b)
				}
			}
		}
	})
}

func float(t *rapid.T, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		t.Fatalf("%q is no coordinate", text)
	}
	return v
}

// The chart of the two hours stays in its box, sums what it draws, and divides by no zero.
func TestTheHoursStayInTheirBox(t *testing.T) {
	t.Parallel()
	now := job.At(time.Date(2026, 11, 24, 12, 34, 56, 0, time.UTC))
	rapid.Check(t, func(t *rapid.T) {
		points := make([]redrive.Point, rapid.IntRange(0, 70).Draw(t, "points"))
		var completed, lost int64
		for i := range points {
			p := &points[i]
			p.At = now.Add(-time.Duration(i) * time.Minute)
			p.At -= p.At % job.Micros(time.Minute/time.Microsecond)
			p.Completed, p.Failed, p.Dead = rapid.Int64Range(0, 1e9).Draw(t, "completed"), rapid.Int64Range(0, 1e6).Draw(t, "failed"), rapid.Int64Range(0, 1e6).Draw(t, "dead")
			if i < hourMinutes {
				completed += p.Completed
				lost += p.Failed
			}
		}
		due := redrive.DueRetries{Minutes: rapid.SliceOfN(rapid.Int64Range(0, 1e6), 0, 60).Draw(t, "due")}
		total := rapid.Int64Range(0, 1e6).Draw(t, "total")
		list := []redrive.Redrive{{State: redrive.RedriveRamping, Released: rapid.Int64Range(0, total).Draw(t, "released"), CreatedAt: now.Add(-time.Minute), RedriveSpec: redrive.RedriveSpec{Total: total, Rate: rapid.IntRange(0, 100).Draw(t, "rate")}}}
		last := api.LastHours{Minutes: points, Due: due}
		last.Due.At = now
		for _, second := range rapid.SliceOfN(rapid.IntRange(0, 3599), 0, 40).Draw(t, "later") {
			last.Later = append(last.Later, now.Add(time.Duration(second)*time.Second))
		}
		h := hoursOf(time.UTC, now, &last, list)
		var later int64
		for i := range h.Rows {
			later += h.Rows[i].Later
		}
		if h.Later != int64(len(last.Later)) || later != h.Later {
			t.Fatalf("got %d waiting jobs and %d in the table, want %d", h.Later, later, len(last.Later))
		}
		if left := total - list[0].Released; h.Planned > left || left > 0 && h.Planned == 0 {
			t.Fatalf("got %d planned of %d that are left", h.Planned, left)
		}
		if h.Completed != completed || h.Failed+h.Dead != lost {
			t.Fatalf("got %d completed and %d failed, want %d and %d", h.Completed, h.Failed+h.Dead, completed, lost)
		}
		for _, path := range []string{h.Retried, h.Buried, h.Coming, h.Waiting} {
			for _, m := range barOf.FindAllStringSubmatch(path, -1) {
				if x, y, height := float(t, m[1]), float(t, m[2]), float(t, m[3]); x < 0 || x > 120 || y < 0 || y+height > baseLow+1.02 {
					t.Fatalf("%s leaves the box of 120 x %d", m[0], baseLow)
				}
			}
		}
	})
}

// A redirect after a form leads to a page of this server only (trap 38).
func TestTrap38_RedirectsStayHere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, want string }{
		{"/ui/jobs?state=dead", "/ui/jobs?state=dead"}, {"", "/ui/"}, {"https://evil.example/ui/", "/ui/"}, {"//evil.example/ui/", "/ui/"},
		{"/\\evil.example", "/ui/"}, {"/ui/\\evil", "/ui/"}, {"/ui/\r\nSet-Cookie: a=b", "/ui/"}, {"javascript:alert(1)", "/ui/"}, {"/api/keys", "/ui/"}, {"/ui/../api", "/ui/"}, {"%zz", "/ui/"},
	} {
		if got := local(c.path); got != c.want {
			t.Errorf("%q: got %q, want %q", c.path, got, c.want)
		}
	}
}
