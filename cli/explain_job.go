package cli

import (
	"context"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// explainJob prints the decisions that led to the current state of a job. If the token is not
// 0, it prints only the decisions about the run with this token.
func (a *app) explainJob(ctx context.Context, id job.ID, token job.Token, asJSON bool) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	known := a.known()
	d, err := readDetails(ctx, client, id, known)
	if err != nil {
		return err
	}
	around, err := d.ReadAround(ctx, client)
	if err != nil {
		return err
	}
	a.addPace(around, &d.Job, known)
	b, err := batchOf(ctx, client, &d.Job)
	if err != nil {
		return err
	}
	p := a.page()
	e := wire.Explanation{
		Job: d.Job.ID, Kind: d.Job.Kind, Queue: d.Job.Queue, State: d.Job.State,
		Standing: d.Standing(p.now) + d.Because(), Waits: d.Waits(around, p.now), Next: d.Next(quotedCommand), Batch: wire.MemberBatchOf(b, &d.Job, p.now), Runs: []wire.Run{},
	}
	operators := words.Operators{Policy: client.StoredPolicy}
	for i := range d.Failures {
		if f := &d.Failures[i]; token == 0 || f.Token == token {
			e.Runs = append(e.Runs, wire.RunOf(f, operators.Text(ctx, f)))
		}
	}
	switch {
	case token > d.Job.Token:
		return absentf("run %d of job %d does not exist: the job has had only %s", token, id, words.Count(int64(d.Job.Token), "run"))
	case token != 0 && len(e.Runs) == 0:
		return absentf("run %d of job %d has not failed: there is no record of a failure", token, id)
	case asJSON:
		return a.printJSON(e)
	}
	p.explanation(&e)
	return nil
}

// addPace adds the limits of the configuration to what is around a job.
func (*app) addPace(around *words.Around, j *job.Job, known *config.Config) {
	if around == nil {
		return
	}
	q, k := known.Queues[j.Queue], known.Kinds[j.Kind]
	around.Queue = words.Pace{Running: q.Limit, Rate: redrive.Rate(q.Rate)}
	around.Kind = words.Pace{Running: k.Limit, Rate: redrive.Rate(k.Rate)}
}

// explanation writes why a job is in its current state.
func (p *page) explanation(e *wire.Explanation) {
	p.title(fmt.Sprintf("Job %d  %s", e.Job, words.Clean(e.Kind)))
	fmt.Fprintf(p.w, "  %s\n", p.colored(e.State, e.Standing))
	if e.Waits != "" {
		fmt.Fprintf(p.w, "  Waits: %s\n", words.Clean(e.Waits))
	}
	if e.Next != "" {
		fmt.Fprintf(p.w, "  Next: %s\n", words.Clean(e.Next))
	}
	if b := e.Batch; b != nil {
		fmt.Fprintf(p.w, "  Batch: %s\n", words.Clean(memberLine(b)))
	}
	for i := range e.Runs {
		r := &e.Runs[i]
		title := fmt.Sprintf("Run %d, attempt %d of life %d: failed %s (%s), after %s", r.Token, r.Attempt, r.Life,
			words.Time(r.EndedAt), words.Away(r.EndedAt, p.now), words.Took(&r.Failure.Failure))
		fmt.Fprintf(p.w, "\n%s\n", p.style.bold(title))
		p.facts(words.RunFacts(&r.Failure.Failure))
		p.indented("message", r.Message)
		p.indented("users see", r.UserMessage)
		p.indented("to do", r.Operator)
	}
}
