package check_test

import (
	"testing"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
)

// serve adds to a history what clients of HTTP servers have recorded: requests with a key, and a
// listener that was reset once.
func serve(h *check.History) {
	h.Requests = []check.Request{
		{Name: "array", N: 2, Answers: [][]job.ID{{plain, flaky}, {plain, flaky}}},
		{Name: "single", N: 1, Answers: [][]job.ID{{keyed}}},
		{Name: "lost", N: 3},
	}
	events := h.Dump.Events
	all := check.Listener{Name: "all", Wants: func(*event.Event) bool { return true }, After: events[0].Cursor, Until: events[len(events)-1].Cursor}
	for i := range events[1:] {
		e := &events[i+1]
		switch {
		case i < 5:
		case i == 5:
			all.Heard = append(all.Heard, check.Heard{Cursor: e.Cursor, Reset: true}, check.Heard{Cursor: e.Cursor})
		default:
			all.Heard = append(all.Heard, check.Heard{Cursor: e.Cursor, Type: e.Type.String(), Job: e.Job})
		}
	}
	h.Listeners = []check.Listener{all}
}

// servedMutants are histories with a fault in what HTTP servers answered.
func servedMutants() []mutant {
	heard := func(h *check.History) *[]check.Heard { return &h.Listeners[0].Heard }
	served := []mutant{
		{"a repeated request got another job", breaks(check.OneAnswer), func(h *check.History) { h.Requests[0].Answers[1][1] = buried }},
		{"an answer names too few jobs", breaks(check.OneAnswer), func(h *check.History) { h.Requests[0].Answers[0] = []job.ID{plain} }},
		{"two requests got one job", breaks(check.OneAnswer), func(h *check.History) { h.Requests[1].Answers[0][0] = flaky }},
		{"a listener missed an event", breaks(check.EveryEventHeard), func(h *check.History) {
			*heard(h) = append((*heard(h))[:9], (*heard(h))[10:]...)
		}},
		{"a listener missed the last event", breaks(check.EveryEventHeard), func(h *check.History) {
			*heard(h) = (*heard(h))[:len(*heard(h))-1]
		}},
		{"a listener missed events, and no reset said so", breaks(check.EveryEventHeard), func(h *check.History) { *heard(h) = (*heard(h))[1:] }},
		{"a listener heard an event that did not happen", breaks(check.EveryEventHeard), func(h *check.History) {
			*heard(h) = append(*heard(h), check.Heard{Cursor: event.Cursor{Seq: 1_000_000}, Type: "job.enqueued", Job: plain})
		}},
		{"a listener heard an event twice", breaks(check.EveryEventHeard), func(h *check.History) {
			*heard(h) = append(*heard(h), (*heard(h))[len(*heard(h))-1])
		}},
		{"a listener heard the event of another topic", breaks(check.EveryEventHeard), func(h *check.History) {
			h.Listeners[0].Wants = func(e *event.Event) bool { return e.Job != toxic }
		}},
		{"a listener's cursor was moved back", breaks(check.EveryEventHeard), func(h *check.History) {
			*heard(h) = append(*heard(h), check.Heard{Cursor: h.Listeners[0].After})
		}},
	}
	for i := range served {
		damage := served[i].make
		served[i].make = func(h *check.History) { serve(h); damage(h) }
	}
	return served
}

func TestASoundHistoryOfServersPasses(t *testing.T) {
	t.Parallel()
	h := sound(t)
	serve(h)
	for _, v := range check.Check(h) {
		t.Errorf("the sound history has the violation %v, want none", v)
	}
}
