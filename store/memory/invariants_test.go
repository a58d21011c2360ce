package memory_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

type failer interface {
	Helper()
	Errorf(string, ...any)
}

// checkDump checks rules that must hold for every dump of a store.
func checkDump(t failer, d *store.Dump) {
	t.Helper()
	checkCounts(t, d)
	checkEvents(t, d)
	checkGroups(t, d)
	for _, j := range d.Jobs {
		if running := j.State == job.Running; running != (j.LeaseUntil != 0) || !running && j.CancelAt != 0 {
			t.Errorf("job %d is %s and has LeaseUntil %d and CancelAt %d, want LeaseUntil set if and only if the job is running, and CancelAt not set for other jobs", j.ID, j.State, j.LeaseUntil, j.CancelAt)
		}
		if j.State.Terminal() != (j.FinishedAt != 0) || j.State.Terminal() == (j.RunAt != 0) {
			t.Errorf("job %d is %s and has RunAt %d and FinishedAt %d, want only FinishedAt set if the job has ended, and only RunAt set otherwise", j.ID, j.State, j.RunAt, j.FinishedAt)
		}
	}
}

func checkCounts(t failer, d *store.Dump) {
	t.Helper()
	want := map[store.Count]int64{}
	for _, j := range d.Jobs {
		want[store.Count{Queue: j.Queue, Kind: j.Kind, State: j.State}]++
	}
	for _, c := range d.Counts {
		n := c.N
		c.N = 0
		if want[c] != n {
			t.Errorf("counter of jobs in state %s of kind %s in queue %s: got %d, want %d", c.State, c.Kind, c.Queue, n, want[c])
		}
		delete(want, c)
	}
	if len(want) != 0 {
		t.Errorf("these numbers of jobs have no counter in the dump: %v; want a counter for every queue, kind and state that has jobs", want)
	}
}

// checkEvents replays the events. Their transitions must be legal, and they must lead
// to the stored states of the jobs.
func checkEvents(t failer, d *store.Dump) {
	t.Helper()
	states := map[job.ID]job.State{}
	tokens := map[job.ID]job.Token{}
	var last event.Cursor
	for _, e := range d.Events {
		next := event.Cursor{Seq: last.Seq, Index: last.Index + 1}
		if e.Cursor != next && e.Cursor != (event.Cursor{Seq: last.Seq + 1, Index: 1}) {
			t.Errorf("event %s comes after event %s, want the next cursor of the same commit or the first cursor of the next commit", e.Cursor, last)
		}
		last = e.Cursor
		if e.From == job.None && e.To == job.None {
			continue
		}
		if e.From != states[e.Job] || !job.Legal(e.From, e.To, job.Cause(e.Type)) {
			t.Errorf("event %s: job %d goes from state %s to state %s by %s, want the old state %s and a legal transition", e.Cursor, e.Job, e.From, e.To, e.Type, states[e.Job])
		}
		states[e.Job] = e.To
		if e.Type == event.JobClaimed {
			tokens[e.Job]++
		}
		if e.Token != tokens[e.Job] {
			t.Errorf("event %s: job %d has run number %d, want %d", e.Cursor, e.Job, e.Token, tokens[e.Job])
		}
	}
	for _, j := range d.Jobs {
		if j.State != states[j.ID] || j.Token != tokens[j.ID] {
			t.Errorf("job %d: got state %s and run number %d, want state %s and run number %d, to which its events lead", j.ID, j.State, j.Token, states[j.ID], tokens[j.ID])
		}
	}
}

func checkGroups(t failer, d *store.Dump) {
	t.Helper()
	pending, entries := map[string]int64{}, map[string]int64{}
	for _, letter := range d.Dead {
		entries[letter.Fingerprint]++
		if letter.Status == job.Pending {
			pending[letter.Fingerprint]++
		}
	}
	for _, g := range d.Groups {
		if g.Pending != pending[g.Fingerprint] || g.Entries != entries[g.Fingerprint] || g.N < g.Entries {
			t.Errorf("group %q has %d pending entries, %d entries and %d deaths; want %d pending entries, %d entries and at least as many deaths as entries", g.Fingerprint,
				g.Pending, g.Entries, g.N, pending[g.Fingerprint], entries[g.Fingerprint])
		}
	}
}

// choice computes which jobs a claim must return, in a simple way for comparison: it sorts all
// due jobs and takes the first n.
func choice(d *store.Dump, queue string, n int) (want []job.ID) {
	ready := slices.DeleteFunc(slices.Clone(d.Jobs), func(j job.Job) bool {
		return j.Queue != queue || !j.State.Ready() || j.RunAt > d.Now || j.Deadline != 0 && j.Deadline <= d.Now
	})
	slices.SortFunc(ready, func(a, b job.Job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.RunAt, b.RunAt), cmp.Compare(a.ID, b.ID))
	})
	for _, j := range ready[:min(n, len(ready))] {
		want = append(want, j.ID)
	}
	return want
}

func TestRandomOperationsKeepTheInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &bench{t: t, ctx: t.Context(), now: time.Unix(1000, 0)}
		b.Store = memory.New(memory.Options{Clock: b.clock})
		var runs []job.Claim
		queues := rapid.SampledFrom([]string{"q", "r"})
		kinds := []store.KindWant{{Kind: "a", Max: 9, MaxCrashes: 2}, {Kind: "b", Max: 9, MaxCrashes: 1}}
		seconds := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second
		})
		someID := func() job.ID { return job.ID(rapid.IntRange(1, 12).Draw(t, "id")) }
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				b.add(rapid.IntRange(1, 3).Draw(t, "n"), func(_ int, n *job.New) {
					n.Queue, n.Kind = queues.Draw(t, "queue"), rapid.SampledFrom(kinds).Draw(t, "kind").Kind
					n.Priority = int8(rapid.IntRange(1, 4).Draw(t, "priority"))
					n.Deps = rapid.SampledFrom([]string{"", "x"}).Draw(t, "deps")
					n.RunAt = b.at(seconds.Draw(t, "later"))
					if rapid.Bool().Draw(t, "deadline") {
						n.Deadline = b.at(2 * seconds.Draw(t, "deadline"))
					}
				})
			},
			"claim": func(t *rapid.T) {
				w := store.Want{Queue: queues.Draw(t, "queue"), Max: rapid.IntRange(1, 4).Draw(t, "max"), Kinds: kinds}
				expected := choice(b.dump(), w.Queue, w.Max)
				x := b.exchange(nil, w)
				var got []job.ID
				for _, c := range x.Claims {
					got = append(got, c.ID)
				}
				if !slices.Equal(got, expected) {
					t.Errorf("the exchange claimed the jobs %v, want the jobs %v", got, expected)
				}
				runs = append(runs, x.Claims...)
			},
			"settle": func(t *rapid.T) {
				if len(runs) == 0 {
					t.Skip("there is no running job whose outcome the test could write")
				}
				o := drawOutcome(t, rapid.SampledFrom(runs).Draw(t, "run"), queues, seconds)
				current, err := b.Get(b.ctx, o.ID)
				b.ok(err)
				held := current.State == job.Running && current.Token == o.Token
				before := len(b.dump().Events)
				if err := b.settle(o); held && err != nil {
					t.Errorf("outcome of a run that holds its lease: got error %v, want none", err)
				}
				if after := len(b.dump().Events); !held && after != before {
					t.Errorf("outcome of a run that had already ended: got %d new events, want 0", after-before)
				}
			},
			"rescue": func(t *rapid.T) {
				_, err := b.Rescue(b.ctx, rapid.IntRange(0, 3).Draw(t, "limit"))
				b.ok(err)
			},
			"cancel": func(*rapid.T) {
				_, err := b.Cancel(b.ctx, me, []job.ID{someID(), someID()})
				b.ok(err)
			},
			"retry": func(*rapid.T) {
				_, err := b.Act(b.ctx, me, store.Action{Do: store.ActRetry, IDs: []job.ID{someID(), someID()}})
				b.ok(err)
			},
			"time": func(t *rapid.T) { b.pass(seconds.Draw(t, "passes")) },
			"":     func(t *rapid.T) { checkDump(t, b.dump()) },
		})
	})
}

// drawOutcome draws a random legal outcome for a run.
func drawOutcome(t *rapid.T, c job.Claim, queues *rapid.Generator[string], delay *rapid.Generator[time.Duration]) job.Outcome {
	var legal []job.Transition
	for _, tr := range job.Transitions {
		if tr.From == job.Running && tr.Cause != job.Crashed {
			legal = append(legal, tr)
		}
	}
	tr := rapid.SampledFrom(legal).Draw(t, "transition")
	o := job.Outcome{ID: c.ID, Token: c.Token, Cause: tr.Cause, To: tr.To, Delay: delay.Draw(t, "delay")}
	if tr.To.Ready() {
		o.Queue = queues.Draw(t, "queue")
		o.Priority = int8(rapid.IntRange(0, 4).Draw(t, "priority"))
	}
	if tr.Cause == job.Failed || tr.Cause == job.Held {
		o.Failure = &job.Failure{How: job.ByError, Class: "Bug", Fingerprint: rapid.SampledFrom([]string{"", "f"}).Draw(t, "group")}
	}
	if tr.To == job.Dead {
		o.Reason = job.MaxRetries
	}
	return o
}
