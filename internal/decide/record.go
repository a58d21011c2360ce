package decide

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// recorder makes the stored record of a job's failure.
type recorder struct {
	keep     []string // texts that are no secrets: the job's own id
	policy   *policy.Policy
	settings *Settings
}

// sanitizing returns the options for the removal of secrets from the texts that operators see. A
// text has at most the given number of bytes.
func (r *recorder) sanitizing(most int) failure.SanitizeOptions {
	return failure.SanitizeOptions{
		Emails: r.settings.HideEmails, Keep: r.keep, KeepPaths: !r.settings.HidePaths, KeepAddresses: !r.settings.HideAddresses, Max: most,
	}
}

// outside returns the options for texts that not only operators see: classes and codes, which are in
// events and in answers to owners of jobs.
func (r *recorder) outside(most int) failure.SanitizeOptions {
	o := r.sanitizing(most)
	o.KeepPaths, o.KeepAddresses = false, false
	return o
}

// classify returns the class of a failure. A handler may have made up a class or a code. Such a
// class or code is shortened, and its secrets are removed, before the decision, because it
// becomes a part of the record, the fingerprint and the memo.
func (r *recorder) classify(e *failure.Evidence, kind string) classify.Classification {
	e.Class = r.storable(e.Class)
	found := r.policy.Classify(e, kind)
	found.Class = r.storable(found.Class)
	for i := range found.Outranked {
		found.Outranked[i].Class = r.storable(found.Outranked[i].Class)
	}
	return found
}

// storable returns a class in a form that may be stored. A class that the policy knows stays
// unchanged.
func (r *recorder) storable(class failure.Class) failure.Class {
	switch {
	case class == "" || r.policy.Knows(class):
		return class
	case r.settings.KeepRaw:
		return failure.Class(validText(string(class), job.TextMax))
	}
	o := r.outside(job.TextMax)
	return failure.Class(failure.Sanitize(string(class), &o))
}

// failure returns the record of a failed run. It removes secrets, and the paths and addresses that
// are to be hidden, unless Settings.KeepRaw is set.
func (r *recorder) failure(c *job.Claim, end *job.Ending, e *failure.Evidence, d *policy.Decision) *job.Failure {
	f := job.NewFailure(c, end)
	f.Class, f.Code, f.Permanent = string(d.Class), d.By.Code, !d.Verdict.Retriable()
	f.Message, f.UserMessage = message(end, e, d), r.userMessage(d)
	f.HTTPStatus, f.Exit, f.Signal = e.HTTPStatus, e.Exit, e.Signal
	f.Details, f.Stderr, f.Stdout, f.Stack = e.Details, e.Stderr, e.Stdout, end.Stack
	if f.Stack == "" && r.settings.Development {
		f.Stack = longForm(end.Err)
		if r.settings.KeepRaw {
			f.Stack = validText(f.Stack, job.EvidenceMax)
		}
	}
	if !r.settings.KeepRaw {
		r.sanitize(f, d)
	}
	f.Fingerprint = failure.Fingerprint(c.Kind, d.Class, f.Code, f.Message).Key
	f.Decision = d.Record()
	return f
}

// message returns the message of a failed run. If the error has no text, the message says that
// the text is missing.
func message(end *job.Ending, e *failure.Evidence, d *policy.Decision) string {
	if text := classify.Complete(e, &d.By); text != "" {
		return text
	}
	if end.Err == nil {
		return "an error without a text"
	}
	return fmt.Sprintf("an error of type %T without a text", end.Err)
}

// sanitize removes secrets from a record and from the texts that the decision quotes.
func (r *recorder) sanitize(f *job.Failure, d *policy.Decision) {
	o := r.sanitizing(job.MessageMax)
	raw := f.Message
	f.Message = failure.Sanitize(raw, &o)
	outside := r.outside(job.MessageMax)
	f.Code = failure.Sanitize(f.Code, &outside)
	d.By.Code = f.Code
	d.By.Saw = quote(d.By.Saw, raw, f.Message, &o)
	for i := range d.By.Outranked {
		d.By.Outranked[i].Saw = quote(d.By.Outranked[i].Saw, raw, f.Message, &o)
	}
	d.By.Weighing.Quoted(func(words string) string { return quote(words, raw, f.Message, &o) })
	o.Max = job.EvidenceMax
	if len(f.Details) > 0 {
		f.Details = failure.SanitizeJSON(f.Details, &o)
	}
	if len(f.Stderr) > 0 {
		f.Stderr = failure.SanitizeStderr(f.Stderr, &o)
	}
	if len(f.Stdout) > 0 {
		f.Stdout = failure.SanitizeStderr(f.Stdout, &o)
	}
	if f.Stack != "" {
		o.KeepPaths = true
		f.Stack = failure.Sanitize(f.Stack, &o)
	}
}

// quote returns the text that a rule has matched, without secrets, so that it can be stored. A
// secret is recognised by the name before it, but the matched text may lack this name. So quote
// compares the matched text with the whole message: it returns "" if the sanitised message no
// longer contains the text.
func quote(saw, raw, clean string, o *failure.SanitizeOptions) string {
	left := failure.Sanitize(saw, o)
	if raw != clean && strings.Contains(raw, saw) && !strings.Contains(clean, left) {
		return ""
	}
	return left
}

// userMessage returns the message for the user of the job.
func (r *recorder) userMessage(d *policy.Decision) string {
	info := r.policy.Info(d.Class)
	if d.Action == policy.Retry || d.Action == policy.Defer {
		return info.Retrying
	}
	return info.Dead
}
