package words

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Around is what decides, beside the job itself, when a waiting job starts.
type Around struct {
	Processes []store.Process
	Counts    []store.Count
	Heads     []store.Head
	// Mode is the action that has set the present mode of the queue; nil if it was not found.
	Mode *store.Audit
	// Queue and Kind are the limits of the configuration, as far as it is known. The settings that a
	// person has made for the queue take precedence.
	Queue, Kind Pace
}

// Pace holds the limits of a queue or of a kind over all processes. Zero fields mean no limit.
type Pace struct {
	Running int
	Rate    store.Rate
}

// AroundReader reads what is around a job. redrive.Client is one.
type AroundReader interface {
	Processes(ctx context.Context) ([]store.Process, error)
	Counts(ctx context.Context) ([]store.Count, error)
	Heads(ctx context.Context) ([]store.Head, error)
	Audit(ctx context.Context, f store.AuditFilter) (store.AuditPage, error)
}

// ReadAround reads what is around the job. It returns nil if the job does not wait.
func (d *Details) ReadAround(ctx context.Context, r AroundReader) (*Around, error) {
	if !d.Job.State.Ready() {
		return nil, nil //nolint:nilnil // nothing is around a job that does not wait
	}
	a := &Around{}
	var err error
	if a.Processes, err = r.Processes(ctx); err != nil {
		return nil, fmt.Errorf("read the processes: %w", err)
	}
	if a.Counts, err = r.Counts(ctx); err != nil {
		return nil, fmt.Errorf("count the jobs: %w", err)
	}
	if a.Heads, err = r.Heads(ctx); err != nil {
		return nil, fmt.Errorf("read the oldest jobs: %w", err)
	}
	if d.Queue.Mode == store.Open {
		return a, nil
	}
	page, err := r.Audit(ctx, store.AuditFilter{Target: d.Job.Queue, Actions: []string{"queue.set"}, Limit: job.PageMax})
	if err != nil {
		return nil, fmt.Errorf("read the actions on the queue: %w", err)
	}
	a.Mode = modeSetBy(page.Entries, d.Queue.Mode)
	return a, nil
}

// modeSetBy returns the action that has set the mode of a queue. The newest action comes first.
func modeSetBy(entries []store.Audit, mode store.Mode) *store.Audit {
	for i := range entries {
		var before, after struct{ Mode string }
		if json.Unmarshal([]byte(entries[i].After), &after) != nil || after.Mode != mode.String() {
			return nil
		}
		if json.Unmarshal([]byte(entries[i].Before), &before) != nil || before.Mode != mode.String() {
			return &entries[i]
		}
	}
	return nil
}

// deadlineNear is the time before its deadline from which on the deadline of a waiting job is named.
const deadlineNear = time.Hour

// Waits says why a waiting job does not run yet: the first cause that holds. It returns "" for other jobs.
func (d *Details) Waits(a *Around, now job.Micros) string {
	j := &d.Job
	if a == nil || !j.State.Ready() {
		return ""
	}
	text := d.waitsOn(a, now)
	if d.Queue.Mode == store.Draining {
		text += fmt.Sprintf("; queue %s is draining%s: it takes no new jobs, and those in it run", j.Queue, setBy(a.Mode, now))
	}
	if j.Deadline > 0 && j.Deadline.Sub(now) < deadlineNear {
		text += fmt.Sprintf("; its deadline is near: %s (%s)", Time(j.Deadline), Away(j.Deadline, now))
	}
	return text
}

// waitsOn returns the first cause for which a waiting job waits.
func (d *Details) waitsOn(a *Around, now job.Micros) string {
	j := &d.Job
	if j.RunAt > now {
		return fmt.Sprintf("%s %s (%s)%s", d.delayedBy(), Time(j.RunAt), Away(j.RunAt, now), d.handedOverBecause())
	}
	if d.Queue.Mode == store.Paused {
		return fmt.Sprintf("queue %s is paused%s", j.Queue, setBy(a.Mode, now))
	}
	if text := a.noProcess(j); text != "" {
		return text
	}
	running, waiting := a.count(job.Running, j.Queue, ""), a.count(job.Waiting, j.Queue, "")+a.count(job.Retrying, j.Queue, "")
	ofQueue := a.Queue
	if d.Queue.Limit > 0 {
		ofQueue.Running = d.Queue.Limit
	}
	if !d.Queue.Rate.Unlimited() {
		ofQueue.Rate = d.Queue.Rate
	}
	ofKind := a.count(job.Running, "", j.Kind)
	switch slots, busy := a.slots(j); {
	case ofQueue.Running > 0 && running >= int64(ofQueue.Running):
		return fmt.Sprintf("the limit of queue %s is reached: %d of %d run", j.Queue, running, ofQueue.Running)
	case a.Kind.Running > 0 && ofKind >= int64(a.Kind.Running):
		return fmt.Sprintf("the limit of the kind %s is reached: %d of %d run", j.Kind, ofKind, a.Kind.Running)
	case busy >= slots:
		return fmt.Sprintf("all workers are busy: %d of %d slots are used", busy, slots)
	case !ofQueue.Rate.Unlimited():
		return fmt.Sprintf("queue %s starts at most %s, %s; %s in it", j.Queue, Rate(ofQueue.Rate),
			nextStart(ofQueue.Rate, a.arrivals(j).QueueArrival, now), waitingJobs(waiting))
	case !a.Kind.Rate.Unlimited():
		return fmt.Sprintf("jobs of the kind %s start at most at %s, %s; %s", j.Kind, Rate(a.Kind.Rate), nextStart(a.Kind.Rate, a.arrivals(j).KindArrival, now),
			waitingJobs(a.count(job.Waiting, "", j.Kind)+a.count(job.Retrying, "", j.Kind)))
	}
	if oldest := a.oldest(j.Queue); oldest > 0 && oldest < j.RunAt {
		return fmt.Sprintf("other jobs are before it: %s in queue %s, the oldest since %s", waitingJobs(waiting), j.Queue, Time(oldest))
	}
	return "nothing holds it: a worker takes it when it looks for jobs the next time"
}

// nextStart says when a rate allows the next start.
func nextStart(r store.Rate, arrival, now job.Micros) string {
	next := r.Next(arrival, now)
	if next <= now {
		return "the next one now"
	}
	return fmt.Sprintf("the next one at %s (%s)", Time(next), Away(next, now))
}

// arrivals returns the states of the rates that hold for a job.
func (a *Around) arrivals(j *job.Job) store.Head {
	i := slices.IndexFunc(a.Heads, func(h store.Head) bool { return h.Queue == j.Queue && h.Kind == j.Kind })
	if i < 0 {
		return store.Head{}
	}
	return a.Heads[i]
}

func waitingJobs(n int64) string {
	if n == 1 {
		return "1 job waits"
	}
	return Number(n) + " jobs wait"
}

// setBy says who has set the mode of a queue, when and why.
func setBy(act *store.Audit, now job.Micros) string {
	if act == nil {
		return ""
	}
	text := fmt.Sprintf(" by %s since %s (%s)", Clean(act.Actor), Time(act.At), Away(act.At, now))
	if act.Reason != "" {
		text += ", because: " + FirstLine(act.Reason)
	}
	return text
}

// delayedBy says what has set the time at which a job is due. The time follows the text.
func (d *Details) delayedBy() string {
	j, last := &d.Job, d.LastOfLife()
	switch c := &j.Counters; {
	case j.State == job.Retrying:
		return "its retry is due at"
	case last != nil && last.Token == j.Token && last.How == job.ByCrash:
		return "after a crash it starts again at"
	case last != nil && last.Token == j.Token && c.Deferrals > 0:
		return "a call in its handler handed it over until"
	case c.Snoozes > 0:
		return "its handler asked to run it again at"
	case c.Sum() == 0 && j.Life > 1:
		return "it was retried by hand, to start at"
	case c.Sum() == 0:
		return "it was enqueued to start at"
	}
	return "it is due at"
}

// handedOverBecause says why the last run was handed over: which outside service was not available.
// It returns "" for other jobs.
func (d *Details) handedOverBecause() string {
	last := d.LastOfLife()
	if last == nil || last.Token != d.Job.Token || d.Job.State == job.Retrying || last.How == job.ByCrash || d.Job.Counters.Deferrals == 0 || last.Message == "" {
		return ""
	}
	return ", because: " + FirstLine(last.Message)
}

// noProcess says that no process can run a job, or returns "".
func (a *Around) noProcess(j *job.Job) string {
	able, quiet, sick, cause := 0, 0, 0, ""
	for i := range a.Processes {
		p := &a.Processes[i]
		if !works(p, j) {
			continue
		}
		if because, is := p.HasSick(j.Kind); is {
			sick, cause = sick+1, because
			continue
		}
		able++
		if p.Quiet {
			quiet++
		}
	}
	switch {
	case able == 0 && sick == 1:
		return "the only process that runs it cannot start its program: " + FirstLine(cause)
	case able == 0 && sick > 0:
		return fmt.Sprintf("none of the %d processes that run it can start its program: %s", sick, FirstLine(cause))
	case able == 0:
		return fmt.Sprintf("no living process works on queue %s and runs the kind %s", j.Queue, j.Kind)
	case quiet == able && able == 1:
		return "the only process that runs it is ordered to be quiet"
	case quiet == able:
		return fmt.Sprintf("all %d processes that run it are ordered to be quiet", able)
	}
	return ""
}

// works reports whether a process lives and works on the queue and the kind of a job.
func works(p *store.Process, j *job.Job) bool {
	return !p.Silent && slices.Contains(p.Queues, j.Queue) && slices.Contains(p.Kinds, j.Kind)
}

// canRun reports whether a process works on the queue and the kind of a job, and can start its program.
func canRun(p *store.Process, j *job.Job) bool {
	_, sick := p.HasSick(j.Kind)
	return !sick && works(p, j)
}

// slots returns the numbers of slots, and of those that are used, of the processes that take a job.
func (a *Around) slots(j *job.Job) (all, busy int) {
	for i := range a.Processes {
		if p := &a.Processes[i]; canRun(p, j) && !p.Quiet {
			all, busy = all+p.Slots, busy+p.Running
		}
	}
	return all, busy
}

// count returns the number of jobs in a state. An empty queue or kind stands for all.
func (a *Around) count(state job.State, queue, kind string) (n int64) {
	for _, c := range a.Counts {
		if c.State == state && (queue == "" || c.Queue == queue) && (kind == "" || c.Kind == kind) {
			n += c.N
		}
	}
	return n
}

// oldest returns the due time of the job of a queue that has been due for longest, or 0.
func (a *Around) oldest(queue string) (due job.Micros) {
	for _, h := range a.Heads {
		if h.Queue == queue && h.Due > 0 && (due == 0 || h.Due < due) {
			due = h.Due
		}
	}
	return due
}
