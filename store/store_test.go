package store_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// In any period of time, a rate allows at most its burst plus the starts for the length of
// that period.
//
// proves: Q7
func TestQ7_RateHoldsInEveryWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := store.Rate{
			N:   rapid.IntRange(1, 200_000).Draw(rt, "n"),
			Per: time.Duration(rapid.Int64Range(int64(time.Second), int64(time.Hour)).Draw(rt, "per")),
		}
		wantRateHolds(rt, rate)
	})
}

// wantRateHolds starts as many jobs as the rate allows, at random times. For every period, it
// compares the number of starts with the number that the rate allows exactly.
func wantRateHolds(rt *rapid.T, rate store.Rate) {
	burst := max(1, int64(rate.N)*int64(time.Second)/int64(rate.Per))
	step := max(1, rate.Per.Microseconds()/int64(rate.N))
	type start struct {
		at job.Micros
		n  int64
	}
	var starts []start
	var arrival job.Micros
	now := job.Micros(1_000_000_000)
	for range 50 {
		now += job.Micros(rapid.Int64Range(0, 3*step*rapid.SampledFrom([]int64{1, burst}).Draw(rt, "scale")).Draw(rt, "step"))
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
			if most := burst + int64(float64(rate.N)*float64(window)/float64(rate.Per)); started > most {
				rt.Fatalf("the rate allowed %d starts in %s; the rate is %d per %s, want at most %d starts", started, window, rate.N, rate.Per, most)
			}
		}
	}
}

// If the interval between starts is not a whole number of microseconds, the number of starts
// must not exceed the rate. The burst is exact, too.
//
// proves: Q7
func TestQ7_RateIsNeverExceededByRounding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rate  store.Rate
		burst int
		most  int // maximum number of starts in the ten seconds after the burst
	}{
		{store.Rate{N: 70_000, Per: time.Second}, 70_000, 700_000},
		{store.Rate{N: 3, Per: time.Second}, 3, 30},
		{store.Rate{N: 7, Per: time.Minute}, 1, 1},
		{store.Rate{N: 1_000_000, Per: time.Second}, 1_000_000, 10_000_000},
	} {
		now := job.Micros(1_000_000)
		room := tt.rate.Room(0, now)
		if room != tt.burst {
			t.Errorf("rate of %d per %s: got a burst of %d starts, want %d starts", tt.rate.N, tt.rate.Per, room, tt.burst)
		}
		arrival, started := tt.rate.Take(0, now, room), 0
		for end := now.Add(10 * time.Second); now < end; {
			now = now.Add(100 * time.Millisecond)
			n := tt.rate.Room(arrival, now)
			arrival = tt.rate.Take(arrival, now, n)
			started += n
		}
		if started > tt.most || started < tt.most*9/10 {
			t.Errorf("rate of %d per %s: got %d starts in ten seconds, want at most %d and not much less", tt.rate.N, tt.rate.Per, started, tt.most)
		}
	}
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
	if room := fast.Room(arrival, later); room > 10 {
		t.Errorf("one second after the rate was raised, Room is %d; want at most 10 starts", room)
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
