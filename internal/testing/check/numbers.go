package check

import "github.com/redrive/redrive/event"

// Numbers sum up a history. Double runs are allowed, at-least-once is the
// promise; they are counted so that nobody hides them.
type Numbers struct {
	Submitted    int `json:"submitted"` // calls' jobs, whatever their answer
	Acknowledged int `json:"acknowledged"`
	Jobs         int `json:"jobs"`         // rows
	Executed     int `json:"executed"`     // runs that a handler began
	DoubleRuns   int `json:"double_runs"`  // of those, begun and then counted as a crash: the work was done again
	Crashes      int `json:"crashes"`      // leases that ran out
	LateRefused  int `json:"late_refused"` // outcomes that came too late and were refused
	Lost         int `json:"lost"`         // acknowledged and nowhere
	Doubled      int `json:"doubled"`      // lives that ended twice
}

// Count sums up a history.
func Count(h *History) Numbers {
	x := newIndex(h)
	n := Numbers{Submitted: len(h.Enqueues), Jobs: len(h.Dump.Jobs), Executed: len(h.Runs)}
	for i := range h.Enqueues {
		if e := &h.Enqueues[i]; e.Answer == Written {
			n.Acknowledged++
			if x.row(e.ID) == nil && !x.gone(x.byID[e.ID]) {
				n.Lost++
			}
		}
	}
	for i := range h.Writes {
		if h.Writes[i].Answer == Refused {
			n.LateRefused++
		}
	}
	for _, p := range x.jobs {
		n.add(p)
	}
	return n
}

func (n *Numbers) add(p *past) {
	ended := make(map[int32]bool)
	for _, e := range p.events {
		if isTransition(e) && e.To.Terminal() {
			if ended[e.Life] {
				n.Doubled++
			}
			ended[e.Life] = true
		}
		if e.Type != event.JobCrashed {
			continue
		}
		n.Crashes++
		for _, r := range p.runs {
			if r.Token == e.Token {
				n.DoubleRuns++
			}
		}
	}
}

// Add adds the numbers of another history.
func (n *Numbers) Add(m Numbers) {
	n.Submitted += m.Submitted
	n.Acknowledged += m.Acknowledged
	n.Jobs += m.Jobs
	n.Executed += m.Executed
	n.DoubleRuns += m.DoubleRuns
	n.Crashes += m.Crashes
	n.LateRefused += m.LateRefused
	n.Lost += m.Lost
	n.Doubled += m.Doubled
}
