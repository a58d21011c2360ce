package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store"
)

// story is why a job stands where it stands.
type story struct {
	Job      job.ID    `json:"job"`
	Kind     string    `json:"kind"`
	Queue    string    `json:"queue"`
	State    job.State `json:"state"`
	Standing string    `json:"standing"`
	Next     string    `json:"next,omitempty"`
	Runs     []runView `json:"runs"` // that failed, oldest first
}

// runView is a run that failed, with the decision about it in words.
type runView struct {
	failureView
	Facts    []policy.Fact `json:"facts,omitempty"`
	Operator string        `json:"operator,omitempty"` // who has to act, and how
}

// explainJob tells all that led to the state of a job; with a token, of one run.
func (a *app) explainJob(ctx context.Context, id job.ID, token job.Token, asJSON bool) (err error) {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	d, err := readDetails(ctx, st, id)
	if err != nil {
		return err
	}
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now()), known: a.known()}
	s := story{
		Job: d.job.ID, Kind: d.job.Kind, Queue: d.job.Queue, State: d.job.State,
		Standing: p.sentence(d) + p.because(d), Next: p.next(d), Runs: []runView{},
	}
	known := &operators{store: st}
	for i := range d.failures {
		if f := &d.failures[i]; token == 0 || f.Token == token {
			s.Runs = append(s.Runs, known.run(ctx, f))
		}
	}
	switch {
	case token > d.job.Token:
		return absentf("run %d of job %d: it has had %s", token, id, count(int64(d.job.Token), "run"))
	case token != 0 && len(s.Runs) == 0:
		return absentf("run %d of job %d has not failed: there is no record of a failure", token, id)
	case asJSON:
		return a.printJSON(s)
	}
	p.story(&s)
	return nil
}

// because tells what a job's state follows from, after the sentence about it.
func (p *page) because(d *details) string {
	j, last := &d.job, d.last()
	if last != nil && last.Life != j.Life {
		last = nil
	}
	switch j.State {
	case job.Waiting:
		if why := waitingFor(d, last); why != "" {
			return ", because " + why
		}
	case job.Retrying, job.Dead:
		if last != nil {
			return ", because " + cause(last)
		}
	case job.Running:
		if last != nil {
			return "; before, " + cause(last)
		}
	case job.Cancelled:
		if last != nil && last.Token == j.Token && last.Class == string(failure.Cancelled) {
			return ", because " + cause(last)
		}
	case job.None, job.Completed:
	}
	return ""
}

// waitingFor tells why a job waits that is not retrying. Which of several
// reasons was the last is not stored; then all are told.
func waitingFor(d *details, last *job.Failure) string {
	j := &d.job
	switch c := &j.Counters; {
	case last != nil && last.Token == j.Token && last.How == job.ByCrash:
		return cause(last)
	case last != nil && last.Token == j.Token && c.Deferrals > 0:
		return handedOver(last)
	case c.Sum() == 0 && j.Life > 1:
		return fmt.Sprintf("a person retried it after it was dead: this is life %d", j.Life)
	case c.Sum() == 0:
		return "it has not run yet"
	case c.Snoozes == c.Sum()-c.Attempts:
		return "the handler asked to run it again later, which used up no attempt" + times(c.Snoozes)
	case c.Interrupts == c.Sum()-c.Attempts:
		return "a worker that was stopped handed it back, which used up no attempt" + times(c.Interrupts)
	default:
		return "it was given back" + counters(c)
	}
}

// handedOver tells of the call that handed a job over.
func handedOver(f *job.Failure) string {
	r, err := policy.ParseRecord(f.Decision)
	if err != nil {
		return "it was deferred, which used up no attempt"
	}
	return r.Reason()
}

func times(n int32) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d times in this life)", n)
}

// cause tells of the failure that decided a state.
func cause(f *job.Failure) string {
	switch f.How {
	case job.ByHold:
		return "it was " + firstLine(f.Message)
	case job.ByCrash:
		return fmt.Sprintf("run %d ended without a word (%s)", f.Token, f.Class)
	case job.ByError, job.ByPanic, job.ByTimeout:
	}
	text := fmt.Sprintf("attempt %d failed with %s", f.Attempt, f.Class)
	if r, err := policy.ParseRecord(f.Decision); err == nil {
		text += ": " + r.Reason()
	}
	return text
}

// next tells what happens next to a job, and who has to do it.
func (p *page) next(d *details) string {
	j := &d.job
	switch j.State {
	case job.Waiting, job.Retrying:
		text := fmt.Sprintf("a worker of queue %s that has the kind takes it when it is due", j.Queue)
		if d.queue.Mode == store.Paused {
			text = fmt.Sprintf("nothing before somebody runs `redrive queues resume %s`", j.Queue)
		}
		if j.Deadline > 0 {
			text += fmt.Sprintf("; without a run it is dead at %s, its deadline", clockTime(j.Deadline))
		}
		return text
	case job.Running:
		return fmt.Sprintf("its run ends; without a sign of life of its worker another one takes it after %s", clockTime(j.LeaseUntil))
	case job.Dead:
		if j.Reason == job.ManualReview {
			return fmt.Sprintf("nothing before a person decides: `redrive jobs retry %d` releases it", j.ID)
		}
		return fmt.Sprintf("nothing before somebody runs `redrive jobs retry %d`, which gives it another life", j.ID)
	case job.Completed, job.Cancelled, job.None:
	}
	return ""
}

// story writes the explanation of a job.
func (p *page) story(s *story) {
	fmt.Fprintf(p.w, "%s\n\n", p.style.bold(fmt.Sprintf("Job %d  %s", s.Job, clean(s.Kind))))
	standing := clean(s.Standing)
	switch s.State {
	case job.Dead:
		standing = p.style.red(standing)
	case job.Retrying:
		standing = p.style.yellow(standing)
	case job.None, job.Waiting, job.Running, job.Completed, job.Cancelled:
	}
	fmt.Fprintf(p.w, "  %s\n", standing)
	if s.Next != "" {
		fmt.Fprintf(p.w, "  Next: %s\n", clean(s.Next))
	}
	for i := range s.Runs {
		p.run(&s.Runs[i])
	}
}

// run writes what is known of one failed run.
func (p *page) run(r *runView) {
	title := fmt.Sprintf("Run %d, attempt %d of life %d: failed %s (%s), after %s", r.Token, r.Attempt, r.Life,
		clockTime(r.EndedAt), away(r.EndedAt, p.now), span(max(0, r.EndedAt.Sub(r.StartedAt))))
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold(title))
	lines := facts{}
	for _, f := range r.Facts {
		lines.add(f.Name, f.Text)
	}
	if len(r.Facts) == 0 {
		lines.add("class", r.Class)
	}
	lines.add("evidence", evidenceText(&r.Failure))
	lines.add("worker", r.Holder)
	lines.add("details", string(r.Details))
	lines.print(p)
	p.indented("message", r.Message)
	p.indented("users see", r.UserMessage)
	p.indented("to do", r.Operator)
}

// evidenceText lists what came with the message of a failure.
func evidenceText(f *job.Failure) string {
	parts := []string{"how " + string(f.How)}
	if f.HTTPStatus > 0 {
		parts = append(parts, "HTTP status "+strconv.Itoa(f.HTTPStatus))
	}
	if f.Exit != nil {
		parts = append(parts, "exit code "+strconv.Itoa(*f.Exit))
	}
	if f.Signal != "" {
		parts = append(parts, "signal "+f.Signal)
	}
	if f.Code != "" {
		parts = append(parts, "code "+f.Code)
	}
	return strings.Join(parts, ", ")
}

// operators knows what the policies that decided tell operators.
type operators struct {
	store    store.Policies
	policies map[string]*policy.Policy // by hash; nil for one that is not kept as a file
}

func (o *operators) run(ctx context.Context, f *job.Failure) runView {
	v := runView{failureView: viewOf(f)}
	r, err := policy.ParseRecord(f.Decision)
	if err == nil {
		v.Facts = r.Facts()
	}
	class := failure.Class(f.Class)
	if p := o.policy(ctx, r.Hash); p != nil && slices.Contains(p.Classes(), class) {
		v.Operator = p.Info(class).Operator
	} else if info, ok := failure.InfoOf(class); ok {
		v.Operator = info.Operator
	}
	return v
}

// policy returns a policy that is kept in the store, if it is there and kept as a
// policy file.
func (o *operators) policy(ctx context.Context, hash string) *policy.Policy {
	if p, known := o.policies[hash]; known || hash == "" {
		return p
	}
	if o.policies == nil {
		o.policies = map[string]*policy.Policy{}
	}
	o.policies[hash] = nil
	if kept, err := o.store.Policy(ctx, hash); err == nil {
		if f, err := policyfile.Parse(hash, kept.Body); err == nil {
			o.policies[hash] = f.Policy
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		delete(o.policies, hash) // ask again for the next run
	}
	return o.policies[hash]
}
