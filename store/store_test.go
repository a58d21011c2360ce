package store_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// In any period of time, a rate allows at most the starts for the length of that period, and those of
// a slack of 50 ms.
//
// proves: Q7
func TestQ7_RateHoldsInEveryWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := store.Rate{
			N:   rapid.IntRange(1, 40_000).Draw(rt, "n"),
			Per: time.Duration(rapid.Int64Range(int64(time.Second), int64(time.Hour)).Draw(rt, "per")),
		}
		wantRateHolds(rt, rate)
	})
}

// wantRateHolds starts as many jobs as the rate allows, at random times. For every period, it
// compares the number of starts with the number that the rate allows exactly.
func wantRateHolds(rt *rapid.T, rate store.Rate) {
	step := max(1, rate.Per.Microseconds()/int64(rate.N))
	type start struct {
		at job.Micros
		n  int64
	}
	var starts []start
	var arrival job.Micros
	now := job.Micros(1_000_000_000)
	for range 50 {
		now += job.Micros(rapid.Int64Range(0, 3*step*rapid.SampledFrom([]int64{1, 100, int64(rate.N)}).Draw(rt, "scale")).Draw(rt, "step"))
		n := rate.Room(arrival, now)
		if n == 0 {
			if next := rate.Next(arrival, now); rate.Room(arrival, next) < 1 {
				rt.Fatalf("at the time %d that Next returned, Room is 0; want at least one start", next)
			}
			continue
		}
		arrival = rate.Take(arrival, now, n)
		starts = append(starts, start{now, int64(n)})
		for i, started := len(starts)-1, int64(0); i >= 0; i-- {
			started += starts[i].n
			window := now.Sub(starts[i].at)
			const slack = 50 * time.Millisecond
			most := 1 + int64(float64(rate.N)*float64(window+slack)/float64(rate.Per))
			if window <= time.Second {
				most = min(most, 1+int64(math.Ceil(float64(rate.N)*float64(time.Second)/float64(rate.Per))))
			}
			if started > most {
				rt.Fatalf("the rate allowed %d starts in %s; the rate is %d per %s, want at most %d starts", started, window, rate.N, rate.Per, most)
			}
		}
	}
}

// A worker asks at intervals between 0 and 40 ms. Whatever they are, a period of one second has at most one
// start more than the rate, and at least 0.95 of the rate is sustained.
//
// proves: Q7
func TestQ7_RateIsSustainedWithoutABurst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(1, 5_000)).Draw(rt, "n")
		late := rapid.SampledFrom([]int64{1, 1_000, 10_000, 40_000}).Draw(rt, "asks every")
		rate, now, arrival := store.Rate{N: n, Per: time.Second}, job.Micros(1_000_000), job.Micros(0)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		type start struct {
			at job.Micros
			n  int
		}
		var starts []start
		first, within, all := 0, 0, 0
		const seconds = 10
		for end := now.Add(seconds * time.Second); now < end; {
			if k := rate.Room(arrival, now); k > 0 {
				arrival = rate.Take(arrival, now, k)
				starts = append(starts, start{now, k})
				within, all = within+k, all+k
				for now.Sub(starts[first].at) > time.Second {
					within -= starts[first].n
					first++
				}
				if within > n+1 {
					rt.Fatalf("rate of %d/s: %d starts within a second, want at most %d", n, within, n+1)
				}
			}
			now = max(now, rate.Next(arrival, now)) + job.Micros(random.Int64N(late))
		}
		if float64(all) < 0.95*float64(n)*seconds {
			rt.Fatalf("rate of %d/s, asked with delays up to %d microseconds: %d starts in %d s, want at least 0.95 of the rate", n, late, all, seconds)
		}
	})
}

func TestRate_Validate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rate store.Rate
		ok   bool
	}{
		{store.Rate{}, true},
		{store.Rate{N: 1, Per: time.Microsecond}, true},
		{store.Rate{N: 1_000_000, Per: time.Second}, true},
		{store.Rate{N: 1, Per: 100 * 365 * 24 * time.Hour}, true},
		{store.Rate{N: 10}, false},
		{store.Rate{Per: time.Second}, false},
		{store.Rate{N: -1, Per: time.Second}, false},
		{store.Rate{N: 1, Per: -time.Second}, false},
		{store.Rate{N: 1_000_001, Per: time.Second}, false},
		{store.Rate{N: 1, Per: time.Nanosecond}, false},
	} {
		if err := tt.rate.Validate(); (err == nil) != tt.ok || err != nil && !errors.Is(err, store.ErrInvalid) {
			t.Errorf("Validate of rate %d per %s: got error %v, want ok %v: an ErrInvalid if the rate is not allowed, else none", tt.rate.N, tt.rate.Per, err, tt.ok)
		}
	}
}

func TestMode_StringOfAnUnknownNumber(t *testing.T) {
	t.Parallel()
	if got := store.Mode(7).String(); got != "mode(7)" || store.Draining.String() != "draining" {
		t.Errorf("names of the modes 7 and Draining: got %s and %s, want mode(7) and draining", got, store.Draining)
	}
}

func TestRateNextIsTheFirstRoom(t *testing.T) {
	t.Parallel()
	rate := store.Rate{N: 6, Per: time.Minute}
	now := job.Micros(1_000_000)
	arrival := rate.Take(0, now, rate.Room(0, now))
	next := rate.Next(arrival, now)
	if want := now + 10_000_000; next != want {
		t.Fatalf("Next: got the time %d, want %d", next, want)
	}
	if rate.Room(arrival, next-1) != 0 || rate.Room(arrival, next) != 1 {
		t.Errorf("Room: got %d just before the time of Next and %d at that time, want 0 and 1", rate.Room(arrival, next-1), rate.Room(arrival, next))
	}
}

// If a person raises a rate that was much too low, the earlier low rate does not delay starts
// any more.
//
// proves: Q7
func TestQ7_RaisedRateHoldsAtOnce(t *testing.T) {
	t.Parallel()
	now := job.Micros(1_000_000)
	slow, fast := store.Rate{N: 1, Per: 365 * 24 * time.Hour}, store.Rate{N: 10, Per: time.Second}
	arrival := slow.Take(0, now, 1)
	if next := fast.Next(arrival, now); next > now+job.Micros(time.Second.Microseconds()) {
		t.Errorf("after the rate was raised, the next start is in %s; want at most 1s", next.Sub(now))
	}
	later := now + 1_000_000
	if room := fast.Room(arrival, later); room > 1 {
		t.Errorf("one second after the rate was raised, Room is %d; want at most one start", room)
	}
	if room := fast.Room(fast.Take(arrival, later, 0), later+1_000_000); room < 1 {
		t.Error("two seconds after the rate was raised to 10 per second, Room is 0; want at least one start")
	}
}

// proves: X3
func TestX3_JobsAreHeldToTheirLimits(t *testing.T) {
	t.Parallel()
	atLimit := func() job.New {
		return job.New{
			ID: 1, Kind: strings.Repeat("k", job.NameMax), Queue: "q", Priority: job.PriorityMax,
			Owner: strings.Repeat("o", job.TextMax), Key: strings.Repeat("k", job.TextMax),
			Payload: make([]byte, job.PayloadMax), Attrs: make([]byte, job.AttrsMax),
		}
	}
	n := atLimit()
	if err := store.Validate(&n); err != nil {
		t.Fatalf("Validate of a job with every value at its limit: got error %v, want none", err)
	}
	for name, c := range map[string]struct {
		breaks func(*job.New)
		err    error
	}{
		"no id":             {func(n *job.New) { n.ID = 0 }, store.ErrInvalid},
		"kind too long":     {func(n *job.New) { n.Kind += "k" }, store.ErrInvalid},
		"kind with a space": {func(n *job.New) { n.Kind = "a b" }, store.ErrInvalid},
		"no queue":          {func(n *job.New) { n.Queue = "" }, store.ErrInvalid},
		"priority 0":        {func(n *job.New) { n.Priority = job.PriorityMin - 1 }, store.ErrInvalid},
		"priority 5":        {func(n *job.New) { n.Priority = job.PriorityMax + 1 }, store.ErrInvalid},
		"before 1970":       {func(n *job.New) { n.RunAt = -1 }, store.ErrInvalid},
		"owner too long":    {func(n *job.New) { n.Owner += "o" }, store.ErrTooLarge},
		"key too long":      {func(n *job.New) { n.Key += "k" }, store.ErrTooLarge},
		"payload too large": {func(n *job.New) { n.Payload = append(n.Payload, 0) }, store.ErrTooLarge},
		"attrs too large":   {func(n *job.New) { n.Attrs = append(n.Attrs, 0) }, store.ErrTooLarge},
	} {
		n := atLimit()
		c.breaks(&n)
		if err := store.Validate(&n); !errors.Is(err, c.err) {
			t.Errorf("Validate of a job with %s: got error %v, want %v", name, err, c.err)
		}
	}
}

// WholeGroup and Counted must look at every field of a filter: with a further field, a filter does
// not select a whole group any more, and the counters cannot count by most fields.
//
// part of: D3
func TestDeadFilter_EachFieldCounts(t *testing.T) {
	t.Parallel()
	counted := map[string]bool{"Statuses": true, "Reason": true, "Class": true, "Kind": true, "Queue": true}
	for field := range reflect.TypeFor[store.DeadFilter]().Fields() {
		f := store.DeadFilter{Group: "g"}
		switch v := reflect.ValueOf(&f).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Int64:
			v.SetInt(1)
		case reflect.Struct:
			f.Attr = store.Attr{Name: "x"}
		default:
			if f.Statuses = []job.Status{job.Resolved}; field.Name == "Groups" {
				f.Statuses, f.Groups = nil, []string{"x"}
			}
		}
		if v := reflect.ValueOf(f).FieldByIndex(field.Index); v.Kind() == reflect.String {
			bad := store.RedriveSpec{Through: 1, Total: 1, Filter: store.DeadFilter{Kind: "k"}}
			reflect.ValueOf(&bad.Filter).Elem().FieldByIndex(field.Index).SetString("\xff")
			if err := bad.Validate(); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("a redrive whose filter has a %s that is not UTF-8: got error %v, want ErrInvalid", field.Name, err)
			}
		}
		free := field.Name == "Group" || field.Name == "Groups" || field.Name == "Statuses"
		if got := f.WholeGroup(); got != free {
			t.Errorf("a filter by group and %s selects a whole group: %t, want %t", field.Name, got, free)
		}
		f.Group = ""
		if field.Name == "Group" {
			f.Group = "g"
		}
		if got := f.Counted(); got != counted[field.Name] {
			t.Errorf("the counters have what a filter by %s selects: %t, want %t", field.Name, got, counted[field.Name])
		}
	}
}

// proves: X3
func TestX3_TimesAfterTheYear9999AreRefused(t *testing.T) {
	t.Parallel()
	for what, set := range map[string]func(*job.New, job.Micros){
		"start":          func(n *job.New, at job.Micros) { n.RunAt = at },
		"deadline":       func(n *job.New, at job.Micros) { n.Deadline = at },
		"end of the key": func(n *job.New, at job.Micros) { n.Key, n.KeyUntil = "k", at },
	} {
		for at, want := range map[job.Micros]error{store.UntilMax - 1: nil, store.UntilMax: nil, store.UntilMax + 1: store.ErrInvalid} {
			n := job.New{ID: 1, Kind: "k", Queue: "q", Priority: job.PriorityDefault}
			set(&n, at)
			if err := store.Validate(&n); !errors.Is(err, want) {
				t.Errorf("a job with the %s %d: got error %v, want %v", what, at, err, want)
			}
		}
	}
}

// The filter of a redrive is stored as JSON, which cannot hold every text.
//
// part of: D7
func TestRedrive_LiveFilterMustBeUTF8(t *testing.T) {
	t.Parallel()
	for owner, want := range map[string]error{"ann": nil, "\xff": store.ErrInvalid} {
		r := store.RedriveSpec{Through: 1, Total: 1, Live: &store.LiveSpec{Do: store.LiveCancel, Filter: store.Filter{Owner: owner}}}
		if err := r.Validate(); !errors.Is(err, want) {
			t.Errorf("a bulk action on live jobs of the owner %q: got error %v, want %v", owner, err, want)
		}
	}
}
