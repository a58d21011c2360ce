package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// page writes the pages of `jobs show`.
type page struct {
	w     io.Writer
	style style
	now   job.Micros
	known *config.Config
}

func (a *app) printDetails(d *details) {
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now()), known: a.known()}
	p.head(d)
	p.facts(d)
	for i := range d.failures {
		p.failure(i+1, len(d.failures), &d.failures[i])
	}
	p.block("Payload, "+size(int64(len(d.job.Payload))), string(d.job.Payload))
	p.block("Result", string(d.job.Result))
}

// head says first what matters: which job, and where it stands.
func (p *page) head(d *details) {
	title := fmt.Sprintf("Job %d  %s", d.job.ID, clean(d.job.Kind))
	fmt.Fprintf(p.w, "%s\n\n", p.style.bold(title))
	sentence := clean(p.sentence(d) + p.pausedNote(d))
	switch d.job.State {
	case job.Dead:
		sentence = p.style.red(sentence)
	case job.Retrying:
		sentence = p.style.yellow(sentence)
	case job.None, job.Waiting, job.Running, job.Completed, job.Cancelled:
	}
	fmt.Fprintf(p.w, "  %s\n", sentence)
	if last := d.last(); last != nil && (d.job.State == job.Dead || d.job.State == job.Retrying) {
		fmt.Fprintf(p.w, "  Last error: %s\n", clean(firstLine(last.Message)))
		if last.UserMessage != "" {
			fmt.Fprintf(p.w, "  Users see:  %s\n", clean(last.UserMessage))
		}
	}
	fmt.Fprintln(p.w)
}

func (d *details) last() *job.Failure {
	if len(d.failures) == 0 {
		return nil
	}
	return &d.failures[len(d.failures)-1]
}

// sentence tells where the job stands.
func (p *page) sentence(d *details) string {
	j := &d.job
	of := ""
	if most := attemptsMax(j, d.failures, p.known); most > 0 {
		of = fmt.Sprintf(" of %d", most)
	}
	next := fmt.Sprintf("attempt %d%s", j.Counters.Attempts+1, of)
	switch j.State {
	case job.Waiting, job.Retrying:
		text := fmt.Sprintf("Waiting: %s is due since %s (%s)", next, clockTime(j.RunAt), away(j.RunAt, p.now))
		if j.RunAt > p.now {
			text = fmt.Sprintf("Waiting: %s comes at %s (%s)", next, clockTime(j.RunAt), away(j.RunAt, p.now))
		}
		if j.State == job.Retrying {
			text = "Retrying" + strings.TrimPrefix(text, "Waiting")
		}
		return text
	case job.Running:
		return fmt.Sprintf("Running for %s: %s, on %s%s", span(max(0, p.now.Sub(j.ClaimedAt))), next, j.Holder, p.runNote(j))
	case job.Completed:
		return fmt.Sprintf("Completed at %s (%s) by attempt %d, which took %s", clockTime(j.FinishedAt),
			away(j.FinishedAt, p.now), j.Counters.Attempts, span(max(0, j.FinishedAt.Sub(j.ClaimedAt))))
	case job.Dead:
		return fmt.Sprintf("Dead since %s (%s): %s", clockTime(j.FinishedAt), away(j.FinishedAt, p.now), reasonText(j.Reason))
	case job.Cancelled:
		return fmt.Sprintf("Cancelled at %s (%s)", clockTime(j.FinishedAt), away(j.FinishedAt, p.now))
	case job.None:
	}
	return j.State.String()
}

func (p *page) pausedNote(d *details) string {
	if d.queue.Mode != store.Paused || !d.job.State.Ready() {
		return ""
	}
	return fmt.Sprintf("; queue %s is paused", d.job.Queue)
}

func (p *page) runNote(j *job.Job) string {
	switch {
	case j.LeaseUntil < p.now:
		return fmt.Sprintf("; its lease was over %s, so it will be taken from there", away(j.LeaseUntil, p.now))
	case j.CancelAt > 0:
		return fmt.Sprintf("; it was asked to stop %s", away(j.CancelAt, p.now))
	}
	return ""
}

func reasonText(r job.Reason) string {
	switch r {
	case job.NonRetriable:
		return "no further attempt can mend the failure (" + string(r) + ")"
	case job.MaxRetries:
		return "the attempts are used up (" + string(r) + ")"
	case job.Stalled:
		return "too many of its workers died (" + string(r) + ")"
	case job.DeadlineOver:
		return "its deadline passed before it could run (" + string(r) + ")"
	case job.MaxCost:
		return "its attempts have cost more than is allowed (" + string(r) + ")"
	case job.HintTooLong:
		return "the other side asked for a longer wait than the policy allows (" + string(r) + ")"
	case job.ManualReview:
		return "a rule holds it until a person decides (" + string(r) + ")"
	}
	return string(r)
}

// facts are the rest, a line each; what is not set is left out.
func (p *page) facts(d *details) {
	j := &d.job
	f := facts{}
	f.add("queue", fmt.Sprintf("%s, priority %d", j.Queue, j.Priority))
	f.add("attempts", attempts(j, attemptsMax(j, d.failures, p.known)))
	f.add("runs", fmt.Sprintf("%d in %s%s", j.Token, count(int64(j.Life), "life"), counters(&j.Counters)))
	f.add("created", clockTime(j.CreatedAt))
	if j.ClaimedAt > 0 {
		f.add("last run", fmt.Sprintf("%s on %s", clockTime(j.ClaimedAt), j.Holder))
	}
	if j.Deadline > 0 {
		f.add("deadline", clockTime(j.Deadline))
	}
	f.add("owner", j.Owner)
	f.add("correlation", j.Correlation)
	f.add("key", j.Key)
	f.add("attributes", string(j.Attrs))
	if pr := j.Progress; pr.At > 0 {
		f.add("progress", strings.TrimSpace(fmt.Sprintf("%s  %s", progressText(pr), pr.Note)))
	}
	if j.Cost > 0 {
		f.add("cost", fmt.Sprintf("$%.6f", float64(j.Cost)/1e6))
	}
	f.add("sends", sends(j.Sends))
	if d.letter != nil {
		f.add("dead letter", fmt.Sprintf("%s, since %s", d.letter.Status, clockTime(d.letter.DiedAt)))
	}
	f.print(p)
}

func counters(c *job.Counters) string {
	var text strings.Builder
	for _, n := range []struct {
		n    int32
		noun string
	}{{c.Crashes, "crash"}, {c.Deferrals, "deferral"}, {c.Snoozes, "snooze"}, {c.Interrupts, "interruption"}} {
		if n.n > 0 {
			text.WriteString(", " + count(int64(n.n), n.noun))
		}
	}
	return text.String()
}

func progressText(p job.Progress) string {
	if p.Total <= 0 {
		return number(p.Done)
	}
	return fmt.Sprintf("%s of %s (%d%%)", number(p.Done), number(p.Total), 100*p.Done/p.Total)
}

// failure writes the record of one failed run.
func (p *page) failure(n, of int, f *job.Failure) {
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold(fmt.Sprintf("Failure %d of %d: attempt %d of life %d", n, of, f.Attempt, f.Life)))
	lines := facts{}
	lines.add("when", fmt.Sprintf("%s, after %s, on %s", clockTime(f.EndedAt), span(max(0, f.EndedAt.Sub(f.StartedAt))), f.Holder))
	lines.add("how", string(f.How))
	lines.add("class", f.Class)
	lines.add("code", f.Code)
	if f.Exit != nil {
		lines.add("exit code", fmt.Sprint(*f.Exit))
	}
	lines.add("sends", sends(int64(f.Sends)))
	lines.add("signal", f.Signal)
	if f.HTTPStatus > 0 {
		lines.add("HTTP status", fmt.Sprint(f.HTTPStatus))
	}
	if d, err := policy.ParseRecord(f.Decision); err == nil {
		lines.add("decision", d.Reason())
	}
	lines.add("details", string(f.Details))
	lines.print(p)
	p.indented("message", f.Message)
	p.indented("users see", f.UserMessage)
	if said := strings.TrimSpace(string(f.Stderr)); !strings.HasSuffix(f.Message, said) {
		p.indented("stderr", string(f.Stderr)) // else the message has all of it
	}
	p.indented("stack", f.Stack)
}

// block writes a text under a title.
func (p *page) block(title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold(title))
	p.lines("  ", text)
}

// indented writes a text under a label: on the same line if it is one.
func (p *page) indented(label, text string) {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return
	}
	if !strings.Contains(text, "\n") {
		f := facts{}
		f.add(label, text)
		f.print(p)
		return
	}
	fmt.Fprintf(p.w, "  %s\n", p.style.faint(label))
	p.lines("    ", text)
}

func (p *page) lines(indent, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(cleanBlock(text), "\n"), "\n") {
		fmt.Fprintf(p.w, "%s%s\n", indent, line)
	}
}

// facts are labelled lines.
type facts []struct{ label, text string }

const labelColumns = 12

func (f *facts) add(label, text string) {
	if text != "" {
		*f = append(*f, struct{ label, text string }{label, text})
	}
}

func (f *facts) print(p *page) {
	for _, line := range *f {
		pad := strings.Repeat(" ", labelColumns-width(line.label))
		fmt.Fprintf(p.w, "  %s%s %s\n", p.style.faint(line.label), pad, clean(line.text))
	}
}

// sends tells how many requests the calls of a run or of a job have sent; "" for
// none that package retry knows of.
func sends(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
