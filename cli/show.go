package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// page writes text for people: titles and lines with labels.
type page struct {
	w     io.Writer
	style style
	now   job.Micros
}

func (a *app) page() *page {
	return &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now())}
}

// job writes the page of the command `redrive jobs show`. The payload has the given size; what is
// shown of it is cleaned.
func (p *page) job(d *words.Details, size int) {
	p.title(fmt.Sprintf("Job %d  %s", d.Job.ID, words.Clean(d.Job.Kind)))
	fmt.Fprintf(p.w, "  %s\n", p.colored(d.Job.State, d.Standing(p.now)))
	if last := d.Last(); last != nil && (d.Job.State == job.Dead || d.Job.State == job.Retrying) {
		p.head("Last error", words.FirstLine(last.Message))
		p.head("Users see", words.JobUserText(&d.Job, last))
	}
	fmt.Fprintln(p.w)
	p.facts(d.Facts())
	for i := range d.Failures {
		p.failure(i+1, len(d.Failures), &d.Failures[i])
	}
	p.notes(d.Notes)
	p.block("Payload, "+words.Size(int64(size)), string(d.Job.Payload))
	p.block("Result", string(d.Job.Result))
}

// title writes the first line of a page and an empty line.
func (p *page) title(text string) { fmt.Fprintf(p.w, "%s\n\n", p.style.bold(text)) }

// head writes a labelled line below the title. It writes nothing if the text is empty.
func (p *page) head(label, text string) {
	if text != "" {
		fmt.Fprintf(p.w, "  %-11s %s\n", label+":", p.hanging(text, 14))
	}
}

// colored returns a sentence in the colour of a job state.
func (p *page) colored(s job.State, sentence string) string {
	sentence = words.Clean(sentence)
	switch s {
	case job.Dead:
		return p.style.red(sentence)
	case job.Retrying:
		return p.style.yellow(sentence)
	case job.None, job.Waiting, job.Running, job.Completed, job.Cancelled:
	}
	return sentence
}

// failure writes the record of one failed run.
func (p *page) failure(n, of int, f *job.Failure) {
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold(fmt.Sprintf("Failure %d of %d: attempt %d of life %d", n, of, f.Attempt, f.Life)))
	p.facts(words.FailureFacts(f))
	p.indented("message", f.Message)
	p.indented("users see", f.UserMessage)
	if said := strings.TrimSpace(string(f.Stderr)); !strings.HasSuffix(f.Message, said) {
		p.indented("stderr", string(f.Stderr)) // if a subprocess has failed, the error message already contains its error output
	}
	if said := strings.TrimSpace(string(f.Stdout)); !strings.HasSuffix(f.Message, said) {
		p.indented("stdout", string(f.Stdout))
	}
	p.indented("stack", f.Stack)
}

// block writes a text under a title. It writes nothing if the text is empty.
func (p *page) block(title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold(title))
	p.lines("  ", text)
}

// indented writes a label and a text: beside the label if the text has one line, otherwise
// below it.
func (p *page) indented(label, text string) {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return
	}
	if !strings.Contains(text, "\n") {
		p.fact(label, text)
		return
	}
	fmt.Fprintf(p.w, "  %s\n", p.style.faint(label))
	p.lines("    ", text)
}

func (p *page) lines(indent, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(words.CleanBlock(text), "\n"), "\n") {
		fmt.Fprintf(p.w, "%s%s\n", indent, line)
	}
}

const labelColumns = 12

// facts writes one line with a label for each fact.
func (p *page) facts(list words.Facts) {
	for _, f := range list {
		p.fact(f.Name, f.Text)
	}
}

func (p *page) fact(label, text string) {
	pad := strings.Repeat(" ", max(0, labelColumns-words.Width(label)))
	fmt.Fprintf(p.w, "  %s%s %s\n", p.style.faint(label), pad, p.hanging(text, 3+max(labelColumns, words.Width(label))))
}

// hanging breaks a text between words so that it fits beside a label of so many columns on the terminal.
// The following lines are indented by the same columns.
func (p *page) hanging(text string, label int) string {
	text = words.Clean(text)
	if p.style.columns == 0 || p.style.columns < label+looseLeast {
		return text
	}
	return strings.Join(words.Wrap(text, p.style.columns-label), "\n"+strings.Repeat(" ", label))
}

// steps writes the commands that a person can use next, with what each of them does.
func (p *page) steps(steps []words.Step) {
	most := 0
	for _, s := range steps {
		most = max(most, words.Width(commandLine(s)))
	}
	for i, s := range steps {
		label := "Next:"
		if i > 0 {
			label = ""
		}
		line := commandLine(s)
		fmt.Fprintf(p.w, "  %-5s  %s%s   %s\n", label, line, strings.Repeat(" ", most-words.Width(line)), p.style.faint(s.Does))
	}
	fmt.Fprintln(p.w)
}

// commandLine returns the command line for a step.
func commandLine(s words.Step) string {
	switch s.Verb {
	case words.RetryJob:
		return fmt.Sprintf("redrive dlq retry %d", s.Job)
	case words.ShowJob:
		return fmt.Sprintf("redrive jobs show %d", s.Job)
	case words.ExplainJob:
		return fmt.Sprintf("redrive explain %d", s.Job)
	case words.ResolveDead:
		return fmt.Sprintf("redrive dlq resolve %d --note …", s.Job)
	case words.IgnoreDead:
		return fmt.Sprintf("redrive dlq ignore %d --reopen 2d --note 'why'", s.Job)
	case words.ReopenDead:
		return fmt.Sprintf("redrive dlq reopen %d", s.Job)
	case words.RedriveGroup:
		return "redrive dlq redrive --group " + words.ShortGroup(s.Group)
	case words.ShowRedrive:
		return fmt.Sprintf("redrive dlq redrive show %d", s.Redrive)
	case words.WatchRedrive:
		return fmt.Sprintf("redrive dlq redrive show --watch %d", s.Redrive)
	case words.ProceedRedrive:
		return fmt.Sprintf("redrive dlq redrive proceed %d", s.Redrive)
	case words.PauseRedrive:
		return fmt.Sprintf("redrive dlq redrive pause %d", s.Redrive)
	case words.ResumeRedrive:
		return fmt.Sprintf("redrive dlq redrive resume %d", s.Redrive)
	case words.CancelRedrive:
		return fmt.Sprintf("redrive dlq redrive cancel %d", s.Redrive)
	case words.ListRedriven:
		return fmt.Sprintf("redrive dlq list --redrive %d --status pending", s.Redrive)
	case words.ResumeQueue:
		return "redrive queues resume " + s.Queue
	case words.ShowBatch:
		return fmt.Sprintf("redrive batch show %d", s.Batch)
	case words.AddMembers:
		return fmt.Sprintf("redrive batch add %d --file members.jsonl", s.Batch)
	case words.PublishBatch:
		return fmt.Sprintf("redrive batch publish %d", s.Batch)
	case words.WaitBatch:
		return fmt.Sprintf("redrive batch wait %d", s.Batch)
	case words.RetryBatch:
		return fmt.Sprintf("redrive batch retry %d", s.Batch)
	case words.ListDeadMembers:
		return fmt.Sprintf("redrive batch members %d --state dead", s.Batch)
	}
	return ""
}

// quotedCommand returns the command line for a step in backquotes, for use in a sentence.
func quotedCommand(s words.Step) string { return "`" + commandLine(s) + "`" }
