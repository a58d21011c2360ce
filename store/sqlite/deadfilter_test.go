package sqlite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// dieAs enqueues and ends so many jobs as told by their numbers.
func (s *seeder) dieAs(n int, as func(i int, n *job.New) job.Failure) {
	s.t.Helper()
	failures := make(map[job.ID]job.Failure)
	s.add(n, func(i int, n *job.New) { failures[n.ID] = as(i, n) })
	for claims := s.poll(n).Claims; len(claims) > 0; claims = s.poll(n).Claims {
		x := store.Exchange{Holder: seedHolder, Lease: time.Minute}
		for _, c := range claims {
			f := failures[c.ID]
			x.Settle = append(x.Settle, job.Outcome{ID: c.ID, Token: c.Token, To: job.Dead, Cause: job.Failed, Reason: job.MaxRetries,
				Failure: &f})
		}
		s.exchange(&x)
	}
}

// spreadDead makes dead letters that differ in all that a filter can ask for.
func (s *seeder) spreadDead(n int) {
	s.dieAs(n, func(i int, n *job.New) job.Failure {
		n.Kind, n.Owner = seedKind(i%5), fmt.Sprintf("tenant-%d", i%7)
		class := fmt.Sprintf("Class%d", i%3)
		return job.Failure{How: job.ByError, Class: class, Fingerprint: fmt.Sprintf("%s %d", class, i%6),
			Message: fmt.Sprintf("Refused %d times", i%4)}
	})
}

// The way that is walked is the narrowest one that the filter names.
func TestD2_RouteOfAFilter(t *testing.T) {
	t.Parallel()
	s := openSeeded(t)
	s.spreadDead(210)
	pending := []job.Status{job.Pending}
	for _, c := range []struct {
		name  string
		f     store.DeadFilter
		route route
		keys  int
	}{
		{"everything", store.DeadFilter{}, allRoute, 1},
		{"a status", store.DeadFilter{Statuses: pending}, allRoute, 1},
		{"a group", store.DeadFilter{Group: "Class1 1"}, allRoute, 1},
		{"pending of a group", store.DeadFilter{Group: "Class1 1", Statuses: pending, Owner: "tenant-3"}, pendingRoute, 1},
		{"an owner", store.DeadFilter{Owner: "tenant-3", Text: "refused"}, ownerRoute, 1},
		{"a class", store.DeadFilter{Class: "Class1"}, classRoute, 1},
		{"a kind", store.DeadFilter{Kind: seedKind(2)}, laneRoute, 1},
		{"a queue of many kinds", store.DeadFilter{Queue: seedQueue}, laneRoute, 5},
		{"a class and a kind with fewer", store.DeadFilter{Class: "Class1", Kind: seedKind(2)}, laneRoute, 1},
		{"a class and a queue with more", store.DeadFilter{Class: "Class1", Queue: seedQueue}, classRoute, 1},
		{"an owner and a class", store.DeadFilter{Class: "Class1", Owner: "tenant-3"}, ownerRoute, 1},
	} {
		s.must(s.s.read(t.Context(), func(conn session) error {
			m, err := newMatcher(conn, &c.f, true)
			if err == nil && (m.route != c.route || len(m.keys) != c.keys || m.none) {
				t.Errorf("%s: goes another way, %d keys, none %v; want %d keys: %s", c.name, len(m.keys), m.none, c.keys, m.route.down.text)
			}
			return err
		}))
	}
}

// What cannot be there is not looked for: the counters and the names know.
func TestD2_NothingIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	s := openSeeded(t)
	s.spreadDead(60)
	for _, f := range []store.DeadFilter{
		{Reason: job.Stalled}, {Class: "None"}, {Kind: "none"}, {Queue: "none"}, {Group: "none"}, {Statuses: []job.Status{job.Resolved}},
		{Until: job.At(seedNow.Add(-time.Hour))},
	} {
		s.must(s.s.read(t.Context(), func(conn session) error {
			m, err := newMatcher(conn, &f, true)
			if err == nil && !m.none {
				t.Errorf("%+v is looked for", f)
			}
			return err
		}))
	}
}

// A search that may look at few rows only goes on where it has stopped, and finds
// the same as one that looks at all, on each way and in both directions.
func TestD2_SearchGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s := openSeeded(t)
	s.spreadDead(210)
	deaths := func(r row) int64 { return r.int(0) }
	self := func(death *int64) int64 { return *death }
	for _, f := range []store.DeadFilter{
		{Text: "REFUSED 3"}, {Owner: "tenant-3", Kind: seedKind(2)}, {Class: "Class1", Text: "d 1"}, {Queue: seedQueue, Text: "d 2"},
		{Group: "Class1 1", Statuses: []job.Status{job.Pending}}, {Group: "Class2 2"}, {Queue: seedQueue},
	} {
		s.must(s.s.write(t.Context(), func(tx *txn) error { // a reader would have a second
			m, err := newMatcher(tx.s, &f, false)
			if err != nil {
				return err
			}
			whole, err := search(m, true, 1, m.high, 1000, 1<<20, deaths, self)
			if err != nil || whole.more || len(whole.found) < 5 {
				t.Fatalf("%+v: %d found, more %v, %v", f, len(whole.found), whole.more, err)
			}
			for _, want := range []int{1, 3, 1000} {
				for _, look := range []int{1, 7, 40} {
					up, err := s.piecemeal(m, true, want, look)
					if err != nil {
						return err
					}
					down, err := s.piecemeal(m, false, want, look)
					if err != nil {
						return err
					}
					slices.Reverse(down)
					if diff := cmp.Diff(whole.found, up); diff != "" {
						t.Errorf("%+v, %d of %d looked at, upwards (-at once +piecemeal):\n%s", f, want, look, diff)
					}
					if diff := cmp.Diff(whole.found, down); diff != "" {
						t.Errorf("%+v, %d of %d looked at, downwards (-at once +piecemeal):\n%s", f, want, look, diff)
					}
				}
			}
			return nil
		}))
	}
}

// piecemeal searches until there is nothing left, so many rows at a time.
func (s *seeder) piecemeal(m *matcher, up bool, want, look int) (all []int64, err error) {
	low, high := int64(1), m.high
	for range 10_000 {
		p, err := search(m, up, low, high, want, look, func(r row) int64 { return r.int(0) }, func(death *int64) int64 { return *death })
		if err != nil {
			return nil, err
		}
		if len(p.found) > want {
			s.t.Fatalf("%d found, %d wanted", len(p.found), want)
		}
		all = append(all, p.found...)
		if !p.more {
			return all, nil
		}
		if up {
			low = p.edge + 1
		} else {
			high = p.edge - 1
		}
	}
	s.t.Fatal("the search does not get on")
	return nil, nil
}

// Jobs that are brought back by ranges of deaths are as if each was brought back
// by itself.
func TestQ13_RangesBringBackAsOne(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 4, store.StepMax} {
		s := openSeeded(t)
		s.spreadDead(60)
		by := store.By{Actor: "ann"}
		_, err := s.s.Act(t.Context(), by, store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Owner: "tenant-2"}, Through: 60})
		s.must(err)
		a := store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}, Through: 50, Limit: limit, Change: store.Change{Delay: time.Minute}}
		done := int64(0)
		for {
			step, err := s.s.Act(t.Context(), by, a)
			s.must(err)
			done += step.Done
			if a.After = step.Next; a.After == 0 {
				break
			}
		}
		d, err := s.s.Dump(t.Context())
		s.must(err)
		live := int64(0)
		for _, j := range d.Jobs {
			if j.State != job.Waiting {
				continue
			}
			live++
			if j.Life != 2 || j.RunAt != d.Now.Add(time.Minute) || j.LifeAt != d.Now || j.Payload == nil || j.Token != 1 || j.Counters.Attempts != 0 {
				t.Errorf("limit %d: brought back as %+v", limit, j)
			}
		}
		taken := int64(0)
		for _, l := range d.Dead {
			revived := l.Owner != "tenant-2" && l.Death <= 50
			if revived {
				taken++
			}
			if l.Revived != revived || revived != (l.Status == job.Redriven) || revived && l.ActedBy != "ann" {
				t.Errorf("limit %d: dead letter %+v", limit, l)
			}
		}
		if live != done || taken != done {
			t.Errorf("limit %d: %d done, %d jobs are back, of %d", limit, done, live, taken)
		}
		report, err := Diagnose(t.Context(), s.s.Path(), seedNow)
		s.must(err)
		if len(report.Problems) > 0 {
			t.Errorf("limit %d: %q", limit, report.Problems)
		}
	}
}
