package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type dlqShowCmd struct {
	jsonFlag
	Raw bool   `help:"Show payloads, attributes and the result as they are stored, with their secrets."`
	ID  job.ID `arg:"" help:"Id of the job."`
}

// Help implements kong.HelpProvider.
func (*dlqShowCmd) Help() string {
	return `The page shows the cause of the death, the group with its number of deaths, the evidence, each run of each life, past
actions, the payload, the job before a retry changed it, and the commands to use next. "redrive explain" shows the
numbers behind each decision.

    redrive dlq show 17
    redrive dlq show 17 --json | jq '.group.pending'`
}

func (c *dlqShowCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	d, err := readDead(ctx, client, c.ID, a.known())
	if err != nil {
		return err
	}
	size := len(d.Job.Payload)
	if !c.Raw {
		d = wire.CleanedDead(d, a.cleaning())
	}
	if c.JSON {
		return a.printJSON(wire.DeadDetailsOf(d, commandLine))
	}
	a.page().dead(d, size)
	return nil
}

func readDead(ctx context.Context, client *redrive.Client, id job.ID, known *config.Config) (*words.DeadDetails, error) {
	found, err := readDetails(ctx, client, id, known)
	if err != nil {
		return nil, err
	}
	if found.Letter == nil {
		return nil, absentf("job %d has no dead letter: it is %s", id, found.Job.State)
	}
	d := &words.DeadDetails{Details: found}
	if print := found.Letter.Fingerprint; print != "" {
		groups, err := client.Groups(ctx, redrive.GroupFilter{Group: print, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("read the group of job %d: %w", id, err)
		}
		if len(groups.Groups) == 1 {
			d.Group = &groups.Groups[0]
		}
	}
	original, err := client.Original(ctx, id)
	switch {
	case err == nil:
		d.Original = &original
	case !errors.Is(err, redrive.ErrNotFound):
		return nil, fmt.Errorf("read the original payload of job %d: %w", id, err)
	}
	if fatal := d.Fatal(); fatal != nil {
		operators := words.Operators{Policy: client.StoredPolicy}
		d.Operator = operators.Text(ctx, fatal)
	}
	acts, err := actsOn(ctx, client, id)
	d.Acts, d.Searched = acts.Entries, acts.Searched
	if len(d.Acts) == actsMax {
		d.Searched = 0 // the page shows as many actions as it can, so it does not say how far the audit log was searched
	}
	slices.Reverse(d.Acts)
	return d, err
}

// actsMax is the largest number of actions that are shown with a dead letter, and
// actsPages the largest number of pages of the audit log that are searched for them.
const (
	actsMax   = 100
	actsPages = 20
)

// actsOn returns the newest entries of the audit log about a job, newest first. It leaves out
// actions on a redrive or queue whose name is the job's id.
func actsOn(ctx context.Context, client *redrive.Client, id job.ID) (redrive.AuditPage, error) {
	return auditPages(ctx, client, redrive.AuditFilter{
		Target: id.String(), Actions: []string{"job.", "dead_letter."}, Limit: actsMax,
	}, actsPages)
}

// dead writes the page about a dead letter, the most important facts first.
func (p *page) dead(d *words.DeadDetails, size int) {
	l := d.Letter
	p.title(fmt.Sprintf("Dead letter of job %d  %s", l.Job, words.Clean(l.Kind)))
	standing := words.Clean(d.Standing(p.now))
	if l.Status == job.Pending {
		standing = p.style.red(standing)
	}
	fmt.Fprintf(p.w, "  %s\n", standing)
	fatal := d.Fatal()
	p.head("Cause", d.Cause())
	p.head("Last error", words.FirstLine(l.Message))
	if text := words.UserText(fatal, l.Reason, l.DiedAt); text != "" {
		p.head("Users see", text)
	}
	p.head("To do", d.Operator)
	if words.RetriesOff(fatal) {
		p.head("Retry", fmt.Sprintf("not offered, because the policy switches retries of this job off (retry: false); %s still runs it once more",
			quotedCommand(words.Step{Verb: words.RetryJob, Job: l.Job})))
	}
	if d.Group != nil {
		p.head("Group", words.GroupStanding(d.Group, p.now))
	}
	fmt.Fprintln(p.w)
	p.steps(d.Steps())
	p.facts(d.Facts())
	p.runs(d)
	if fatal != nil {
		p.failure(slices.IndexFunc(d.Failures, func(f job.Failure) bool { return f.Token == fatal.Token })+1, len(d.Failures), fatal)
	}
	p.notes(d.Notes)
	p.acts(d)
	p.payload(d, size)
}

// runs writes one line for each failed run.
func (p *page) runs(d *words.DeadDetails) {
	if len(d.Failures) == 0 {
		return
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold("Runs that failed"))
	t := table{columns: []column{
		{title: "  LIFE", right: true}, {title: "RUN", right: true}, {title: "ATTEMPT", right: true}, {title: "WHEN"},
		{title: "TOOK", right: true}, {title: "CLASS"}, {title: "DECISION", loose: true},
	}}
	for i := range d.Failures {
		f := &d.Failures[i]
		t.add(fmt.Sprint(f.Life), fmt.Sprint(f.Token), fmt.Sprint(f.Attempt), words.Time(f.EndedAt),
			words.Took(f), f.Class, words.Decision(f))
	}
	t.print(p.w, p.style)
}

func (p *page) acts(d *words.DeadDetails) {
	if len(d.Acts) == 0 && d.Searched == 0 {
		return
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold("What was done"))
	if d.Searched > 0 {
		fmt.Fprintf(p.w, "  %s\n", p.style.faint(fmt.Sprintf("searched back to %s; `redrive audit --target %d` searches it all",
			words.Time(d.Searched), d.Letter.Job)))
	}
	for i := range d.Acts {
		r := &d.Acts[i]
		text := fmt.Sprintf("%s  %s by %s", words.Time(r.At), r.Action, r.Actor)
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		fmt.Fprintf(p.w, "  %s\n", words.Clean(text))
	}
}

// payload writes the payload of the job, which is stored with the given size. If a retry has changed the payload, it also writes how
// the payload differs from the one before that retry.
func (p *page) payload(d *words.DeadDetails, size int) {
	now := d.Job.Payload
	p.block("Payload, "+words.Size(int64(size)), payloadText(now))
	if d.Original == nil || d.Original.Payload == nil || len(now) == 0 || string(d.Original.Payload) == string(now) {
		return
	}
	o := d.Original
	p.block(fmt.Sprintf("Changed by %s at %s", o.By, words.Time(o.At)), words.Diff(o.Payload, now))
	p.block("Original payload, "+words.Size(int64(len(o.Payload))), payloadText(o.Payload))
}

// payloadText returns a payload as text. If the payload is not valid text, it returns a
// note instead.
func payloadText(b []byte) string {
	if !utf8.Valid(b) {
		return "(not a text; `redrive jobs show --raw` writes it)"
	}
	return string(b)
}
