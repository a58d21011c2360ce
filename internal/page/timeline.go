package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// timeline has the lives of a job: a strip to scale, and the steps of each life.
type timeline struct {
	Lives    []life // the newest first
	Strip    []stripe
	Label    string // the strip in words
	From, To job.Micros
}

// stripe is a part of the strip. X and Width are in percent.
type stripe struct {
	X, Width float64
	Class    string // run, crash, dead, done, parked, wait, planned or gone
	Text     string // what a pointer reads
	Mark     string // what stands below, if there is room
}

// Middle is the middle of the stripe, for the words below it.
func (s stripe) Middle() float64 { return s.X + s.Width/2 }

// End is the right edge of the stripe.
func (s stripe) End() float64 { return s.X + s.Width }

// life is a life of a job with its steps, the oldest first.
type life struct {
	N       int32
	Title   string
	Current bool
	Steps   []step
}

// step is a row of a life: what began at a time and how long it took.
type step struct {
	At, End  job.Micros
	Icon     string
	Tone     string // a colour: acc, amber, red, green, qq
	Wait     bool   // nothing ran
	Parked   bool   // the job was held back for something outside
	Title    string
	Sub      string
	Code     string
	Facts    words.Facts // the decision about the run
	Why      string
	class    string // of the stripe
	mark     string
	failures *job.Failure
}

// Took is how long the step took, "" for a moment.
func (s *step) Took() string {
	if s.End <= s.At {
		return ""
	}
	return words.Span(s.End.Sub(s.At))
}

// timelineOf returns the lives of a job until now. The retries by people come from the audit log.
func timelineOf(d *words.Details, audit []redrive.AuditEntry, now job.Micros) timeline {
	j := &d.Job
	var lives []life
	for n := int32(1); n <= j.Life; n++ {
		l := life{N: n, Current: n == j.Life}
		for i := range d.Failures {
			if d.Failures[i].Life == n {
				l.Steps = append(l.Steps, runStep(&d.Failures[i]))
			}
		}
		if len(l.Steps) > 0 || n == j.Life || n == 1 {
			lives = append(lives, l)
		}
	}
	for i := range lives {
		l := &lives[i]
		begin := beginOf(j, l, audit)
		if l.Current {
			l.Steps = append(l.Steps, endSteps(j, l, begin.At, now)...)
		} else if n := len(l.Steps); n > 0 && l.Steps[n-1].failures != nil {
			died(&l.Steps[n-1])
		}
		l.Title = titleOf(l)
		l.Steps = withWaits(begin, l.Steps)
	}
	t := timeline{Lives: lives, From: j.CreatedAt}
	t.strip(j, now)
	slices.Reverse(t.Lives)
	return t
}

// runStep returns the step of a failed run.
func runStep(f *job.Failure) step {
	s := step{At: f.StartedAt, End: f.EndedAt, Icon: "retrying", Tone: "amber", Title: fmt.Sprintf("Attempt %d failed", f.Attempt), Sub: f.Class, Code: f.Code,
		Facts: words.RunFacts(f), Why: words.Decision(f), class: "c-retry", mark: strconv.Itoa(int(f.Attempt)), failures: f}
	if f.Holder != "" {
		s.Sub += " on " + f.Holder
	}
	if f.Sends > 0 {
		s.Sub += ", " + words.Count(int64(f.Sends), "send")
	}
	if cost := words.Dollars(f.Cost); cost != "" {
		s.Sub += ", " + cost
	}
	switch f.How {
	case job.ByHold:
		s.Icon, s.Title, s.Sub, s.mark = "paused", "Held by a rule before it ran", f.Message, "held"
	case job.ByCrash:
		s.Icon, s.Title, s.class, s.mark = "crash", fmt.Sprintf("Run %d crashed; no attempt is used up", f.Token), "c-ok", "crash"
	case job.ByTimeout:
		s.Title = fmt.Sprintf("Attempt %d ran out of time", f.Attempt)
	case job.ByError:
	case job.ByPanic:
		s.Title = fmt.Sprintf("Attempt %d panicked", f.Attempt)
	}
	if r, err := policy.ParseRecord(f.Decision); err == nil && r.Action == policy.Defer.String() {
		s.Parked, s.Title = true, fmt.Sprintf("Run %d was handed back; no attempt is used up", f.Token)
	}
	return s
}

// died marks the last step of a life as the one that ended it.
func died(s *step) {
	s.Icon, s.Tone, s.class = "dead", "red", "c-dead"
	if s.failures.How != job.ByHold {
		s.Title += ", job dead"
	}
}

// beginOf returns the moment at which a life began.
func beginOf(j *job.Job, l *life, audit []redrive.AuditEntry) step {
	s := step{At: j.CreatedAt, Icon: "created", Tone: "qq", Title: "Enqueued"}
	if j.Owner != "" {
		s.Sub = "by " + j.Owner
	}
	if l.N == 1 {
		return s
	}
	s = step{Icon: "person", Tone: "acc", Title: "Retried by a person or a redrive"}
	if s.At = j.LifeAt; !l.Current && len(l.Steps) > 0 {
		s.At = l.Steps[0].At
	}
	retries := int32(0)
	for i := range audit { // the newest first
		if audit[i].Action != "job.retry" {
			continue
		}
		if retries++; j.Life-retries+1 == l.N && (l.Current && audit[i].At >= j.LifeAt || !l.Current && audit[i].At <= s.At) {
			s.At, s.Title = audit[i].At, words.Clean(audit[i].Actor)+" retried it by hand"
			if audit[i].Reason != "" {
				s.Sub = "“" + words.FirstLine(audit[i].Reason) + "”"
			}
		}
	}
	return s
}

// endSteps returns what follows the failed runs of the present life.
func endSteps(j *job.Job, l *life, begin, now job.Micros) []step {
	if n := len(l.Steps); j.State == job.Dead && n > 0 {
		died(&l.Steps[n-1])
		return nil
	}
	attempt := fmt.Sprintf("Attempt %d", max(1, j.Counters.Attempts))
	switch j.State {
	case job.Running:
		return []step{{At: j.ClaimedAt, End: max(now, j.ClaimedAt+1), Icon: "running", Tone: "acc", Title: fmt.Sprintf("Attempt %d is running", j.Counters.Attempts+1), Sub: "on " + j.Holder, class: "c-acc", mark: strconv.Itoa(int(j.Counters.Attempts) + 1)}}
	case job.Completed:
		return []step{{At: max(j.ClaimedAt, begin), End: j.FinishedAt, Icon: "completed", Tone: "green", Title: attempt + " completed", Sub: "on " + j.Holder, class: "c-good", mark: strconv.Itoa(int(j.Counters.Attempts))}}
	case job.Cancelled:
		return []step{{At: j.FinishedAt, Icon: "cancelled", Tone: "qq", Title: "Cancelled"}}
	case job.Dead:
		return []step{{At: j.FinishedAt, Icon: "dead", Tone: "red", Title: "Dead without a run: " + words.Reason(j.Reason)}}
	case job.Waiting, job.Retrying:
		s := step{At: max(j.RunAt, now), Icon: "waiting", Tone: "qq", Title: "Due now"}
		if j.RunAt > now {
			s.Title = "Due " + words.Away(j.RunAt, now)
		}
		return []step{s}
	case job.None:
	}
	return nil
}

// shortWait is the time between two steps below which no wait is shown.
const shortWait = 100 * time.Millisecond

// withWaits puts the waits between the steps of a life.
func withWaits(begin step, steps []step) []step {
	out := []step{begin}
	for i := range steps {
		last := &out[len(out)-1]
		from := max(last.At, last.End)
		if wait := steps[i].At.Sub(from); wait >= shortWait {
			out = append(out, waitSteps(last, from, steps[i].At)...)
		}
		out = append(out, steps[i])
	}
	return out
}

// waitSteps returns the wait after a step. The part of a retry's wait that the decision did not plan is a step of its own.
func waitSteps(after *step, from, to job.Micros) []step {
	w := waitStep(after, from, to)
	f := after.failures
	if f == nil || w.Parked || f.How == job.ByCrash {
		return []step{w}
	}
	r, err := policy.ParseRecord(f.Decision)
	if err != nil || r.Action != policy.Retry.String() {
		return []step{w}
	}
	due := from + job.Micros(r.Wait)
	switch late := to.Sub(due); {
	case late >= shortWait:
		w.End = due
		return []step{w, {At: due, End: to, Wait: true, Title: "was due, waited for a worker", class: "wait"}}
	case late <= -shortWait:
		w.Title = strings.Replace(w.Title, "waited for its retry", "waited for its retry, made due earlier than planned", 1)
	}
	return []step{w}
}

func waitStep(after *step, from, to job.Micros) step {
	w := step{At: from, End: to, Wait: true, Title: "waited for a worker", class: "wait"}
	f := after.failures
	if f == nil {
		return w
	}
	w.Title = "waited for its next run"
	r, err := policy.ParseRecord(f.Decision)
	if err != nil || f.How == job.ByCrash {
		return w
	}
	if after.Parked {
		w.Parked, w.Title, w.Icon, w.Tone, w.class, w.mark = true, "parked; no attempt is used up", "parked", "amber", "parked", "parked"
		return w
	}
	if r.Action == policy.Retry.String() {
		w.Title = "waited for its retry"
		for _, fact := range r.Facts() {
			if fact.Name == "formula" {
				w.Title += ": " + fact.Text
			}
		}
		if r.Queue != "" {
			w.Title += ", moved to queue " + r.Queue
		}
	}
	return w
}

// titleOf says in a line what happened in a life.
func titleOf(l *life) string {
	var attempts, crashes, parks int64
	for i := range l.Steps {
		switch f := l.Steps[i].failures; {
		case f == nil:
		case f.How == job.ByCrash:
			crashes++
		case l.Steps[i].Parked:
			parks++
		case f.How != job.ByHold:
			attempts++
		}
	}
	var parts []string
	for _, n := range [...]struct {
		n    int64
		noun string
	}{{attempts, "failed attempt"}, {crashes, "crash"}, {parks, "park"}} {
		if n.n > 0 {
			parts = append(parts, words.Count(n.n, n.noun))
		}
	}
	if len(parts) == 0 {
		return "no failed attempt"
	}
	return strings.Join(parts, ", ")
}

// The smallest width of a stripe in percent, so that a short run can be seen, and the width from
// which on words fit below it.
const (
	stripeMin  = 0.5
	stripeWord = 4
)

// strip draws the lives to scale. The time between two lives, and what is planned, are stripes, too.
func (t *timeline) strip(j *job.Job, now job.Micros) {
	t.To = now
	switch {
	case j.State.Terminal():
		t.To = max(j.FinishedAt, j.CreatedAt+1)
	case j.RunAt > now && j.State.Ready():
		t.To = j.RunAt
	}
	whole := float64(max(t.To-t.From, 1))
	at := func(m job.Micros) float64 { return min(100, max(0, 100*float64(m-t.From)/whole)) }
	add := func(from, to job.Micros, class, text, mark string) {
		s := stripe{X: at(from), Class: class, Text: text, Mark: mark}
		s.Width = max(at(to)-s.X, stripeMin)
		s.X = min(s.X, 100-s.Width)
		if s.Width < stripeWord && len(mark) > 2 {
			s.Mark = ""
		}
		t.Strip = append(t.Strip, s)
	}
	last := t.From
	for i := range t.Lives {
		steps := t.Lives[i].Steps
		if i > 0 && steps[0].At > last {
			add(last, steps[0].At, "gone", "dead for "+words.Span(steps[0].At.Sub(last)), "dead "+words.Span(steps[0].At.Sub(last)))
		}
		for k := range steps {
			s := &steps[k]
			if s.class == "" {
				continue
			}
			class := s.class
			if s.Wait && s.End > now {
				class = "planned"
			}
			add(s.At, s.End, class, strings.TrimSpace(s.Title+" "+s.Took()), s.mark)
			last = max(last, s.End)
		}
	}
	parts := make([]string, 0, len(t.Lives))
	for i := range t.Lives {
		parts = append(parts, fmt.Sprintf("life %d with %s", t.Lives[i].N, t.Lives[i].Title))
	}
	t.Label = fmt.Sprintf("%s in all: %s", words.Span(t.To.Sub(t.From)), strings.Join(parts, "; "))
}
