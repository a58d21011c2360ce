package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// DeadDetails holds the stored data about a dead letter.
type DeadDetails struct {
	*Details
	Group    *store.Group    // the group of the dead letter; nil if it belongs to no group
	Original *store.Original // the values of the job before a retry changed them; nil if no retry has changed the job
	Acts     []store.Audit   // the actions of people and redrives on this job, the oldest first
	// Searched is the time of the oldest action that was searched. It is 0 if all actions
	// were searched.
	Searched job.Micros
	Operator string // text that says who must act, and how
}

// Fatal returns the failure that made the job dead. It returns nil if the job became dead
// without a run.
func (d *DeadDetails) Fatal() *job.Failure {
	for i := range slices.Backward(d.Failures) {
		if f := &d.Failures[i]; f.Life <= d.Letter.Life {
			if f.Life == d.Letter.Life {
				return f
			}
			return nil // the job expired in a life without a run, so no failure made it dead
		}
	}
	return nil
}

// Cause describes why the job became dead.
func (d *DeadDetails) Cause() string {
	text := Reason(d.Letter.Reason)
	if info, ok := failure.InfoOf(failure.Class(d.Letter.Class)); ok && info.Summary != "" {
		text += "; " + d.Letter.Class + ": " + strings.TrimSuffix(info.Summary, ".")
	} else if d.Letter.Class != "" {
		text += "; class " + d.Letter.Class
	}
	return text
}

// Standing returns a sentence with the status of the dead letter and the last action on it.
func (d *DeadDetails) Standing(now job.Micros) string {
	l := d.Letter
	text := strings.ToUpper(l.Status.String()[:1]) + l.Status.String()[1:]
	text += fmt.Sprintf(": died %s (%s)", Time(l.DiedAt), Away(l.DiedAt, now))
	switch {
	case l.Action != "":
		text += fmt.Sprintf("; %s %s (%s)", action(l), Time(l.ActedAt), Away(l.ActedAt, now))
	case l.Status == job.Pending:
		text += "; no action taken yet"
	}
	if l.ReopenAt > 0 {
		text += fmt.Sprintf("; pending again %s (%s)", Time(l.ReopenAt), Away(l.ReopenAt, now))
	}
	if l.Status == job.Redriven || l.Action == job.ActionCompleted || l.Action == job.ActionCancelled {
		text += fmt.Sprintf("; the job is %s", d.Job.State)
	}
	return text
}

// action describes the last action on the dead letter, and the person who did it.
func action(l *job.DeadLetter) string {
	switch l.Action {
	case job.ActionCompleted:
		return fmt.Sprintf("completed after %s had retried it,", l.ActedBy)
	case job.ActionCancelled:
		return fmt.Sprintf("cancelled after %s had retried it,", l.ActedBy)
	case job.ActionMuted:
		return fmt.Sprintf("ignored at once, because %s ignores its group,", l.ActedBy)
	case job.ActionRetried, job.ActionResolved, job.ActionIgnored, job.ActionReopened:
	}
	return fmt.Sprintf("%s by %s", l.Action, l.ActedBy)
}

// Done returns the past participle of an action, such as "retried".
func Done(do store.Act) string {
	switch do {
	case store.ActRetry:
		return "retried"
	case store.ActResolve:
		return "resolved"
	case store.ActIgnore:
		return "ignored"
	case store.ActReopen:
		return "reopened"
	case store.ActPurge:
		return "removed for good"
	}
	return do.String()
}

// Filter describes which dead letters a filter selects. It returns "" if the filter selects
// all of them.
func Filter(f *store.DeadFilter) string {
	var parts []string
	add := func(label, text string) {
		if text != "" {
			parts = append(parts, label+" "+text)
		}
	}
	statuses := make([]string, len(f.Statuses))
	for i, s := range f.Statuses {
		statuses[i] = s.String()
	}
	add("status", strings.Join(statuses, " or "))
	add("reason", string(f.Reason))
	add("class", f.Class)
	add("kind", f.Kind)
	add("queue", f.Queue)
	add("owner", f.Owner)
	if f.Batch > 0 {
		add("batch", fmt.Sprint(f.Batch))
	}
	add("worker", f.Worker)
	add("correlation", f.Correlation)
	add("key", f.Key)
	if f.Attr.Name != "" {
		add("attribute", f.Attr.Name+"="+f.Attr.Value)
	}
	add("group", ShortGroup(f.Group))
	groups := make([]string, len(f.Groups))
	for i, group := range f.Groups {
		groups[i] = ShortGroup(group)
	}
	add("group", strings.Join(groups, " or "))
	if f.Since > 0 {
		add("died since", Time(f.Since))
	}
	if f.Until > 0 {
		add("died before", Time(f.Until))
	}
	if f.Text != "" {
		add("with", fmt.Sprintf("%q", f.Text))
	}
	if f.Redrive > 0 {
		add("redrive", fmt.Sprint(f.Redrive))
	}
	return strings.Join(parts, ", ")
}
