package check

import (
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Numbers are the totals of a history. A run may happen twice, because redrive promises
// at-least-once; double runs are counted so that they stay visible.
type Numbers struct {
	Submitted    int `json:"submitted"` // number of jobs in all enqueue calls with any answer
	Acknowledged int `json:"acknowledged"`
	Jobs         int `json:"jobs"`         // number of stored jobs
	Executed     int `json:"executed"`     // number of runs whose handler was called
	DoubleRuns   int `json:"double_runs"`  // runs that a handler began and that were then counted as crashes, so that the work was repeated
	Crashes      int `json:"crashes"`      // number of leases that expired
	LateRefused  int `json:"late_refused"` // number of outcomes that came too late and that the store refused
	Lost         int `json:"lost"`         // number of jobs whose enqueue was acknowledged but that are not stored
	Doubled      int `json:"doubled"`      // number of lives that ended twice
	Acts         int `json:"acts"`         // number of acknowledged actions of people
	Children     int `json:"children"`     // number of processes that workers started for jobs
	Outcomes     int `json:"outcomes"`     // number of ends of batches
	Notices      int `json:"notices"`      // number of notices that handlers have sent
	Repeats      int `json:"repeats"`      // number of notices that were sent again
	// LongestWait is how long a job was ready after the faults had stopped while a slot was free.
	LongestWait time.Duration `json:"longest_wait_ns"`
}

// Count returns the totals of a history.
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
	for i := range h.Acts {
		if h.Acts[i].Answer == Written {
			n.Acts++
		}
	}
	n.Children = len(h.Children)
	for _, all := range h.Dump.Outcomes {
		n.Outcomes += len(all)
	}
	sent := make(map[job.ID]bool)
	for i := range h.Notices {
		if sent[h.Notices[i].Job] {
			n.Repeats++
		}
		sent[h.Notices[i].Job] = true
	}
	n.Notices = len(sent)
	for _, p := range x.jobs {
		n.add(p)
	}
	x.waits(func(_ *past, wait time.Duration) { n.LongestWait = max(n.LongestWait, wait) })
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

// Add adds the totals of another history.
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
	n.Acts += m.Acts
	n.Children += m.Children
	n.Outcomes += m.Outcomes
	n.Notices += m.Notices
	n.Repeats += m.Repeats
	n.LongestWait = max(n.LongestWait, m.LongestWait)
}
