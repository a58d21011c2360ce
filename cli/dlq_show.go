package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

type dlqShowCmd struct {
	jsonFlag
	ID job.ID `arg:"" help:"Job."`
}

// Help implements kong.HelpProvider.
func (*dlqShowCmd) Help() string {
	return `What it died of, how many others died of the same, the evidence, each run of each life, what people have done, the
payload and what it was before a retry changed it, and the commands that come next. "redrive explain" has the
numbers behind each decision.

    redrive dlq show 17
    redrive dlq show 17 --json | jq '.group.pending'`
}

// deadDetails is all that is known of a dead letter.
type deadDetails struct {
	*details
	group    *store.Group    // nil: it has none
	original *store.Original // nil: no retry has changed the job
	acts     []store.Audit   // of people and redrives on this job, oldest first
	fatal    *job.Failure    // what it died of; nil when it never ran
	searched job.Micros      // not 0: acts before then were not looked for
	operator string          // who has to act, and how
}

func (c *dlqShowCmd) Run(ctx context.Context, a *app) (err error) {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	d, err := readDead(ctx, st, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(d.view())
	}
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now()), known: a.known()}
	p.dead(d)
	return nil
}

func readDead(ctx context.Context, st store.Store, id job.ID) (*deadDetails, error) {
	found, err := readDetails(ctx, st, id)
	if err != nil {
		return nil, err
	}
	if found.letter == nil {
		return nil, absentf("job %d has no dead letter: it is %s", id, found.job.State)
	}
	d := &deadDetails{details: found}
	for i := range found.failures {
		if f := &found.failures[i]; f.Life <= found.letter.Life {
			d.fatal = f
		}
	}
	if d.fatal != nil && d.fatal.Life != found.letter.Life {
		d.fatal = nil // it expired in a life in which it never ran
	}
	if print := found.letter.Fingerprint; print != "" {
		groups, err := st.Groups(ctx, store.GroupFilter{Group: print, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("group of job %d: %w", id, err)
		}
		if len(groups.Groups) == 1 {
			d.group = &groups.Groups[0]
		}
	}
	original, err := st.Original(ctx, id)
	switch {
	case err == nil:
		d.original = &original
	case !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("original of job %d: %w", id, err)
	}
	if d.fatal != nil {
		known := &operators{store: st}
		d.operator = known.run(ctx, d.fatal).Operator
	}
	acts, err := actsOn(ctx, st, id)
	d.acts, d.searched = acts.rows, acts.searched
	return d, err
}

// actsOn returns what the audit log has of a job, among its newest rows. A redrive
// may have the number of a job, and a queue may have it as its name.
func actsOn(ctx context.Context, st store.Reader, id job.ID) (auditFound, error) {
	q := &auditQuery{limit: 100, windows: 20, keep: func(r *store.Audit) bool {
		return r.Target == id.String() && (strings.HasPrefix(r.Action, "job.") || strings.HasPrefix(r.Action, "dead_letter."))
	}}
	return q.last(ctx, st)
}

type deadView struct {
	Letter   *job.DeadLetter `json:"dead_letter"`
	Cause    string          `json:"cause"`
	Operator string          `json:"operator,omitempty"`
	Group    *store.Group    `json:"group,omitempty"`
	Job      jobView         `json:"job"`
	Failures []failureView   `json:"failures"`
	Original *originalView   `json:"original,omitempty"`
	Acts     []store.Audit   `json:"audit"`
	Searched job.Micros      `json:"audit_searched_to,omitempty"` // older rows were not looked at
	Next     []nextStep      `json:"next"`
}

type originalView struct {
	*store.Original
	payloadView
}

// payloadView is a payload in JSON, in the one of three forms that fits.
type payloadView struct {
	Payload       json.RawMessage `json:"payload,omitempty"`
	PayloadText   string          `json:"payload_text,omitempty"`
	PayloadBase64 []byte          `json:"payload_base64,omitempty"`
}

func viewPayload(b []byte) payloadView {
	switch {
	case isJSON(b):
		return payloadView{Payload: b}
	case utf8.Valid(b):
		return payloadView{PayloadText: string(b)}
	}
	return payloadView{PayloadBase64: b}
}

func (d *deadDetails) view() deadView {
	v := d.details.view()
	out := deadView{
		Letter: d.letter, Cause: d.cause(), Operator: d.operator, Group: d.group, Job: v.Job, Failures: v.Failures,
		Acts: append([]store.Audit{}, d.acts...), Searched: d.searched, Next: d.next(),
	}
	if d.original != nil {
		out.Original = &originalView{Original: d.original, payloadView: viewPayload(d.original.Payload)}
	}
	return out
}

// cause says in words what the job died of.
func (d *deadDetails) cause() string {
	text := reasonText(d.letter.Reason)
	if info, ok := failure.InfoOf(failure.Class(d.letter.Class)); ok && info.Summary != "" {
		text += "; " + d.letter.Class + ": " + strings.TrimSuffix(info.Summary, ".")
	} else if d.letter.Class != "" {
		text += "; class " + d.letter.Class
	}
	return text
}

// nextStep is a command that an operator may want now.
type nextStep struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

// next are the commands that fit where the dead letter stands.
func (d *deadDetails) next() []nextStep {
	id := d.letter.Job
	explain := nextStep{fmt.Sprintf("redrive explain %d", id), "the numbers behind each decision"}
	switch d.letter.Status {
	case job.Pending:
		steps := []nextStep{{fmt.Sprintf("redrive dlq retry %d", id), "give this job a new life"}}
		if d.group != nil && d.group.Pending > 1 {
			steps = append(steps, nextStep{"redrive dlq redrive --group " + shortGroup(d.group.Fingerprint),
				fmt.Sprintf("bring back the %s of this group, a few first", number(d.group.Pending))})
		}
		return append(steps, nextStep{fmt.Sprintf("redrive dlq resolve %d --note …", id), "close it: it is dealt with"},
			nextStep{fmt.Sprintf("redrive dlq ignore %d --reopen 2d", id), "put it aside for two days"}, explain)
	case job.Redriven:
		steps := []nextStep{{fmt.Sprintf("redrive jobs show %d", id), "where its new life stands"}}
		if d.letter.Redrive > 0 {
			steps = append(steps, nextStep{fmt.Sprintf("redrive dlq redrive show %d", d.letter.Redrive), "how the others of its redrive do"})
		}
		return append(steps, explain)
	case job.Resolved, job.Ignored:
		if !d.letter.Revived {
			return []nextStep{{fmt.Sprintf("redrive dlq reopen %d", id), "make it pending again"},
				{fmt.Sprintf("redrive dlq retry %d", id), "give this job a new life"}, explain}
		}
	}
	return []nextStep{explain}
}

// dead writes the page of a dead letter: what matters first.
func (p *page) dead(d *deadDetails) {
	l := d.letter
	fmt.Fprintf(p.w, "%s\n\n", p.style.bold(fmt.Sprintf("Dead letter of job %d  %s", l.Job, clean(l.Kind))))
	standing := clean(p.standing(d))
	if l.Status == job.Pending {
		standing = p.style.red(standing)
	}
	fmt.Fprintf(p.w, "  %s\n  Cause: %s\n", standing, clean(d.cause()))
	if l.Message != "" {
		fmt.Fprintf(p.w, "  Last error: %s\n", clean(firstLine(l.Message)))
	}
	if d.fatal != nil && d.fatal.UserMessage != "" {
		fmt.Fprintf(p.w, "  Users see:  %s\n", clean(d.fatal.UserMessage))
	}
	if d.operator != "" {
		fmt.Fprintf(p.w, "  To do:      %s\n", clean(d.operator))
	}
	if text := p.others(d.group); text != "" {
		fmt.Fprintf(p.w, "  Group:      %s\n", clean(text))
	}
	fmt.Fprintln(p.w)
	p.steps(d.next())
	p.deadFacts(d)
	p.runs(d)
	if d.fatal != nil {
		p.failure(slices.IndexFunc(d.failures, func(f job.Failure) bool { return f.Token == d.fatal.Token })+1, len(d.failures), d.fatal)
	}
	p.acts(d)
	p.payload(d)
}

// standing tells where the dead letter stands, and by whom.
func (p *page) standing(d *deadDetails) string {
	l := d.letter
	died := fmt.Sprintf("died %s (%s)", clockTime(l.DiedAt), away(l.DiedAt, p.now))
	text := strings.ToUpper(l.Status.String()[:1]) + l.Status.String()[1:]
	if l.Status == job.Pending {
		text += ": nobody has acted since it " + died
	} else {
		text += ": it " + died
	}
	if l.Action != "" {
		text += fmt.Sprintf("; %s %s (%s)", actionText(l), clockTime(l.ActedAt), away(l.ActedAt, p.now))
	}
	if l.ReopenAt > 0 {
		text += fmt.Sprintf("; pending again %s (%s)", clockTime(l.ReopenAt), away(l.ReopenAt, p.now))
	}
	if l.Status == job.Redriven || l.Action == job.ActionCompleted || l.Action == job.ActionCancelled {
		text += fmt.Sprintf("; the job is %s", d.job.State)
	}
	return text
}

// actionText says what was done last, and by whom.
func actionText(l *job.DeadLetter) string {
	switch l.Action {
	case job.ActionCompleted:
		return fmt.Sprintf("completed after %s had retried it,", l.ActedBy)
	case job.ActionCancelled:
		return fmt.Sprintf("cancelled after %s had retried it,", l.ActedBy)
	case job.ActionMuted:
		return fmt.Sprintf("ignored as it came, because %s ignores its group,", l.ActedBy)
	case job.ActionRetried, job.ActionResolved, job.ActionIgnored, job.ActionReopened:
	}
	return fmt.Sprintf("%s by %s", l.Action, l.ActedBy)
}

// others tells how many died of the same.
func (p *page) others(g *store.Group) string {
	if g == nil {
		return ""
	}
	text := shortGroup(g.Fingerprint) + ": no other has died of this"
	if g.N > 1 {
		text = fmt.Sprintf("%s: %s by this cause, %s pending; first %s, last %s", shortGroup(g.Fingerprint), count(g.N, "death"),
			number(g.Pending), away(g.FirstAt, p.now), away(g.LastAt, p.now))
	}
	if note := mutedText(g, p.now); note != "" {
		text += "; ignored " + note
	}
	return text
}

func (p *page) steps(steps []nextStep) {
	most := 0
	for _, s := range steps {
		most = max(most, width(s.Command))
	}
	for i, s := range steps {
		label := "Next:"
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(p.w, "  %-5s  %s%s   %s\n", label, s.Command, strings.Repeat(" ", most-width(s.Command)), p.style.faint(s.Does))
	}
	fmt.Fprintln(p.w)
}

func (p *page) deadFacts(d *deadDetails) {
	l, j := d.letter, &d.job
	f := facts{}
	f.add("reason", string(l.Reason))
	f.add("class", l.Class)
	f.add("code", l.Code)
	f.add("group", l.Fingerprint)
	f.add("queue", changed(fmt.Sprintf("%s, priority %d", j.Queue, j.Priority), d.original, func(o *store.Original) string {
		return fmt.Sprintf("%s, priority %d", o.Queue, o.Priority)
	}))
	f.add("settings", changed(string(j.Policy), d.original, func(o *store.Original) string { return string(o.Policy) }))
	f.add("owner", l.Owner)
	f.add("correlation", j.Correlation)
	f.add("key", j.Key)
	f.add("attributes", string(j.Attrs))
	f.add("created", clockTime(j.CreatedAt))
	f.add("runs", fmt.Sprintf("%d in %s", j.Token, count(int64(j.Life), "life")))
	if j.Cost > 0 {
		f.add("cost", fmt.Sprintf("$%.6f", float64(j.Cost)/1e6))
	}
	f.add("sends", sends(j.Sends))
	f.add("note", l.Note)
	if l.Redrive > 0 {
		f.add("redrive", strconv.FormatInt(l.Redrive, 10))
	}
	f.print(p)
}

// changed adds to a fact what it was before a retry changed the job.
func changed(now string, o *store.Original, before func(*store.Original) string) string {
	if o == nil || before(o) == now {
		return now
	}
	was := before(o)
	if was == "" {
		was = "none"
	}
	if now == "" {
		now = "none"
	}
	return now + "; was " + was
}

// runs are all runs that failed, a line each.
func (p *page) runs(d *deadDetails) {
	if len(d.failures) == 0 {
		return
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold("Runs that failed"))
	t := table{columns: []column{
		{title: "  LIFE", right: true}, {title: "RUN", right: true}, {title: "ATTEMPT", right: true}, {title: "WHEN"},
		{title: "TOOK", right: true}, {title: "CLASS"}, {title: "DECISION", loose: true},
	}}
	for i := range d.failures {
		f := &d.failures[i]
		decision := string(f.How)
		if r, err := policy.ParseRecord(f.Decision); err == nil {
			decision = r.Reason()
		}
		t.add(fmt.Sprint(f.Life), fmt.Sprint(f.Token), fmt.Sprint(f.Attempt), clockTime(f.EndedAt),
			span(max(0, f.EndedAt.Sub(f.StartedAt))), f.Class, decision)
	}
	t.print(p.w, p.style)
}

func (p *page) acts(d *deadDetails) {
	if len(d.acts) == 0 && d.searched == 0 {
		return
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.bold("What was done"))
	if d.searched > 0 {
		fmt.Fprintf(p.w, "  %s\n", p.style.faint(fmt.Sprintf("searched back to %s; redrive audit --target %d searches it all",
			clockTime(d.searched), d.letter.Job)))
	}
	for i := range d.acts {
		r := &d.acts[i]
		text := fmt.Sprintf("%s  %s by %s", clockTime(r.At), r.Action, r.Actor)
		if r.Reason != "" {
			text += ": " + r.Reason
		}
		fmt.Fprintf(p.w, "  %s\n", clean(text))
	}
}

// payload writes the payload, and what a retry changed in it.
func (p *page) payload(d *deadDetails) {
	now := d.job.Payload
	p.block("Payload, "+size(int64(len(now))), payloadText(now))
	if d.original == nil || d.original.Payload == nil || len(now) == 0 || string(d.original.Payload) == string(now) {
		return
	}
	o := d.original
	p.block(fmt.Sprintf("Changed by %s at %s", o.By, clockTime(o.At)), diffText(o.Payload, now))
	p.block("Original payload, "+size(int64(len(o.Payload))), payloadText(o.Payload))
}

// payloadText is a payload for people; what is no text is not shown.
func payloadText(b []byte) string {
	if !utf8.Valid(b) {
		return "(no text; redrive jobs show --raw writes it)"
	}
	return string(b)
}
