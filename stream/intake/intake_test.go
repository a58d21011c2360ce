package intake_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/intake"
	"github.com/redrive/redrive/stream/wire"
)

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func records(n int) (items []intake.Item) {
	for i := range n {
		items = append(items, intake.Item{Record: &wire.Record{Topic: "t", Offset: int64(i)}})
	}
	return items
}

func parts(n int) []intake.Part { return []intake.Part{{Next: int64(n), Items: records(n)}} }

func taken(n int) intake.Taken {
	answer := intake.Taken{Records: make([]store.Taken, n)}
	for i := range answer.Records {
		answer.Records[i].Fate = store.FateTaken
	}
	return answer
}

// step is one event, the seconds since the start at which it comes, and the action that follows.
type step struct {
	at    float64
	event intake.Event
	want  string
}

// say writes an action as a word with its numbers.
func say(a intake.Action) string {
	switch a := a.(type) {
	case nil:
		return "nothing"
	case intake.Take:
		text := "take"
		for _, p := range a.Parts {
			text += fmt.Sprintf(" %d-%d", p.From, p.Next)
			for _, i := range p.Items {
				if i.Dead != nil {
					text += fmt.Sprintf(" %d:%s", i.Record.Offset, i.Dead.Reason)
				}
				if i.NoKey {
					text += " without key"
				}
			}
		}
		return text
	case intake.Commit:
		return fmt.Sprint("commit ", a.Next)
	case intake.Sleep:
		return fmt.Sprint("sleep ", a.For)
	case intake.End:
		return fmt.Sprint("end ", a.Err)
	}
	return fmt.Sprintf("%T", a)[len("intake."):]
}

func TestStep(t *testing.T) {
	t.Parallel()
	away := errors.New("no route to host")
	tooLarge := fmt.Errorf("payload: %w", store.ErrTooLarge)
	polled := func(n int) intake.Polled { return intake.Polled{Parts: parts(n)} }
	conflict := func(index int) intake.Taken {
		return intake.Taken{Err: &store.TakeConflict{Conflicts: []store.KeyConflict{{Index: index}}}}
	}
	for name, steps := range map[string][]step{
		"records are stored before their offsets are committed": {
			{0, intake.Begun{}, "Count"}, {0, intake.Counted{Waiting: 9}, "Poll"}, {0, polled(2), "take 0-2"},
			{0.1, taken(2), "Count"}, {0.2, intake.Counted{}, "Poll"},
			{1.1, intake.Polled{}, "commit map[0:2]"}, {1.2, intake.Committed{}, "Count"},
		},
		"a commit that failed is made again": {
			{0, polled(1), "take 0-1"}, {1, taken(1), "commit map[0:1]"},
			{1, intake.Committed{Err: away}, "Count"}, {3, intake.Polled{}, "commit map[0:1]"},
		},
		"with a backlog nothing is read": {
			{0, intake.Counted{Waiting: 10}, "sleep 1s"}, {1, intake.Begun{}, "Count"}, {1, intake.Counted{Waiting: 9}, "Poll"},
		},
		"while the store is away nothing is committed": {
			{0, polled(1), "take 0-1"}, {5, intake.Taken{Err: away}, "sleep 50ms"}, {5, intake.Begun{}, "take 0-1"},
			{5, intake.Taken{Err: store.ErrUnknown}, "sleep 100ms"}, {6, intake.Begun{}, "take 0-1"},
			{6, intake.Taken{Err: store.ErrDraining}, "sleep 200ms"}, {6, intake.Stop{}, "end <nil>"},
		},
		"a conflict of keys does not stop the others": {
			{0, polled(3), "take 0-3"}, {0, conflict(1), "take 0-3 1:key_conflict"},
			{0, taken(3), "Count"},
		},
		"what the store refuses is found": {
			{0, polled(3), "take 0-3"}, {0, intake.Taken{Err: tooLarge}, "take 0-1"}, {0, taken(1), "take 1-3"},
			{0, intake.Taken{Err: tooLarge}, "take 1-2"}, {0, intake.Taken{Err: tooLarge}, "take 1-2 1:malformed"},
			{9, taken(1), "take 2-3"}, {9, taken(1), "commit map[0:3]"},
		},
		"what cannot be stored even as a dead job ends the loop": {
			{0, polled(1), "take 0-1"}, {0, intake.Taken{Err: tooLarge}, "take 0-1 0:malformed"}, {0, intake.Taken{Err: tooLarge}, "end payload: too large"},
		},
		"a dead record whose key another one has is stored without a key": {
			{0, polled(1), "take 0-1"}, {0, conflict(0), "take 0-1 0:key_conflict"}, {0, conflict(0), "take 0-1 0:key_conflict without key"},
			{2, taken(1), "commit map[0:1]"},
		},
		"a gap begins again at the positions of the store": {
			{0, polled(2), "take 0-2"}, {0, intake.Taken{Err: &store.Gap{Position: 0}}, "Reopen"}, {0, intake.Reopened{}, "Count"},
		},
		"offsets of lost partitions are not committed": {
			{0, polled(1), "take 0-1"}, {0, intake.Lost{Partitions: []int32{0}}, "nothing"}, {5, taken(1), "Count"},
			{9, intake.Stop{}, "end <nil>"},
		},
		"a stop commits what is stored": {
			{0, polled(1), "take 0-1"}, {0, taken(1), "Count"}, {0, intake.Stop{}, "commit map[0:1]"},
			{0, intake.Committed{Err: away}, "end <nil>"},
		},
	} {
		c := intake.New(start, 10)
		for i, s := range steps {
			if got := say(c.Step(start.Add(time.Duration(s.at*float64(time.Second))), s.event)); got != s.want {
				t.Errorf("%s, step %d: got %q, want %q", name, i+1, got, s.want)
			}
		}
	}
}

func TestKafkaTrap19_DuplicatesOfDeadTasksAreCounted(t *testing.T) {
	t.Parallel()
	c := intake.New(start, 10)
	c.Step(start, intake.Polled{Parts: parts(4)})
	c.Step(start, intake.Taken{Records: []store.Taken{{Fate: store.FateTaken}, {Fate: store.FateExisting, State: job.Waiting}, {Fate: store.FateExisting, State: job.Dead}, {Fate: store.FateDead}}})
	counts, ofDead := c.Totals()
	if diff := cmp.Diff(store.FateCounts{Read: 4, Taken: 1, Existing: 2, Dead: 1}, counts); diff != "" || ofDead != 1 {
		t.Errorf("totals (-want +got):\n%s, of dead jobs %d, want 1", diff, ofDead)
	}
}
